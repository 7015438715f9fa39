import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  around,
  disabled,
  isBox,
  optionsOf,
  optionValue,
  ShownPage,
  type Tag,
  textOf,
  valueOf,
} from "./shown_page.ts";
import { requireSound } from "./sound_page.ts";

/** A control gets one of these: text, the text of an option, whether a box is ticked, or several of one name. */
type Value = string | boolean | string[] | File;
export type Values = Record<string, Value>;

interface Request {
  form?: [string, string | File][];
  isMultipart?: boolean;
  headers?: Record<string, string>;
}

/**
 * A browser without scripts. `open` and `send` are single requests. `visit`, `follow` and `press` go where a person does:
 * they follow redirects, send forms with what they contain, and fail on a page that is not sound.
 */
export class PlainBrowser {
  readonly cookies = new Map<string, string>();
  #page: ShownPage | null = null;
  /** The token of forms, until a form may have changed the session or its tenant. */
  #csrf: string | null = null;

  constructor(private readonly t: TestService, private readonly locale = "en-GB") {}

  /** The page that is shown. */
  get page(): ShownPage {
    assert.ok(this.#page, "no page is open");
    return this.#page;
  }

  async #ask(url: URL, { form, isMultipart, headers }: Request = {}): Promise<Response> {
    const body = new FormData();
    for (const [name, value] of form ?? []) body.append(name, value);
    const answer = await fetch(url, {
      redirect: "manual",
      headers: {
        cookie: [...this.cookies].map((cookie) => cookie.join("=")).join("; "),
        "accept-language": this.locale,
        ...form ? { origin: this.t.url, "sec-fetch-site": "same-origin" } : {},
        ...this.#page ? { referer: this.t.url + this.#page.address } : {},
        ...headers,
      },
      ...form
        ? { method: "POST", body: isMultipart ? body : new URLSearchParams(form as [string, string][]) }
        : {},
    });
    if (form && !url.pathname.startsWith("/console/lists/")) this.#csrf = null;
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  /** One request for an address under /console. */
  open = (address: string, headers: Record<string, string> = {}) => this.#answer(address, { headers });

  /** One form for an address under /console, with these fields only. */
  send = (address: string, form: [string, string][], headers: Record<string, string> = {}) =>
    this.#answer(address, { form, headers });

  async #answer(address: string, o: { form?: [string, string][]; headers: Record<string, string> }) {
    const answer = await this.#ask(new URL(address, `${this.t.url}/console/`), o);
    const { status, headers } = answer;
    return { status, location: headers.get("location") ?? "", headers, html: await textIn(answer) };
  }

