import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { DisabledEndpoint, EventPlatform } from "../../events/platform.ts";
import type { LooksPlatform, NamedSender } from "../../looks/platform.ts";
import { Problem } from "../../problems/problem.ts";
import { findHolders } from "../../rights/held_permissions.ts";
import { readDefaultLocale } from "../../templates/locales.ts";
import { LOOKS_OF } from "../content.ts";
import type { NotificationPlatform } from "../platform.ts";
import { sendNotification, sendServiceMail } from "./send.ts";

/**
 * The mails and notifications that other areas send about webhook endpoints and senders.
 * @param platform is called when a notice is sent, because the platform is complete only then
 */
export const serviceNotices = (
  platform: () => NotificationPlatform,
): Pick<EventPlatform, "onEndpointDisabled"> & Pick<LooksPlatform, "senderNotices"> => ({
  onEndpointDisabled: (tx, endpoint, reason) => notifyEndpointCreator(platform(), tx, endpoint, reason),
  senderNotices: {
    mailLink: (tx, sender, link) => mailSenderLink(platform(), tx, sender, link),
    notifyLost: (tx, sender) => notifyLostSender(platform(), tx, sender),
  },
});

/** Path of the page that a mailed link opens. */
export const CONFIRM_SENDER_PATH = "/senders/confirm";
const CONFIRMATION = "sender-confirmation";
/** The permissions of the users who administer a tenant: its settings, or its roles. */
const ADMINISTRATORS = ["manage:settings", "update:roles"];
const MAX_NOTIFIED = 100;

/**
 * Queues the mail with the link that proves an address. The token is in the fragment, which browsers send to no server. The
 * template is the service's: one of the tenant could send the token elsewhere, as part of the URL of an image.
 */
async function mailSenderLink(
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
async function notifyLostSender(
  p: NotificationPlatform,
  tx: Tx,
  { tenantId, address, id }: NamedSender,
): Promise<void> {
  const holders = await findHolders(tx, tenantId, ADMINISTRATORS, MAX_NOTIFIED);
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

/** Tells the creator of a webhook endpoint why it was deactivated. */
async function notifyEndpointCreator(
  p: NotificationPlatform,
  tx: Tx,
  { id, tenantId, url, createdBy }: DisabledEndpoint,
  reason: string,
): Promise<void> {
  if (createdBy === null) return;
  try {
    await sendNotification(p, tx, { tenantId, userId: null, traceId: null }, {
      channel: "InApp",
      recipients: [{ address: createdBy }],
      subject: "A webhook endpoint was deactivated",
      textBody: `Events are no longer sent to ${url}. ${reason} Activate it again when the cause is fixed.`,
      category: "webhooks",
      actionUrl: `/api/v1/webhook-endpoints/${id}`,
    });
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure; // the creator no longer exists
  }
}
