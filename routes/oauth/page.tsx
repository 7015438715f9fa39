import type { Child } from "hono/jsx";
import { type BrowserSession, readBrowserSession } from "../../domain/access/sign_in/browser_session.ts";
import type { PageOwner } from "../../domain/oauth/authorization/request.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { contentPolicy, isSameOrigin, UI_LOCALES } from "../console/shared/request_security.ts";
import { sharedAssets } from "../console/shared/assets.ts";
import { cookieWriter, isCsrfToken, readCookies } from "../console/shared/cookies.ts";
import type { Locale } from "../console/shared/languages.ts";
import { BarePage, Brand, brandStyle, styleSource } from "../console/layout/document.tsx";
import type { Theme } from "../console/shared/looks.ts";
import { readHostedLooks } from "../looks/hosted_page.ts";
import { type Answer, basePath } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { oauthTexts } from "./texts.ts";

/** The browser of a request: its session, and how its pages look. */
export interface Browser {
  /** The secret of the provider's cookie. SameSite=Lax, because other sites send the browser here. */
  secret: string | null;
  session: BrowserSession | null;
  locale: Locale;
  theme: Theme;
}

/** @param given the parameters of the request, which may name languages of its pages */
export async function readBrowser(
  platform: ServicePlatform,
  call: Call,
  given: URLSearchParams,
): Promise<Browser> {
  const baseUrl = new URL(platform.baseUrl());
  const { provider, locale, theme } = readCookies(baseUrl, call.request.headers, given.get(UI_LOCALES));
  const session = provider === null ? null : await readBrowserSession(platform.sql, provider);
  return { secret: provider, session: session === "access-changed" ? null : session, locale, theme };
}

/**
 * Answers a page.
 * @param o.owner whose looks the page has; absent: the service's own
 * @param o.formTarget a URL outside of the service to which the answer to a form of the page leads
 */
export async function pageAnswer(
  platform: ServicePlatform,
  { locale, theme }: Pick<Browser, "locale" | "theme">,
  o: {
    status: number;
    title: string;
    body: Child;
    owner?: PageOwner;
    formTarget?: string;
  },
): Promise<Answer> {
  const assets = await sharedAssets();
  const looks = await readHostedLooks(platform, o.owner?.tenantId ?? null, o.owner?.clientName);
  const policy = contentPolicy(platform.config, o.formTarget, styleSource(brandStyle(looks)));
  const baseUrl = new URL(platform.baseUrl());
  const base = `${basePath(baseUrl)}/console/`;
  const timeZoneCookie = cookieWriter(baseUrl).timeZone();
  const html = String(
    await (
      <BarePage
        urls={{ base, asset: assets.href, timeZoneCookie }}
        v={{ locale, theme }}
        title={o.title}
        looks={looks}
      >
        <div class="stack">
          <Brand looks={looks} />
          {o.body}
        </div>
      </BarePage>
    ),
  );
  return {
    status: o.status,
    headers: { ...policy, "content-type": "text/html; charset=utf-8" },
    body: html,
  };
}

/** Names of the form token and of the user's answer, in the form of a question. */
export const [CSRF, DECISION] = ["csrf", "decision"];

/**
 * The parameters of a request as fields of a question. Unknown ones are left out: one named like the answer would be read
 * in its place.
 */
export const carriedFields = (given: URLSearchParams, names: readonly string[]): Child[] =>
  [...given].filter(([name]) => names.includes(name))
    .map(([name, value]) => <input type="hidden" name={name} value={value} />);

/** A form sent to a page that asks: the request it is about, and what the user answered. */
export interface SentForm {
  given: URLSearchParams;
  /** False: a client's page sent the request as a form. That form has no cookie of this site (SameSite); a link has. */
  isAnswer: boolean;
  browser: Browser;
  /** The user's answer; null if the form is not that of this browser's session. */
  decision: string | null;
}

/** @param names the parameters that the page knows; others are ignored (RFC 6749, 3.1) */
export async function readSentForm(
  platform: ServicePlatform,
  call: Call,
  names: readonly string[],
): Promise<SentForm> {
  const sent = await call.readForm();
  const [csrf, decision] = [sent.get(CSRF), sent.get(DECISION)];
  const given = new URLSearchParams([...sent].filter(([name]) => names.includes(name)));
  const browser = await readBrowser(platform, call, given);
  const isOwnForm = browser.secret !== null && isCsrfToken(csrf, browser.secret) &&
    isSameOrigin(call.request, new URL(platform.baseUrl()));
  return { given, isAnswer: csrf !== null, browser, decision: isOwnForm ? decision : null };
}

/** Longest query that a form becomes. Proxies and browsers refuse much longer addresses. */
const LONGEST_QUERY = 16_000;

/** Sends the browser to the same request by query: it then has the cookie of this site. */
export async function byQuery(
  platform: ServicePlatform,
  path: string,
  { given, browser }: SentForm,
): Promise<Answer> {
  const query = String(given);
  if (query.length <= LONGEST_QUERY) return seeOther(`${path}?${query}`);
  const reason = `The request has ${query.length} characters; expected at most ${LONGEST_QUERY}.`;
  return await errorPage(platform, browser, reason);
}

/** An error that must not be sent to a redirect URI, because the URI may be an attacker's. */
export const errorPage = (platform: ServicePlatform, browser: Browser, reason: string): Promise<Answer> => {
  const t = oauthTexts[browser.locale];
  return pageAnswer(platform, browser, {
    status: 400,
    title: t.failed,
    body: (
      <div>
        <h1>{t.failed}</h1>
        <p>{t.failedText}</p>
        <p lang="en">
          <code>{reason}</code>
        </p>
      </div>
    ),
  });
};

/** A redirect of the browser. 303, so that a form is never sent on (RFC 9700, 4.12). */
export const seeOther = (location: string): Answer => ({
  status: 303,
  headers: { location, "referrer-policy": "no-referrer" },
  body: undefined,
});
