import { hostname } from "node:os";
import { subscribeToChanges } from "../../../infra/postgres/changes.ts";
import type { Pools } from "../../../infra/postgres/pools.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { withDatabase } from "../../shared/platform.ts";
import { AttemptMetrics } from "./attempt_metrics.ts";
import { FailureLog } from "./failure_log.ts";
import { TypeStatistics } from "../statistics/type_statistics.ts";
import { jobWork, type TimedWork, watchDueTimes } from "./due_times.ts";
import type { SettledJob } from "../job_row.ts";
import type { RemoteWorkPlatform } from "../remote/platform.ts";
import { RateReleaser } from "../limits/rate_releaser.ts";
import { ensureServiceRecurringJobs } from "./service_recurring.ts";
import { startUpkeep } from "./upkeep.ts";
import { Worker } from "../engine/worker.ts";

const POLL_MS = 2_000;
const POLL_WITHOUT_LISTEN_MS = 300;
/** Delay of the wake-up for a job that is due again at once, so that the wake-up finds the job waiting. */
const MIN_DELAY_MS = 20;

/** The job engine of an instance: its worker, the check of due times, and upkeep. */
export interface JobEngine {
  /** The reason why no job can start; null if jobs can start or the instance runs none. */
  stallReason(): string | null;
  /** Makes the worker search for due jobs now. */
  wake(): void;
  /** Does the timed work that is due. */
  checkDueTimes(): Promise<void>;
  /** Does the work that lost wake-ups or dead workers have left undone. */
  sweep(): Promise<void>;
  /** Gives running jobs `graceMs` to finish and gives back the others. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts the job engine. An instance with JOB_CONCURRENCY=0 runs no jobs, but does timed work and upkeep.
 * @param o.pools the worker uses the connections of the engine; recurring work of the service itself uses the upkeep pool
 * @param o.timedWork work of other areas that is due at times stored in the database
 * @param o.onSettled called with every job whose result was written
 */
export async function startJobEngine(
  platform: RemoteWorkPlatform,
  o: { pools: Pools; timedWork: TimedWork[]; onSettled?: ((jobs: SettledJob[]) => void) | undefined },
): Promise<JobEngine> {
  const { config, clock, log, metrics, jobTypes, wakeUps, workPolls } = platform;
  const pollMs = config.JOB_POLL_MS ?? (config.DATABASE_LISTEN ? POLL_MS : POLL_WITHOUT_LISTEN_MS);
  const leaseSeconds = config.JOB_LEASE_SECONDS;
  const failures = new FailureLog(log);
  const statistics = new TypeStatistics({ sql: o.pools.upkeepSql, clock, log });
  const attempts = new AttemptMetrics(metrics, jobTypes);
  jobTypes.onEnded = (ended) => {
    attempts.count(ended);
    statistics.count(ended);
    failures.write(ended);
  };
  const onDueLater = (inMs: number) => wakeUps.at(new Date(clock.now().getTime() + inMs));
  jobTypes.onChanged = (jobs) => {
    o.onSettled?.(jobs);
    for (const { status, dueInMs } of jobs) {
      if (status === "Failed" || status === "Scheduled") onDueLater(Math.max(MIN_DELAY_MS, dueInMs));
    }
    if (jobs.some(({ status }) => status === "Enqueued")) wakeUps.at(clock.now());
    else workPolls.wake(); // a limited type may have room again
  };
  const worker = config.JOB_CONCURRENCY === 0 ? null : await Worker.start({
    platform,
    upkeepPlatform: withDatabase(platform, o.pools.upkeepSql),
    sql: o.pools.engineSql,
    types: jobTypes,
    log,
    host: hostname(),
    concurrency: config.JOB_CONCURRENCY,
    queues: config.JOB_QUEUES?.split(",").map((queue) => queue.trim()) ?? null,
    leaseSeconds,
    pollMs,
    onDueLater,
    onClaimed: (jobs) => metrics.jobsClaimed.add([], jobs),
    onSettled(jobs) {
      o.onSettled?.(jobs);
      if (jobs.some(({ status }) => status === "Enqueued")) workPolls.wake(); // continuations
    },
  });
  const checkCancelRequests = () =>
    worker?.checkCancelRequests().catch((error) => log.warn("cancel requests could not be read", { error }));
  subscribeToChanges(mainPool(platform.sql), "cancel requests", checkCancelRequests);
  const pollTimer = setInterval(() => {
    workPolls.wake();
    checkCancelRequests(); // an announcement may be lost
  }, pollMs);
  metrics.watchWorker(() => worker?.busy ?? 0);
  await ensureServiceRecurringJobs(platform);
  const upkeep = startUpkeep(platform, leaseSeconds);
  const rateReleaser = new RateReleaser(platform, pollMs);
  const dueTimes = watchDueTimes(platform, [...jobWork(platform, leaseSeconds), ...o.timedWork], pollMs);
  return {
    stallReason: () => worker?.stallReason() ?? null,
    wake() {
      worker?.wake();
      workPolls.wake();
      rateReleaser.wake();
    },
    checkDueTimes: () => dueTimes.check(),
    async sweep() {
      worker?.wake();
      workPolls.wake();
      await rateReleaser.check();
      await rateReleaser.sweep();
      await dueTimes.check();
      await upkeep.sweep();
      await statistics.flush();
    },
    async stop(graceMs) {
      clearInterval(pollTimer);
      const stopped = [
        rateReleaser.stop(),
        workPolls.stop(),
        worker?.stop(graceMs),
        dueTimes.stop(),
        upkeep.stop(),
      ];
      const outcomes = await Promise.allSettled(stopped);
      failures.flush();
      await statistics.stop();
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    },
  };
}
