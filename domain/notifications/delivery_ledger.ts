import type { Queryable, Tx } from "../../infra/postgres/postgres.ts";
import type { Outcome, ProviderAttempt } from "./failover.ts";
import { jsonRows } from "./json_rows.ts";
import type { MessageAttachment } from "./message.ts";
import { emitNotificationFailed } from "./notification_events.ts";
import { type RecipientUser, recipientUserColumns } from "./recipient_user.ts";
import type {
  NotificationChannel,
  NotificationPriority,
  NotificationStatus,
  RecipientStatus,
} from "./status.ts";
import type { Rendition } from "./templates/render.ts";

export interface HeldRecipient extends RecipientUser {
  id: string;
  kind: "to" | "cc" | "bcc";
  address: string;
  displayName: string | null;
  status: RecipientStatus;
}

/** Which run of which job holds a message; a direct message is held by no job. */
export interface Holder {
  jobId: string | null;
  attempt: number;
}

/** A message that is being sent, with all a provider needs of it. */
export interface HeldNotification extends Holder {
  id: string;
  tenantId: string | null;
  channel: NotificationChannel;
  priority: NotificationPriority;
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  locale: string | null;
  templateSlug: string | null;
  /** The version it was accepted with; null where it has no template, or was accepted before versions were kept. */
  templateVersionId: string | null;
  /** The version it was filled in from; null before that. */
  templateVersion: number | null;
  templateData: Record<string, unknown> | null;
  pushData: Record<string, string> | null;
  category: string | null;
  icon: string | null;
  actionUrl: string | null;
  fromAddress: string | null;
  fromName: string | null;
  isConfidential: boolean;
  /** When the run began that died with this message in its hands; only on a run that takes over from it. */
  interruptedAt?: Date | null;
  recipients: HeldRecipient[];
  attachments: MessageAttachment[];
}

/** What is told of an attempt whose end nobody saw. */
export const INTERRUPTED =
  "The process of this attempt ended or fell silent; whether it was delivered is not known.";

/** A run of a job that asks for its message. */
export interface Hold {
  id: string;
  jobId: string;
  attempt: number;
  /** How often the job has failed before; becomes the retry count. */
  failures: number;
}

/**
 * Takes messages, each for one run of a job: Queued, Scheduled or Failed becomes Sending. A later run of the same job
 * also takes over what an earlier one left Sending when it died. A job that is not the message's own (a dead letter
 * that was re-enqueued) takes it only while it is DeadLettered, and then owes it to everyone who has not got it.
 * The condition on the status is one `case`, which no index answers: of a backlog the database believes that hardly
 * anything is open, and would read all of it for every group.
 * @returns in the given order; null where one is not there to be taken: cancelled, sent, or given to another job.
 */
export async function holdNotifications(q: Queryable, holds: Hold[]): Promise<(HeldNotification | null)[]> {
  const rows = await q<(HeldNotification & { isRevived: boolean })[]>`
    update notifications n set status = 'Sending', job_id = h.job_id, job_attempt = h.attempt,
      retry_count = h.failures, updated_at = now()
    from unnest(${holds.map((h) => h.id)}::uuid[], ${holds.map((h) => h.jobId)}::uuid[],
      ${holds.map((h) => h.attempt)}::int[], ${holds.map((h) => h.failures)}::int[])
      as h (id, job_id, attempt, failures)
    where n.id = h.id and case when n.job_id = h.job_id
      then n.status in ('Queued', 'Scheduled', 'Failed') or n.status = 'Sending' and n.job_attempt < h.attempt
      else n.status = 'DeadLettered' end
    returning ${heldColumns(q)}, (select case when before.status = 'Sending' then before.updated_at end
      from notifications before where before.id = n.id) as interrupted_at,
      (select before.status = 'DeadLettered' from notifications before where before.id = n.id) as is_revived`;
  await oweAgain(q, rows.filter((row) => row.isRevived));
  const byJob = new Map(rows.map((row) => [row.jobId, row]));
  return holds.map((hold) => byJob.get(hold.jobId) ?? null);
}

/** Has messages tried again for those who were refused or skipped before. */
async function oweAgain(q: Queryable, revived: HeldNotification[]): Promise<void> {
  if (revived.length === 0) return;
  await q`update notification_recipients set status = 'Owed', reason = null
    where notification_id = any(${revived.map(({ id }) => id)}::uuid[]) and status in ('Refused', 'Skipped')`;
  for (const { recipients } of revived) {
    for (const recipient of recipients) {
      if (recipient.status === "Refused" || recipient.status === "Skipped") recipient.status = "Owed";
    }
  }
}

/** A message that was written as Sending and is held by no job: a direct one. */
export async function readDirectNotification(q: Queryable, id: string): Promise<HeldNotification> {
  const [row] = await q<HeldNotification[]>`
    select ${heldColumns(q)} from notifications n where n.id = ${id}`;
  if (!row) throw new Error(`the notification ${id} has just been written and is not there`);
  return row;
}

