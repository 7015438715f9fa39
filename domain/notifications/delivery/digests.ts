import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { nextRun } from "../../jobs/cron.ts";
import { insertJobs } from "../../jobs/enqueue.ts";
import { readJobEnds } from "../../jobs/job_row.ts";
import { limitKeyOf } from "../../jobs/job_type.ts";
import { type Batch, type BatchResult, positionAfter } from "../../jobs/maintenance.ts";
import { FIRST_ID, newId } from "../../shared/ids.ts";
import type { HeldNotification, HeldRecipient, RecipientPreference } from "../delivery_ledger.ts";
import type { NotificationPlatform } from "../platform.ts";
import { tenantKeyOf, tenantOfKey } from "../tenant_key.ts";
import { isOneMail } from "./email.ts";

/** The name of the job type that closes a digest and queues its mail. */
export const DIGEST_JOB = "notifications.digest";

/** True if the user gets this message in a digest: a Low priority email of a category to the user alone, without secrets or files. */
export const isForDigest = (held: HeldNotification, { hasDigest }: RecipientPreference): boolean =>
  hasDigest && held.channel === "Email" && held.priority === "Low" && held.category !== null &&
  !held.isConfidential && held.attachments.length === 0 && !isOneMail(held);

/**
 * Puts a message into its recipients' digests, each due at the user's next digest time. One transaction creates the
 * digests and their jobs and sets the recipients to Collected. The number of statements does not depend on the number
 * of recipients.
 */
export async function collectForDigest(
  p: NotificationPlatform,
  { tenantId }: HeldNotification,
  recipients: HeldRecipient[],
  now: Date,
): Promise<void> {
  const collected = recipients.flatMap(({ id, userId, preference }) =>
    userId === null || preference === null ? [] : [{ id, userId, dueAt: nextDigestTime(preference, now) }]
  );
  await transact(p.sql, async (tx) => {
    const digests = await openDigests(p, tx, tenantId, collected);
    const given = collected.flatMap(({ id, userId }) => {
      const digest = digests.get(userId);
      return digest ? [{ id, digest }] : [];
    });
    await tx`update notification_recipients r
      set status = 'Collected', digest_id = given.digest_id, deliver_after = given.due_at
      from unnest(${given.map(({ id }) => id)}::uuid[], ${given.map(({ digest }) => digest.id)}::uuid[],
        ${given.map(({ digest }) => digest.dueAt.toISOString())}::timestamptz[])
        as given (id, digest_id, due_at)
      where r.id = given.id and r.status = 'Owed'`;
  });
}

function nextDigestTime({ digestAt, timeZoneId }: RecipientPreference, now: Date): Date {
  return nextRun(`${digestAt % 60} ${Math.floor(digestAt / 60)} * * *`, timeZoneId, now) ?? now;
}

interface OpenDigest {
  id: string;
  userId: string;
  dueAt: Date;
  isNew: boolean;
}

/**
 * The users' open digests by user id; missing digests are created with their jobs. The rows stay locked until `tx` ends,
 * so that no digest is closed before the messages put into it are committed.
 */
export async function openDigests(
  p: NotificationPlatform,
  tx: Tx,
  tenantId: string | null,
  wanted: { userId: string; dueAt: Date }[],
): Promise<Map<string, OpenDigest>> {
  const users = [...new Map(wanted.map((each) => [each.userId, each])).values()];
  // The rows are locked in the order of the users, so that two messages cannot deadlock.
  const digests = await tx<OpenDigest[]>`
    insert into notification_digests as d (id, tenant_key, user_id, due_at)
    select id, ${tenantKeyOf(tenantId)}, user_id, due_at
    from unnest(${users.map(() => newId())}::uuid[], ${users.map(({ userId }) => userId)}::uuid[],
      ${users.map(({ dueAt }) => dueAt.toISOString())}::timestamptz[]) as given (id, user_id, due_at)
    order by user_id
    on conflict (tenant_key, user_id) where closed_at is null do update set due_at = d.due_at
    returning id, user_id, due_at, xmax = 0 as is_new`;
  await enqueueDigests(
    p,
    tx,
    digests.filter(({ isNew }) => isNew).map((digest) => ({ ...digest, tenantId })),
  );
  return new Map(digests.map((digest) => [digest.userId, digest]));
}

