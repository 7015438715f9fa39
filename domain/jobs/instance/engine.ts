import { SECOND_MS } from "../../../infra/clock.ts";
import { recoverLostJobs, warnOfOtherAreas } from "../engine/lease.ts";
import { hostname } from "node:os";
import { subscribeToChanges } from "../../../infra/postgres/changes.ts";
import type { Pools } from "../../../infra/postgres/pools.ts";
import { mainPool, type Sql } from "../../../infra/postgres/postgres.ts";
import { withDatabase } from "../../shared/platform.ts";
import { deleteOldStatistics, TypeStatistics } from "../statistics/type_statistics.ts";
import { jobWork, type TimedWork, watchDueTimes } from "./due_times.ts";
import { AFTER_LANES, laneParts, REMOTE_MARK, type SettledJob } from "../job_row.ts";
import type { RemoteWorkPlatform } from "../remote/work_polls.ts";
import { RateReleaser } from "../limits/release_limited.ts";
import { ensureServiceRecurringJobs } from "./service_recurring.ts";
import { Worker } from "../engine/worker.ts";
import type { Log } from "../../../infra/log.ts";
import type { EndedAttempt } from "../ended_attempt.ts";
import type { Metrics } from "../../shared/metrics.ts";
import type { JobTypes } from "../job_type.ts";
import { foldCounts } from "../statistics/fold_counts.ts";
import { followStrandedJobs } from "../batches/end_batches.ts";
import type { JobPlatform } from "../platform.ts";
import { findLanes, nextSearchStart } from "../engine/lanes.ts";
import { readRowsNamed, typeIn } from "../types/find_job_types.ts";

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
    areas: config.AREAS,
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
  await warnOfOtherAreas(platform.sql, config, log);
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

/** Maximum number of lines per second for each kind of failure. The others are counted in one line. */
const LINES_PER_SECOND = 20;

/** Writes a log line for each failed attempt and each dead-lettered job, with a limit per second. */
export class FailureLog {
  /** The kinds of failures, with their numbers in the current second. */
  readonly #kinds = [
    {
      outcome: "Failed",
      level: "info" as const,
      message: "a job attempt failed; the job is retried",
      summary: "further failed attempts of jobs were left out of the log",
      count: 0,
    },
    {
      outcome: "DeadLettered",
      level: "warn" as const,
      message: "a job was dead-lettered",
      summary: "further dead-lettered jobs were left out of the log",
      count: 0,
    },
  ];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly log: Log) {}

  write(ended: EndedAttempt[]): void {
    for (const { outcome, jobId, jobTypeName, tenantId, attempt, traceId, error } of ended) {
      const kind = this.#kinds.find((kind) => kind.outcome === outcome);
      if (!kind) continue;
      this.#timer ??= setTimeout(() => this.flush(), SECOND_MS);
      if (++kind.count > LINES_PER_SECOND) continue;
      this.log[kind.level](kind.message, { jobId, jobTypeName, tenantId, attempt, traceId, error });
    }
  }

  /** Writes how many lines were left out, and starts a new second. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const kind of this.#kinds) {
      const leftOut = kind.count - LINES_PER_SECOND;
      kind.count = 0;
      if (leftOut > 0) this.log[kind.level](kind.summary, { count: leftOut });
    }
  }
}

/** Maximum number of label values for types that callers declared. Further ones share a label. */
const MAX_DECLARED = 100;

interface OfType {
  label: string;
  wait: (seconds: number) => void;
  duration: (seconds: number) => void;
}

/** Counts ended attempts in the metrics of this instance, by job type. */
export class AttemptMetrics {
  readonly #byLabel = new Map<string, OfType>();
  #declared = 0;

  constructor(private readonly metrics: Metrics, private readonly types: JobTypes) {}

  count(ended: EndedAttempt[]): void {
    const counts = new Map<string, Map<string, number>>();
    for (const { jobTypeName, outcome, waitedMs, durationMs } of ended) {
      const { label, wait, duration } = this.#ofType(jobTypeName);
      let byOutcome = counts.get(label);
      if (!byOutcome) counts.set(label, byOutcome = new Map());
      byOutcome.set(outcome, (byOutcome.get(outcome) ?? 0) + 1);
      if (outcome === "Postponed" || waitedMs === null || durationMs === null) continue;
      wait(waitedMs / 1000);
      duration(durationMs / 1000);
    }
    for (const [label, byOutcome] of counts) {
      for (const [outcome, n] of byOutcome) this.metrics.jobAttempts.add([label, outcome], n);
    }
  }

  #ofType(name: string): OfType {
    const known = this.#byLabel.get(name);
    if (known) return known;
    const isOwn = this.types.get(name) !== undefined;
    const label = isOwn || this.#declared++ < MAX_DECLARED ? name : "other";
    const { jobWaitSeconds, jobSeconds } = this.metrics;
    const added = { label, wait: jobWaitSeconds.observer([label]), duration: jobSeconds.observer([label]) };
    this.#byLabel.set(label, added);
    return added;
  }
}

const FOLD_EVERY_MS = 1_000;
/**
 * A complete fold is followed by a pause of this many times its duration. While a snapshot is held, each fold leaves old
 * versions of the counters, and the next one reads them.
 */
const FOLD_REST_FACTOR = 5;

/**
 * Folds the job counters every second if enough deltas wait, less often if that takes long. `sweep`, called once a minute,
 * folds all counters and finishes what a crashed process left undone.
 */
function startUpkeep(
  p: Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes" | "clock" | "log">,
  leaseSeconds: number,
): { sweep(): Promise<void>; stop(): Promise<void> } {
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

  const wakeIfAny = async (changed: Promise<number>) => {
    if (await changed > 0) p.wakeUps.at(p.clock.now());
  };

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
      await run("releasing continuations and ending batches", () => wakeIfAny(followStrandedJobs(p.sql)));
      await run("failing the jobs of deleted types", () => wakeIfAny(moveOrphans(p.sql)));
      const recover = () => wakeIfAny(recoverLostJobs(p.sql, leaseSeconds, p.jobTypes));
      await run("releasing the jobs of dead workers", recover);
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
  const typeName = (lane: string) => (laneParts(lane).limitKey ?? "").slice(REMOTE_MARK.length);
  const orphaned: string[] = [];
  for (let after = REMOTE_MARK; after !== "";) {
    const lanes = await findLanes(sql, after, AFTER_LANES);
    const rows = await readRowsNamed(sql, lanes.map(typeName));
    orphaned.push(...lanes.filter((lane) => !typeIn(rows.get(typeName(lane)), laneParts(lane).tenantId)));
    after = nextSearchStart(lanes);
  }
  if (orphaned.length === 0) return 0;
  const { count } = await sql`
    update jobs set limit_key = null, lane = queue || '||' || coalesce(tenant_id::text, '')
    where id = any(array(
      select id from jobs where status = 'Enqueued' and lane = any(${orphaned}::text[])
      limit ${AT_ONCE} for update skip locked))`;
  return count;
}
