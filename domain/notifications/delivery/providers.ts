import { OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { forEachConcurrent } from "../../../infra/http_out/provider_http.ts";
import type { RefusedToken } from "../../../infra/push/push.ts";
import { SmsRefused, type SmsTransport } from "../../../infra/sms/sms.ts";
import { isOutage } from "../../jobs/outage.ts";
import { type FieldErrors, invalid } from "../../problems/problem.ts";
import { findUsersInTenant } from "../../rights/user_lookup.ts";
import { cutText } from "../../shared/cut_text.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { textForRequest } from "../../templates/render.ts";
import { shownAddress } from "../addresses.ts";
import type { ChannelProvider } from "../channels.ts";
import type { Content } from "../content.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import { deleteDevices } from "../devices.ts";
import { statusCallback } from "../feedback/adapters.ts";
import type { Message } from "../message.ts";
import type { NotificationPlatform } from "../platform.ts";
import { wakeUsers } from "../user_wake_up.ts";
import { type Provider, ProviderFailed, type RecipientAnswer } from "./failover.ts";
import { ownMail } from "./email.ts";

/** Number of recipients of one notification to whom it is sent at the same time. */
const CONCURRENCY = 5;

/** The SMS gateways in failover order. */
export function smsProviders(p: Platform, content: Content): Provider[] {
  return p.sms.map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const text = smsText(content);
      const mistake = smsTextMistake(text);
      if (mistake) throw new ProviderFailed(mistake, true);
      return await sendToAll(p, transport, owed, text, signal);
    },
  }));
}

async function sendToAll(
  p: Pick<Platform, "config" | "baseUrl">,
  transport: SmsTransport,
  owed: HeldRecipient[],
  text: string,
  signal?: AbortSignal,
): Promise<RecipientAnswer[]> {
  const untried = {
    accepted: false as const,
    reason: "the message was not sent to this number in this attempt",
    permanent: false,
  };
  const answers = new Map<HeldRecipient, RecipientAnswer>();
  let retryAfterMs: number | null = null;
  let isUnreachable = false;
  await forEachConcurrent(owed, CONCURRENCY, async (recipient) => {
    if (signal?.aborted) return "stop";
    try {
      const callback = statusCallback(p.config, p.baseUrl(), recipient.id);
      await transport.send({ to: recipient.address, text, statusCallback: callback }, signal);
      answers.set(recipient, { accepted: true });
    } catch (error) {
      // If the run is aborted, this number stays untried, and the answers for the others are still returned.
      if (!(error instanceof SmsRefused)) {
        if (signal?.aborted) return "stop";
        throw error;
      }
      const { message: reason, permanent } = error;
      answers.set(recipient, { accepted: false, reason, permanent, isTransient: error.isUnreachable });
      isUnreachable ||= error.isUnreachable;
      retryAfterMs = Math.max(retryAfterMs ?? 0, error.retryAfterMs ?? 0) || null;
      if (error.stopsBatch) return "stop";
    }
  });
  return owed.map((recipient) => {
    const answer = answers.get(recipient) ?? { ...untried, isTransient: isUnreachable };
    return answer.accepted ? answer : { ...answer, retryAfterMs };
  });
}

/** Maximum characters of a text message (Twilio: 1,600). The gateway splits it into segments. */
const SMS_LENGTH = 1_600;

/** The text of a text message: the body, or the subject if the body is empty. */
const smsText = ({ text, subject }: { text: string | null; subject: string | null }): string =>
  (text?.trim() ? text : subject) ?? "";

/** Checks a text message. @returns the error message, or null if it can be sent. */
function smsTextMistake(text: string): string | null {
  if (!text.trim()) return "the message has no text";
  if (text.length <= SMS_LENGTH) return null;
  return `the text has ${text.length} characters; a text message holds at most ${SMS_LENGTH}`;
}

