import { DAY_MS } from "../../../infra/clock.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { readCancelledEarly, readJobEnds } from "../../jobs/job_row.ts";
import { type Batch, type BatchResult, maintenanceJob, positionAfter } from "../../jobs/maintenance.ts";
import { FIRST_ID, firstIdOf, newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { sweepAttachments } from "../attachments.ts";
import { foldDays, foldHours } from "../counts.ts";
import { INTERRUPTED } from "../delivery_ledger.ts";
import { emitNotificationFailed, type FailedNotification } from "../notification_events.ts";
import type { NotificationPlatform } from "../platform.ts";
import { tenantKeyOf } from "../tenant_key.ts";
import { deliveryJob } from "./deliver.ts";
import { replaceLostJobs, settleDigests, settleWithoutDigest } from "./digests.ts";

const BATCH_SIZE = 1_000;

/**
 * Settles messages whose job has ended without settling them, settles digests, releases files of ended messages, and
 * merges the count shards.
 */
export const sweepJob = maintenanceJob<NotificationPlatform>({
  name: "notifications.sweep",
  cron: "*/5 * * * *",
  works: {
    abandoned: { limit: BATCH_SIZE, run: settleAbandoned },
    cancelledEarly: { limit: BATCH_SIZE, run: settleCancelledEarly },
    releasedFiles: { limit: 200, run: sweepAttachments },
    tenantKeys: { limit: BATCH_SIZE, run: ({ sql }, { limit }) => fillTenantKeys(sql, limit) },
    digests: { limit: 500, run: (p, { limit }) => settleDigests(p, null, limit) },
    forgotten: { limit: 500, run: settleWithoutDigest },
    lostDigestJobs: { limit: 500, run: replaceLostJobs },
    foldedDays: { limit: BATCH_SIZE, run: ({ sql }, { limit }) => foldDays(sql, limit) },
    foldedHours: { limit: BATCH_SIZE, run: ({ sql }, { limit }) => foldHours(sql, limit) },
  },
});

/** Fills the tenant of recipients that an earlier version inserted without it, newest first, so that a search finds them. */
export async function fillTenantKeys(q: Sql, limit = BATCH_SIZE): Promise<number> {
  const { count } = await q`
    update notification_recipients r set tenant_key = coalesce(n.tenant_id, ${tenantKeyOf(null)}::uuid)
    from notifications n where n.id = r.notification_id and r.id = any(array(
      select id from notification_recipients where tenant_key is null
      order by id desc limit ${limit} for update skip locked))`;
  return count;
}

/** A direct message without a heartbeat for this long counts as interrupted. Heartbeats come every 2 s. */
const HEARTBEAT_TIMEOUT = "20 seconds";
const ABANDONED_AFTER = "10 minutes";

/** Settles direct messages whose process died before it wrote their outcome. */
export const directSweepJob = maintenanceJob<NotificationPlatform>({
  name: "notifications.sweep-direct",
  cron: "* * * * *",
  repeatAfterSeconds: 30,
  works: { settled: { limit: BATCH_SIZE, run: settleInterrupted } },
});

/** Settles direct messages of the last day whose heartbeat has stopped. @returns how many. */
export async function settleInterrupted(
  { sql, clock }: Pick<Platform, "sql" | "clock">,
  { limit = BATCH_SIZE }: Partial<Batch> = {},
): Promise<number> {
  const since = firstIdOf(new Date(clock.now().getTime() - DAY_MS));
  const rows = await sql<{ id: string }[]>`
    select id from notifications
    where status in ('Queued', 'Scheduled', 'Sending', 'Failed') and id > ${since}
      and status = 'Sending' and job_id is null and updated_at < now() - ${HEARTBEAT_TIMEOUT}::text::interval
    order by id limit ${limit}`;
  return await transact(sql, (tx) => failStaleDirect(tx, rows.map(({ id }) => id)));
}

/** Marks direct messages without a heartbeat as Failed, with an attempt `unknown`. @returns how many. */
async function failStaleDirect(tx: Tx, ids: string[]): Promise<number> {
  const { count } = await tx`
    with stale as (
      update notifications set status = 'Failed', updated_at = now(),
        last_error = 'The service stopped during the delivery. It is not known whether the message was sent.'
      where id = any(${ids}::uuid[]) and job_id is null and status = 'Sending'
        and updated_at < now() - ${HEARTBEAT_TIMEOUT}::text::interval
      returning id, created_at
    )
    insert into notification_attempts (id, notification_id, provider_name, is_success, duration_ms, attempted_at, error_message)
    select attempt.id, stale.id, 'unknown', false, 0, stale.created_at, ${INTERRUPTED}
    from stale join unnest(${ids}::uuid[], ${ids.map(() => newId())}::uuid[]) as attempt (notification_id, id)
      on attempt.notification_id = stale.id`;
  return count;
}

/**
 * Settles open messages that have not changed for ten minutes although their job has ended: it was dead-lettered when its
 * worker died, or cancelled through the job routes. Also settles direct messages whose process died.
 */
export async function settleAbandoned(
  { sql }: Pick<Platform, "sql">,
  { limit = BATCH_SIZE, after = null }: Partial<Batch> = {},
): Promise<BatchResult> {
  const rows = await sql<{ id: string; jobId: string | null }[]>`
    select id, job_id from notifications
    where status in ('Queued', 'Scheduled', 'Sending', 'Failed') and id > ${after ?? FIRST_ID}
      and (job_id is not null or status = 'Sending')
      and greatest(updated_at, scheduled_at) < now() - ${ABANDONED_AFTER}::text::interval
    order by id limit ${limit}`;
  const settled = rows.length === 0 ? 0 : await transact(sql, (tx) => settleRows(tx, rows));
  return { rows: settled, after: positionAfter(rows, limit) };
}

/** Settles scheduled messages whose job was cancelled through the job routes before it was due. */
export async function settleCancelledEarly(
  p: Pick<Platform, "sql">,
  { limit = BATCH_SIZE, after = null }: Partial<Batch> = {},
): Promise<BatchResult> {
  const { name, args } = deliveryJob;
  const jobs = await readCancelledEarly(p.sql, name, { limit, after: after ?? FIRST_ID });
  const rows = jobs.map(({ id, serializedArgs }) => ({
    id: args.parse(JSON.parse(serializedArgs)).notificationId,
    jobId: id,
  }));
  const settled = rows.length === 0 ? 0 : await transact(p.sql, (tx) => settleRows(tx, rows));
  return { rows: settled, after: positionAfter(jobs, limit) };
}

async function settleRows(tx: Tx, rows: { id: string; jobId: string | null }[]): Promise<number> {
  const ends = await readJobEnds(tx, rows.flatMap((row) => row.jobId ?? []));
  const ended = rows.flatMap(({ id, jobId }) => {
    const end = jobId === null ? undefined : ends.get(jobId);
    if (end) {
      return [{
        id,
        jobId,
        status: end.status === "Cancelled" ? "Cancelled" : "DeadLettered",
        error: end.lastError,
      }];
    }
    return [];
  });
  const direct = rows.filter((row) => row.jobId === null).map((row) => row.id);
  const [byJob, stale] = await Promise.all([
    tx<
      (FailedNotification & { status: string })[]
    >`update notifications n set status = e.status::notification_status, updated_at = now(),
        last_error = coalesce(e.error, n.last_error, 'The job ended without delivering this message.')
      from unnest(${ended.map((e) => e.id)}::uuid[], ${ended.map((e) => e.jobId)}::uuid[],
        ${ended.map((e) => e.status)}::text[],
          ${ended.map((e) => e.error)}::text[]) as e (id, job_id, status, error)
      where n.id = e.id and n.job_id = e.job_id and n.status in ('Queued', 'Scheduled', 'Sending', 'Failed')
      returning n.id, n.tenant_id, n.channel, n.status, n.last_error as error`,
    failStaleDirect(tx, direct),
  ]);
  await emitNotificationFailed(tx, byJob.filter(({ status }) => status === "DeadLettered"));
  return byJob.count + stale;
}
