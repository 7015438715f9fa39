import type { Sql } from "../../infra/postgres/postgres.ts";
import { jobInsertion, type NewJob } from "../jobs/enqueue.ts";
import { newId } from "../shared/ids.ts";
import { jsonRows } from "../shared/storable.ts";
import type { Message } from "./message.ts";
import type { NotificationStatus } from "./status.ts";
import type { TemplatePins } from "../templates/parts.ts";
import { tenantKeyOf } from "./tenant_key.ts";

/** The sender of a message; all null for the service itself. */
export interface MessageSender {
  tenantId: string | null;
  userId: string | null;
  traceId: string | null;
}

/** A message that has been validated and is not stored yet. */
export interface OutgoingMessage {
  sender: MessageSender;
  message: Message;
  scheduledAt: Date | null;
}

/** A message to be inserted. */
export interface NewNotification {
  id: string;
  sender: MessageSender;
  /** A message validated by `checkMessage`. */
  message: Message;
  status: NotificationStatus;
  jobId: string | null;
  scheduledAt: Date | null;
  maxRetries: number;
  /** The template version it will be rendered from; null without a template. */
  templateVersionId: string | null;
  /** The versions of its layout and partials; null or absent if it has none. */
  templatePins?: TemplatePins | null;
}

/**
 * Inserts messages with their recipients and attachments, and the jobs that deliver them, in one statement. The caller
 * wakes workers for the jobs after the commit.
 */
export async function insertNotifications(
  q: Sql,
  notifications: NewNotification[],
  jobs: (NewJob & { id: string })[] = [],
): Promise<void> {
  await q`
    with given as materialized (
      select * from json_to_recordset(${jsonRows(notifications.map(rowOf))}::text::json) as n (
        id uuid, tenant_id uuid, channel notification_channel, status notification_status,
        priority notification_priority, subject text, html_body text, text_body text, locale text,
        template_slug text, template_version_id uuid, template_pins jsonb, template_data jsonb, push_data jsonb, category text, icon text, action_url text,
        from_address text, from_name text, reply_to text, is_confidential boolean, max_retries integer,
        scheduled_at timestamptz, job_id uuid, created_by uuid, recipients json, attachments json)
    ), messages as (
      insert into notifications (id, tenant_id, channel, status, priority, subject, html_body, text_body, locale,
        template_slug, template_version_id, template_pins, template_data, push_data, category, icon, action_url, from_address, from_name,
        reply_to, is_confidential, recipient_count, max_retries, scheduled_at, job_id, created_by)
      select id, tenant_id, channel, status, priority, subject, html_body, text_body, locale,
        template_slug, template_version_id, template_pins, template_data, push_data, category, icon, action_url, from_address, from_name,
        reply_to, is_confidential, json_array_length(recipients), max_retries, scheduled_at, job_id, created_by
      from given
    ), files as (
      insert into notification_attachments (notification_id, position, file_id, file_name, content_type, is_inline, is_held)
      select given.id, a.position, a.file_id, a.file_name, a.content_type, a.is_inline, a.is_held
      from given cross join json_to_recordset(given.attachments) as a (
        position smallint, file_id uuid, file_name text, content_type text, is_inline boolean, is_held boolean)
    ) ${jobs.length > 0 ? q`, queued as (${jobInsertion(q, jobs)})` : q``}
    insert into notification_recipients (id, notification_id, tenant_key, kind, address, display_name, user_id, follows_user)
    select r.id, given.id, coalesce(given.tenant_id, ${
    tenantKeyOf(null)
  }::uuid), r.kind, r.address, r.display_name,
      r.user_id, r.follows_user
    from given cross join json_to_recordset(given.recipients) as r (
      id uuid, kind text, address text, display_name text, user_id uuid, follows_user boolean)`;
}

/** A message with the column names of the statement. Undefined members become null there. */
function rowOf({ id, sender, message: m, status, jobId, scheduledAt, maxRetries, ...rest }: NewNotification) {
  return {
    id,
    status,
    tenant_id: sender.tenantId,
    created_by: sender.userId,
    job_id: jobId,
    scheduled_at: scheduledAt,
    max_retries: maxRetries,
    channel: m.channel,
    priority: m.priority ?? "Normal",
    is_confidential: m.isConfidential ?? false,
    subject: m.subject,
    html_body: m.htmlBody,
    text_body: m.textBody,
    locale: m.locale,
    template_slug: m.templateSlug,
    template_version_id: rest.templateVersionId,
    template_pins: rest.templatePins,
    template_data: m.templateData,
    push_data: m.pushData,
    category: m.category,
    icon: m.icon,
    action_url: m.actionUrl,
    from_address: m.fromAddress,
    from_name: m.fromName,
    reply_to: m.replyTo,
    recipients: m.recipients.map(({ kind, address, displayName, userId, followsUser }) => ({
      id: newId(),
      kind: kind ?? "to",
      address,
      display_name: displayName,
      user_id: userId,
      follows_user: followsUser ?? false,
    })),
    attachments: (m.attachments ?? []).map((attachment, index) => ({
      position: index + 1,
      file_id: attachment.fileId,
      file_name: attachment.fileName,
      content_type: attachment.contentType,
      is_inline: attachment.isInline ?? false,
      is_held: attachment.isHeld ?? false,
    })),
  };
}
