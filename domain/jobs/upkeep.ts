import { foldCounts } from "./fold_counts.ts";
import { followStrandedJobs } from "./ended_jobs.ts";
import { deleteOldFigures } from "./figures/type_figures.ts";
import { recoverLostJobs } from "./lease.ts";
import type { JobPlatform } from "./platform.ts";
import { moveOrphans } from "./remote/orphans.ts";

const FOLD_EVERY_MS = 1_000;

/** Regular maintenance of the jobs tables. */
export interface Upkeep {
  /** Folds all counters and finishes what a crashed process left undone. Called once a minute. */
  sweep(): Promise<void>;
  stop(): Promise<void>;
}

/** Folds the job counters every second if enough deltas wait; `sweep` does the rest. */
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
  const foldTimer = setInterval(() => {
    if (folding) return;
    folding = true;
    run("folding job counters", () => foldCounts(p.sql, { always: false })).finally(() => folding = false);
  }, FOLD_EVERY_MS);

  return {
    async sweep() {
      await run("folding job counters", () => foldCounts(p.sql, { always: true }));
      await run("deleting old figures of job types", () => deleteOldFigures(p.sql));
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
