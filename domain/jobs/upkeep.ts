import type { Platform } from "../shared/platform.ts";
import { releaseStrandedContinuations } from "./continuations.ts";
import { foldCounts } from "./counts.ts";
import { fireDueRecurringJobs } from "./fire_recurring.ts";
import { ensureServiceRecurringJobs } from "./service_recurring.ts";

const MINUTE_MS = 60_000;
const FOLD_EVERY_MS = 1_000;
/** Timers may ring a little before the clock shows the minute. */
const LATE_MS = 5;

/** What keeps the ledger going besides the workers. */
export interface Upkeep {
  /** Does what a timer or a dying process may have missed; called once a minute. */
  sweep(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts firing recurring jobs: at once for what was missed while down, then at every full minute, which is when
 * schedules come due. Also folds the job counters while there is something to fold.
 */
export async function startRecurring(
  p: Pick<Platform, "sql" | "bell" | "jobTypes" | "clock" | "log">,
): Promise<Upkeep> {
  let stopping = false;
  let minuteTimer: ReturnType<typeof setTimeout> | undefined;
  let work: Promise<unknown> = Promise.resolve();

  /** One thing at a time: what is asked for meanwhile waits. Failures are left to the next time. */
  function run(what: string, task: () => Promise<unknown>): Promise<unknown> {
    work = work.then(async () => {
      if (stopping) return;
      await task();
    }).catch((error) => p.log.error(`${what} failed; it is tried again`, { error }));
    return work;
  }
  const fire = () => run("firing recurring jobs", () => fireDueRecurringJobs(p));

  function awaitMinute(): void {
    const wait = MINUTE_MS - p.clock.now().getTime() % MINUTE_MS + LATE_MS;
    minuteTimer = setTimeout(() => {
      fire();
      awaitMinute();
    }, wait);
  }

  await ensureServiceRecurringJobs(p);
  await fire();
  awaitMinute();
  let folding = false;
  const foldTimer = setInterval(() => {
    if (folding) return;
    folding = true;
    run("folding job counters", () => foldCounts(p.sql, { always: false })).finally(() => folding = false);
  }, FOLD_EVERY_MS);

  return {
    async sweep() {
      await fire();
      await run("folding job counters", () => foldCounts(p.sql, { always: true }));
      await run("releasing continuations", async () => {
        if (await releaseStrandedContinuations(p.sql) > 0) p.bell.ring(p.clock.now());
      });
    },
    async stop() {
      stopping = true;
      clearTimeout(minuteTimer);
      clearInterval(foldTimer);
      await work;
    },
  };
}
