import type { Queryable } from "../../infra/postgres/postgres.ts";
import { newId } from "../shared/ids.ts";
import type { Outcome, Tried } from "./failover.ts";
import type { MessageAttachment } from "./message.ts";
import type { NotificationChannel, NotificationPriority, NotificationStatus } from "./status.ts";
import type { Rendition } from "./templates/render.ts";

export interface HeldRecipient {
  id: string;
  kind: "to" | "cc" | "bcc";
  address: string;
  displayName: string | null;
  status: "Owed" | "Sent" | "Refused";
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
  templateVersion: number | null;
  templateData: Record<string, unknown> | null;
  pushData: Record<string, string> | null;
  category: string | null;
  icon: string | null;
  actionUrl: string | null;
  fromAddress: string | null;
  fromName: string | null;
  isConfidential: boolean;
  recipients: HeldRecipient[];
  attachments: MessageAttachment[];
}

/**
 * Takes a message for one run of a job: Queued, Scheduled or Failed becomes Sending. A later run of the same job also
 * takes over what an earlier one left Sending when it died. A job that is not the message's own (a dead letter that
 * was re-enqueued) takes it only while it is DeadLettered.
 * @param o.failures how often the job has failed before; becomes the retry count.
 * @returns null when it is not there to be taken: cancelled, sent, or given to another job meanwhile.
 */
export async function holdNotification(
  q: Queryable,
  o: { id: string; jobId: string; attempt: number; failures: number },
): Promise<HeldNotification | null> {
  const [row] = await q<HeldNotification[]>`
    update notifications n set status = 'Sending', job_id = ${o.jobId}, job_attempt = ${o.attempt},
      retry_count = ${o.failures}, updated_at = now()
    where n.id = ${o.id} and (
      n.job_id = ${o.jobId} and (n.status in ('Queued', 'Scheduled', 'Failed')
        or n.status = 'Sending' and n.job_attempt < ${o.attempt})
      or n.job_id is distinct from ${o.jobId} and n.status = 'DeadLettered')
    returning ${heldColumns(q)}`;
  return row ?? null;
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
    n.template_version, n.template_data, n.push_data, n.category, n.icon, n.action_url, n.from_address, n.from_name,
    n.is_confidential, n.job_id, n.job_attempt as attempt,
    (select coalesce(json_agg(json_build_object('id', r.id, 'kind', r.kind, 'address', r.address,
        'displayName', r.display_name, 'status', r.status) order by r.id), '[]')
      from notification_recipients r where r.notification_id = n.id) as recipients,
    (select coalesce(json_agg(json_build_object('fileId', a.file_id, 'fileName', a.file_name,
        'contentType', a.content_type) order by a.position), '[]')
      from notification_attachments a where a.notification_id = n.id) as attachments`;

/** How one run ended. */
export interface DeliveryResult {
  status: Extract<NotificationStatus, "Sent" | "Failed" | "DeadLettered">;
  /** Why it is not Sent. */
  error: string | null;
  tries: Tried[];
  outcomes: Outcome[];
  /** What the template came to, when this run filled it in. */
  rendition: Rendition | null;
  /** The job that goes on with it, where the run itself was none. */
  nextJobId?: string;
}

/**
 * Writes how a run ended: tries, what became of each recipient, the status; one statement. What a run delivered
 * counts in any case; the status changes only while this very run still holds the message.
 * @returns false when it no longer did.
 */
export async function settleNotification(
  q: Queryable,
  held: HeldNotification,
  result: DeliveryResult,
): Promise<boolean> {
  const { tries, outcomes, rendition, status } = result;
  const isDone = status === "Sent";
  const keeps = rendition !== null && !held.isConfidential;
  const drops = held.isConfidential && isDone;
  const rows = await q`
    with held as (
      select id, status = 'Sending' and job_id is not distinct from ${held.jobId}::uuid
        and job_attempt = ${held.attempt} as is_ours
      from notifications where id = ${held.id} for update
    ), tried as (
      insert into notification_attempts (id, notification_id, provider_name, is_success, duration_ms, attempted_at, error_message)
      select given.id, held.id, provider_name, is_success = 1, duration_ms, attempted_at, error_message
      from held cross join unnest(${tries.map(() => newId())}::uuid[], ${
    tries.map((t) => t.providerName)
  }::text[],
        ${tries.map((t) => Number(t.isSuccess))}::int[], ${tries.map((t) => t.durationMs)}::int[],
        ${tries.map((t) => t.attemptedAt.toISOString())}::timestamptz[], ${
    tries.map((t) => t.errorMessage)
  }::text[])
        as given (id, provider_name, is_success, duration_ms, attempted_at, error_message)
    ), answered as (
      update notification_recipients r set status = o.status, error_message = o.error_message,
        sent_at = case when o.status = 'Sent' then now() end
      from unnest(${outcomes.map((o) => o.recipientId)}::uuid[], ${outcomes.map((o) => o.status)}::text[],
        ${outcomes.map((o) => o.errorMessage)}::text[]) as o (id, status, error_message)
      where r.id = o.id and r.notification_id = ${held.id} and r.status <> 'Sent'
    )
    update notifications n set status = ${status}, last_error = ${result.error}, updated_at = now(),
      sent_at = case when ${isDone} then now() end, job_id = coalesce(${result.nextJobId ?? null}, n.job_id),
      job_attempt = case when ${result.nextJobId ?? null}::uuid is null then n.job_attempt else 0 end,
      template_version = coalesce(${rendition?.templateVersion ?? null}, n.template_version),
      template_locale = coalesce(${rendition?.locale ?? null}, n.template_locale),
      subject = case when ${rendition !== null} then ${rendition?.subject ?? null} else n.subject end,
      html_body = case when ${drops} then null when ${keeps} then ${
    rendition?.htmlBody ?? null
  } else n.html_body end,
      text_body = case when ${drops} then null when ${keeps} then ${
    rendition?.textBody ?? null
  } else n.text_body end,
      template_data = case when ${drops} then null else n.template_data end
    from held where n.id = held.id and held.is_ours`;
  return rows.count === 1;
}
