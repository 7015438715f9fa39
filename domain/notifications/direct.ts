import { transact } from "../../infra/postgres/postgres.ts";
import { findUsersInTenant } from "../access/user_lookup.ts";
import { abandonJob } from "../jobs/abandon.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { type FieldErrors, invalid, problem } from "../problems/problem.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { addressMistake } from "./addresses.ts";
import { requireChannel } from "./channels/configured.ts";
import { writeSurely } from "./database_away.ts";
import { deliverOwed, deliveryJob, type DeliveryRun, resultOf } from "./deliver.ts";
import { type HeldNotification, readDirectNotification, settleNotification } from "./delivery_ledger.ts";
import { findDeviceTokens } from "./devices.ts";
import { checkMessage, type Message, type MessageRecipient } from "./message.ts";
import { type NotificationResult, resultOf as answerOf } from "./status.ts";
import { insertNotifications, type MessageSender } from "./store_notification.ts";

const RETRY_AFTER_MS = 5_000;

/** The contract's direct email request. */
export interface DirectEmail {
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  fromAddress: string | null;
  fromName: string | null;
}

/**
 * Sends an email before it answers. Recipients that could not be asked yet, while others took it, are left to a job.
 * @throws VALIDATION_ERROR, NOTIFICATION_CHANNEL_NOT_CONFIGURED, NOTIFICATION_DELIVERY_FAILED with the provider's
 * reason; the attempt is recorded
 */
export async function sendDirectEmail(
  p: Platform,
  sender: MessageSender,
  email: DirectEmail,
): Promise<NotificationResult> {
  const errors: FieldErrors = {};
  const recipients = (["to", "cc", "bcc"] as const).flatMap((kind) =>
    email[kind].map((address, index): MessageRecipient => {
      const mistake = addressMistake("Email", address);
      if (mistake) errors[`${kind}.${index}`] = [mistake];
      return { address, kind };
    })
  );
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return await sendNow(p, sender, { channel: "Email", recipients, ...email });
}

/** The contract's direct push request; `userIds` stand for all devices of those users. */
export interface DirectPush {
  title: string;
  body: string | null;
  deviceTokens: string[];
  userIds: string[];
  data: Record<string, string>;
}

/**
 * Sends a push message before it answers, to device tokens and to the devices of users.
 * @throws VALIDATION_ERROR, NOTIFICATION_CHANNEL_NOT_CONFIGURED, NOTIFICATION_DELIVERY_FAILED with the provider's
 * reason; the attempt is recorded
 */
export async function sendDirectPush(
  p: Platform,
  sender: MessageSender,
  push: DirectPush,
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
  const tokens = [...push.deviceTokens, ...await findDeviceTokens(p.sql, push.userIds)];
  if (tokens.length === 0) {
    throw invalid({ deviceTokens: ["expected a device token, or a user who has registered a device"] });
  }
  return await sendNow(p, sender, {
    channel: "Push",
    recipients: tokens.map((address) => ({ address })),
    subject: push.title,
    textBody: push.body,
    pushData: push.data,
  });
}

async function sendNow(p: Platform, sender: MessageSender, given: Message): Promise<NotificationResult> {
  const message = await checkMessage(p.sql, sender.tenantId, given);
  requireChannel(p, message.channel);
  const id = newId();
  const { maxRetries } = deliveryJob(p);
  const notification = { id, sender, message, jobId: null, scheduledAt: null, maxRetries };
  await transact(p.sql, (tx) => insertNotifications(tx, [{ ...notification, status: "Sending" }]));
  const held = await readDirectNotification(p.sql, id);
  const run = await deliverOwed(p, held);
  const status = await settleDirect(p, sender, held, run);
  const isAnyoneReached = run.outcomes.some((outcome) => outcome.status === "Sent");
  if (isAnyoneReached) return answerOf(id, status);
  const { error } = resultOf(held, run, true);
  throw problem("NOTIFICATION_DELIVERY_FAILED", `The notification ${id} was not delivered: ${error}`);
}

async function settleDirect(p: Platform, sender: MessageSender, held: HeldNotification, run: DeliveryRun) {
  const result = resultOf(held, run, true);
  const status = result.status === "Sent" ? "Sent" : "Failed";
  const isPartial = status === "Failed" && run.outcomes.some((outcome) => outcome.status === "Sent");
  await writeSurely(() =>
    transact(p.sql, async (tx) => {
      const nextJobId = isPartial
        ? await enqueueJob(p, tx, deliveryJob(p), { notificationId: held.id }, {
          tenantId: sender.tenantId,
          createdBy: sender.userId,
          traceId: sender.traceId,
          scheduledAt: new Date(Date.now() + Math.max(RETRY_AFTER_MS, run.retryAfterMs ?? 0)),
        })
        : undefined;
      const isOurs = await settleNotification(tx, held, {
        ...{ ...result, status },
        ...(nextJobId ? { nextJobId } : {}),
      });
      if (nextJobId && !isOurs) await abandonJob(tx, nextJobId);
    })
  );
  return status;
}
