import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { TemplatePins } from "../templates/parts.ts";
import type { Rendition } from "../templates/render.ts";
import { jsonRows } from "../shared/storable.ts";
import type { Message, MessageRecipient } from "./message.ts";
import { emitNotificationFailed } from "./notification_events.ts";
import {
  ERASED_ADDRESS,
  type NotificationChannel,
  type NotificationPriority,
  type NotificationStatus,
  type RecipientStatus,
  type SkipReason,
} from "./status.ts";
import type { SuppressionReason } from "./suppression.ts";
import { tenantKeyOf } from "./tenant_key.ts";

/** A recipient, with the preferences that the user behind it has when the message is held. */
export interface HeldRecipient extends Required<MessageRecipient> {
  id: string;
  status: RecipientStatus;
  /** The reason for which the tenant has suppressed this address; null if it has not. */
  suppression: SuppressionReason | null;
  /** Null if the user has never set preferences. */
  preference: RecipientPreference | null;
}

/** A message in status Sending, with all data a provider needs. */
export interface HeldNotification extends Required<Omit<Message, "recipients" | "userIds">> {
  id: string;
  /** The job that holds it; null: a direct message. */
  jobId: string | null;
  /** The attempt of the job, which is the fencing token. */
  attempt: number;
  tenantId: string | null;
  priority: NotificationPriority;
  /** The template version at the time of acceptance; null without a template, or for rows older than template versions. */
  templateVersionId: string | null;
  /** The versions of its layout and partials; null if it has none. */
  templatePins: TemplatePins | null;
  /** The template version it was rendered from; null before it is rendered. */
  templateVersion: number | null;
  /** The time at which the previous run took the message, if that run died and this one takes over. */
  interruptedAt?: Date | null;
  recipients: HeldRecipient[];
}

/** Error message of an attempt whose outcome was not recorded. */
export const INTERRUPTED =
  "The process stopped or hung during this attempt. It is not known whether the message was delivered.";

/** A request of a job run to hold its message. */
export interface Hold {
  id: string;
  jobId: string;
  attempt: number;
}

/**
 * Takes messages, each for one run of a job: Queued, Scheduled or Failed becomes Sending. A later run of the same job
 * takes over a message that an earlier run left in Sending when it died. A job that is not the message's own (a dead
 * letter that was queued again) takes the message only while it is DeadLettered. All recipients who did not get it then
 * become Owed. A message whose content has expired is not taken.
 * The condition on the status is written as `case` so that no index can serve it. With an index on the status, the
 * planner underestimates the open messages of a large backlog and reads all of them for every batch.
 * Every run after the first counts as a retry, also if the earlier run ended by an outage or a crash.
 * @returns in the given order; null if the run cannot take the message: it is cancelled, sent, or held by another job.
 */
export async function holdNotifications(q: Sql, holds: Hold[]): Promise<(HeldNotification | null)[]> {
  const rows = await q<(HeldNotification & { isRevived: boolean })[]>`
    update notifications n set status = 'Sending', job_id = h.job_id, job_attempt = h.attempt,
      retry_count = n.retry_count + (n.status not in ('Queued', 'Scheduled'))::int, updated_at = now()
    from unnest(${holds.map((h) => h.id)}::uuid[], ${holds.map((h) => h.jobId)}::uuid[],
      ${holds.map((h) => h.attempt)}::int[]) as h (id, job_id, attempt)
    where n.id = h.id and case when n.job_id = h.job_id
      then n.status in ('Queued', 'Scheduled', 'Failed') or n.status = 'Sending' and n.job_attempt < h.attempt
      else n.status = 'DeadLettered' and n.body_expired_at is null end
    returning ${heldColumns(q)}, (select case when before.status = 'Sending' then before.updated_at end
      from notifications before where before.id = n.id) as interrupted_at,
      (select before.status = 'DeadLettered' from notifications before where before.id = n.id) as is_revived`;
  await resetRecipients(q, rows.filter((row) => row.isRevived));
  const byJob = new Map(rows.map((row) => [row.jobId, row]));
  return holds.map((hold) => byJob.get(hold.jobId) ?? null);
}

/** Sets recipients who were refused or skipped, and not erased, back to Owed, in the table and in `revived`. */
async function resetRecipients(q: Sql, revived: HeldNotification[]): Promise<void> {
  if (revived.length === 0) return;
  await q`update notification_recipients set status = 'Owed', reason = null
    where notification_id = any(${revived.map(({ id }) => id)}::uuid[]) and status in ('Refused', 'Skipped')
      and address <> ${ERASED_ADDRESS}`;
  for (const { recipients } of revived) {
    for (const recipient of recipients) {
      const isUndelivered = recipient.status === "Refused" || recipient.status === "Skipped";
      if (isUndelivered && recipient.address !== ERASED_ADDRESS) recipient.status = "Owed";
    }
  }
}

