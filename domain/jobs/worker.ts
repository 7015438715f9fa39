import type { Log } from "../../infra/log.ts";
import { connectSeparately, mainPool, type Sql } from "../../infra/postgres/postgres.ts";
import { waitAtMost } from "../../infra/timeout.ts";
import type { Platform } from "../shared/platform.ts";
import { type Attempt, runAttempt } from "./attempt.ts";
import { AttemptNotes } from "./attempt_notes.ts";
import type { ClaimedJob } from "./claim.ts";
import { Claimer } from "./claimer.ts";
import type { JobTypes } from "./job_type.ts";
import { LEASE_SECONDS } from "./lease.ts";
import { LeaseKeeper } from "./lease_keeper.ts";
import { CompletionRate } from "./completion_rate.ts";
import { giveBackJobs, giveBackUnknownJobs, type SettledJob, type Settlement } from "./settle.ts";
import { Settler } from "./settler.ts";

export interface WorkerOptions {
  /** Passed to the handlers in the job context. */
  platform: Platform;
  /** Passed to the handlers of recurring work of the service itself, with the pool for upkeep. Default: `platform`. */
  upkeepPlatform?: Platform;
  /** Pool for the statements of the worker itself. */
  sql: Sql;
  types: JobTypes;
  log: Log;
  host: string;
  /**
   * Number of places for jobs that run at once. Most jobs take one place; see `places` of a job type. A job starts if
   * any part of a place is free.
   */
  concurrency: number;
  /** Queues to claim from; null: all. */
  queues: string[] | null;
  /** How often due jobs are searched without a wake-up, in ms. */
  pollMs: number;
  /** Seconds without a renewal after which a worker counts as dead; default 60. */
  leaseSeconds?: number;
  /** Called with every job whose result was written. Tests and waiting callers use it. */
  onSettled?: (jobs: SettledJob[]) => void;
  /** Called for each job that waits for a retry or its due time, with the delay in ms. */
  onDueLater?: (inMs: number) => void;
  /** Called after every claim, with the number of jobs. */
  onClaimed?: (jobs: number) => void;
  /** Called after every attempt. */
  onEnded?: (settlement: Settlement) => void;
}

export interface Worker {
  /** Number of running jobs. */
  busy(): number;
  /** Why no job could start for some time; null if jobs can start. */
  stallReason(): string | null;
  /** Searches for due jobs now. */
  wake(): void;
  /** Stops claiming, gives running jobs `graceMs` to finish, gives back the others, and settles everything. */
  stop(graceMs: number): Promise<void>;
}

const LARGEST_CLAIM = 500;
/**
 * A claim prefetches as many jobs as would start within this time at the current rate. So short jobs are claimed in
 * large batches, and long ones remain for other instances.
 */
const PREFETCH_MS = 60;
/**
 * A prefetched job that has not started after this time is given back, so that it can run elsewhere or be cancelled.
 */
const PREFETCH_HOLD_MS = 250;
/** Limit used instead while enough jobs start that it will start soon: giving back costs as much as claiming. */
const PREFETCH_MAX_HOLD_MS = 1_000;
const RETRY_DATABASE_MS = 1_000;
/** Claims normally take milliseconds. Without a successful claim for this time, the worker is stalled. */
const CLAIM_STALLED_MS = 3_000;
/** If all places are taken and no job ends for this time, the worker is stalled. */
const PLACES_STALLED_MS = 30_000;

/** A claimed job that waits for a free place. */
interface PrefetchedJob {
  job: ClaimedJob;
  since: number;
}

