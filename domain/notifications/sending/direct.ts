import { mainPool, type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { waitAtMost } from "../../../infra/timeout.ts";
import { abandonJob } from "../../jobs/control/job_control.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { senderMistake } from "../../looks/senders/mail_sender.ts";
import { type FieldErrors, invalid, problem } from "../../problems/problem.ts";
import type { OnceWork } from "../../requests/idempotency.ts";
import type { Caller } from "../../rights/caller.ts";
import { findUsersInTenant } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import { withDatabase } from "../../shared/platform.ts";
import { addressMistake } from "../addresses.ts";
import { holdAttachments, lockAttachments, releaseAttachments } from "../attachments.ts";
import { deliverOwed, deliveryJob, type DeliveryRun, resultOf } from "../delivery/deliver.ts";
import { writeWithRetry } from "../delivery/delivery_batches.ts";
import { type HeldNotification, readDirectNotification, settleNotification } from "../delivery_ledger.ts";
import { findDeviceTokens } from "../devices.ts";
import type { Message, MessageRecipient, RequestedAttachment } from "../message.ts";
import type { NotificationPlatform } from "../platform.ts";
import { type NotificationResult, type NotificationStatus, resultOf as answerOf } from "../status.ts";
import { insertNotifications, type MessageSender, type NewNotification } from "../store_notification.ts";
import { checkMessage, requireChannel } from "./check_message.ts";

const RETRY_AFTER_MS = 5_000;
/** Interval of the heartbeat of a direct message in delivery. The sweep settles messages whose heartbeat has stopped. */
const HEARTBEAT_MS = 2_000;

interface DirectEmail extends
  Required<
    Pick<Message, "subject" | "htmlBody" | "textBody" | "fromAddress" | "fromName" | "replyTo">
  > {
  to: string[];
  cc: string[];
  bcc: string[];
  attachments: RequestedAttachment[];
}

/** The states that the request and the delivery of a direct message share. Either of them may end first. */
interface Handover {
  /** The request was answered `Sending`: the message is accepted, and a job continues its delivery. */
  isAccepted: boolean;
  /** The delivery has ended while the request was still waiting. The request must now wait for the settlement too. */
  isAwaited: boolean;
}

/**
 * Sends an email and waits for the outcome. If some recipients were accepted and others are still owed, or the request was
 * answered before the outcome, a job delivers to those who are owed.
 * @throws VALIDATION_ERROR, NOTIFICATION_CHANNEL_NOT_CONFIGURED, NOTIFICATION_DELIVERY_FAILED with the provider's
 * reason (the attempt is stored)
 */
export async function sendDirectEmail(
  p: NotificationPlatform,
  caller: Caller,
  { attachments, ...email }: DirectEmail,
  once: OnceWork | null = null,
): Promise<NotificationResult> {
  const errors: FieldErrors = {};
  const recipients = (["to", "cc", "bcc"] as const).flatMap((kind) =>
    email[kind].map((address, index): MessageRecipient => {
      const mistake = addressMistake("Email", address);
      if (mistake) errors[`${kind}.${index}`] = [mistake];
      return { address, kind };
    })
  );
  const { fromAddress } = email;
  // An address with a syntax error is reported by `checkMessage`.
  if (fromAddress !== null && !addressMistake("Email", fromAddress)) {
    const mistake = await senderMistake(p, caller.tenantId, fromAddress);
    if (mistake) errors.fromAddress = [mistake];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const store = async (tx: Tx, notification: NewNotification) => {
    const locked = await lockAttachments(p, tx, caller, attachments, "");
    const message = { ...notification.message, attachments: locked };
    await insertNotifications(tx, [{ ...notification, message }]);
    await holdAttachments(p, tx, caller, notification.id, locked);
  };
  return await sendNow(p, caller, { channel: "Email", recipients, ...email }, once, store);
}

/** A direct push message. `userIds` addresses all devices of those users. */
export interface DirectPush {
  title: string;
  body: string | null;
  deviceTokens: string[];
  userIds: string[];
  data: Record<string, string>;
}

/**
 * Sends a push message to device tokens and to the devices of users, and waits for the outcome.
 * @throws VALIDATION_ERROR, NOTIFICATION_CHANNEL_NOT_CONFIGURED, NOTIFICATION_DELIVERY_FAILED with the provider's
 * reason (the attempt is stored)
 */
export async function sendDirectPush(
  p: NotificationPlatform,
  sender: MessageSender,
  push: DirectPush,
  once: OnceWork | null = null,
): Promise<NotificationResult> {
  const errors: FieldErrors = {};
  push.deviceTokens.forEach((token, index) => {
    const mistake = addressMistake("Push", token);
    if (mistake) errors[`deviceTokens.${index}`] = [mistake];
  });
  const known = new Set(
    (await findUsersInTenant(p.sql, sender.tenantId, push.userIds)).map((user) => user.id),
  );
  push.userIds.forEach((id, index) => {
    if (!known.has(id)) errors[`userIds.${index}`] = [`"${id}" is not an active user of this tenant`];
  });
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const tokens = [...push.deviceTokens, ...await findDeviceTokens(p.sql, push.userIds, sender.tenantId)];
  if (tokens.length === 0) {
    throw invalid({ deviceTokens: ["expected a device token, or a user who has registered a device"] });
  }
  return await sendNow(p, sender, {
    channel: "Push",
    recipients: tokens.map((address) => ({ address })),
    subject: push.title,
    textBody: push.body,
    pushData: push.data,
  }, once);
}

async function sendNow(
  p: NotificationPlatform,
  sender: MessageSender,
  given: Message,
  once: OnceWork | null,
  store = (tx: Tx, notification: NewNotification) => insertNotifications(tx, [notification]),
): Promise<NotificationResult> {
  const earlier = once?.isRepeat ? await readInterrupted(p.sql, once.id) : null;
  if (earlier) return earlier;
  const message = await checkMessage(p.sql, sender.tenantId, given);
  requireChannel(p, message.channel);
  const id = once?.id ?? newId();
  const { maxRetries } = deliveryJob;
  const notification = {
    id,
    sender,
    message,
    jobId: null,
    scheduledAt: null,
    maxRetries,
    templateVersionId: null,
  };
  await transact(p.sql, (tx) => store(tx, { ...notification, status: "Sending" }));
  const held = await readDirectNotification(p.sql, id);
  // The delivery writes through the main pool, because the pool of an Idempotency-Key refuses writes once another
  // request has taken over the key, and the outcome must be written even then.
  const handover = { isAccepted: false, isAwaited: false };
  const delivery = deliverDirect(withDatabase(p, mainPool(p.sql)), sender, held, handover);
  const early = await waitAtMost(p.config.DIRECT_SEND_SECONDS * 1000, delivery);
  if (early === null && !handover.isAwaited) {
    handover.isAccepted = true;
    delivery.catch((error) => p.log.error("a direct message could not be settled", { id, error }));
    return answerOf(id, "Sending");
  }
  const { status, run } = early ?? await delivery;
  if (run.outcomes.some((outcome) => outcome.status === "Sent")) return answerOf(id, status);
  throw notDelivered(id, resultOf(held, run, true).error);
}

/** Delivers a direct message and settles it. Until then a heartbeat updates its row, so that the sweep can detect a crash. */
async function deliverDirect(
  p: NotificationPlatform,
  sender: MessageSender,
  held: HeldNotification,
  handover: Handover,
): Promise<{ run: DeliveryRun; status: NotificationStatus }> {
  const pool = mainPool(p.sql);
  const heartbeat = setInterval(() => {
    pool`update notifications set updated_at = now() where id = ${held.id} and status = 'Sending' and job_id is null`
      .catch(() => {}); // if the database is unreachable, the next heartbeat tries again
  }, HEARTBEAT_MS);
  const deliver = async () => {
    try {
      const run = await deliverOwed(p, held);
      handover.isAwaited = !handover.isAccepted;
      const status = await settleDirect(p, sender, held, run, handover);
      if (status === "Sent") await releaseAttachments(p, held);
      return { run, status };
    } finally {
      clearInterval(heartbeat);
    }
  };
  const delivery = deliver();
  p.directDeliveries.add(delivery);
  try {
    return await delivery;
  } finally {
    p.directDeliveries.delete(delivery);
  }
}

/** Resolves when all running direct deliveries have been settled. */
export async function finishDirectMessages(p: Pick<NotificationPlatform, "directDeliveries">): Promise<void> {
  await Promise.allSettled(p.directDeliveries);
}

/**
 * The state of the message that an interrupted request with this Idempotency-Key wrote; null if it wrote none. The
 * message is not sent again, because the mail server may have accepted it.
 * @throws NOTIFICATION_DELIVERY_FAILED
 */
async function readInterrupted(q: Sql, id: string): Promise<NotificationResult | null> {
  const [message] = await q<
    { status: NotificationStatus; lastError: string | null; hasJob: boolean; isPartlySent: boolean }[]
  >`
    select status, last_error, job_id is not null as has_job, exists (select from notification_recipients r
        where r.notification_id = n.id and r.status = 'Sent') as is_partly_sent
    from notifications n where id = ${id}`;
  if (!message) return null;
  const { status, lastError, hasJob, isPartlySent } = message;
  if (isPartlySent || status !== "Failed" && status !== "DeadLettered") return answerOf(id, status);
  if (status === "Failed" && hasJob) return answerOf(id, "Sending");
  throw notDelivered(id, lastError);
}

const notDelivered = (id: string, error: string | null) =>
  problem("NOTIFICATION_DELIVERY_FAILED", `The notification ${id} was not delivered: ${error}`);

async function settleDirect(
  p: NotificationPlatform,
  sender: MessageSender,
  held: HeldNotification,
  run: DeliveryRun,
  { isAccepted }: Handover,
): Promise<NotificationStatus> {
  const result = resultOf(held, run, true);
  const status = isAccepted || result.status === "Sent" ? result.status : "Failed";
  const isPartial = run.outcomes.some((outcome) => outcome.status === "Sent");
  const isRetried = status === "Failed" && (isAccepted || isPartial);
  await writeWithRetry(() =>
    transact(p.sql, async (tx) => {
      const nextJobId = isRetried
        ? await enqueueJob(p, tx, deliveryJob, { notificationId: held.id }, {
          tenantId: sender.tenantId,
          createdBy: sender.userId,
          traceId: sender.traceId,
          scheduledAt: new Date(p.clock.now().getTime() + Math.max(RETRY_AFTER_MS, run.retryAfterMs ?? 0)),
        })
        : undefined;
      const isOurs = await settleNotification(tx, held, {
        ...result,
        status,
        ...(nextJobId ? { nextJobId } : {}),
      });
      if (nextJobId && !isOurs) await abandonJob(tx, nextJobId);
    })
  );
  return status;
}
