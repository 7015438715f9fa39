import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { deliveryJob } from "./deliver.ts";
import { checkMessage, type Message, type MessageRecipient } from "./message.ts";
import { type NotificationResult, type NotificationStatus, resultOf } from "./status.ts";
import { insertNotification, type MessageSender } from "./store_notification.ts";
import { requireRenderable } from "./templates/render.ts";

/**
 * Stores a message and the job that delivers it; both exist exactly when `tx` commits.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function sendNotification(
  p: Platform,
  tx: Tx,
  sender: MessageSender,
  message: Message,
): Promise<{ notificationId: string }> {
  return { notificationId: await queueMessage(p, tx, sender, message, { scheduledAt: null, field: "" }) };
}

/** A message made of a template only. */
export interface TemplatedMail {
  /** Whose templates count, and whose list of messages it appears in; null: the service's own. */
  tenantId: string | null;
  to: MessageRecipient;
  templateSlug: string;
  locale: string | null;
  data: Record<string, unknown>;
}

/**
 * Sends one person a mail of the service's own, such as a password reset. What it says cannot be read back through
 * the API, since it may hold a key to the account.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function sendTemplatedMail(
  p: Platform,
  tx: Tx,
  mail: TemplatedMail,
): Promise<{ notificationId: string }> {
  return await sendNotification(p, tx, { tenantId: mail.tenantId, userId: null, traceId: null }, {
    channel: "Email",
    recipients: [mail.to],
    templateSlug: mail.templateSlug,
    templateData: mail.data,
    locale: mail.locale,
    priority: "High",
    isConfidential: true,
  });
}

/** Sends a caller's message; the answer says that it is queued. Refusals as `sendNotification`. */
export async function sendMessage(
  p: Platform,
  sender: MessageSender,
  message: Message,
): Promise<NotificationResult> {
  const { notificationId } = await transact(p.sql, (tx) => sendNotification(p, tx, sender, message));
  return resultOf(notificationId, "Queued");
}

/** Keeps a caller's message until `scheduledAt`; a past time is due at once. Refusals as `sendNotification`. */
export async function scheduleMessage(
  p: Platform,
  sender: MessageSender,
  message: Message,
  scheduledAt: Date,
): Promise<NotificationResult> {
  const id = await transact(
    p.sql,
    (tx) => queueMessage(p, tx, sender, message, { scheduledAt, field: "notification." }),
  );
  return resultOf(id, "Scheduled");
}

async function queueMessage(
  p: Platform,
  tx: Tx,
  sender: MessageSender,
  given: Message,
  o: { scheduledAt: Date | null; field: string },
): Promise<string> {
  const message = await checkMessage(tx, sender.tenantId, given, o.field);
  await requireRenderable(tx, sender.tenantId, message);
  const id = newId();
  const job = deliveryJob(p);
  const jobId = await enqueueJob(p, tx, job, { notificationId: id }, {
    tenantId: sender.tenantId,
    createdBy: sender.userId,
    traceId: sender.traceId,
    priority: message.priority ?? "Normal",
    scheduledAt: o.scheduledAt,
  });
  const status = o.scheduledAt ? "Scheduled" : "Queued";
  await insertNotification(tx, {
    ...{ id, sender, message, status, jobId },
    ...{ scheduledAt: o.scheduledAt, maxRetries: job.maxRetries },
  });
  return id;
}

/** How a message stands, for the area that sent it; null when there is none of this id. */
export async function readNotificationStatus(q: Queryable, id: string): Promise<
  | {
    status: NotificationStatus;
    lastError: string | null;
    recipients: { address: string; status: "Owed" | "Sent" | "Refused"; errorMessage: string | null }[];
  }
  | null
> {
  const [row] = await q<{ status: NotificationStatus; lastError: string | null }[]>`
    select status, last_error from notifications where id = ${id}`;
  if (!row) return null;
  const recipients = await q<
    { address: string; status: "Owed" | "Sent" | "Refused"; errorMessage: string | null }[]
  >`
    select address, status, error_message from notification_recipients where notification_id = ${id} order by id`;
  return { ...row, recipients };
}