  /** A form with the token of this browser that no page offers. @returns the page that is shown then */
  async force(address: string, form: Record<string, string>): Promise<ShownPage> {
    const csrf = await this.csrf();
    return await this.#go(new URL(address, `${this.t.url}/console/`), {
      form: Object.entries({ csrf, ...form }),
    });
  }

  /** One form with the token of this browser and these fields; a list is a field that is there several times. */
  async submit(address: string, fields: Record<string, string | string[]> = {}) {
    const form = Object.entries({ csrf: await this.csrf(), ...fields }).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value])
    );
    return await this.send(address, form);
  }

  /** Returns the token that forms must send as `csrf`. */
  async csrf(): Promise<string> {
    return this.#csrf ??= /name="csrf" value="([^"]+)"/.exec((await this.open("account")).html)?.[1] ?? "";
  }

  /** Opens the overview, where a person begins with a question, and presses these links. */
  async begin(...links: string[]): Promise<ShownPage> {
    await this.visit("");
    return await this.go(...links);
  }

  /** Presses links, one after another. */
  async go(...links: string[]): Promise<ShownPage> {
    for (const link of links) await this.follow(link);
    return this.page;
  }

  /** Opens an address under /console. */
  async visit(address: string): Promise<ShownPage> {
    return await this.#go(new URL(address, `${this.t.url}/console/`), {});
  }

  async #go(first: URL, request: Request): Promise<ShownPage> {
    let url = first;
    let answer = await this.#ask(url, request);
    while (answer.status >= 301 && answer.status <= 303) {
      await answer.body?.cancel();
      url = new URL(answer.headers.get("location") ?? "", url);
      if (url.origin !== new URL(this.t.url).origin) return this.#at(first, answer, "", url.href);
      answer = await this.#ask(url);
    }
    return this.#at(url, answer, await textIn(answer));
  }

  #at(url: URL, { status, headers }: Response, html: string, location = ""): ShownPage {
    this.#page = new ShownPage(url.pathname + url.search, status, headers, html, location);
    requireSound(this.#page);
    return this.#page;
  }

  #resolve(href: string): URL {
    const base = this.page.all("base")[0]?.attribs.href ?? this.page.address;
    return new URL(href, new URL(base, this.t.url));
  }

  /** Presses a link. */
  async follow(link: string, within?: string): Promise<ShownPage> {
    return await this.#go(this.#resolve(this.page.pressable("a", link, within).attribs.href ?? ""), {});
  }

  /** Fills in the form of a button, and presses it. Fails if what was filled in is disabled or not there. */
  async press(
    button: string,
    values: Values = {},
    within?: string,
    /** Fields that a script of the page would add. */
    more: [string, string][] = [],
  ): Promise<ShownPage> {
    const { page } = this;
    const pressed = page.pressable("button", button, within);
    const owner = pressed.attribs.form;
    const form = owner ? page.tags.find(({ attribs }) => attribs.id === owner) : around(pressed, "form")[0];
    assert.ok(form, `the button "${button}" belongs to no form`);
    const sent = [...this.#filled(form, values), ...more];
    if (pressed.attribs.name) sent.push([pressed.attribs.name, pressed.attribs.value ?? ""]);
    const url = this.#resolve(pressed.attribs.formaction ?? form.attribs.action ?? page.address);
    if ((form.attribs.method ?? "get").toLowerCase() === "get") {
      url.search = new URLSearchParams(sent as [string, string][]).toString();
      return await this.#go(url, {});
    }
    return await this.#go(url, { form: sent, isMultipart: form.attribs.enctype === "multipart/form-data" });
  }

  /** Returns what a button shows in a frame of the page, which stays. */
  async peek(button: string, values: Values = {}, within?: string): Promise<ShownPage> {
    const stays = this.#page;
    try {
      return await this.press(button, values, within);
    } finally {
      this.#page = stays;
    }
  }

  /** Returns what a form sends, with these values. */
  #filled(form: Tag, values: Values): [string, string | File][] {
    const { page } = this;
    const controls = page.controlsOf(form).filter((control) => !disabled(control));
    const given = new Map<Tag, string | boolean | File>();
    for (const [label, value] of Object.entries(values)) this.#fill(given, controls, label, value);
    return controls.flatMap((control): [string, string | File][] => {
      const { name } = control.attribs;
      const value = given.get(control);
      if (!name) return [];
      if (control.attribs.type === "file") return value instanceof File ? [[name, value]] : [];
      if (!isBox(control.attribs)) return [[name, typeof value === "string" ? value : valueOf(control)]];
      const isTicked = value ?? ("checked" in control.attribs && !isOtherRadio(given, control));
      return isTicked ? [[name, valueOf(control)]] : [];
    });
  }

  /** Returns the live preview of the page with these values in its form: its text, and the HTML of its frame. */
  async preview(values: Values = {}): Promise<{ text: string; html: string; headers: Headers }> {
    const [part] = this.page.all("*", ({ attribs }) => "data-preview" in attribs);
    const form = part && around(part, "form")[0];
    assert.ok(part && form, `${this.page.address} has no live preview`);
    const fields = this.#filled(form, values) as [string, string][];
    const shown = await this.send(part.attribs["hx-post"] ?? "", fields);
    const { html, headers } = await this.send(`${part.attribs["hx-post"]}/body`, fields);
    return { text: new ShownPage("", 200, shown.headers, `<body>${shown.html}</body>`).text, html, headers };
  }

  #fill(given: Map<Tag, string | boolean | File>, controls: Tag[], label: string, value: Value): void {
    const found = this.page.controls(label, controls);
    assert.ok(found.length > 0, `${this.page.address} has no control "${label}" that can be used`);
    const [first] = found as [Tag];
    if (Array.isArray(value) && isBox(first.attribs)) {
      for (const box of found) {
        given.set(box, value.some((each) => [valueOf(box), this.page.nameOf(box)].includes(each)));
      }
    } else if (Array.isArray(value)) {
      assert.ok(found.length >= value.length, `${found.length} controls "${label}"`);
      value.forEach((each, index) => given.set(found[index] as Tag, each));
    } else {
      assert.equal(found.length, 1, `${this.page.address} has ${found.length} controls "${label}"`);
      if (first.name === "select") {
        const option = optionsOf(first).find((each) => textOf(each) === value || optionValue(each) === value);
        assert.ok(option, `"${label}" offers ${optionsOf(first).map(textOf)}, and not ${value}`);
        given.set(first, optionValue(option));
      } else given.set(first, value);
    }
  }

  /** Opens the shown page again until it shows a text. */
  async waitFor(text: string): Promise<ShownPage> {
    const { address } = this.page;
    const look = async () => (await this.#go(new URL(address, this.t.url), {})).text;
    await until(look, (shown) => shown.includes(text), { what: `"${text}" on ${address}` });
    return this.page;
  }
}

