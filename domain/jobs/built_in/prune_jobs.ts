import { DAY_MS } from "../../../infra/clock.ts";
import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type ArchivePlatform, deleteOldRows, type OldRows } from "../../shared/archive.ts";
import { runBatches } from "../../shared/batches.ts";
import { FIRST_ID, firstIdOf } from "../../shared/ids.ts";
import { withDatabase } from "../../shared/platform.ts";
import { defineJob } from "../job_type.ts";

const AT_ONCE = 500;

/** Deletes jobs that ended more than JOB_RETENTION_DAYS ago. */
export const pruneEndedJobs = defineJob({
  name: "steward.prune-jobs",
  args: z.object({}),
  cron: "*/10 * * * *",
  timeoutMs: 30 * 60_000,
  run: async (_args, { platform, db, signal }) => ({
    pruned: await pruneJobs(withDatabase(platform, db), {
      retentionDays: platform.config.JOB_RETENTION_DAYS,
      now: platform.clock.now(),
      signal,
    }),
  }),
});

/**
 * Deletes jobs that ended more than `retentionDays` days before `now`, with their executions and log lines, in small
 * batches that hold locks only briefly. Jobs are scanned in id order up to the cutoff: an id contains the creation
 * time, which is never after the end. A dead-lettered job stays as long as its dead letter, and a job with a key as
 * long as it holds the key.
 * @returns how many jobs were deleted.
 */
export async function pruneJobs(
  p: ArchivePlatform,
  { retentionDays, now, signal }: { retentionDays: number; now: Date; signal?: AbortSignal },
): Promise<number> {
  const cutoff = new Date(now.getTime() - retentionDays * DAY_MS);
  const jobs = oldJobs(cutoff, now);
  let pruned = 0;
  for (let after: string | null = FIRST_ID; after !== null && !signal?.aborted;) {
    const step = await deleteOldRows(p, jobs, { limit: AT_ONCE, after });
    pruned += step.rows;
    after = step.after;
  }
  await pruneBatches(p.sql, cutoff);
  return pruned;
}

/** Archives have the executions of jobs, and none of the texts that an erasure searches. */
const oldJobs = (cutoff: Date, now: Date): OldRows => ({
  kind: "jobs",
  table: "jobs",
  createdBefore: cutoff,
  isOld: (q) =>
    q`(completed_at < ${cutoff} and status in ('Succeeded', 'DeadLettered', 'Cancelled')
      and coalesce(created_at + make_interval(secs => unique_seconds) <= ${now}, true)
      and not (status = 'DeadLettered' and exists (select from dead_letter_jobs d where d.job_id = r.id)))`,
  archived: (q) =>
    q`completed_at as occurred_at, job_type_name as type, status, json_build_object('kind', type, 'queue', queue,
      'priority', priority, 'createdAt', created_at, 'startedAt', started_at, 'createdBy', created_by,
      'parentJobId', parent_job_id, 'batchId', batch_id, 'traceId', trace_id, 'executions', (
        select json_agg(json_build_object('attempt', attempt_number, 'status', status, 'outcome', outcome,
          'startedAt', started_at, 'completedAt', completed_at, 'workerId', worker_id) order by attempt_number)
        from job_executions where job_id = r.id)) as facts`,
  async removeParts(tx, ids) {
    for (const table of ["job_attempts", "job_log_lines", "job_progress"]) {
      await tx`delete from ${tx(table)} where job_id = any(${ids}::uuid[])`;
    }
  },
});

/** Deletes batches that ended before the cutoff, or were never closed, and have no jobs left. */
async function pruneBatches(sql: Sql, cutoff: Date): Promise<void> {
  await runBatches(AT_ONCE, async () => {
    const rows = await sql`
      with old as (
        delete from job_batches where id = any(array(
          select id from job_batches b
          where id < ${firstIdOf(cutoff)} and coalesce(ended_at, created_at) < ${cutoff}
            and not exists (select from jobs j where j.batch_id = b.id)
          order by id limit ${AT_ONCE}))
        returning id
      ), counts as (
        delete from job_batch_counts where batch_id = any(array(select id from old))
      )
      select id from old`;
    return rows.length;
  });
}
