import { hostname } from "node:os";
import type { Pools } from "../../infra/postgres/pools.ts";
import { withDatabase } from "../shared/platform.ts";
import { jobWork, type TimedWork, watchDueTimes } from "./due_times.ts";
import type { SettledJob } from "./job_row.ts";
import type { JobPlatform } from "./platform.ts";
import { ensureServiceRecurringJobs } from "./service_recurring.ts";
import { startUpkeep } from "./upkeep.ts";
import { Worker } from "./worker.ts";

const POLL_MS = 2_000;
const POLL_WITHOUT_LISTEN_MS = 300;

/** The job engine of an instance: its worker, the check of due times, and upkeep. */
export interface JobEngine {
  /** Why no job can start; null if jobs can start or the instance runs none. */
  stallReason(): string | null;
  /** Has the worker search for due jobs now. */
  wake(): void;
  /** Does the timed work that is due. */
  checkDueTimes(): Promise<void>;
  /** Does what lost wake-ups or dead workers left undone. */
  sweep(): Promise<void>;
  /** Gives running jobs `graceMs` to finish and gives back the others. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts the job engine. An instance with JOB_CONCURRENCY=0 runs no jobs, but does timed work and upkeep.
 * @param o.pools the worker uses the main pool; recurring work of the service itself uses the upkeep pool
 * @param o.timedWork work of other areas that is due at times stored in the database
 * @param o.onSettled called with every job whose result was written
 */
export async function startJobEngine(
  platform: JobPlatform,
  o: { pools: Pools; timedWork: TimedWork[]; onSettled?: ((jobs: SettledJob[]) => void) | undefined },
): Promise<JobEngine> {
  const { config, clock, log, metrics, jobTypes, wakeUps } = platform;
  const pollMs = config.JOB_POLL_MS ?? (config.DATABASE_LISTEN ? POLL_MS : POLL_WITHOUT_LISTEN_MS);
  const leaseSeconds = config.JOB_LEASE_SECONDS;
  const worker = config.JOB_CONCURRENCY === 0 ? null : await Worker.start({
    platform,
    upkeepPlatform: withDatabase(platform, o.pools.upkeepSql),
    sql: o.pools.sql,
    types: jobTypes,
    log,
    host: hostname(),
    concurrency: config.JOB_CONCURRENCY,
    queues: config.JOB_QUEUES?.split(",").map((queue) => queue.trim()) ?? null,
    leaseSeconds,
    pollMs,
    onDueLater: (inMs) => wakeUps.at(new Date(clock.now().getTime() + inMs)),
    onClaimed: (jobs) => metrics.jobsClaimed.add([], jobs),
    onEnded({ job, next, startedAt, endedAt }) {
      const type = jobTypes.get(job.jobTypeName) ? job.jobTypeName : "unknown";
      metrics.jobAttempts.add([type, next]);
      metrics.jobSeconds.observe([type], (endedAt - startedAt) / 1000);
    },
    ...(o.onSettled ? { onSettled: o.onSettled } : {}),
  });
  metrics.watchWorker(() => worker?.busy ?? 0);
  await ensureServiceRecurringJobs(platform);
  const upkeep = startUpkeep(platform, leaseSeconds);
  const dueTimes = watchDueTimes(platform, [...jobWork(platform, leaseSeconds), ...o.timedWork], pollMs);
  return {
    stallReason: () => worker?.stallReason() ?? null,
    wake: () => worker?.wake(),
    checkDueTimes: () => dueTimes.check(),
    async sweep() {
      worker?.wake();
      await dueTimes.check();
      await upkeep.sweep();
    },
    async stop(graceMs) {
      const outcomes = await Promise.allSettled([worker?.stop(graceMs), dueTimes.stop(), upkeep.stop()]);
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    },
  };
}