/** The text of an answer, also its byte order mark. */
const textIn = async (answer: Response): Promise<string> =>
  new TextDecoder("utf-8", { ignoreBOM: true }).decode(await answer.arrayBuffer());

/** Returns true if another radio button of the same name was chosen. */
const isOtherRadio = (given: Map<Tag, unknown>, { attribs }: Tag): boolean =>
  attribs.type === "radio" &&
  [...given].some(([other, value]) => other.attribs.name === attribs.name && value === true);

/** A browser without scripts that is signed in to the console. */
export async function browse(t: TestService, actor: Actor, locale = "en-GB"): Promise<PlainBrowser> {
  const browser = new PlainBrowser(t, locale);
  browser.cookies.set("steward_console", await openBrowserSession(t.steward.platform, actor.token ?? ""));
  browser.cookies.set("steward_tz", "Europe/Lisbon");
  return browser;
}

/** A browser as `browse` gives it, at an address under /console; the overview is "". */
export async function browseAt(t: TestService, actor: Actor, address: string, locale?: string) {
  const browser = await browse(t, actor, locale);
  await browser.visit(address);
  return browser;
}

/** The hidden fields of the form with an action. */
export function hiddenOf(html: string, action: string): [string, string][] {
  const [form = ""] =
    html.match(/<form\b[^]*?<\/form>/g)?.filter((text) => text.includes(`action="${action}"`)) ?? [];
  const fields = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  assert.ok(fields.length > 0, `no form ${action}`);
  return fields.map(([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]);
}

/** The search of an actor: gives the addresses of the results, and the whole page. */
export async function searcher(t: TestService, actor: Actor) {
  const browser = await browse(t, actor);
  return async (q: string, part = "") => {
    const { status, html } = await browser.open(`search?${new URLSearchParams({ q, ...part && { part } })}`);
    assert.equal(status, 200, q);
    const results = html.slice(html.indexOf('<main id="content"')).split("</main>")[0] ?? "";
    const hrefs = [...results.matchAll(/class="finder-item" href="([^"]+)"/g)].map(([, href]) => href ?? "");
    return { html, hrefs };
  };
}

/** Settings of a service with an OpenID provider, which does not answer, and a short limit for reading a body. */
export const AWAY = {
  OIDC_PROVIDERS: JSON.stringify({ away: { issuer: "http://127.0.0.1:1", clientId: "x" } }),
  BODY_TIMEOUT_SECONDS: "1",
};
