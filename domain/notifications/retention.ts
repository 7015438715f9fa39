import { DAY_MS } from "../../infra/clock.ts";
import { type Batch, type BatchResult, deleteExpired, maintenanceJob } from "../jobs/maintenance.ts";
import { deleteOldRows, type OldRows } from "../shared/archive.ts";
import { FIRST_ID, firstIdOf } from "../shared/ids.ts";
import { sweepAttachments } from "./attachments.ts";
import type { NotificationPlatform } from "./platform.ts";

/** Messages in a batch. Deleting one also deletes its recipients, attempts and attachments in the same transaction. */
const BATCH_SIZE = 500;

/**
 * Deletes the content of old messages, later the messages, and old digests and in-app notifications. A message that still
 * holds a file stays: when its content has expired, the file is released, and the next run deletes the message.
 */
export const retentionJob = maintenanceJob<NotificationPlatform>({
  name: "notifications.retention",
  cron: "23 2 * * *",
  works: {
    messagesDeleted: { limit: BATCH_SIZE, run: deleteMessages },
    bodiesDeleted: { limit: BATCH_SIZE, run: deleteBodies },
    filesReleased: { limit: 200, run: sweepAttachments },
    receiptsDeleted: { limit: 1_000, run: deleteOlder("notification_feedback_receipts", "received_at") },
    digestsDeleted: { limit: 1_000, run: deleteOlder("notification_digests", "settled_at") },
    inAppDeleted: { limit: 1_000, run: deleteInApp },
  },
});

type Settings = Pick<NotificationPlatform, "clock" | "config">;

const daysAgo = ({ clock }: Settings, days: number) => new Date(clock.now().getTime() - days * DAY_MS);

/** Messages and in-app notifications that are older than this are deleted. */
const messageCutoff = (p: Settings) => daysAgo(p, p.config.NOTIFICATION_RETENTION_DAYS);

/** Messages that are older than this lose their content, and in-app notifications that were read are deleted. */
const contentCutoff = (p: Settings) =>
  daysAgo(p, Math.min(p.config.NOTIFICATION_BODY_RETENTION_DAYS, p.config.NOTIFICATION_RETENTION_DAYS));

/**
 * One step through the messages that ended before the cutoff. A message that may still be sent stays. Archives have the
 * recipients and attempts of messages, without texts, addresses, names and errors.
 */
async function deleteMessages(p: NotificationPlatform, batch: Batch): Promise<BatchResult> {
  const cutoff = messageCutoff(p);
  const old: OldRows = {
    kind: "messages",
    table: "notifications",
    createdBefore: cutoff,
    isOld: (q) =>
      q`(updated_at < ${cutoff} and status in ('Sent', 'Failed', 'DeadLettered', 'Cancelled')
        and not exists (select from notification_attachments a where a.notification_id = r.id and a.is_held))`,
    archived: (q) =>
      q`created_at as occurred_at, channel as type, status, json_build_object('priority', priority,
        'category', category, 'templateSlug', template_slug, 'locale', locale, 'sentAt', sent_at, 'createdBy', created_by,
        'deliveryState', delivery_state, 'recipients', (
          select json_agg(json_build_object('kind', kind, 'userId', user_id, 'status', status, 'reason', reason,
            'sentAt', sent_at, 'deliveryState', delivery_state) order by id)
          from notification_recipients where notification_id = r.id), 'attempts', (
          select json_agg(json_build_object('provider', provider_name, 'isSuccess', is_success, 'at', attempted_at,
            'durationMs', duration_ms) order by id)
          from notification_attempts where notification_id = r.id)) as facts`,
  };
  return await deleteOldRows(p, old, batch);
}

/** One step through the messages that ended before the content cutoff. Deletes their texts and template data. */
async function deleteBodies(p: NotificationPlatform, { limit, after }: Batch): Promise<BatchResult | number> {
  const cutoff = contentCutoff(p);
  const before = firstIdOf(cutoff);
  const [step] = await p.sql<BatchResult[]>`
    with page as materialized (
      select id, status, updated_at, body_expired_at from notifications
      where id > ${after ?? FIRST_ID} and id < ${before} order by id limit ${limit}
    ), expired as (
      update notifications n set html_body = null, text_body = null, template_data = null, push_data = null,
        body_expired_at = now()
      from page
      where n.id = page.id and page.updated_at < ${cutoff} and page.body_expired_at is null
        and page.status in ('Sent', 'Failed', 'DeadLettered', 'Cancelled')
        and n.status = page.status and n.updated_at = page.updated_at returning 1
    )
    select (select count(*) from expired)::int as rows, (select id from page order by id offset ${limit}::int - 1) as after`;
  return step ?? 0;
}

/** Deletes the rows whose `column` is before the cutoff of messages. */
function deleteOlder(table: string, column: string) {
  return (p: NotificationPlatform, batch: Batch): PromiseLike<BatchResult | number> => {
    const keptFor = `${p.config.NOTIFICATION_RETENTION_DAYS} days`;
    return deleteExpired({ table, column, keptFor }).run(p, batch);
  };
}

/** One step through in-app notifications: read ones are deleted like the content of messages, others like messages. */
async function deleteInApp(p: NotificationPlatform, { limit, after }: Batch): Promise<BatchResult | number> {
  const content = contentCutoff(p);
  const [step] = await p.sql<BatchResult[]>`
    with page as materialized (
      select id from user_notifications
      where id > ${after ?? FIRST_ID} and id < ${firstIdOf(content)} order by id limit ${limit}
    ), deleted as (
      delete from user_notifications n using page
      where n.id = page.id and (n.is_read and n.created_at < ${content} or n.created_at < ${messageCutoff(p)})
      returning 1
    )
    select (select count(*) from deleted)::int as rows, (select id from page order by id offset ${limit}::int - 1) as after`;
  return step ?? 0;
}
