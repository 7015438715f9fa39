import { GroupCommit } from "../../../infra/postgres/group_commit.ts";
import { afterCommit, isTransaction, type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { activeTrace } from "../../../infra/telemetry/tracing.ts";
import { wakeFor } from "../../jobs/enqueue.ts";
import { limitKeyOf } from "../../jobs/job_type.ts";
import { type FieldErrors, invalid } from "../../problems/problem.ts";
import { RateLimit, requireQuota } from "../../requests/rate_limit.ts";
import type { Caller } from "../../rights/caller.ts";
import { findUsersInTenant, fullName } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import {
  inLayout,
  type PinnedTemplate,
  renderStored,
  requireRenderable,
  sampleDataOf,
} from "../../templates/render.ts";
import { readTemplate } from "../../templates/read.ts";
import { holdAttachments, lockAttachments } from "../attachments.ts";
import { deliveryJob } from "../delivery/deliver.ts";
import { addUnsubscribePlaceholder, MAX_RECIPIENTS_PER_MAIL } from "../delivery/email.ts";
import type { CallerMessage, Message, MessageRecipient } from "../message.ts";
import type { NotificationPlatform } from "../platform.ts";
import { requireSmsText } from "../delivery/providers.ts";
import {
  type NotificationResult,
  type NotificationStatus,
  type RecipientStatus,
  resultOf,
} from "../status.ts";
import { insertNotifications, type MessageSender, type OutgoingMessage } from "../store_notification.ts";
import { checkMessage, requireChannel } from "./check_message.ts";

/**
 * Stores a message and the job that delivers it, in the caller's transaction.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function sendNotification(
  p: NotificationPlatform,
  tx: Tx,
  sender: MessageSender,
  message: Message,
): Promise<{ notificationId: string }> {
  const outgoing = await prepareMessage(p, tx, sender, message, { scheduledAt: null, field: "" });
  const pinned = await requireRenderable(tx, sender.tenantId, outgoing.message);
  const { ids: [notificationId = ""], wake } = await storeMessages(p, tx, [{
    ...outgoing,
    ...pinned,
  }]);
  afterCommit(tx, wake);
  return { notificationId };
}

/** A mail that the service itself sends to one person. */
interface ServiceMail {
  /** The tenant whose templates are used and whose list shows the message; null: the service itself. */
  tenantId: string | null;
  to: MessageRecipient;
}

/** A service mail made from a template. */
export interface TemplatedMail extends ServiceMail {
  templateSlug: string;
  locale: string | null;
  data: Record<string, unknown>;
}

/** A service mail without a template. */
export interface PlainMail extends ServiceMail {
  subject: string;
  textBody: string;
}

/**
 * Queues a mail of the service to one person, such as a password reset. Its content cannot be read through the API,
 * because it may contain a key to the account.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function sendServiceMail(
  p: NotificationPlatform,
  tx: Tx,
  mail: TemplatedMail | PlainMail,
): Promise<{ notificationId: string }> {
  const { tenantId, to, ...rest } = mail;
  const content = "data" in rest
    ? { templateSlug: rest.templateSlug, templateData: rest.data, locale: rest.locale }
    : rest;
  return await sendNotification(p, tx, { tenantId, userId: null, traceId: null }, {
    channel: "Email",
    recipients: [to],
    priority: "High",
    isConfidential: true,
    ...content,
  });
}

/**
 * Stores the messages of concurrent requests in batches: they share a commit, and a cache of templates. A call returns
 * when its message is committed.
 */
export class MessageWriter {
  readonly #writes: GroupCommit<AcceptedMessage, string>;

  constructor(private readonly p: Pick<NotificationPlatform, "sql" | "wakeUps">) {
    this.#writes = new GroupCommit(
      async (messages) => {
        const { ids, wake } = await storeMessages(p, p.sql, messages);
        wake();
        return ids;
      },
      {
        // While one batch is written, the next one grows. Two writers would need twice as many statements, each with half
        // the messages.
        concurrency: 1,
        maxItems: 250,
        maxWeight: 4_000_000,
        weigh: ({ message: { htmlBody, textBody, templateData, recipients } }) =>
          (htmlBody?.length ?? 0) + (textBody?.length ?? 0) + 200 * recipients.length +
          (templateData ? JSON.stringify(templateData).length : 0),
      },
    );
  }

  /**
   * Stores a message and returns its id. Throws like `sendNotification`.
   * @param sql a transaction to store it in; a pool: its own commit, shared with concurrent calls
   */
  async write(q: Sql, outgoing: OutgoingMessage): Promise<string> {
    const pinned = await requireRenderable(q, outgoing.sender.tenantId, outgoing.message);
    const accepted = { ...outgoing, ...pinned };
    if (!isTransaction(q)) return await this.#writes.add(accepted);
    const { ids: [id = ""], wake } = await storeMessages(this.p, q, [accepted]);
    afterCommit(q, wake);
    return id;
  }
}

