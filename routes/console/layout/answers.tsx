import type { Child } from "hono/jsx";
import type { ServicePlatform } from "../../../domain/platform.ts";
import { basePath, headerUrl, responseOf } from "../../shared/answer.ts";
import type { Assets } from "../shared/assets.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { cookieWriter, readCookies } from "../shared/cookies.ts";
import { BarePage, type ConsoleUrls } from "./document.tsx";
import { LOCALES } from "../shared/languages.ts";
import { contentPolicy } from "../shared/request_security.ts";

/** Value of `reason` in the sign-in address: the viewer's access changed and ended the session. */
export const ACCESS_CHANGED = "access-changed";

const LINK = /<a ((?:[^>]* )?href="([^"]*)"[^>]*)>(.*?)<\/a>/gs;

/** The answers of the console: pages and redirects, with cookies and the content policy. */
export class Answers {
  constructor(private readonly p: ServicePlatform, readonly assets: Assets) {}

  /** Tells if no page has the first segment of a path, because its area is off. Absent while all areas are on. */
  leavesOut?: (path: string) => boolean;

  get baseUrl(): URL {
    return new URL(this.p.baseUrl());
  }

  /** The path of the console, with a slash at its end. */
  get base(): string {
    return `${basePath(this.baseUrl)}/console/`;
  }

  get urls(): ConsoleUrls {
    return {
      base: this.base,
      asset: this.assets.href,
      timeZoneCookie: cookieWriter(this.baseUrl).timeZone(),
    };
  }

  /**
   * @param style a further source of styles that the policy allows
   * @param changed changes the HTML of the page
   */
  async html(
    body: Child,
    status: number,
    cookies: string[] = [],
    style = "",
    changed = (html: string) => html,
  ): Promise<Response> {
    const text = await (await body)?.toString(); // a promise if the page has an async component
    const response = responseOf(changed(this.#withoutDeadLinks(String(text ?? ""))), status, {
      "content-type": "text/html; charset=utf-8",
      ...contentPolicy(this.p.config, "", style),
    });
    for (const cookie of cookies) response.headers.append("set-cookie", cookie);
    return response;
  }

  /** Replaces links to areas that are off by their texts, and leaves out those that look like buttons. */
  #withoutDeadLinks(html: string): string {
    const { leavesOut } = this;
    if (!leavesOut) return html;
    return html.replaceAll(LINK, (link, attributes: string, href: string, text: string) => {
      const { pathname = "" } = URL.parse(href, `http://console.invalid/console/`) ?? {};
      if (!pathname.startsWith("/console/") || !leavesOut(pathname.slice("/console/".length))) return link;
      return /class="[^"]*button/.test(attributes) ? "" : text;
    });
  }

  /** Redirects to an address relative to the console. */
  async goTo(to: string, cookies: string[]): Promise<Response> {
    if (to.startsWith("../")) return await this.#redirectByPage(to, cookies);
    const headers = new Headers({ location: headerUrl(this.base + to) });
    for (const cookie of cookies) headers.append("set-cookie", cookie);
    return new Response(null, { status: 303, headers });
  }

  /**
   * A page that redirects by itself. After a form, the policy `form-action` holds for all redirects, and the OpenID provider
   * redirects to other sites.
   */
  async #redirectByPage(to: string, cookies: string[]): Promise<Response> {
    return await this.html(
      <BarePage urls={this.urls} v={{ locale: "en", theme: "auto" }} title="Steward" refreshTo={to}>
        <p>
          <a href={to}>{LOCALES.map((locale) => commonTexts[locale].goOn).join(" · ")}</a>
        </p>
      </BarePage>,
      200,
      cookies,
    );
  }

  /** Redirects to sign-in and back afterwards. SESSION_INVALIDATED adds the reason to the address. */
  async toSignIn(request: Request, code: string | null): Promise<Response> {
    const to = request.method === "GET" ? addressOf(request) : this.backTo(request);
    // After a link of another site, the browser has a session but does not send the cookie, which then must stay.
    const { secret } = readCookies(this.baseUrl, request.headers);
    const clearing = secret === null ? [] : cookieWriter(this.baseUrl).noSession();
    const query = new URLSearchParams({
      ...to ? { to } : {},
      ...code === "SESSION_INVALIDATED" ? { reason: ACCESS_CHANGED } : {},
    });
    return await this.goTo(`sign-in${query.size > 0 ? `?${query}` : ""}`, clearing);
  }

  /** The console page that sent the form, from the Referer header; "" if it is another site's or missing. */
  backTo(request: Request): string {
    const referrer = request.headers.get("referer") ?? "";
    const from = URL.canParse(referrer) ? new URL(referrer) : null;
    if (!from || !from.pathname.startsWith(this.base)) return "";
    return from.pathname.slice(this.base.length) + from.search;
  }
}

/** The address of a page under /console, with its query. */
export function addressOf(request: Request): string {
  const { pathname, search } = new URL(request.url);
  return pathname.replace(/^\/console\/?/, "") + search;
}
