import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";

interface GivenUp {
  id: string;
  tenantId: string | null;
  channel: string;
  error: string | null;
}

/** Tells the tenants of messages that they were given up. */
export async function emitNotificationFailed(tx: Tx, messages: GivenUp[]): Promise<void> {
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
