import type { MailAddress } from "./mail.ts";

const NAMED = /^\s*(?:"?([^"<>]*?)"?\s*)<([^<>\s]+)>\s*$/;

/** Parses MAIL_FROM: `Name <address>` or an address. */
export function parseMailFrom(setting: string): MailAddress {
  const [, name, address] = NAMED.exec(setting) ?? [];
  return { address: address ?? setting.trim(), displayName: name || null };
}