/** Queues a caller's message. Throws like `sendNotification`, and NOTIFICATION_CHANNEL_NOT_CONFIGURED. */
export async function sendMessage(
  p: NotificationPlatform,
  caller: Caller,
  message: CallerMessage,
): Promise<NotificationResult> {
  return resultOf(await acceptMessage(p, caller, message, { scheduledAt: null, field: "" }), "Queued");
}

/** Schedules a caller's message for `scheduledAt`. A past time is due at once. Throws like `sendMessage`. */
export async function scheduleMessage(
  p: NotificationPlatform,
  caller: Caller,
  message: CallerMessage,
  scheduledAt: Date,
): Promise<NotificationResult> {
  const when = { scheduledAt, field: "notification." };
  return resultOf(await acceptMessage(p, caller, message, when), "Scheduled");
}

/** Stores a caller's message; one with attachments in the transaction that locks and references the files. */
async function acceptMessage(
  p: NotificationPlatform,
  caller: Caller,
  given: CallerMessage,
  when: { scheduledAt: Date | null; field: string },
): Promise<string> {
  requireChannel(p, given.channel);
  requireMailMembers(given, when.field);
  const { cc, bcc, attachments: requested, recipients, ...rest } = given;
  const message = { ...rest, recipients: [...recipients, ...ofKind("cc", cc), ...ofKind("bcc", bcc)] };
  if (requested.length === 0) {
    return await p.messageWriter.write(p.sql, await prepareMessage(p, p.sql, caller, message, when));
  }
  return await transact(p.sql, async (tx) => {
    const outgoing = await prepareMessage(p, tx, caller, message, when);
    const attachments = await lockAttachments(p, tx, caller, requested, when.field);
    const id = await p.messageWriter.write(tx, {
      ...outgoing,
      message: { ...outgoing.message, attachments },
    });
    await holdAttachments(p, tx, caller, id, attachments);
    return id;
  });
}

const ofKind = (kind: "cc" | "bcc", recipients: MessageRecipient[]): MessageRecipient[] =>
  recipients.map((recipient) => ({ ...recipient, kind }));

/** An outgoing message with the template version it will be rendered from. */
type AcceptedMessage = OutgoingMessage & PinnedTemplate;

/** Validates a message. @param o.field prefix of the field names in errors */
async function prepareMessage(
  p: NotificationPlatform,
  q: Sql,
  sender: MessageSender,
  given: Message,
  o: { scheduledAt: Date | null; field: string },
): Promise<OutgoingMessage> {
  const checked = await checkMessage(q, sender.tenantId, given, o.field);
  await requireSmsText(p, sender.tenantId, checked, o.field);
  const message = addUnsubscribePlaceholder(checked);
  const traceId = sender.traceId ?? activeTrace();
  return { sender: { ...sender, traceId }, message, scheduledAt: o.scheduledAt };
}

/**
 * Stores messages, each with the job that delivers it, in one statement.
 * @returns their ids in the given order, and `wake`, which wakes workers and must be called after the commit.
 */
