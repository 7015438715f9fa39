import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { DEVICE_DAYS } from "../../../domain/access/sign_in/known_devices.ts";
import { formatter } from "../../../domain/shared/formatters.ts";
import { readCookie, setCookie } from "../../shared/cookies.ts";
import { Buffer } from "node:buffer";
import { type Locale, localeOf, LOCALES } from "./languages.ts";
import type { Flash, Theme } from "./looks.ts";

const SESSION = "steward_console";
const PROVIDER = "steward_provider";
const DEVICE = "steward_device";
const DEVICE_SECONDS = DEVICE_DAYS * 24 * 60 * 60;
const FLASH = "steward_flash";
/** Browsers keep cookies of up to 4,096 bytes with name and attributes. */
const FLASH_CHARACTERS = 3_000;
const OIDC_START = "steward_begun";
const SET_UP = "steward_set_up";
const TIME_ZONE = "steward_tz";
const CHANGED = "steward_changed";
const DISMISSED = "steward_dismissed";
/** After a change by the viewer, lists are read from the primary for this long, so that they show the change. */
const CHANGED_SECONDS = 60;
const OIDC_START_SECONDS = 60 * 60;
const PREFERENCE_SECONDS = 365 * 24 * 60 * 60;
const THEMES: readonly Theme[] = ["auto", "light", "dark"];

/** The console's cookies, parsed. */
export interface BrowserState {
  /** The session secret. HttpOnly, so scripts cannot read it. */
  secret: string | null;
  /** The session secret as the pages of the OpenID provider get it. */
  provider: string | null;
  /** Secret set when the browser leaves for an OpenID provider. It must return with it (prevents login CSRF). */
  oidcStart: string | null;
  /** The token of a set-up link. HttpOnly. */
  setUpToken: string | null;
  /** `deviceToken` of the last sign-in with this browser. HttpOnly. */
  deviceToken: string | null;
  flash: Flash | null;
  /** True if the viewer has changed something within the last minute. */
  hasChanged: boolean;
  locale: Locale;
  timeZone: string;
  theme: Theme;
  /** Names of hints that this browser shows no more. */
  dismissed: string[];
}

/**
 * Reads the console's cookies. An invalid value counts as missing.
 * @param uiLocales languages that a client of the OpenID provider asks for
 */
export function readCookies(base: URL, headers: Headers, uiLocales: string | null = null): BrowserState {
  const read = (name: string) => readCookie(base, headers, name);
  const theme = THEMES.find((known) => known === read("steward_theme")) ?? "auto";
  return {
    secret: read(SESSION) || null,
    provider: read(PROVIDER) || null,
    oidcStart: read(OIDC_START) || null,
    setUpToken: read(SET_UP) || null,
    deviceToken: read(DEVICE) || null,
    flash: readFlash(read(FLASH)),
    hasChanged: read(CHANGED) === "1",
    locale: localeOf(read("steward_locale"), headers.get("accept-language"), uiLocales),
    timeZone: knownTimeZone(decodeURIComponentOr(read(TIME_ZONE))),
    theme,
    dismissed: (read(DISMISSED) ?? "").split(".").filter(Boolean),
  };
}

/** Formats Set-Cookie headers with the path and scheme of the deployment. */
export function cookieWriter(base: URL) {
  const write = (
    name: string,
    value: string,
    maxAgeSeconds: number | null,
    more: Partial<Parameters<typeof setCookie>[1]> = {},
  ) => setCookie(base, { name, value, path: "/console", sameSite: "Strict", maxAgeSeconds, ...more });
  /** Lax, because clients send browsers to the provider from their own sites. Only `/oauth` gets it. */
  const provider = (value: string, maxAgeSeconds: number | null) =>
    write(PROVIDER, value, maxAgeSeconds, { path: "/oauth", sameSite: "Lax" });
  return {
    session: (secret: string) => [write(SESSION, secret, null), provider(secret, null)],
    setUp: (token: string) => write(SET_UP, token, null, { path: "/console/set-up" }),
    device: (token: string) => write(DEVICE, token, DEVICE_SECONDS),
    noSession: () => [write(SESSION, "", 0), provider("", 0)],
    /** SameSite=Lax, because the browser returns from the provider's site. */
    oidcStart: (secret: string) => write(OIDC_START, secret, OIDC_START_SECONDS, { sameSite: "Lax" }),
    flash: (flash: Flash) => write(FLASH, flashText(flash), 60),
    changed: () => write(CHANGED, "1", CHANGED_SECONDS),
    noFlash: () => write(FLASH, "", 0),
    preference: (name: "theme" | "locale", value: string) =>
      write(`steward_${name}`, value, PREFERENCE_SECONDS),
    dismissed: (names: Iterable<string>) => write(DISMISSED, [...names].join("."), PREFERENCE_SECONDS),
    /** For the console's script, which replaces `{zone}`. */
    timeZone: () => write(TIME_ZONE, "{zone}", PREFERENCE_SECONDS, { isReadable: true }),
  };
}