/** Starts a worker. It claims jobs in batches, runs them, settles them in batches and renews its lease. */
export async function startWorker(o: WorkerOptions): Promise<Worker> {
  const { sql, log } = o;
  const leaseSeconds = o.leaseSeconds ?? LEASE_SECONDS;
  let stopping = false;
  let claiming: Promise<void> | null = null;
  let wokenMeanwhile = false;
  let mayHaveMore = true;
  let claimMayBeLost = false;
  const prefetched: PrefetchedJob[] = [];
  const running = new Set<Attempt>();
  let placesTaken = 0;
  let started = 0;
  /** Since when claims have failed, and since when all places are taken and no job has ended. */
  let unclaimedSince: number | null = null;
  let fullSince: number | null = null;
  const completionRate = new CompletionRate();
  const notes = new AttemptNotes(sql, log);
  const { types, platform, upkeepPlatform } = o;
  const attemptOptions = { types, notes, platform, upkeepPlatform: upkeepPlatform ?? platform };
  const claimer = new Claimer(sql, o.types, o.queues, capacityFor);
  const settler = new Settler({ sql, log, workerId: () => lease.id, onChanged });
  const lease = await LeaseKeeper.start({
    connect: () => connectSeparately(mainPool(sql)),
    host: o.host,
    leaseSeconds,
    log,
    onReplaced,
    onAtRisk: () => running.forEach((attempt) => attempt.abort("the worker's lease could not be renewed")),
    onSafeAgain: () => fillPlaces(),
  });

  /** Starts prefetched jobs while places are free, and claims more if needed. */
  function fillPlaces(): void {
    if (!lease.isSafe) return;
    while (placesTaken < o.concurrency) {
      const next = prefetched.shift();
      if (!next) break;
      start(next.job);
    }
    if (prefetched.length > 0 && !stopping) schedulePrefetchRelease();
    const wanted = o.concurrency + prefetchTarget() - Math.floor(placesTaken) - prefetched.length;
    const needsMore = wanted > 0 && prefetched.length <= prefetchTarget() / 2;
    if (!stopping && mayHaveMore && !claiming && needsMore) claim(wanted);
  }

  /** How many more jobs of a limited type fit into its share of the places. */
  function capacityFor(typeName: string): number {
    const { share = Infinity, places = 1 } = o.types.get(typeName) ?? {};
    const held = [...prefetched, ...running].filter(({ job }) => job.jobTypeName === typeName).length;
    return Math.max(1, Math.floor(o.concurrency * share / places)) - held;
  }

  const prefetchTarget = () => Math.min(LARGEST_CLAIM, Math.round(completionRate.perMs * PREFETCH_MS));

  function start(job: ClaimedJob): void {
    const attempt = runAttempt(job, attemptOptions);
    const { places = 1 } = o.types.get(job.jobTypeName) ?? {};
    running.add(attempt);
    started++;
    placesTaken += places;
    fullSince = placesTaken >= o.concurrency ? performance.now() : null;
    attempt.settlement.then((settlement) => {
      running.delete(attempt);
      placesTaken -= places;
      fullSince = null;
      completionRate.count();
      settler.add(settlement);
      o.onEnded?.(settlement);
      fillPlaces();
    });
  }

  function claim(wanted: number): void {
    wokenMeanwhile = false;
    unclaimedSince ??= performance.now();
    completionRate.measure();
    const workerId = lease.id;
    claiming = recoverLostClaim().then(() => claimer.claim(workerId, Math.min(LARGEST_CLAIM, wanted))).then(
      (claimed) => {
        unclaimedSince = null;
        mayHaveMore = claimed.mayHaveMore || wokenMeanwhile;
        if (wokenMeanwhile) claimer.searchAgain();
        if (stopping) return giveBackJobs(sql, workerId, claimed.jobs);
        if (lease.id !== workerId) return; // the lease was lost, so these jobs no longer belong to this worker
        const since = performance.now();
        o.onClaimed?.(claimed.jobs.length);
        prefetched.push(...claimed.jobs.map((job) => ({ job, since })));
      },
    ).catch(async (error) => {
      log.error("due jobs could not be claimed", { error });
      claimMayBeLost = true;
      await pause(RETRY_DATABASE_MS);
    }).then(() => {
      claiming = null;
      if (!stopping) fillPlaces();
    });
  }

  let release: ReturnType<typeof setTimeout> | undefined;
  /** Gives back prefetched jobs that do not start in time. */
  function schedulePrefetchRelease(): void {
    const before = started;
    release ??= setTimeout(() => {
      release = undefined;
      const [oldest] = prefetched;
      if (!oldest || stopping) return;
      const startsSoon = prefetched.length <= started - before;
      const heldMs = performance.now() - oldest.since;
      const maxHoldMs = startsSoon ? PREFETCH_MAX_HOLD_MS : PREFETCH_HOLD_MS;
      if (claiming || heldMs < maxHoldMs) return schedulePrefetchRelease();
      completionRate.reset();
      claiming = giveBackJobs(sql, lease.id, prefetched.splice(0).map(({ job }) => job)).catch((error) => {
        log.error("prefetched jobs could not be given back", { error });
        claimMayBeLost = true;
      }).then(() => {
        claiming = null;
        wake();
      });
    }, PREFETCH_HOLD_MS);
  }

  /** Gives back the jobs of a claim that committed although its query failed. */
  async function recoverLostClaim(): Promise<void> {
    if (!claimMayBeLost) return;
    const known = [...prefetched, ...running].map(({ job }) => job.id);
    await giveBackUnknownJobs(sql, lease.id, [...known, ...settler.unwritten()]);
    claimMayBeLost = false;
  }

  function onChanged(jobs: SettledJob[]): void {
    o.onSettled?.(jobs);
    for (const { status, dueInMs } of jobs) {
      if (status === "Failed" || status === "Scheduled") o.onDueLater?.(dueInMs);
    }
    if (!mayHaveMore && (o.types.hasLimits || jobs.some((job) => job.status === "Enqueued"))) wake();
  }

  function wake(): void {
    wokenMeanwhile = true;
    if (!claiming) claimer.searchAgain();
    mayHaveMore = true;
    fillPlaces();
  }

  /** The lease had expired, so other workers may run the jobs this worker held. */
  function onReplaced(): void {
    log.warn("the worker's lease had expired; its jobs run again on other workers", {
      running: running.size,
    });
    prefetched.length = 0;
    for (const attempt of running) attempt.stop("its lease was lost");
    wake();
  }

  function stallReason(): string | null {
    const seconds = (since: number | null) => (performance.now() - (since ?? Infinity)) / 1000;
    const [unclaimed, full] = [seconds(unclaimedSince), seconds(fullSince)];
    if (unclaimed > CLAIM_STALLED_MS / 1000) return `no job could be claimed for ${Math.round(unclaimed)} s`;
    if (full > PLACES_STALLED_MS / 1000) {
      return `all ${o.concurrency} places are taken and no job has ended for ${Math.round(full)} s`;
    }
    return null;
  }

  const report = (error: unknown) => log.error("the worker could not give back its jobs", { error });
  const poll = setInterval(wake, o.pollMs);
  wake();

  return {
    busy: () => running.size,
    stallReason,
    wake,
    async stop(graceMs) {
      stopping = true;
      clearTimeout(release);
      clearInterval(poll);
      await claiming;
      await giveBackJobs(sql, lease.id, prefetched.splice(0).map(({ job }) => job)).catch(report);
      await waitAtMost(graceMs, Promise.all([...running].map((attempt) => attempt.settlement)));
      for (const attempt of running) attempt.stop("the service stopped");
      await Promise.all([...running].map((attempt) => attempt.settlement));
      await notes.flush();
      await settler.flush(5_000);
      await lease.stop();
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