/** Reads a direct message: it was inserted as Sending and has no job. */
export async function readDirectNotification(q: Sql, id: string): Promise<HeldNotification> {
  const [row] = await q<HeldNotification[]>`
    select ${heldColumns(q)} from notifications n where n.id = ${id}`;
  if (!row) throw new Error(`the notification ${id} is missing although it was just inserted`);
  return row;
}

const heldColumns = (q: Sql) =>
  q`n.id, n.tenant_id, n.channel, n.priority, n.subject, n.html_body, n.text_body, n.locale, n.template_slug,
    n.template_version_id, n.template_pins, n.template_version, n.template_data, n.push_data, n.category, n.icon, n.action_url, n.from_address, n.from_name,
    n.reply_to, n.is_confidential, n.job_id, n.job_attempt as attempt,
    (select coalesce(json_agg(json_build_object('id', r.id, 'kind', r.kind, 'address', r.address,
        'displayName', r.display_name, 'status', r.status, ${recipientUserColumns(q)}) order by r.id), '[]')
      from notification_recipients r where r.notification_id = n.id) as recipients,
    (select coalesce(json_agg(json_build_object('fileId', a.file_id, 'fileName', a.file_name,
        'contentType', a.content_type, 'isInline', a.is_inline, 'isHeld', a.is_held) order by a.position), '[]')
      from notification_attachments a where a.notification_id = n.id) as attachments`;

/** The result of one run, as it is written to the ledger. */
export interface DeliveryResult {
  status: Extract<
    NotificationStatus,
    "Sent" | "Failed" | "DeadLettered" | "Scheduled" | "Pending" | "Cancelled"
  >;
  /** The error message; null if there is no error. */
  error: string | null;
  attempts: ProviderAttempt[];
  outcomes: Outcome[];
  /** The rendered template; null if this run did not render it. */
  rendition: Rendition | null;
  /** The new job that continues the delivery, if there is one. */
  nextJobId?: string;
  /** The time from which the first recipient in quiet hours may get the message. */
  waitsUntil?: Date | null;
}

/** A finished run, to be written. */
export interface Settlement {
  held: HeldNotification;
  result: DeliveryResult;
}

/** Writes the result of one run. @returns false if the run no longer held the message; see `settleNotifications` */
export async function settleNotification(
  tx: Tx,
  held: HeldNotification,
  result: DeliveryResult,
): Promise<boolean> {
  const [isOurs = false] = await settleNotifications(tx, [{ held, result }]);
  return isOurs;
}

/**
 * Writes the results of runs in one statement: attempts, recipients and status. Attempts and recipients with outcome
 * Sent are always written. All other changes are written only if that same run still holds the message (fencing). A
 * direct message is sent by one process only, so its result also replaces the guess of the sweep that it was interrupted.
 * For each message that becomes DeadLettered it emits `notification.failed`. Idempotent.
 * @returns in the given order; false if the run no longer held its message.
 */
export async function settleNotifications(tx: Tx, settlements: Settlement[]): Promise<boolean[]> {
  const rows = await tx<{ index: number }[]>`
    with ended as materialized (
      select * from json_to_recordset(${jsonRows(settlements.map(settlementRow))}::text::json) as e (
        index integer, id uuid, job_id uuid, attempt integer, status notification_status, error text,
        next_job_id uuid, is_rendered boolean, clears_content boolean, stores_content boolean, template_version integer,
        template_locale text, subject text, html_body text, text_body text, waits_until timestamptz, attempts json,
        outcomes json)
    ), held as (
      select e.*, n.job_id is not distinct from e.job_id and n.job_attempt = e.attempt
        and (n.status = 'Sending' or n.status = 'Failed' and e.job_id is null) as is_ours
      from ended e join notifications n on n.id = e.id order by n.id for update of n
    ), tried as (
      insert into notification_attempts (id, notification_id, provider_name, is_success, duration_ms, attempted_at, error_message)
      select t.id, held.id, provider_name, is_success, duration_ms, attempted_at, error_message
      from held cross join json_to_recordset(held.attempts) as t (
        id uuid, provider_name text, is_success boolean, duration_ms integer, attempted_at timestamptz,
        error_message text)
      on conflict (id) do nothing
    ), answered as (
      update notification_recipients r set status = o.status, error_message = o.error_message, reason = o.reason,
        deliver_after = null, sent_at = case when o.status = 'Sent' then now() end
      from held cross join json_to_recordset(held.outcomes) as o (
        id uuid, status text, error_message text, reason text)
      where r.id = o.id and r.notification_id = held.id and r.status <> 'Sent'
        and (held.is_ours or o.status = 'Sent')
    )
    update notifications n set status = held.status, last_error = held.error, updated_at = now(),
      sent_at = case when held.status = 'Sent' then now() end,
      scheduled_at = coalesce(held.waits_until, n.scheduled_at), job_id = coalesce(held.next_job_id, n.job_id),
      job_attempt = case when held.next_job_id is null then n.job_attempt else 0 end,
      template_version = coalesce(held.template_version, n.template_version),
      template_locale = coalesce(held.template_locale, n.template_locale),
      subject = case when held.is_rendered then held.subject else n.subject end,
      html_body = case when held.clears_content then null
        when held.stores_content then held.html_body else n.html_body end,
      text_body = case when held.clears_content then null
        when held.stores_content then held.text_body else n.text_body end,
      template_data = case when held.clears_content then null else n.template_data end
    from held where n.id = held.id and held.is_ours returning held.index`;
  const ours = new Set(rows.map((row) => row.index));
  const failed = settlements.filter(({ result }, index) =>
    ours.has(index) && result.status === "DeadLettered"
  );
  await emitNotificationFailed(tx, failed.map(({ held, result }) => ({ ...held, error: result.error })));
  return settlements.map((_, index) => ours.has(index));
}

