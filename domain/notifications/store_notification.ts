import type { Tx } from "../../infra/postgres/postgres.ts";
import { newId } from "../shared/ids.ts";
import type { Message } from "./message.ts";
import type { NotificationStatus } from "./status.ts";

/** On whose behalf a message goes out; all null for the service itself. */
export interface MessageSender {
  tenantId: string | null;
  userId: string | null;
  traceId: string | null;
}

/** How a message enters the ledger. */
export interface NewNotification {
  id: string;
  sender: MessageSender;
  /** As `checkMessage` returned it. */
  message: Message;
  status: NotificationStatus;
  jobId: string | null;
  scheduledAt: Date | null;
  maxRetries: number;
}

/** Writes a message with its recipients and attachments; one round trip. */
export async function insertNotification(tx: Tx, n: NewNotification): Promise<void> {
  const { id, message: m } = n;
  const attachments = m.attachments ?? [];
  const json = (value: unknown) => value === undefined || value === null ? null : JSON.stringify(value);
  await tx`
    with message as (
      insert into notifications (id, tenant_id, channel, status, priority, subject, html_body, text_body, locale,
        template_slug, template_data, push_data, category, icon, action_url, from_address, from_name,
        is_confidential, recipient_count, max_retries, scheduled_at, job_id, created_by)
      values (${id}, ${n.sender.tenantId}, ${m.channel}, ${n.status}, ${m.priority ?? "Normal"}, ${
    m.subject ?? null
  },
        ${m.htmlBody ?? null}, ${m.textBody ?? null}, ${m.locale ?? null}, ${m.templateSlug ?? null},
        ${json(m.templateData)}::text::jsonb, ${json(m.pushData)}::text::jsonb, ${m.category ?? null},
        ${m.icon ?? null}, ${m.actionUrl ?? null}, ${m.fromAddress ?? null}, ${m.fromName ?? null},
        ${m.isConfidential ?? false}, ${m.recipients.length}, ${n.maxRetries}, ${n.scheduledAt}, ${n.jobId},
        ${n.sender.userId})
    ), files as (
      insert into notification_attachments (notification_id, position, file_id, file_name, content_type)
      select ${id}, position, file_id, file_name, content_type
      from unnest(${attachments.map((a) => a.fileId)}::uuid[], ${attachments.map((a) => a.fileName)}::text[],
        ${attachments.map((a) => a.contentType)}::text[])
        with ordinality as given (file_id, file_name, content_type, position)
    )
    insert into notification_recipients (id, notification_id, kind, address, display_name)
    select id, ${id}, kind, address, display_name
    from unnest(${m.recipients.map(newId)}::uuid[], ${m.recipients.map((r) => r.kind ?? "to")}::text[],
      ${m.recipients.map((r) => r.address)}::text[], ${
    m.recipients.map((r) => r.displayName ?? null)
  }::text[])
      as given (id, kind, address, display_name)`;
}
