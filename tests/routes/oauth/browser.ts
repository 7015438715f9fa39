import assert from "node:assert/strict";
import { around, ShownPage } from "../console/shown_page.ts";

interface Cookie {
  name: string;
  value: string;
  path: string;
  sameSite: string;
}

/** A page that the browser shows. */
export interface Shown {
  url: URL;
  status: number;
  html: string;
  headers: Headers;
}

/** Where a request of a browser led: a page that it shows, or another site. */
type Way = Shown | { left: URL };

const MAX_STEPS = 30;
const attributeOf = (attributes: string[], wanted: string) =>
  attributes.map((each) => each.split("=")).find(([key]) => key?.toLowerCase() === wanted)?.[1];

/**
 * A browser without scripts: it keeps cookies, follows redirects and refreshing pages, and submits the forms that pages
 * show. A redirect to an origin that it does not visit ends the way; `left` is then the URL.
 */
export class FormBrowser {
  readonly #jars = new Map<string, Map<string, Cookie>>();
  readonly #visited: Set<string>;

  constructor(...origins: string[]) {
    this.#visited = new Set(origins.map((origin) => new URL(origin).origin));
  }

  /** Has the cookies that an origin set by these headers. */
  with(origin: string, setCookies: string[]): this {
    for (const line of setCookies) this.#keep(new URL(origin), line);
    return this;
  }

  /** Opens an address, as a link of another site does. */
  async open(url: URL | string): Promise<Way> {
    return await this.#go(new URL(url), { method: "GET" }, "cross-site");
  }

  /** Opens an address and expects to stay. */
  async show(url: URL | string): Promise<Shown> {
    return shown(await this.open(url));
  }

  /** Opens an address and expects to leave. */
  async leave(url: URL | string): Promise<URL> {
    return left(await this.open(url));
  }

  /** Submits the form of a page whose submit button has this value. */
  async submit(page: Shown, button: string, fields: Record<string, string> = {}): Promise<Way> {
    const { pathname, search } = page.url;
    const parsed = new ShownPage(pathname + search, page.status, page.headers, page.html);
    const [pressed] = parsed.all("button", ({ attribs }) => attribs.value === button);
    const form = pressed && around(pressed, "form")[0];
    assert.ok(form, `no form with the button ${button} in ${page.html}`);
    const [base] = parsed.all("base");
    const target = new URL(form.attribs.action ?? "", new URL(base?.attribs.href ?? "", page.url));
    const body = new URLSearchParams();
    for (const { attribs: { name, value = "" } } of parsed.controlsOf(form)) {
      if (name) body.append(name, fields[name] ?? value);
    }
    body.append(pressed.attribs.name ?? "", button);
    const headers = { origin: page.url.origin, "sec-fetch-site": "same-origin" };
    return await this.#go(target, { method: "POST", body, headers }, "same-site");
  }

  /** Signs in on the console's page. */
  async signIn(page: Shown, email: string, password: string): Promise<Way> {
    return await this.submit(page, "sign-in", { email, password });
  }

  /** Sends any request with the cookies that this browser would send. */
  async request(url: URL | string, init: RequestInit, from: "same-site" | "cross-site"): Promise<Response> {
    const target = new URL(url);
    const cookies = [...this.#jars.get(target.origin)?.values() ?? []].filter(({ path, sameSite }) =>
      target.pathname.startsWith(path) &&
      (from === "same-site" || sameSite !== "Strict" && (sameSite !== "Lax" || init.method === "GET"))
    );
    const headers = new Headers(init.headers);
    if (cookies.length > 0) {
      headers.set(
        "cookie",
        cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
      );
    }
    const response = await fetch(target, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) this.#keep(target, line);
    return response;
  }

  async #go(url: URL, init: RequestInit, from: "same-site" | "cross-site"): Promise<Way> {
    let [target, request] = [url, init];
    for (let step = 0; step < MAX_STEPS; step++) {
      if (!this.#visited.has(target.origin)) return { left: target };
      const response = await this.request(target, request, from);
      const html = await response.text();
      const location = response.headers.get("location");
      const refresh = /http-equiv="refresh" content="0; url=([^"]*)"/.exec(html)?.[1];
      if (!location && refresh === undefined) {
        return { url: target, status: response.status, html, headers: response.headers };
      }
      const base = /<base href="([^"]*)"/.exec(html)?.[1] ?? "";
      target = new URL(
        location ?? refresh?.replaceAll("&amp;", "&") ?? "",
        new URL(location ? "" : base, target),
      );
      request = { method: "GET" };
    }
    throw new Error(`more than ${MAX_STEPS} redirects, the last to ${target}`);
  }

  #keep({ origin }: URL, line: string): void {
    const [pair = "", ...attributes] = line.split(/; */);
    const [name = "", ...rest] = pair.split("=");
    const read = (wanted: string) => attributeOf(attributes, wanted);
    const jar = this.#jars.get(origin) ?? new Map<string, Cookie>();
    this.#jars.set(origin, jar);
    const gone = read("max-age") === "0" || Date.parse(read("expires") ?? "") < Date.now();
    if (gone) return void jar.delete(name);
    const [path, sameSite] = [read("path") ?? "/", read("samesite") ?? "Lax"];
    jar.set(name, { name, value: rest.join("="), path, sameSite });
  }
}

/** The page that the browser stayed on. */
export function shown(outcome: Way): Shown {
  assert.ok(!("left" in outcome), `the browser left to ${JSON.stringify(outcome)}`);
  return outcome;
}

/** The URL that the browser left to. */
export function left(outcome: Way): URL {
  if ("left" in outcome) return outcome.left;
  assert.fail(`the browser stayed on ${outcome.url}: ${outcome.status} ${outcome.html.slice(-2000)}`);
}
