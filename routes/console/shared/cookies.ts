import { createHash } from "node:crypto";
import { cookiesOf } from "../../shared/cookies.ts";
import { Buffer } from "node:buffer";
import { type Locale, localeOf, LOCALES } from "./languages.ts";
import type { Flash, Theme } from "./page.ts";

const SESSION = "steward_console";
const FLASH = "steward_flash";
const BEGUN = "steward_begun";
const BEGUN_SECONDS = 60 * 60;
const THEMES: readonly Theme[] = ["auto", "light", "dark"];

/** What a browser's cookies say. */
export interface BrowserState {
  /** Stands for the session; read by no script. */
  secret: string | null;
  /** Knows again the browser that a provider sends back, so that nobody can have another one finish their sign-in. */
  begun: string | null;
  flash: Flash | null;
  locale: Locale;
  timeZone: string;
  theme: Theme;
}

/** Reads the console's cookies; whatever is not as it was set counts as absent. */
export function readCookies(headers: Headers): BrowserState {
  const cookies = cookiesOf(headers);
  const theme = THEMES.find((known) => known === cookies.get("steward_theme")) ?? "auto";
  return {
    secret: cookies.get(SESSION) || null,
    begun: cookies.get(BEGUN) || null,
    flash: readFlash(cookies.get(FLASH)),
    locale: localeOf(cookies.get("steward_locale"), headers.get("accept-language")),
    timeZone: knownTimeZone(decodeURIComponentOr(cookies.get("steward_tz"))),
    theme,
  };
}

/** Makes the console's cookies for one deployment. */
export function cookieWriter(base: URL) {
  const path = `${base.pathname.replace(/\/$/, "")}/console`;
  const secure = base.protocol === "https:" ? "; Secure" : "";
  const write = (name: string, value: string, maxAge: number | null, readable = false, sameSite = "Strict") =>
    `${name}=${value}; Path=${path}; SameSite=${sameSite}${maxAge === null ? "" : `; Max-Age=${maxAge}`}${
      readable ? "" : "; HttpOnly"
    }${secure}`;
  return {
    session: (secret: string) => write(SESSION, secret, null),
    noSession: () => write(SESSION, "", 0),
    /** Lax: the browser comes back by a link of the provider's site. */
    begun: (secret: string) => write(BEGUN, secret, BEGUN_SECONDS, false, "Lax"),
    flash: (flash: Flash) =>
      write(FLASH, Buffer.from(JSON.stringify(flash)).toString("base64url").slice(0, 3_000), 60),
    noFlash: () => write(FLASH, "", 0),
    preference: (name: "theme" | "locale", value: string) =>
      write(`steward_${name}`, value, 365 * 24 * 60 * 60),
  };
}

export const isTheme = (value: string): value is Theme => THEMES.some((theme) => theme === value);
export const isLocale = (value: string): value is Locale => LOCALES.some((locale) => locale === value);

/** What every form of a session must bring back; nobody can tell it who does not hold the cookie. */
export const csrfToken = (secret: string): string =>
  createHash("sha256").update(`console form ${secret}`).digest("base64url");

function readFlash(value: string | undefined): Flash | null {
  if (!value) return null;
  try {
    const flash = JSON.parse(Buffer.from(value, "base64url").toString());
    const { tone, text } = flash;
    return (tone === "ok" || tone === "bad") && typeof text === "string" ? { tone, text } : null;
  } catch {
    return null; // cut short or not ours: there is nothing to show
  }
}

function decodeURIComponentOr(value = ""): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

function knownTimeZone(name: string): string {
  if (!/^[A-Za-z0-9_+/-]{1,64}$/.test(name)) return "UTC";
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}
