import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { nextRun } from "../../jobs/cron.ts";
import { insertJobs } from "../../jobs/enqueue.ts";
import { limitKeyOf } from "../../jobs/job_type.ts";
import { newId } from "../../shared/ids.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import type { NotificationPlatform } from "../platform.ts";
import type { RecipientPreference } from "../recipient_user.ts";
import { tenantKeyOf } from "../tenant_key.ts";
import { isOneMail } from "./email.ts";

/** The name of the job type that closes a digest and queues its mail. */
export const DIGEST_JOB = "notifications.digest";

/** True if the user gets this message in a digest: Low priority email with a category, not confidential, no attachments, no cc or bcc. */
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
export async function enqueueDigests(
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
