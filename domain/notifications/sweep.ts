import { z } from "zod";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { newId } from "../shared/ids.ts";
import { firstIdOf } from "../jobs/job_ids.ts";
import { readCancelledEarly, readJobEnds } from "../jobs/job_ends.ts";
import { defineJob, type JobType } from "../jobs/job_type.ts";
import type { Platform } from "../shared/platform.ts";
import { foldCounts } from "./counts.ts";
import { deliveryJob } from "./deliver.ts";
import { INTERRUPTED } from "./delivery_ledger.ts";
import { sweepDigests } from "./digest_settle.ts";
import { tellGivenUp } from "./notification_events.ts";

const AT_ONCE = 1_000;
const NIL = "00000000-0000-0000-0000-000000000000";

/** Brings in line what no job speaks for any more, and keeps the counts short. */
export const sweepJob = (p: Platform): JobType<Record<string, never>> =>
  defineJob({
    name: "notifications.sweep",
    args: z.object({}),
    cron: "*/5 * * * *",
    async run() {
      const settled = await settleAbandoned(p.sql) + await settleCancelledEarly(p);
      await sweepDigests(p);
      await foldCounts(p.sql);
      return { settled };
    },
  });

/** A direct message that is under way is marked as alive every two seconds. */
const SILENT = "20 seconds";
const DAY_MS = 86_400_000;

/** Settles direct messages whose process died between the mail server and the record. */
export const directSweepJob = (p: Platform): JobType<Record<string, never>> =>
  defineJob({
    name: "notifications.sweep-direct",
    args: z.object({}),
    cron: "* * * * *",
    run: async () => ({ settled: await settleInterrupted(p) }),
  });

/** Settles the direct messages of the last day that nobody marks as alive any more. @returns how many. */
export async function settleInterrupted({ sql, clock }: Pick<Platform, "sql" | "clock">): Promise<number> {
  const since = firstIdOf(new Date(clock.now().getTime() - DAY_MS));
  const rows = await sql<{ id: string }[]>`
    select id from notifications
    where status in ('Queued', 'Scheduled', 'Sending', 'Failed') and id > ${since}
      and status = 'Sending' and job_id is null and updated_at < now() - ${SILENT}::text::interval
    order by id limit ${AT_ONCE}`;
  return await transact(sql, (tx) => settleSilent(tx, rows.map(({ id }) => id)));
}

/** Writes the end of direct messages that nobody marks as alive, and that nobody can tell what became of them. */
async function settleSilent(tx: Tx, ids: string[]): Promise<number> {
  const { count } = await tx`
    with silent as (
      update notifications set status = 'Failed', updated_at = now(),
        last_error = 'The service stopped before the delivery ended; it may or may not have gone out.'
      where id = any(${ids}::uuid[]) and job_id is null and status = 'Sending'
        and updated_at < now() - ${SILENT}::text::interval
      returning id, created_at
    )
    insert into notification_attempts (id, notification_id, provider_name, is_success, duration_ms, attempted_at, error_message)
    select attempt.id, silent.id, 'unknown', false, 0, silent.created_at, ${INTERRUPTED}
    from silent join unnest(${ids}::uuid[], ${
    ids.map(() => newId())
  }::uuid[]) as attempt (notification_id, id)
      on attempt.notification_id = silent.id`;
  return count;
}

/**
 * Settles messages that have waited for ten minutes although their job has ended: dead-lettered while its worker
 * died, or cancelled through the job routes; and direct ones whose process died before the answer.
 * @returns how many.
 */
export async function settleAbandoned(sql: Sql, idle = "10 minutes"): Promise<number> {
  let settled = 0;
  for (let after = NIL;;) {
    const rows = await sql<{ id: string; jobId: string | null }[]>`
      select id, job_id from notifications
      where status in ('Queued', 'Scheduled', 'Sending', 'Failed') and id > ${after}
        and (job_id is not null or status = 'Sending')
        and greatest(updated_at, scheduled_at) < now() - ${idle}::text::interval
      order by id limit ${AT_ONCE}`;
    if (rows.length === 0) return settled;
    after = rows.at(-1)?.id ?? NIL;
    settled += await transact(sql, (tx) => settleRows(tx, rows));
  }
}

/** Settles scheduled messages whose job was cancelled through the job routes, long before their time. @returns how many. */
export async function settleCancelledEarly(p: Platform): Promise<number> {
  const { name, args } = deliveryJob(p);
  const jobs = await readCancelledEarly(p.sql, name);
  const rows = [...jobs].map(([jobId, given]) => ({
    id: args.parse(JSON.parse(given)).notificationId,
    jobId,
  }));
  let settled = 0;
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    settled += await transact(p.sql, (tx) => settleRows(tx, rows.slice(from, from + AT_ONCE)));
  }
  return settled;
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
  const [byJob, silent] = await Promise.all([
    tx<SettledRow[]>`update notifications n set status = e.status::notification_status, updated_at = now(),
        last_error = coalesce(e.error, n.last_error, 'The job of this message ended without it.')
      from unnest(${ended.map((e) => e.id)}::uuid[], ${ended.map((e) => e.jobId)}::uuid[],
        ${ended.map((e) => e.status)}::text[], ${
      ended.map((e) => e.error)
    }::text[]) as e (id, job_id, status, error)
      where n.id = e.id and n.job_id = e.job_id and n.status in ('Queued', 'Scheduled', 'Sending', 'Failed')
      returning n.id, n.tenant_id, n.channel, n.status, n.last_error as error`,
    settleSilent(tx, direct),
  ]);
  await tellGivenUp(tx, byJob.filter(({ status }) => status === "DeadLettered"));
  return byJob.count + silent;
}

interface SettledRow {
  id: string;
  tenantId: string | null;
  channel: string;
  status: string;
  error: string | null;
}