export const isTheme = (value: string): value is Theme => THEMES.some((theme) => theme === value);
export const isLocale = (value: string): value is Locale => LOCALES.some((locale) => locale === value);

const MASK_BYTES = 32;

/** The token of a session secret that forms must send. It is derived, so other sites cannot know it. */
const formToken = (secret: string): Buffer => createHash("sha256").update(`console form ${secret}`).digest();

/**
 * The CSRF token for the forms of one answer. It is masked with random bytes, so that the length of compressed answers does
 * not tell about the token.
 */
export function csrfToken(secret: string): string {
  const mask = randomBytes(MASK_BYTES);
  return Buffer.concat([mask, xor(formToken(secret), mask)]).toString("base64url");
}

/** True if this is a CSRF token of the session. */
export function isCsrfToken(given: unknown, secret: string): boolean {
  if (typeof given !== "string") return false;
  const bytes = Buffer.from(given, "base64url");
  if (bytes.length !== 2 * MASK_BYTES) return false;
  const token = xor(bytes.subarray(MASK_BYTES), bytes.subarray(0, MASK_BYTES));
  return timingSafeEqual(token, formToken(secret));
}

/**
 * The value that the forms of a page send as `csrf`: a CSRF token, and the delegation by which the page was shown or else the
 * tenant whose data it shows.
 */
export const formCsrf = (secret: string, o: ShownFor): string => `${csrfToken(secret)}.${shownFor(o)}`;

/** The members of a visit that a form depends on. */
interface ShownFor {
  acting: { sessionId: string } | null;
  viewer: { tenant: { id: string } | null };
}
const shownFor = ({ acting, viewer }: ShownFor): string => acting?.sessionId ?? viewer.tenant?.id ?? "";

/**
 * True if a form with this value may be processed. It is false if the viewer has switched to another tenant in a second tab
 * after the form was shown, because the form would then change that tenant, or if a delegation has begun or ended since.
 * @param o.visit the visit that sends the form; absent: any
 */
export function isFormCsrf(given: unknown, o: { secret: string; visit?: ShownFor }): boolean {
  const [token, shown] = String(given).split(".");
  const isHere = o.visit === undefined || shown === undefined || shown === shownFor(o.visit);
  return isHere && isCsrfToken(token, o.secret);
}

const xor = (bytes: Uint8Array, mask: Uint8Array): Buffer =>
  Buffer.from(bytes.map((byte, index) => byte ^ (mask[index] ?? 0)));

/** A result as the value of a cookie. What undoes the action is left out if it does not fit. */
function flashText({ undo, ...flash }: Flash): string {
  const written = (value: Flash) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const whole = written({ ...flash, ...undo && { undo } });
  return whole.length <= FLASH_CHARACTERS ? whole : written(flash).slice(0, FLASH_CHARACTERS);
}

function readFlash(value: string | undefined): Flash | null {
  if (!value) return null;
  try {
    const flash = JSON.parse(Buffer.from(value, "base64url").toString());
    return ["ok", "info", "bad"].includes(flash.tone) && typeof flash.text === "string" ? flash : null;
  } catch {
    return null; // truncated or not set by this console
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
    return formatter(Intl.DateTimeFormat, "en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}