async function storeMessages(
  p: Pick<NotificationPlatform, "wakeUps">,
  q: Sql,
  messages: AcceptedMessage[],
): Promise<{ ids: string[]; wake: () => void }> {
  const type = deliveryJob;
  const { name: jobTypeName, maxRetries } = type;
  const stored = messages.map((message) => ({ ...message, id: newId(), jobId: newId() }));
  const jobs = stored.map(({ id, jobId, sender, message, scheduledAt }) => ({
    id: jobId,
    jobTypeName,
    serializedArgs: JSON.stringify({ notificationId: id }),
    maxRetries,
    tenantId: sender.tenantId,
    createdBy: sender.userId,
    traceId: sender.traceId,
    priority: message.priority ?? "Normal",
    scheduledAt,
    limitKey: limitKeyOf(type),
  }));
  const notifications = stored.map((message) => ({
    ...message,
    status: message.scheduledAt ? "Scheduled" as const : "Queued" as const,
    maxRetries,
  }));
  await insertNotifications(q, notifications, jobs);
  return { ids: stored.map(({ id }) => id), wake: () => wakeFor(p, jobs) };
}

/** The status of a message and its recipients, for the area that sent it; null if the id is unknown. */
export async function readNotificationStatus(q: Sql, id: string): Promise<
  | {
    status: NotificationStatus;
    lastError: string | null;
    recipients: { address: string; status: RecipientStatus; errorMessage: string | null }[];
  }
  | null
> {
  const [row] = await q<{ status: NotificationStatus; lastError: string | null }[]>`
    select status, last_error from notifications where id = ${id}`;
  if (!row) return null;
  const recipients = await q<
    { address: string; status: RecipientStatus; errorMessage: string | null }[]
  >`
    select address, status, error_message from notification_recipients where notification_id = ${id} order by id`;
  return { ...row, recipients };
}

const TESTS_A_MINUTE = 10;
/** Tests of each user, counted per instance. */
const tests = new RateLimit(TESTS_A_MINUTE);

/**
 * Mails a template to the caller's own address, with `[Test]` before its subject.
 * @param o.data absent: sample data
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_INVALID, NOTIFICATION_TEMPLATE_VARIABLES_MISSING,
 * VALIDATION_ERROR for a layout or partial, RATE_LIMITED, NOTIFICATION_CHANNEL_NOT_CONFIGURED
 */
export async function sendTemplateTest(
  p: NotificationPlatform,
  caller: Caller,
  id: string,
  o: { data: Record<string, unknown> | null; locale: string | null },
): Promise<NotificationResult> {
  const { tenantId, userId } = caller;
  const template = await readTemplate(p.sql, tenantId, id);
  if (template.kind !== "Template") {
    throw invalid({
      id: [`the ${template.kind.toLowerCase()} ${template.slug} is not a mail; test a template that uses it`],
    });
  }
  const [user] = await findUsersInTenant(p.sql, tenantId, [userId]);
  if (!user) {
    throw invalid({ id: ["the test is sent to the caller; expected a user of this tenant, found none"] });
  }
  requireQuota(tests.take(userId));
  const data = o.data ?? await sampleDataOf(p, tenantId, template);
  const { subject, htmlBody, textBody, locale } = await renderStored(p, tenantId, template, { ...o, data });
  const texts = { subject: `[Test] ${subject ?? template.name}`, html: htmlBody, text: textBody };
  const shown = await inLayout(p, tenantId, texts, locale);
  return await sendMessage(p, caller, {
    channel: "Email",
    recipients: [{ address: user.email, displayName: fullName(user) }],
    subject: shown.subject,
    htmlBody: shown.html,
    textBody: shown.text,
    cc: [],
    bcc: [],
    attachments: [],
  });
}

/**
 * Refuses members that only mail has on a message of another channel, and too many recipients for one mail.
 * @param field prefix of the field names in errors
 * @throws VALIDATION_ERROR
 */
function requireMailMembers(message: CallerMessage, field: string): void {
  const { channel, recipients, userIds = [], cc, bcc, replyTo, attachments } = message;
  const errors: FieldErrors = {};
  if (channel !== "Email") {
    const given = { cc: cc.length > 0, bcc: bcc.length > 0, replyTo, attachments: attachments.length > 0 };
    for (const [name, isGiven] of Object.entries(given)) {
      if (isGiven) errors[`${field}${name}`] = [`only a message of the channel Email has ${name}`];
    }
  }
  const copies = cc.length + bcc.length;
  const all = recipients.length + userIds.length + copies;
  if (copies > 0 && all > MAX_RECIPIENTS_PER_MAIL) {
    errors[`${field}recipients`] = [
      `a message with cc or bcc is one mail: expected at most ${MAX_RECIPIENTS_PER_MAIL} recipients, found ${all}`,
    ];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
