import type { PendingQuery } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";
import { promoteDueJobs } from "./claim.ts";
import { fireDueRecurringJobs } from "./fire_recurring.ts";
import { recoverLostJobs } from "./lease.ts";

/** Work that comes due at times kept in the database. */
export interface TimedWork {
  name: string;
  /** Milliseconds until the earliest of it comes due; 0 or less: now. Null: nothing is planned. */
  nextInMs(): Promise<number | null>;
  /** Does what is due. Instances may do so at once: each piece is done by one of them. */
  doDue(): Promise<unknown>;
}

type Parts = Pick<Platform, "sql" | "wakeUps" | "jobTypes" | "clock" | "log">;

/** What of the jobs area comes due: scheduled jobs and retries, the leases of workers, recurring jobs. */
export const jobWork = (p: Parts, leaseSeconds: number): TimedWork[] => {
  const wakeIfAny = (jobs: number) => jobs > 0 && p.wakeUps.at(p.clock.now());
  return [{
    name: "waiting jobs",
    nextInMs: () =>
      readMs(p.sql<MsRow[]>`
        select extract(epoch from min(due_at) - now())::float8 * 1000 as ms from jobs
        where status in ('Scheduled', 'Failed')`),
    doDue: async () => wakeIfAny(await promoteDueJobs(p.sql)),
  }, {
    name: "leases of workers",
    nextInMs: () =>
      readMs(p.sql<MsRow[]>`
        select extract(epoch from min(heartbeat_at) - now())::float8 * 1000 + ${leaseSeconds * 1000} as ms
        from job_workers`),
    doDue: async () => wakeIfAny(await recoverLostJobs(p.sql, leaseSeconds)),
  }, {
    name: "recurring jobs",
    nextInMs: () =>
      readMs(p.sql<MsRow[]>`
        select extract(epoch from min(next_run_at) - ${p.clock.now()}::timestamptz)::float8 * 1000 as ms
        from recurring_jobs where not is_paused`),
    doDue: () => fireDueRecurringJobs(p),
  }];
};

export type MsRow = { ms: number | null };

/** The one number of a query's answer. */
export async function readMs(query: PendingQuery<MsRow[]>): Promise<number | null> {
  const [row] = await query;
  return row?.ms ?? null;
}

export interface DueTimes {
  /**
   * Does all that is due, and sets a wake-up for what comes due next. Calls while it is at work share the next look.
   * @throws Error when part of it failed; the rest is done all the same.
   */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Watches over what comes due by time, on every instance, also on those that work no jobs. Wake-ups at the due times
 * come first; looking every `pollMs` is for those that were lost.
 */
export function watchDueTimes(
  p: Pick<Platform, "wakeUps" | "clock" | "log">,
  works: TimedWork[],
  pollMs: number,
): DueTimes {
  let isStopping = false;
  let looking: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function lookAt(work: TimedWork): Promise<void> {
    let inMs = await work.nextInMs();
    if (inMs !== null && inMs <= 0) {
      await work.doDue();
      inMs = await work.nextInMs();
    }
    if (inMs !== null && inMs > 0) p.wakeUps.at(new Date(p.clock.now().getTime() + inMs));
  }

  async function lookAtAll(): Promise<void> {
    const outcomes = await Promise.allSettled(works.map(lookAt));
    const failures = outcomes.flatMap((outcome, n) =>
      outcome.status === "rejected" ? [{ work: works[n]?.name, error: outcome.reason }] : []
    );
    for (const failure of failures) p.log.error("what is due could not be done; it is tried again", failure);
    if (failures[0]) throw failures[0].error;
  }

  function look(): Promise<void> {
    if (isStopping) return Promise.resolve();
    if (!looking) return looking = lookAtAll().finally(() => looking = null);
    return next ??= looking.catch(() => {}).then(() => {
      next = null;
      return look();
    });
  }

  const timer = setInterval(() => look().catch(() => {}), pollMs); // a failure has been logged
  return {
    look,
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await next?.catch(() => {});
      await looking?.catch(() => {});
    },
  };
}
