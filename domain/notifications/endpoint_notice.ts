import type { Tx } from "../../infra/postgres/postgres.ts";
import type { DisabledEndpoint } from "../events/platform.ts";
import { Problem } from "../problems/problem.ts";
import type { NotificationPlatform } from "./platform.ts";
import { sendNotification } from "./send.ts";

/** Tells the creator of a webhook endpoint why it was deactivated. */
export async function notifyEndpointCreator(
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
