import type { Log } from "../../infra/log.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Attempt, runAttempt } from "./attempt.ts";
import { AttemptNotes } from "./attempt_notes.ts";
import { type ClaimedJob, promoteDueJobs } from "./claim.ts";
import { Claimer } from "./claimer.ts";
import type { JobTypes } from "./job_type.ts";
import { closeLease, LEASE_SECONDS, openLease, recoverLostJobs, renewLease } from "./lease.ts";
import { Pace } from "./pace.ts";
import { giveBackJobs, giveBackUnknownJobs, type SettledJob, type Settlement } from "./settle.ts";
import { Settler } from "./settler.ts";

export interface WorkerOptions {
  sql: Sql;
  types: JobTypes;
  log: Log;
  host: string;
  /** Places for jobs that run at once; most job types take one each, see `places` of a job type. A job begins where any
   * part of a place is free. */
  concurrency: number;
  /** Queues worked; null: all. */
  queues: string[] | null;
  /** How often the ledger is looked at without any ring, in ms. */
  pollMs: number;
  /** Seconds without a renewal after which a worker counts as dead; 60 unless told. */
  leaseSeconds?: number;
  /** Hears of every job whose result counted; tests and waiting callers hang on it. */
  onSettled?: (jobs: SettledJob[]) => void;
  /** Hears of every claim, and of every attempt that ended. */
  onClaimed?: (jobs: number) => void;
  onEnded?: (settlement: Settlement) => void;
}

export interface Worker {
  /** How many jobs run now. */
  busy(): number;
  /** Looks at the ledger for jobs due now. */
  wake(): void;
  /** Looks at the ledger for jobs whose time has come. */
  wakeWaiting(): void;
  /** Stops claiming, lets running jobs finish for `graceMs`, gives the rest back, settles everything. */
  stop(graceMs: number): Promise<void>;
}

const LARGEST_CLAIM = 500;
/** Claims fetch ahead what would run within this time at the present pace, so that short jobs come in large batches
 * and long ones stay free for other instances. */
const AHEAD_MS = 60;
/** What was fetched ahead and has not begun within this time goes back: others may run it, cancel it, or go first. It
 * stays a few times as long while so many jobs begin that it is about to: giving back costs as much as claiming. */
const HELD_AHEAD_MS = 250;
const HELD_LONGEST_MS = 1_000;
const RETRY_DATABASE_MS = 1_000;

/** A claimed job that waits for a free place. */
interface Held {
  job: ClaimedJob;
  since: number;
}

