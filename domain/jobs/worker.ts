import type { Log } from "../../infra/log.ts";
import { connectSeparately, type Sql } from "../../infra/postgres/postgres.ts";
import { type Attempt, runAttempt } from "./attempt.ts";
import { AttemptNotes } from "./attempt_notes.ts";
import type { ClaimedJob } from "./claim.ts";
import { Claimer } from "./claimer.ts";
import type { JobTypes } from "./job_type.ts";
import { LEASE_SECONDS } from "./lease.ts";
import { LeaseKeeper } from "./lease_keeper.ts";
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
  /** How often the ledger is looked at without any wake-up, in ms. */
  pollMs: number;
  /** Seconds without a renewal after which a worker counts as dead; 60 unless told. */
  leaseSeconds?: number;
  /** Hears of every job whose result counted; tests and waiting callers hang on it. */
  onSettled?: (jobs: SettledJob[]) => void;
  /** Hears of jobs that wait for a retry or their time, and for how long. */
  dueLater?: (inMs: number) => void;
  /** Hears of every claim, and of every attempt that ended. */
  onClaimed?: (jobs: number) => void;
  onEnded?: (settlement: Settlement) => void;
}

export interface Worker {
  /** How many jobs run now. */
  busy(): number;
  /** Why no job can start, where none has been able to for some time; null otherwise. */
  obstacle(): string | null;
  /** Looks at the ledger for jobs due now. */
  wake(): void;
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
/** A claim takes milliseconds; and of many jobs at once, one ends now and then. */
const CLAIM_STALLED_MS = 3_000;
const PLACES_STALLED_MS = 30_000;

/** A claimed job that waits for a free place. */
interface Held {
  job: ClaimedJob;
  since: number;
}

/** Starts a worker: claims in batches, runs, settles in batches, renews its lease. */
export async function startWorker(o: WorkerOptions): Promise<Worker> {
  const { sql, log } = o;
  const leaseSeconds = o.leaseSeconds ?? LEASE_SECONDS;
  let stopping = false;
  let claiming: Promise<void> | null = null;
  let wokenMeanwhile = false;
  let mayHaveMore = true;
  let claimMayBeLost = false;
  const ahead: Held[] = [];
  const running = new Set<Attempt>();
  let placesTaken = 0;
  let begun = 0;
  /** Since when claims have been tried without success, and since when all places are taken by the same jobs. */
  let unclaimedSince: number | null = null;
  let fullSince: number | null = null;
  const pace = new Pace();
  const notes = new AttemptNotes(sql, log);
  const claimer = new Claimer(sql, o.types, o.queues, roomFor);
  const settler = new Settler({ sql, log, workerId: () => lease.id, moved });
  const lease = await LeaseKeeper.start({
    ...{ connect: () => connectSeparately(sql), host: o.host, leaseSeconds, log, replaced },
    atRisk: () => running.forEach((attempt) => attempt.abort("the worker's lease could not be renewed")),
    safeAgain: () => pump(),
  });

  function pump(): void {
    if (!lease.isSafe) return;
    while (placesTaken < o.concurrency) {
      const held = ahead.shift();
      if (!held) break;
      begin(held.job);
    }
    if (ahead.length > 0 && !stopping) releaseAheadInTime();
    const room = o.concurrency + aheadTarget() - Math.floor(placesTaken) - ahead.length;
    if (!stopping && mayHaveMore && !claiming && room > 0 && ahead.length <= aheadTarget() / 2) claim(room);
  }

  /** How many more jobs of a limited type fit in the part of the places it may take. */
  function roomFor(typeName: string): number {
    const { share = Infinity, places = 1 } = o.types.get(typeName) ?? {};
    const held = [...ahead, ...running].filter(({ job }) => job.jobTypeName === typeName).length;
    return Math.max(1, Math.floor(o.concurrency * share / places)) - held;
  }

  const aheadTarget = () => Math.min(LARGEST_CLAIM, Math.round(pace.perMs * AHEAD_MS));

  function begin(job: ClaimedJob): void {
    const attempt = runAttempt(job, o.types, notes);
    const { places = 1 } = o.types.get(job.jobTypeName) ?? {};
    running.add(attempt);
    begun++;
    placesTaken += places;
    fullSince = placesTaken >= o.concurrency ? performance.now() : null;
    attempt.settlement.then((settlement) => {
      running.delete(attempt);
      placesTaken -= places;
      fullSince = null;
      pace.count();
      settler.add(settlement);
      o.onEnded?.(settlement);
      pump();
    });
  }

  function claim(room: number): void {
    wokenMeanwhile = false;
    unclaimedSince ??= performance.now();
    pace.measure();
    const workerId = lease.id;
    claiming = recoverLostClaim().then(() => claimer.claim(workerId, Math.min(LARGEST_CLAIM, room))).then(
      (claimed) => {
        unclaimedSince = null;
        mayHaveMore = claimed.mayHaveMore || wokenMeanwhile;
        if (wokenMeanwhile) claimer.lookAgain();
        if (stopping) return giveBackJobs(sql, workerId, claimed.jobs);
        if (lease.id !== workerId) return; // lost meanwhile, and with it what was claimed
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
      claiming = giveBackJobs(sql, lease.id, ahead.splice(0).map((held) => held.job)).catch((error) => {
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
    await giveBackUnknownJobs(sql, lease.id, [...known, ...settler.unwritten()]);
    claimMayBeLost = false;
  }

  function moved(jobs: SettledJob[]): void {
    o.onSettled?.(jobs);
    for (const { status, dueInMs } of jobs) {
      if (status === "Failed" || status === "Scheduled") o.dueLater?.(dueInMs);
    }
    if (!mayHaveMore && (o.types.hasLimits || jobs.some((job) => job.status === "Enqueued"))) wake();
  }

  function wake(): void {
    wokenMeanwhile = true;
    if (!claiming) claimer.lookAgain();
    mayHaveMore = true;
    pump();
  }

  /** The lease had run out, so all this worker held belongs to others now. */
  function replaced(): void {
    log.warn("the worker's lease had run out; what it held runs elsewhere", { running: running.size });
    ahead.length = 0;
    for (const attempt of running) attempt.stop("its lease was lost");
    wake();
  }

  function obstacle(): string | null {
    const seconds = (since: number | null) => (performance.now() - (since ?? Infinity)) / 1000;
    const [unclaimed, full] = [seconds(unclaimedSince), seconds(fullSince)];
    if (unclaimed > CLAIM_STALLED_MS / 1000) return `no job could be claimed for ${Math.round(unclaimed)} s`;
    if (full > PLACES_STALLED_MS / 1000) {
      return `all ${o.concurrency} places have been taken by the same jobs for ${Math.round(full)} s`;
    }
    return null;
  }

  const report = (error: unknown) => log.error("the worker could not reach the ledger", { error });
  const poll = setInterval(wake, o.pollMs);
  wake();

  return {
    busy: () => running.size,
    obstacle,
    wake,
    async stop(graceMs) {
      stopping = true;
      clearTimeout(release);
      clearInterval(poll);
      await claiming;
      await giveBackJobs(sql, lease.id, ahead.splice(0).map((held) => held.job)).catch(report);
      await settledWithin(Promise.all([...running].map((attempt) => attempt.settlement)), graceMs);
      for (const attempt of running) attempt.stop("the service stopped");
      await Promise.all([...running].map((attempt) => attempt.settlement));
      await notes.flush();
      await settler.flush(5_000);
      await lease.stop();
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}
