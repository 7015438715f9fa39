import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";
import type { DeliveryState } from "./status.ts";

export interface FailedNotification {
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

interface ReportedNotification {
  id: string;
  tenantId: string | null;
  channel: string;
  state: DeliveryState;
  recipientId: string;
  address: string;
  detail: string | null;
}

const REPORTS = {
  Delivered: "notification.delivered",
  Bounced: "notification.bounced",
  Complained: "notification.complained",
} as const;

/** Emits what providers reported about recipients, each to the endpoints of the message's tenant. */
export async function emitNotificationReports(tx: Tx, reports: ReportedNotification[]): Promise<void> {
  await emitEvents(
    {},
    tx,
    reports.map(({ id, tenantId, channel, state, recipientId, address, detail }) => ({
      type: REPORTS[state],
      tenantId,
      data: { notificationId: id, channel, recipientId, address, detail },
    })),
  );
}
