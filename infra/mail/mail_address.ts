import { domainToASCII, domainToUnicode } from "node:url";
import type { MailAddress } from "./mail.ts";

const LOCAL = /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const LABEL = /^[\p{L}\p{N}]([\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?$/u;
const MAX_LENGTH = 254;

/**
 * True if the text is an email address that a mail server accepts. Its local part is a dot-atom of RFC 5321 in ASCII: with other
 * letters, lower case could make it the address of another person. Its domain has at least two labels, in Unicode or ASCII.
 */
export function isMailAddress(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [local, domain] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  const labels = domain.split(".");
  return text.length <= MAX_LENGTH && local.length <= 64 && LOCAL.test(local) && labels.length > 1 &&
    labels.every((label) => LABEL.test(label) && hasOneKey(label) && isShort(label)) &&
    domainToASCII(domain) !== "";
}

/** RFC 1035: at most 63 octets. Longer ones are in no domain name. */
const isShort = (label: string): boolean => domainToASCII(label).length <= 63;

/**
 * False for the rare letters whose lower case the database and the domain name system see differently, such as `İ`: the
 * address would count as the one of another domain.
 */
function hasOneKey(label: string): boolean {
  if (!/[^\0-\x7f]/.test(label)) return true;
  const letters = Array.from(label.normalize("NFKC"), (letter) => letter.toLowerCase());
  const isSame = domainToUnicode(domainToASCII(label)) === letters.join("").normalize("NFKC");
  return isSame && !label.includes("İ");
}

/**
 * An email address normalized for comparison: two addresses are the same if their keys are equal. As
 * `mail_key` in SQL.
 */
export function mailKey(address: string): string {
  const at = address.lastIndexOf("@");
  const domain = address.slice(at + 1);
  return `${address.slice(0, at)}@${domainToASCII(domain) || domain}`.toLowerCase();
}

/** The ways to write an email address: as it is, and with its domain in ASCII and in Unicode. Other texts have one. */
export function mailForms(address: string): string[] {
  if (!/@./s.test(address)) return [address];
  const key = mailKey(address);
  const domain = key.slice(key.lastIndexOf("@") + 1);
  return [...new Set([address, key, key.slice(0, -domain.length) + (domainToUnicode(domain) || domain)])];
}

/** The domain of an email address, normalized for comparison. */
export function mailDomain(address: string): string {
  const key = mailKey(address);
  return key.slice(key.lastIndexOf("@") + 1);
}

const PUBLIC_DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9-]{2,63}$/;

/**
 * True for a domain that public name servers can know, in lower case and ASCII: at least two labels, the last not a number,
 * so no IP address and no name of a local network. `record` is the label of its TXT record, whose name must not be too long.
 */
export const isPublicDomain = (domain: string, record: string): boolean =>
  PUBLIC_DOMAIN.test(domain) && `${record}.${domain}`.length <= 253;

const NAMED = /^\s*(?:"?([^"<>]*?)"?\s*)<([^<>\s]+)>\s*$/;

/** Parses MAIL_FROM: `Name <address>` or an address. */
export function parseMailFrom(setting: string): MailAddress {
  const [, name, address] = NAMED.exec(setting) ?? [];
  return { address: address ?? setting.trim(), displayName: name || null };
}
