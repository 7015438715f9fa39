import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { readJobEnds } from "../jobs/job_ends.ts";
import { enqueueDigests } from "./digest_collect.ts";
import type { NotificationPlatform } from "./platform.ts";
import { tenantOfKey } from "./tenant_key.ts";

export const DIGEST_TEMPLATE = "notification-digest";
const BATCH_SIZE = 500;

/**
 * Copies the outcome of digest mails to the messages in them. Idempotent: the delivery job calls it for its own mail, and
 * the sweep calls it again for mails whose process died in between.
 * @param notificationId the digest mail to settle; null: all
 * @returns how many digests it settled, at most BATCH_SIZE
 */
export async function settleDigests(
  p: Pick<NotificationPlatform, "sql">,
  notificationId: string | null,
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const finished = await tx<{ id: string }[]>`
      select d.id from notification_digests d join notifications n on n.id = d.notification_id
      where d.settled_at is null and n.status in ('Sent', 'DeadLettered', 'Cancelled')
        and (${notificationId}::uuid is null or d.notification_id = ${notificationId})
      order by d.id limit ${BATCH_SIZE} for update of d skip locked`;
    if (finished.length === 0) return 0;
    const ids = finished.map((digest) => digest.id);
    const updated = await tx<{ notificationId: string }[]>`
      update notification_recipients r set deliver_after = null,
        status = case n.status when 'Sent' then 'Sent' when 'Cancelled' then 'Skipped' else 'Refused' end,
        sent_at = case n.status when 'Sent' then n.sent_at end,
        reason = case n.status when 'Cancelled' then 'Suppressed' end,
        error_message = case when n.status <> 'Sent' then 'The digest was not delivered: '
          || coalesce(n.last_error, 'the reason is unknown') end
      from notification_digests d join notifications n on n.id = d.notification_id
      where d.id = any(${ids}::uuid[]) and r.digest_id = d.id and r.status = 'Collected'
      returning r.notification_id`;
    await tx`update notification_digests set settled_at = now() where id = any(${ids}::uuid[])`;
    await settleCollected(tx, updated.map((row) => row.notificationId));
    return ids.length;
  });
}

/** Sets the final status of those of these Pending messages that have no Owed or Collected recipient any more. */
export async function settleCollected(q: Sql, notificationIds: string[]): Promise<number> {
  const ids = [...new Set(notificationIds)].sort();
  if (ids.length === 0) return 0;
  const settled = await q`
    with ready as (
      select n.id from notifications n
      where n.id = any(${ids}::uuid[]) and n.status = 'Pending' and not exists (
        select from notification_recipients r where r.notification_id = n.id and r.status in ('Owed', 'Collected'))
      order by n.id for update
    ), outcome as (
      select r.notification_id as id, bool_or(r.status = 'Sent') as is_sent,
        bool_or(r.status = 'Refused') as is_refused, max(r.error_message) as error
      from ready join notification_recipients r on r.notification_id = ready.id group by 1
    )
    update notifications n set updated_at = now(), last_error = o.error,
      status = case when o.is_sent then 'Sent' when o.is_refused then 'DeadLettered' else 'Cancelled'
        end::notification_status,
      sent_at = case when o.is_sent then now() end
    from outcome o where n.id = o.id and n.status = 'Pending'`;
  return settled.count;
}

/** The digest part of the sweep: settles digests, settles Pending messages that were left behind, replaces lost jobs. */
export async function sweepDigests(p: NotificationPlatform, idle = "10 minutes"): Promise<void> {
  while (await settleDigests(p, null) === BATCH_SIZE);
  const waiting = await p.sql<{ id: string }[]>`
    select n.id from notifications n where n.status = 'Pending'
      and n.updated_at < now() - ${idle}::text::interval and not exists (
        select from notification_recipients r where r.notification_id = n.id and r.status in ('Owed', 'Collected'))
    order by n.id limit ${BATCH_SIZE}`;
  await settleCollected(p.sql, waiting.map((row) => row.id));
  await transact(p.sql, (tx) => replaceLostJobs(p, tx, idle));
}

async function replaceLostJobs(p: NotificationPlatform, tx: Tx, idle: string): Promise<void> {
  const overdue = await tx<{ id: string; tenantKey: string; dueAt: Date; jobId: string | null }[]>`
    select id, tenant_key, due_at, job_id from notification_digests
    where closed_at is null and settled_at is null and due_at < now() - ${idle}::text::interval
    order by id limit ${BATCH_SIZE} for update skip locked`;
  const ends = await readJobEnds(tx, overdue.flatMap((digest) => digest.jobId ?? []));
  const lost = overdue.filter(({ jobId }) => jobId === null || ends.has(jobId));
  await enqueueDigests(p, tx, lost.map((digest) => ({ ...digest, tenantId: tenantOfKey(digest.tenantKey) })));
}