/** A settlement with the column names of the statement. Undefined members become null there. */
function settlementRow({ held, result }: Settlement, index: number) {
  const { rendition, status } = result;
  const storesContent = rendition !== null && !held.isConfidential;
  return {
    index,
    id: held.id,
    job_id: held.jobId,
    attempt: held.attempt,
    status,
    error: result.error,
    next_job_id: result.nextJobId,
    waits_until: result.waitsUntil,
    is_rendered: rendition !== null,
    stores_content: storesContent,
    clears_content: held.isConfidential && status === "Sent",
    template_version: rendition?.templateVersion,
    template_locale: rendition?.locale,
    subject: rendition?.subject,
    html_body: storesContent ? rendition.htmlBody : undefined,
    text_body: storesContent ? rendition.textBody : undefined,
    attempts: result.attempts.map(attemptRow),
    outcomes: result.outcomes.map(outcomeRow),
  };
}

const attemptRow = (attempt: ProviderAttempt) => ({
  id: attempt.id,
  provider_name: attempt.providerName,
  is_success: attempt.isSuccess,
  duration_ms: attempt.durationMs,
  attempted_at: attempt.attemptedAt,
  error_message: attempt.errorMessage,
});

const outcomeRow = ({ recipientId, status, errorMessage, reason }: Outcome) => ({
  id: recipientId,
  status,
  error_message: errorMessage,
  reason,
});

/** One attempt at one provider. */
export interface ProviderAttempt {
  /** Sorts attempts by time. It also makes writing idempotent: an attempt that is already stored is not inserted again. */
  id: string;
  providerName: string;
  /** At least one recipient was accepted. */
  isSuccess: boolean;
  durationMs: number;
  attemptedAt: Date;
  errorMessage: string | null;
}

/** The outcome of a run for one recipient. */
export interface Outcome {
  recipientId: string;
  status: "Owed" | "Sent" | "Refused" | "Skipped";
  errorMessage: string | null;
  /** The reason of a Skipped recipient. */
  reason?: SkipReason;
  /** The provider refused this recipient, not the message as a whole. */
  isRecipientError?: boolean;
  /** Owed because of an outage or a temporary refusal; waiting for its end uses up no retry. */
  isTransient?: boolean;
}

export interface RecipientPreference {
  timeZoneId: string;
  /** Minutes of the day in the user's time zone; both null without quiet hours. */
  quietFrom: number | null;
  quietTo: number | null;
  hasDigest: boolean;
  digestAt: number;
  /** The user's settings for the message's category. A channel that is left out is wanted. */
  channels: Partial<Record<NotificationChannel, boolean>> | null;
}

/**
 * SQL for the user, the suppression and the preferences in the recipient's JSON; the statement uses the aliases `n` and `r`. It costs two
 * index look-ups per recipient, the second only for known users. A suppression that this same message caused does not
 * count, so that a retry of the message tries the address again.
 */
const recipientUserColumns = (q: Sql) =>
  q`'userId', r.user_id, 'followsUser', r.follows_user,
        'suppression', (select s.reason from notification_suppressions s
          where s.tenant_key = coalesce(n.tenant_id, ${tenantKeyOf(null)}::uuid)
            and s.channel = n.channel and s.address_key = lower(r.address)
            and s.notification_id is distinct from n.id),
        'preference', (select json_build_object('timeZoneId', u.time_zone_id, 'quietFrom', u.quiet_from,
            'quietTo', u.quiet_to, 'hasDigest', u.has_digest, 'digestAt', u.digest_at,
            'channels', u.categories -> lower(n.category))
          from notification_preferences u where u.user_id = r.user_id)`;
