import type { Platform } from "../shared/platform.ts";
import { releaseStrandedContinuations } from "./continuations.ts";
import { foldCounts } from "./counts.ts";
import { recoverLostJobs } from "./lease.ts";

const FOLD_EVERY_MS = 1_000;

/** What keeps the ledger going besides the workers. */
export interface Upkeep {
  /** Does what a dying process may have left; called once a minute. */
  sweep(): Promise<void>;
  stop(): Promise<void>;
}

/** Folds the job counters while there is something to fold; the rest is done by `sweep`. */
export function startUpkeep(
  p: Pick<Platform, "sql" | "wakeUps" | "clock" | "log">,
  leaseSeconds: number,
): Upkeep {
  let stopping = false;
  let work: Promise<unknown> = Promise.resolve();

  /** One thing at a time: what is asked for meanwhile waits. Failures are left to the next time. */
  function run(what: string, task: () => Promise<unknown>): Promise<unknown> {
    work = work.then(async () => {
      if (stopping) return;
      await task();
    }).catch((error) => p.log.error(`${what} failed; it is tried again`, { error }));
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
      await run("releasing continuations", async () => {
        if (await releaseStrandedContinuations(p.sql) > 0) p.wakeUps.at(p.clock.now());
      });
      await run("taking over from dead workers", async () => {
        if (await recoverLostJobs(p.sql, leaseSeconds) > 0) p.wakeUps.at(p.clock.now());
      });
    },
    async stop() {
      stopping = true;
      clearInterval(foldTimer);
      await work;
    },
  };
}
