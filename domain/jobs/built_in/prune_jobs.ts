import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { firstIdOf } from "../../shared/ids.ts";
import { passOver, runBatches } from "../../shared/batches.ts";
import { defineJob } from "../job_type.ts";

const AT_ONCE = 500;
const DAY_MS = 86_400_000;

/** Deletes jobs that ended more than JOB_RETENTION_DAYS ago. */
export const pruneEndedJobs = defineJob({
  name: "steward.prune-jobs",
  args: z.object({}),
  cron: "*/10 * * * *",
  timeoutMs: 30 * 60_000,
  run: async (_args, { platform, db, signal }) => ({
    pruned: await pruneJobs(db, {
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
  q: Sql,
  o: { retentionDays: number; now: Date; signal?: AbortSignal },
): Promise<number> {
  const cutoff = new Date(o.now.getTime() - o.retentionDays * DAY_MS);
  const pruned = await passOver(
    AT_ONCE,
    async (after) => o.signal?.aborted ? [] : await pruneBatch(q, after, o.now, cutoff),
  );
  await pruneBatches(q, cutoff);
  return pruned;
}

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

async function pruneBatch(sql: Sql, after: string, now: Date, cutoff: Date): Promise<{ id: string }[]> {
  return await transact(sql, async (tx) => {
    const jobs = await tx<{ id: string }[]>`
      select id from jobs j
      where id > ${after} and id < ${firstIdOf(cutoff)} and completed_at < ${cutoff}
        and status in ('Succeeded', 'DeadLettered', 'Cancelled')
        and coalesce(created_at + make_interval(secs => unique_seconds) <= ${now}, true)
        and not (status = 'DeadLettered' and exists (select from dead_letter_jobs d where d.job_id = j.id))
      order by id limit ${AT_ONCE} for update skip locked`;
    const ids = jobs.map((job) => job.id);
    if (ids.length === 0) return [];
    await tx`delete from job_attempts where job_id = any(${ids}::uuid[])`;
    await tx`delete from job_log_lines where job_id = any(${ids}::uuid[])`;
    await tx`delete from job_progress where job_id = any(${ids}::uuid[])`;
    await tx`delete from jobs where id = any(${ids}::uuid[])`;
    return jobs;
  });
}