/** Enqueues the jobs that close these digests when they are due. */
async function enqueueDigests(
  p: NotificationPlatform,
  tx: Tx,
  digests: { id: string; tenantId: string | null; dueAt: Date }[],
): Promise<void> {
  if (digests.length === 0) return;
  // The job type is found by name, because its module imports `send.ts`, which imports this file through `deliver.ts`.
  const type = p.jobTypes.get(DIGEST_JOB);
  if (!type) throw new Error(`the job type ${DIGEST_JOB} is not registered`);
  const jobIds = await insertJobs(
    p,
    tx,
    digests.map(({ id, tenantId, dueAt }) => ({
      jobTypeName: type.name,
      maxRetries: type.maxRetries,
      limitKey: limitKeyOf(type),
      serializedArgs: JSON.stringify({ digestId: id }),
      tenantId,
      scheduledAt: dueAt,
    })),
  );
  await tx`update notification_digests d set job_id = given.job_id
    from unnest(${digests.map(({ id }) => id)}::uuid[], ${jobIds}::uuid[]) as given (id, job_id)
    where d.id = given.id`;
}

export const DIGEST_TEMPLATE = "notification-digest";
const BATCH_SIZE = 500;
/** A digest or message that has been overdue for this long is abandoned. */
const IDLE = "10 minutes";

/**
 * Copies the outcome of digest mails to the messages in them. Idempotent: the delivery job calls it for its own mail, and
 * the sweep calls it again for mails whose process died in between.
 * @param notificationId the digest mail to settle; null: all
 * @returns how many digests it settled, at most `limit`
 */
export async function settleDigests(
  p: Pick<NotificationPlatform, "sql">,
  notificationId: string | null,
  limit = BATCH_SIZE,
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const finished = await tx<{ id: string }[]>`
      select d.id from notification_digests d join notifications n on n.id = d.notification_id
      where d.settled_at is null and n.status in ('Sent', 'DeadLettered', 'Cancelled')
        and (${notificationId}::uuid is null or d.notification_id = ${notificationId})
      order by d.id limit ${limit} for update of d skip locked`;
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

/**
 * Sets the messages of a settled digest back to Pending, because its mail is sent again. They were dead-lettered when the
 * mail failed for the last time. The delivery job calls it before every send; it changes nothing if the digest is not
 * settled.
 */
export async function reopenDigest(
  p: Pick<NotificationPlatform, "sql">,
  notificationId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const [digest] = await tx<{ id: string }[]>`
      update notification_digests set settled_at = null
      where notification_id = ${notificationId} and settled_at is not null returning id`;
    if (!digest) return;
    const waiting = await tx<{ notificationId: string }[]>`
      update notification_recipients set status = 'Collected', error_message = null
      where digest_id = ${digest.id} and status = 'Refused' returning notification_id`;
    const ids = waiting.map((row) => row.notificationId);
    await tx`update notifications set status = 'Pending', updated_at = now()
      where id = any(${ids}::uuid[]) and status = 'DeadLettered'`;
  });
}

/** Sets the final status of the given messages that are Pending without an Owed or Collected recipient. @returns how many */
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

/** Settles abandoned Pending messages without open recipients. @returns how many */
export async function settleWithoutDigest(
  { sql }: Pick<NotificationPlatform, "sql">,
  { limit = BATCH_SIZE }: Partial<Batch> = {},
  idle = IDLE,
): Promise<number> {
  const waiting = await sql<{ id: string }[]>`
    select n.id from notifications n where n.status = 'Pending'
      and n.updated_at < now() - ${idle}::text::interval and not exists (
        select from notification_recipients r where r.notification_id = n.id and r.status in ('Owed', 'Collected'))
    order by n.id limit ${limit}`;
  await settleCollected(sql, waiting.map((row) => row.id));
  return waiting.length;
}

/** Enqueues new jobs for overdue digests whose job has ended or was never enqueued. */
export async function replaceLostJobs(
  p: NotificationPlatform,
  { limit = BATCH_SIZE, after = null }: Partial<Batch> = {},
  idle = IDLE,
): Promise<BatchResult> {
  return await transact(p.sql, async (tx) => {
    const overdue = await tx<{ id: string; tenantKey: string; dueAt: Date; jobId: string | null }[]>`
      select id, tenant_key, due_at, job_id from notification_digests
      where closed_at is null and settled_at is null and due_at < now() - ${idle}::text::interval
        and id > ${after ?? FIRST_ID}
      order by id limit ${limit} for update skip locked`;
    const ends = await readJobEnds(tx, overdue.flatMap((digest) => digest.jobId ?? []));
    const lost = overdue.filter(({ jobId }) => jobId === null || ends.has(jobId));
    await enqueueDigests(
      p,
      tx,
      lost.map((digest) => ({ ...digest, tenantId: tenantOfKey(digest.tenantKey) })),
    );
    return { rows: lost.length, after: positionAfter(overdue, limit) };
  });
}
