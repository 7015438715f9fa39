import type { MailAddress } from "../../../infra/mail/mail.ts";
import { mailDomain, mailKey, parseMailFrom } from "../../../infra/mail/mail_address.ts";
import type { Platform } from "../../shared/platform.ts";
import { looksOf, readStoredLooks } from "../looks.ts";

/** The addresses in the headers of a mail. */
export interface MailSender {
  from: MailAddress;
  /** The address of MAIL_FROM, if `from` has another domain: the Sender header (RFC 5322, 3.6.2) and the envelope name it. */
  sender: MailAddress | null;
  replyTo: string | null;
}

/**
 * The sender of a tenant's mail. If the message names no address, or one that is not verified, it is the tenant's default
 * sender, or MAIL_FROM with the tenant's product name if there is no default.
 * @param chosen the address and name that the message names
 * @param looksTenantId the tenant whose name a mail of the service shows; only the address is the service's then
 */
export async function senderFor(
  p: Pick<Platform, "sql" | "config">,
  tenantId: string | null,
  chosen: { address: string | null; name: string | null },
  looksTenantId = tenantId,
): Promise<MailSender> {
  const { own: { productName, replyTo }, senders } = await readStoredLooks(p.sql, tenantId);
  const named = { ...await readStoredLooks(p.sql, looksTenantId), senders: [] };
  const { senderAddress, senderName } = looksOf(named, p.config);
  const isOfService = (address: string) => mailDomain(address) === mailDomain(senderAddress);
  if (chosen.address !== null && isOfService(chosen.address)) {
    return { from: { address: chosen.address, displayName: chosen.name }, sender: null, replyTo };
  }
  const wanted = chosen.address === null ? null : mailKey(chosen.address);
  const verified = senders.find(({ address }) => mailKey(address) === wanted) ??
    senders.find(({ isDefault }) => isDefault);
  const from = verified
    ? { address: verified.address, displayName: chosen.name ?? verified.name ?? productName }
    : { address: senderAddress, displayName: chosen.name ?? senderName };
  return { from, sender: isOfService(from.address) ? null : { ...from, address: senderAddress }, replyTo };
}

/**
 * The error message for a sender address that a request may not name; null if it may. Allowed are addresses in the domain
 * of MAIL_FROM and verified senders.
 */
export async function senderMistake(
  p: Pick<Platform, "sql" | "config">,
  tenantId: string | null,
  address: string,
): Promise<string | null> {
  const own = mailDomain(parseMailFrom(p.config.MAIL_FROM).address);
  if (mailDomain(address) === own) return null;
  const { senders } = await readStoredLooks(p.sql, tenantId);
  if (senders.some((sender) => mailKey(sender.address) === mailKey(address))) return null;
  const refused = `"${address.slice(0, 100)}" is neither in ${own}, the domain this service sends from,`;
  return `${refused} nor a verified sender of the tenant`;
}
