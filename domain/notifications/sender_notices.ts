import type { Tx } from "../../infra/postgres/postgres.ts";
import type { NamedSender } from "../looks/platform.ts";
import { findHolders } from "../rights/holders.ts";
import { LOOKS_OF } from "./content.ts";
import type { NotificationPlatform } from "./platform.ts";
import { sendNotification, sendServiceMail } from "./send.ts";
import { readDefaultLocale } from "../templates/locales.ts";

/** Path of the page that a mailed link opens. */
export const CONFIRM_SENDER_PATH = "/senders/confirm";
const CONFIRMATION = "sender-confirmation";
/** Who administers a tenant: its settings, or its roles. */
const ADMINISTRATORS = ["manage:settings", "update:roles"];
const MOST_NOTIFIED = 100;

/**
 * Queues the mail with the link that proves an address. The token is in the fragment, which browsers send to no server. The
 * template is the service's: one of the tenant could send the token elsewhere, as part of the URL of an image.
 */
export async function mailSenderLink(
  p: NotificationPlatform,
  tx: Tx,
  { tenantId, address }: NamedSender,
  { token, requestedBy }: { token: string; requestedBy: string },
): Promise<void> {
  const confirmUrl = `${p.baseUrl()}${CONFIRM_SENDER_PATH}#token=${token}`;
  await sendServiceMail(p, tx, {
    tenantId: null,
    to: { address },
    templateSlug: CONFIRMATION,
    locale: await readDefaultLocale(tx, tenantId),
    data: { address, requestedBy, confirmUrl, [LOOKS_OF]: tenantId },
  });
}

/** Tells the tenant's administrators that mails no longer come from an address. */
export async function notifyLostSender(
  p: NotificationPlatform,
  tx: Tx,
  { tenantId, address, id }: NamedSender,
): Promise<void> {
  const holders = await findHolders(tx, tenantId, ADMINISTRATORS, MOST_NOTIFIED);
  if (holders.length === 0) return;
  await sendNotification(p, tx, { tenantId, userId: null, traceId: null }, {
    channel: "InApp",
    recipients: holders.map((userId) => ({ address: userId })),
    subject: `Mail is no longer sent from ${address}`,
    textBody:
      "The TXT record that proves the address was missing in three daily checks. Mail that would come from it now " +
      "comes from the service's own address. Restore the record, then verify the address again.",
    priority: "High",
    category: "senders",
    actionUrl: `/api/v1/notification-senders/${id}`,
  });
}
