import { foldCounts } from "../statistics/fold_counts.ts";
import { followStrandedJobs } from "../batches/ended_jobs.ts";
import { deleteOldStatistics } from "../statistics/type_statistics.ts";
import { recoverLostJobs } from "../engine/lease.ts";
import type { JobPlatform } from "../platform.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { AFTER_LANES, laneParts, REMOTE_MARK } from "../job_row.ts";
import { findLanes } from "../engine/lanes.ts";
import { readRowsNamed, typeIn } from "../types/find_job_types.ts";

const FOLD_EVERY_MS = 1_000;
/**
 * A complete fold is followed by a pause of this many times its duration. While a snapshot is held, each fold leaves old
 * versions of the counters, and the next one reads them.
 */
const FOLD_REST_FACTOR = 5;

/** Regular maintenance of the jobs tables. */
export interface Upkeep {
  /** Folds all counters and finishes what a crashed process left undone. Called once a minute. */
  sweep(): Promise<void>;
  stop(): Promise<void>;
}

/** Folds the job counters every second if enough deltas wait, less often if that takes long; `sweep` does the rest. */
export function startUpkeep(
  p: Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes" | "clock" | "log">,
  leaseSeconds: number,
): Upkeep {
  let stopping = false;
  let work: Promise<unknown> = Promise.resolve();

  /** Runs tasks one after another. A failure is logged, and the task is retried at its next call. */
  function run(what: string, task: () => Promise<unknown>): Promise<unknown> {
    work = work.then(async () => {
      if (stopping) return;
      await task();
    }).catch((error) => p.log.error(`${what} failed; it is retried later`, { error }));
    return work;
  }

  let folding = false;
  let nextFoldAt = 0;
  async function foldIfMany(): Promise<void> {
    const began = performance.now();
    const isComplete = await foldCounts(p.sql, { always: false });
    const ended = performance.now();
    nextFoldAt = isComplete ? ended + FOLD_REST_FACTOR * (ended - began) : 0;
  }
  const foldTimer = setInterval(() => {
    if (folding || performance.now() < nextFoldAt) return;
    folding = true;
    run("folding job counters", foldIfMany).finally(() => folding = false);
  }, FOLD_EVERY_MS);

  return {
    async sweep() {
      await run("folding job counters", () => foldCounts(p.sql, { always: true }));
      await run("deleting old statistics of job types", () => deleteOldStatistics(p.sql));
      await run("releasing continuations and ending batches", async () => {
        if (await followStrandedJobs(p.sql) > 0) p.wakeUps.at(p.clock.now());
      });
      await run("failing the jobs of deleted types", async () => {
        if (await moveOrphans(p.sql) > 0) p.wakeUps.at(p.clock.now());
      });
      await run("releasing the jobs of dead workers", async () => {
        if (await recoverLostJobs(p.sql, leaseSeconds, p.jobTypes) > 0) {
          p.wakeUps.at(p.clock.now());
        }
      });
    },
    async stop() {
      stopping = true;
      clearInterval(foldTimer);
      await work;
    },
  };
}

const AT_ONCE = 1_000;

/**
 * Moves due jobs whose type no longer exists into the lanes of the service's workers, which fail them: nobody can claim
 * jobs of such a type. A job may be enqueued while its type is deleted.
 * @returns how many jobs were moved
 */
export async function moveOrphans(sql: Sql): Promise<number> {
  const lanes = await findLanes(sql, REMOTE_MARK, AFTER_LANES);
  const typeName = (lane: string) => (laneParts(lane).limitKey ?? "").slice(REMOTE_MARK.length);
  const rows = await readRowsNamed(sql, lanes.map(typeName));
  const orphaned = lanes.filter((lane) => !typeIn(rows.get(typeName(lane)), laneParts(lane).tenantId));
  if (orphaned.length === 0) return 0;
  const { count } = await sql`
    update jobs set limit_key = null, lane = queue || '||' || coalesce(tenant_id::text, '')
    where id = any(array(
      select id from jobs where status = 'Enqueued' and lane = any(${orphaned}::text[])
      limit ${AT_ONCE} for update skip locked))`;
  return count;
}