/**
 * Refuses a text message whose own text cannot be sent. The text of a template is known only when the message is sent.
 * @param field prefix of the field names in errors
 * @throws VALIDATION_ERROR, RATE_LIMITED
 */
export async function requireSmsText(
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "config" | "baseUrl">,
  tenantId: string | null,
  message: Message,
  field: string,
): Promise<void> {
  const { channel, templateSlug, textBody = null, htmlBody = null, subject = null } = message;
  if (channel !== "Sms" || templateSlug && textBody === null && htmlBody === null) return;
  const text = textBody ?? (htmlBody === null ? null : await textForRequest(p, tenantId, htmlBody));
  const mistake = smsTextMistake(smsText({ text, subject }));
  if (mistake === null) return;
  const member = textBody !== null ? "textBody" : htmlBody !== null ? "htmlBody" : "subject";
  const errors: FieldErrors = { [`${field}${member}`]: [mistake] };
  throw invalid(errors);
}

/** The push services in failover order. A device whose token is dead is deleted. */
export function pushProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return p.push.map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const tokens = owed.map((recipient) => recipient.address);
      const message = {
        title: content.subject,
        body: content.text,
        data: held.pushData ?? {},
        // A device that is addressed both by its token and by its user gets the message once.
        tokens: [...new Set(tokens)],
      };
      const { accepted, refused, retryAfterMs, isUnreachable = false } = await transport.send(
        message,
        signal,
      );
      const dead = refused.filter((refusal) => refusal.isDead).map((refusal) => refusal.token);
      if (dead.length > 0) await deleteDead(p, dead);
      const taken = new Set(accepted);
      const refusals = new Map(refused.map((refusal) => [refusal.token, refusal]));
      return tokens.map((token) =>
        taken.has(token)
          ? { accepted: true }
          : { ...refusalOf(refusals.get(token)), retryAfterMs, isTransient: isUnreachable }
      );
    },
  }));
}

/** Never throws, because the outcome of the other tokens must still be written. The service will report the token again. */
async function deleteDead(p: Platform, dead: string[]): Promise<void> {
  try {
    await deleteDevices(p.sql, dead);
  } catch (error) {
    p.log.warn("could not delete the devices of dead push tokens", { error });
  }
}

function refusalOf(refusal: RefusedToken | undefined): RecipientAnswer & { accepted: false } {
  const { reason, permanent } = refusal ??
    { reason: "the message was not sent to this device in this attempt", permanent: false };
  return { accepted: false, reason, permanent };
}

const TITLE_LENGTH = 120;

/** The provider of in-app notifications is the database. It inserts one row per user and message. Idempotent. */
export function inAppProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return [{
    name: "database",
    async deliver(owed) {
      const ids = owed.map((recipient) => recipient.address.toLowerCase());
      const known = new Set((await findUsersInTenant(p.sql, held.tenantId, ids)).map((user) => user.id));
      const body = content.text ?? "";
      await insertUserNotifications(p, held, {
        userIds: ids.filter((id) => known.has(id)),
        title: content.subject || cutText(body, TITLE_LENGTH),
        body,
      });
      return ids.map((id) =>
        known.has(id)
          ? { accepted: true }
          : { accepted: false, reason: "no longer an active user of this tenant", permanent: true }
      );
    },
  }];
}

