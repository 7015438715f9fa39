import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { nextRun } from "../jobs/cron.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { newId } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import type { HeldNotification, HeldRecipient } from "./delivery_ledger.ts";
import type { HeldPreference } from "./preferences_held.ts";

/** The job that turns a digest into a mail. */
export const DIGEST_JOB = "notifications.digest";
const NO_TENANT = "00000000-0000-0000-0000-000000000000";

/** Is this a message a user gets in a digest: mail of low priority and of some category, that may be quoted? */
export const isForDigest = (held: HeldNotification, { hasDigest }: HeldPreference): boolean =>
  hasDigest && held.channel === "Email" && held.priority === "Low" && held.category !== null &&
  !held.isConfidential && held.attachments.length === 0;

/**
 * Puts a message into its recipients' digests, each due at the user's next digest time. The recipients are Collected
 * exactly when the digest and its job exist.
 */
export async function collectForDigest(
  p: Platform,
  { tenantId }: HeldNotification,
  recipients: HeldRecipient[],
  now: Date,
): Promise<void> {
  // digests are locked in one order, so that two messages never wait for each other
  const inOrder = recipients.toSorted((a, b) => (a.userId ?? "") < (b.userId ?? "") ? -1 : 1);
  await transact(p.sql, async (tx) => {
    for (const { id, userId, preference } of inOrder) {
      if (userId === null || preference === null) continue;
      const { digestAt, timeZoneId } = preference;
      const dueAt = nextRun(`${digestAt % 60} ${Math.floor(digestAt / 60)} * * *`, timeZoneId, now) ?? now;
      const digest = await openDigest(p, tx, { tenantId, userId, dueAt });
      await tx`update notification_recipients
        set status = 'Collected', digest_id = ${digest.id}, deliver_after = ${digest.dueAt}
        where id = ${id} and status = 'Owed'`;
    }
  });
}

/**
 * The user's open digest, made with its job where there is none. It stays locked until `tx` ends, so that it is not
 * closed before what is put into it can be seen.
 */
export async function openDigest(
  p: Platform,
  tx: Tx,
  o: { tenantId: string | null; userId: string; dueAt: Date },
): Promise<{ id: string; dueAt: Date }> {
  const [digest] = await tx<{ id: string; dueAt: Date; isNew: boolean }[]>`
    insert into notification_digests as d (id, tenant_key, user_id, due_at)
    values (${newId()}, ${o.tenantId ?? NO_TENANT}, ${o.userId}, ${o.dueAt})
    on conflict (tenant_key, user_id) where closed_at is null do update set due_at = d.due_at
    returning id, due_at, xmax = 0 as is_new`;
  if (!digest) throw new Error("a digest was neither made nor found");
  if (digest.isNew) await enqueueDigest(p, tx, { ...o, digestId: digest.id });
  return digest;
}

/** Gives a digest the job that closes it when it is due. */
export async function enqueueDigest(
  p: Platform,
  tx: Tx,
  o: { digestId: string; tenantId: string | null; dueAt: Date },
): Promise<void> {
  const type = p.jobTypes.get(DIGEST_JOB); // by name: the job itself sends, and sending leads back here
  if (!type) throw new Error(`the job type ${DIGEST_JOB} is not registered`);
  const options = { tenantId: o.tenantId, scheduledAt: o.dueAt };
  const jobId = await enqueueJob(p, tx, type, { digestId: o.digestId }, options);
  await tx`update notification_digests set job_id = ${jobId} where id = ${o.digestId}`;
}
