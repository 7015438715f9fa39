import { foldCounts } from "../statistics/fold_counts.ts";
import { followStrandedJobs } from "../batches/ended_jobs.ts";
import { deleteOldStatistics } from "../statistics/type_statistics.ts";
import { recoverLostJobs } from "../engine/lease.ts";
import type { JobPlatform } from "../platform.ts";
import { moveOrphans } from "./orphans.ts";

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
