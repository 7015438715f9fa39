import { isIP } from "node:net";
import { isPublicAddress, readAllowList } from "./addresses.ts";

/**
 * The reason why a caller cannot give `url` as a receiver; null if it can. Only the URL itself is checked here. The addresses
 * to which its host name resolves are checked at every request.
 * @param allow OUTBOUND_ALLOW
 */
export function urlMistake(url: string, allow: string | null): string | null {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !["http:", "https:"].includes(parsed.protocol)) {
    return "expected a URL that starts with http:// or https://";
  }
  if (parsed.username || parsed.password) return "expected a URL without credentials";
  const host = parsed.hostname.replace(/^\[|\]$/g, "");
  const port = Number(parsed.port) || (parsed.protocol === "https:" ? 443 : 80);
  const isPrivate = isIP(host) ? !isPublicAddress(host) : /(^|\.)localhost\.?$/.test(host);
  if (!isPrivate || readAllowList(allow).allows(parsed.hostname, port, host)) return null;
  return "expected a public address, or one that OUTBOUND_ALLOW names: private, loopback and link-local ones are refused";
}
