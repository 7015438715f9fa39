import type { Tx } from "../../../infra/postgres/postgres.ts";
import { liftUnsubscribed, recordSuppressions } from "../suppression.ts";
import type { Reply } from "./feedback.ts";

/** How many of the last messages to a number decide whose text messages a reply is about. */
const LAST_MESSAGES = 1_000;

/**
 * STOP suppresses a number for all tenants that have sent the last text messages to it, because they share the sender.
 * START lifts what STOP suppressed; suppressions for another reason stay.
 * @returns 1 if a tenant has sent to the number, else 0
 */
export async function applyReply(tx: Tx, { number, wants }: Reply): Promise<number> {
  const senders = await findSenders(tx, number);
  for (const { tenantId, notificationId } of senders) {
    if (wants === "start") await liftUnsubscribed(tx, tenantId, number);
    else {
      const dead = { address: number, reason: "Unsubscribed" as const, detail: "STOP by text message" };
      await recordSuppressions(tx, { tenantId, notificationId, channel: "Sms" }, [dead]);
    }
  }
  return senders.length > 0 ? 1 : 0;
}

/** The tenants that sent the last text messages to a number, each with its last message; in the order of their ids. */
async function findSenders(
  tx: Tx,
  number: string,
): Promise<{ tenantId: string | null; notificationId: string }[]> {
  return await tx`
    select distinct on (n.tenant_id) n.tenant_id, n.id as notification_id
    from (select notification_id from notification_recipients where address = ${number} and address like '+%'
      order by notification_id desc limit ${LAST_MESSAGES}) r join notifications n on n.id = r.notification_id
    where n.channel = 'Sms' order by n.tenant_id, n.id desc`;
}
