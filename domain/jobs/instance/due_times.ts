import type { PendingQuery } from "../../../infra/postgres/postgres.ts";
import type { Platform } from "../../shared/platform.ts";
import { promoteDueJobs } from "../engine/claim.ts";
import { fireDueRecurringJobs, firesHere } from "../recurring/fire_recurring.ts";
import { recoverLostJobs } from "../engine/lease.ts";
import type { JobPlatform } from "../platform.ts";

/** Work that is due at times stored in the database. */
export interface TimedWork {
  name: string;
  /** Milliseconds until the earliest is due; 0 or less: now. Null: nothing is scheduled. */
  nextInMs(): Promise<number | null>;
  /** Does the work that is due. Several instances may call it at once: only one does each piece. */
  doDue(): Promise<unknown>;
}

type DueTimesPlatform = Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes" | "clock" | "log">;

/** The timed work of the jobs area: scheduled jobs and retries, worker leases, recurring jobs. */
export function jobWork(p: DueTimesPlatform, leaseSeconds: number): TimedWork[] {
  const wakeIfAny = (jobs: number) => jobs > 0 && p.wakeUps.at(p.clock.now());
  const recover = async () => wakeIfAny(await recoverLostJobs(p.sql, leaseSeconds, p.jobTypes));
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
    doDue: recover,
  }, {
    name: "leases of remote jobs",
    nextInMs: () =>
      readMs(p.sql<MsRow[]>`
        select extract(epoch from min(lease_until) - now())::float8 * 1000 as ms from jobs
        where lease_until is not null`),
    doDue: recover,
  }, {
    name: "recurring jobs",
    nextInMs: () =>
      readMs(p.sql<MsRow[]>`
        select extract(epoch from min(next_run_at) - ${p.clock.now()}::timestamptz)::float8 * 1000 as ms
        from recurring_jobs r where not is_paused and ${firesHere(p.sql, p.jobTypes)}`),
    doDue: () => fireDueRecurringJobs(p),
  }];
}

export type MsRow = { ms: number | null };

/** The single number that a query returns. */
export async function readMs(query: PendingQuery<MsRow[]>): Promise<number | null> {
  const [row] = await query;
  return row?.ms ?? null;
}

export interface DueTimes {
  /**
   * Does all work that is due and sets a wake-up for the next due time. Calls made during a run share the next run.
   * @throws Error when some work failed; the rest is still done.
   */
  check(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Runs timed work when it is due, on every instance, also on those without workers. Normally a wake-up at the due time
 * starts a check; the check every `pollMs` covers lost wake-ups.
 */
export function watchDueTimes(
  p: Pick<Platform, "wakeUps" | "clock" | "log">,
  works: TimedWork[],
  pollMs: number,
): DueTimes {
  let isStopping = false;
  let checking: Promise<void> | null = null;
  let next: Promise<void> | null = null;

  async function runIfDue(work: TimedWork): Promise<void> {
    let inMs = await work.nextInMs();
    if (inMs !== null && inMs <= 0) {
      await work.doDue();
      inMs = await work.nextInMs();
    }
    if (inMs !== null && inMs > 0) p.wakeUps.at(new Date(p.clock.now().getTime() + inMs));
  }

  async function checkAll(): Promise<void> {
    const outcomes = await Promise.allSettled(works.map(runIfDue));
    const failures = outcomes.flatMap((outcome, n) =>
      outcome.status === "rejected" ? [{ work: works[n]?.name, error: outcome.reason }] : []
    );
    for (const failure of failures) {
      p.log.error("work that is due failed; it is retried at the next check", failure);
    }
    if (failures[0]) throw failures[0].error;
  }

  function check(): Promise<void> {
    if (isStopping) return Promise.resolve();
    if (!checking) return checking = checkAll().finally(() => checking = null);
    return next ??= checking.catch(() => {}).then(() => {
      next = null;
      return check();
    });
  }

  const timer = setInterval(() => check().catch(() => {}), pollMs); // failures are already logged
  return {
    check,
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await next?.catch(() => {});
      await checking?.catch(() => {});
    },
  };
}
