import type { ClientKind } from "./client.ts";

/** Hosts of the user's own device, where http is safe (RFC 8252). */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9]\d{0,4}))?(?=[/?]|$)/;
const HIGHEST_PORT = 65_535;
/**
 * A host name or address, as `URL.hostname`. A URL may have other characters in its host, such as the `;` and `,` that
 * separate the parts of a header.
 */
export const PLAIN_HOST = /^([\w.-]+|\[[\da-f:.]+\])$/i;

const isLoopback = (uri: string): boolean => {
  const match = LOOPBACK.exec(uri);
  return match !== null && Number(match[2] ?? 1) <= HIGHEST_PORT;
};

/**
 * Checks a redirect URI of a client: https, http on a loopback host, or for a public client a scheme of its own, which
 * has a dot (RFC 8252, 7.1).
 * @returns the fault; null if there is none
 */
export function redirectUriFault(uri: string, kind: ClientKind): string | null {
  if (!/^[\x21-\x7e]+$/.test(uri) || /[\\*]/.test(uri)) {
    return "expected a URI of visible ASCII characters without \\ and *; it is compared character by character";
  }
  const parsed = URL.parse(uri);
  if (!parsed) return "expected an absolute URI";
  if (uri.includes("#")) return "expected no fragment";
  if (parsed.username || parsed.password || /^[^/?]*\/\/[^/?]*@/.test(uri)) return "expected no user name";
  if (parsed.hostname !== "" && !PLAIN_HOST.test(parsed.hostname)) {
    return "expected a host of letters, digits, dots and dashes";
  }
  if (parsed.protocol === "https:" && /^https:\/\/[^/?]/.test(uri)) return null;
  if (isLoopback(uri)) return null;
  if (kind === "public" && /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:/.test(uri)) return null;
  const own = kind === "public"
    ? ", or a scheme of the app's own with a dot (com.example.app:/callback)"
    : "";
  return `expected https, or http on 127.0.0.1, [::1] or localhost${own}`;
}

/**
 * True if `given` is one of the registered URIs. URIs are compared character by character, so other spellings of a URL
 * differ. A native app gets a free port from its system, so a public client may use any port of a loopback URI.
 */
export function isRegistered(given: string, o: { kind: ClientKind; uris: readonly string[] }): boolean {
  if (o.uris.includes(given)) return true;
  if (o.kind !== "public" || !isLoopback(given)) return false;
  const withoutPort = portless(given);
  return o.uris.some((uri) => isLoopback(uri) && portless(uri) === withoutPort);
}

const portless = (uri: string): string => uri.replace(LOOPBACK, "http://$1");
