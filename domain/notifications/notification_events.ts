import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";

interface FailedNotification {
  id: string;
  tenantId: string | null;
  channel: string;
  error: string | null;
}

/** Emits `notification.failed` for messages that are DeadLettered, each to its tenant's endpoints. */
export async function emitNotificationFailed(tx: Tx, messages: FailedNotification[]): Promise<void> {
  await emitEvents(
    {},
    tx,
    messages.map(({ id, tenantId, channel, error }) => ({
      type: "notification.failed",
      tenantId,
      data: { notificationId: id, channel, errorMessage: error },
    })),
  );
}