const heldColumns = (q: Queryable) =>
  q`n.id, n.tenant_id, n.channel, n.priority, n.subject, n.html_body, n.text_body, n.locale, n.template_slug,
    n.template_version_id, n.template_version, n.template_data, n.push_data, n.category, n.icon, n.action_url, n.from_address, n.from_name,
    n.is_confidential, n.job_id, n.job_attempt as attempt,
    (select coalesce(json_agg(json_build_object('id', r.id, 'kind', r.kind, 'address', r.address,
        'displayName', r.display_name, 'status', r.status, ${recipientUserColumns(q)}) order by r.id), '[]')
      from notification_recipients r where r.notification_id = n.id) as recipients,
    (select coalesce(json_agg(json_build_object('fileId', a.file_id, 'fileName', a.file_name,
        'contentType', a.content_type) order by a.position), '[]')
      from notification_attachments a where a.notification_id = n.id) as attachments`;

/** How one run ended. */
export interface DeliveryResult {
  status: Extract<
    NotificationStatus,
    "Sent" | "Failed" | "DeadLettered" | "Scheduled" | "Pending" | "Cancelled"
  >;
  /** Why it is not Sent. */
  error: string | null;
  attempts: ProviderAttempt[];
  outcomes: Outcome[];
  /** What the template came to, when this run filled it in. */
  rendition: Rendition | null;
  /** The job that goes on with it, where the run itself was none. */
  nextJobId?: string;
  /** When the next of those who wait may get it. */
  waitsUntil?: Date | null;
}

/** A run that ended. */
export interface Settlement {
  held: HeldNotification;
  result: DeliveryResult;
}

/** Writes how one run ended. @returns false when the run no longer held the message; see `settleNotifications` */
export async function settleNotification(
  tx: Tx,
  held: HeldNotification,
  result: DeliveryResult,
): Promise<boolean> {
  const [isOurs = false] = await settleNotifications(tx, [{ held, result }]);
  return isOurs;
}

/**
 * Writes how runs ended: attempts, what became of each recipient, the status; one statement for all. What a run
 * delivered counts in any case; all else changes only while that very run still holds the message. The tenants of
 * those given up are told. Written once more it changes nothing.
 * @returns in the given order; false where it no longer did.
 */
export async function settleNotifications(tx: Tx, settlements: Settlement[]): Promise<boolean[]> {
  const rows = await tx<{ index: number }[]>`
    with ended as materialized (
      select * from json_to_recordset(${jsonRows(settlements.map(endOf))}::text::json) as e (
        index integer, id uuid, job_id uuid, attempt integer, status notification_status, error text,
        next_job_id uuid, is_rendered boolean, drops boolean, keeps boolean, template_version integer,
        template_locale text, subject text, html_body text, text_body text, waits_until timestamptz, attempts json,
        outcomes json)
    ), held as (
      select e.*, n.status = 'Sending' and n.job_id is not distinct from e.job_id
        and n.job_attempt = e.attempt as is_ours
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
      html_body = case when held.drops then null when held.keeps then held.html_body else n.html_body end,
      text_body = case when held.drops then null when held.keeps then held.text_body else n.text_body end,
      template_data = case when held.drops then null else n.template_data end
    from held where n.id = held.id and held.is_ours returning held.index`;
  const ours = new Set(rows.map((row) => row.index));
  const givenUp = settlements.filter(({ result }, index) =>
    ours.has(index) && result.status === "DeadLettered"
  );
  await emitNotificationFailed(tx, givenUp.map(({ held, result }) => ({ ...held, error: result.error })));
  return settlements.map((_, index) => ours.has(index));
}

function endOf({ held, result }: Settlement, index: number) {
  const { rendition, status } = result;
  const keeps = rendition !== null && !held.isConfidential;
  return {
    ...{ index, id: held.id, job_id: held.jobId, attempt: held.attempt, status, error: result.error },
    ...{ next_job_id: result.nextJobId, is_rendered: rendition !== null, keeps },
    ...(result.waitsUntil ? { waits_until: result.waitsUntil } : {}),
    drops: held.isConfidential && status === "Sent",
    ...{ template_version: rendition?.templateVersion, template_locale: rendition?.locale },
    ...{
      subject: rendition?.subject,
      attempts: result.attempts.map(tryOf),
      outcomes: result.outcomes.map(outcomeOf),
    },
    ...(keeps ? { html_body: rendition.htmlBody, text_body: rendition.textBody } : {}),
  };
}

const tryOf = (tried: ProviderAttempt) => ({
  ...{ id: tried.id, provider_name: tried.providerName, is_success: tried.isSuccess },
  ...{ duration_ms: tried.durationMs, attempted_at: tried.attemptedAt, error_message: tried.errorMessage },
});

const outcomeOf = ({ recipientId, status, errorMessage, reason }: Outcome) => ({
  ...{ id: recipientId, status, error_message: errorMessage, reason },
});