/** Starts a worker: claims in batches, runs, settles in batches, renews its lease, takes over from dead workers. */
export async function startWorker(o: WorkerOptions): Promise<Worker> {
  const { sql, log } = o;
  const leaseSeconds = o.leaseSeconds ?? LEASE_SECONDS;
  let workerId = await openLease(sql, o.host);
  let stopping = false;
  let claiming: Promise<void> | null = null;
  let rungMeanwhile = false;
  let mayHaveMore = true;
  let claimMayBeLost = false;
  const ahead: Held[] = [];
  const running = new Set<Attempt>();
  let placesTaken = 0;
  let begun = 0;
  const pace = new Pace();
  const notes = new AttemptNotes(sql, log);
  const claimer = new Claimer(sql, o.types, o.queues);
  const settler = new Settler({ sql, log, workerId: () => workerId, moved });

  function pump(): void {
    while (placesTaken < o.concurrency) {
      const held = ahead.shift();
      if (!held) break;
      begin(held.job);
    }
    if (ahead.length > 0 && !stopping) releaseAheadInTime();
    const room = o.concurrency + aheadTarget() - Math.floor(placesTaken) - ahead.length;
    if (!stopping && mayHaveMore && !claiming && room > 0 && ahead.length <= aheadTarget() / 2) claim(room);
  }

  const aheadTarget = () => Math.min(LARGEST_CLAIM, Math.round(pace.perMs * AHEAD_MS));

  function begin(job: ClaimedJob): void {
    const attempt = runAttempt(job, o.types, notes);
    const { places = 1 } = o.types.get(job.jobTypeName) ?? {};
    running.add(attempt);
    begun++;
    placesTaken += places;
    attempt.settlement.then((settlement) => {
      running.delete(attempt);
      placesTaken -= places;
      pace.count();
      settler.add(settlement);
      o.onEnded?.(settlement);
      pump();
    });
  }

  function claim(room: number): void {
    rungMeanwhile = false;
    pace.measure();
    const lease = workerId;
    claiming = recoverLostClaim().then(() => claimer.claim(lease, Math.min(LARGEST_CLAIM, room))).then(
      (claimed) => {
        mayHaveMore = claimed.mayHaveMore || rungMeanwhile;
        if (rungMeanwhile) claimer.lookAgain();
        if (stopping) return giveBackJobs(sql, workerId, claimed.jobs);
        if (lease !== workerId) return; // lost meanwhile, and with it what was claimed
        const since = performance.now();
        o.onClaimed?.(claimed.jobs.length);
        ahead.push(...claimed.jobs.map((job) => ({ job, since })));
      },
    ).catch(async (error) => {
      log.error("due jobs could not be claimed", { error });
      claimMayBeLost = true;
      await pause(RETRY_DATABASE_MS);
    }).then(() => {
      claiming = null;
      if (!stopping) pump();
    });
  }

  let release: ReturnType<typeof setTimeout> | undefined;
  function releaseAheadInTime(): void {
    const before = begun;
    release ??= setTimeout(() => {
      release = undefined;
      const [oldest] = ahead;
      if (!oldest || stopping) return;
      const beginsSoon = ahead.length <= begun - before;
      const held = performance.now() - oldest.since;
      if (claiming || held < (beginsSoon ? HELD_LONGEST_MS : HELD_AHEAD_MS)) return releaseAheadInTime();
      pace.forget();
      claiming = giveBackJobs(sql, workerId, ahead.splice(0).map((held) => held.job)).catch((error) => {
        log.error("jobs fetched ahead could not be given back", { error });
        claimMayBeLost = true;
      }).then(() => {
        claiming = null;
        wake();
      });
    }, HELD_AHEAD_MS);
  }

  /** A claim that failed may have been committed all the same; what it took is given back. */
  async function recoverLostClaim(): Promise<void> {
    if (!claimMayBeLost) return;
    const known = [...ahead, ...running].map(({ job }) => job.id);
    await giveBackUnknownJobs(sql, workerId, [...known, ...settler.unwritten()]);
    claimMayBeLost = false;
  }

  function moved(jobs: SettledJob[]): void {
    o.onSettled?.(jobs);
    const later = jobs.filter((job) => job.status === "Failed" || job.status === "Scheduled");
    if (later.length > 0) promoteIn(Math.min(...later.map((job) => job.dueInMs)));
    if (!mayHaveMore && (o.types.hasLimits || jobs.some((job) => job.status === "Enqueued"))) wake();
  }

  function wake(): void {
    rungMeanwhile = true;
    if (!claiming) claimer.lookAgain();
    mayHaveMore = true;
    pump();
  }

  let promotion: { at: number; timer: ReturnType<typeof setTimeout> } | null = null;
  function promoteIn(ms: number): void {
    const at = performance.now() + ms;
    if (stopping || ms > o.pollMs || (promotion && promotion.at <= at)) return;
    clearTimeout(promotion?.timer);
    promotion = { at, timer: setTimeout(() => promote().catch(report), ms) };
  }

  async function promote(): Promise<void> {
    clearTimeout(promotion?.timer);
    promotion = null;
    const { promoted, nextInMs } = await promoteDueJobs(sql, o.pollMs);
    if (promoted > 0) wake();
    if (nextInMs !== null) promoteIn(Math.max(1, nextInMs));
  }

  /** The lease had run out, so all this worker held belongs to others now. */
  async function replaceLease(): Promise<void> {
    log.warn("the worker's lease had run out; what it held runs elsewhere", { running: running.size });
    workerId = await openLease(sql, o.host);
    ahead.length = 0;
    for (const attempt of running) attempt.stop("lease lost");
  }

  const report = (error: unknown) => log.error("the worker could not reach the ledger", { error });
  const poll = every(o.pollMs, async () => {
    wake();
    await promote();
  }, report);
  const heartbeat = every(leaseSeconds * 250, async () => {
    if (!await renewLease(sql, workerId)) await replaceLease();
    if (await recoverLostJobs(sql, leaseSeconds) > 0) wake();
  }, report);

  await recoverLostJobs(sql, leaseSeconds);
  wake();
  promote().catch(report);

  return {
    busy: () => running.size,
    wake,
    wakeWaiting: () => void promote().catch(report),
    async stop(graceMs) {
      stopping = true;
      clearTimeout(promotion?.timer);
      clearTimeout(release);
      await poll.stop();
      await claiming;
      await giveBackJobs(sql, workerId, ahead.splice(0).map((held) => held.job)).catch(report);
      await settledWithin(Promise.all([...running].map((attempt) => attempt.settlement)), graceMs);
      for (const attempt of running) attempt.stop("interrupted");
      await Promise.all([...running].map((attempt) => attempt.settlement));
      await notes.flush();
      await settler.flush(5_000);
      await heartbeat.stop();
      await closeLease(sql, workerId).catch(report);
    },
  };
}

/** Does `work` every `ms`, never twice at once. */
function every(
  ms: number,
  work: () => Promise<void>,
  report: (error: unknown) => void,
): { stop(): Promise<void> } {
  let current: Promise<void> | null = null;
  const timer = setInterval(() => {
    current ??= work().catch(report).finally(() => current = null);
  }, ms);
  return {
    async stop() {
      clearInterval(timer);
      await current;
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}