/** Inserts the message for each user and wakes their open streams. Idempotent: a user gets a message once. */
async function insertUserNotifications(
  p: Pick<Platform, "sql" | "log">,
  held: Pick<HeldNotification, "id" | "tenantId" | "icon" | "category" | "actionUrl" | "priority">,
  o: { userIds: string[]; title: string; body: string },
): Promise<void> {
  if (o.userIds.length === 0) return;
  // The stream rows are locked in the order of the users, so that two messages cannot deadlock.
  const userIds = o.userIds.toSorted();
  await p.sql`
    with numbered as (
      insert into user_notification_streams as s (user_id, last_seq)
      select user_id, 1 from unnest(${userIds}::uuid[]) as given (user_id)
      on conflict (user_id) do update set last_seq = s.last_seq + 1
      returning user_id, last_seq
    )
    insert into user_notifications (id, tenant_id, user_id, seq, notification_id, title, body, icon, category,
      action_url, priority)
    select given.id, ${held.tenantId}, user_id, last_seq, ${held.id}, ${o.title}, ${o.body}, ${held.icon},
      ${held.category}, ${held.actionUrl}, ${held.priority}
    from numbered join unnest(${userIds.map(() => newId())}::uuid[],
      ${userIds}::uuid[]) as given (id, user_id)
      using (user_id)
    on conflict (notification_id, user_id) do nothing`;
  await wakeUsers(p, userIds);
}

/** The providers of extensions for a message. They get one recipient per call, and no attachments. */
export function extensionProviders(
  p: NotificationPlatform,
  held: HeldNotification,
  content: Content,
): Provider[] {
  return p.channelProviders.filter(({ channel }) => channel === held.channel).map((provider) => ({
    name: provider.name,
    async deliver(owed, signal = new AbortController().signal) {
      const sendable = content.attachments.length > 0 ? await content.linked?.() : content;
      if (!sendable) throw new ProviderFailed("this provider sends no attachments", false);
      const answers = new Map<string, RecipientAnswer>();
      let isUnavailable = false;
      await forEachConcurrent(owed, CONCURRENCY, async (recipient) => {
        if (signal.aborted) return "stop";
        const answer = await sendTo(p, provider, held, sendable, recipient, signal);
        if (answer === null) return "stop";
        answers.set(recipient.id, answer);
        isUnavailable ||= !answer.accepted && Boolean(answer.isUnavailable);
        if (isUnavailable) return "stop";
      });
      return owed.map(({ id }) => answers.get(id) ?? { ...UNTRIED, isTransient: isUnavailable });
    },
  }));
}

const UNTRIED = {
  accepted: false,
  reason: "the message was not sent to this recipient in this attempt",
  permanent: false,
} as const;

/** Sends to one recipient. @returns null if the attempt was aborted, so the recipient stays untried */
async function sendTo(
  p: NotificationPlatform,
  provider: ChannelProvider,
  held: HeldNotification,
  shared: Content,
  recipient: HeldRecipient,
  signal: AbortSignal,
): Promise<RecipientAnswer | null> {
  const { id: notificationId, tenantId, channel, attempt } = held;
  const { address, displayName } = recipient;
  const safe = (text: string) => text.replaceAll(address, shownAddress(channel, address));
  const log = p.log.with({ provider: provider.name, notificationId });
  try {
    const [, content] = channel === "Email" ? await ownMail(p, held, shared, recipient) : [held, shared];
    const { subject, text, html } = content;
    const data = held.templateData ?? {};
    const message = {
      notificationId,
      recipient: { address, displayName },
      subject,
      text,
      html,
      data,
      attempt,
    };
    const answer = await provider.send(message, { tenantId, signal, log });
    if (!("problem" in answer)) {
      log.debug("a provider accepted a message", { providerMessageId: answer.providerMessageId });
      return { accepted: true };
    }
    const { reason, isPermanent = false, retryAfterMs = null, isUnavailable = false } = answer.problem;
    return {
      accepted: false,
      reason: safe(reason),
      permanent: isPermanent,
      retryAfterMs,
      isUnavailable,
      isTransient: isUnavailable,
    };
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof OutboundRefused) return { ...UNTRIED, reason: safe(error.message), permanent: true };
    // An address can be a secret, and the error of a library may contain it.
    log.warn("a provider failed", {
      error: safe(error instanceof Error ? error.stack ?? "" : String(error)),
    });
    return { ...UNTRIED, reason: "the message could not be handed over", isTransient: isOutage(error) };
  }
}
