import { setImmediate } from "node:timers";
import { setTimeout as pause } from "node:timers/promises";
import type { AreasOn } from "../../../infra/areas.ts";
import type { Log } from "../../../infra/log.ts";
import { connectSeparately } from "../../../infra/postgres/driver_workarounds.ts";
import { mainPool, type Pool, type Sql } from "../../../infra/postgres/postgres.ts";
import { waitAtMost } from "../../../infra/timeout.ts";
import type { Platform } from "../../shared/platform.ts";
import { type Attempt, runAttempt } from "./attempt.ts";
import { AttemptLog } from "./attempt_log.ts";
import type { ClaimedJob } from "./claim.ts";
import { Claimer } from "./claimer.ts";
import { type JobTypes, PostponeJob } from "../job_type.ts";
import { HeldJobs, LARGEST_CLAIM, PREFETCH_HOLD_MS } from "./held_jobs.ts";
import type { Room } from "./places.ts";
import { CompletionRate } from "./completion_rate.ts";
import type { SettledJob } from "../job_row.ts";
import { LEASE_SECONDS } from "./lease.ts";
import { LeaseKeeper } from "./lease_keeper.ts";
import { findCancelRequests, giveBackJobs, giveBackUnknownJobs } from "./settle.ts";
import { Settler } from "./settler.ts";
import { stateAfter, type WorkerEvent, type WorkerState } from "./worker_state.ts";

export interface WorkerOptions {
  /** Passed to the handlers in the job context. */
  platform: Platform;
  /** Passed to the handlers of recurring jobs of the service itself. It has the pool for upkeep. Default: `platform`. */
  upkeepPlatform?: Platform;
  /** Pool for the statements of the worker itself. */
  sql: Sql;
  types: JobTypes;
  log: Log;
  host: string;
  /** The areas of the instance; absent: all. */
  areas?: AreasOn["AREAS"];
  /**
   * Number of places for jobs that run at once. Most jobs take one place; see `places` of a job type. A job starts if
   * any part of a place is free. See `Places` for what one tenant may take.
   */
  concurrency: number;
  /** Queues to claim from; null: all. */
  queues: string[] | null;
  /** How often due jobs are searched without a wake-up, in ms. */
  pollMs: number;
  /** Seconds without a renewal after which a worker counts as dead; default 60. */
  leaseSeconds?: number;
  /** Opens a connection that only renewals of the lease use. Default: a separate connection to the database of `sql`. */
  connect?: () => Pool;
  /** Called with every job whose result was written. Tests and waiting callers use it. */
  onSettled?: (jobs: SettledJob[]) => void;
  /** Called for each job that waits for a retry or its due time, with the delay in ms. */
  onDueLater?: (inMs: number) => void;
  /** Called after every claim, with the number of jobs. */
  onClaimed?: (jobs: number) => void;
}

/** Twice the largest claim, so that half of the prefetched jobs run while the next claim is on its way. */
const MAX_PREFETCHED = 2 * LARGEST_CLAIM;
/**
 * A claim prefetches as many jobs as would start within this time at the current rate. So short jobs are claimed in
 * large batches, and long ones remain for other instances.
 */
const PREFETCH_MS = 60;
/**
 * Maximum time for which a prefetched job is held while so many jobs start that its turn comes soon. Giving it back would
 * cost as much as a claim.
 */
const PREFETCH_MAX_HOLD_MS = 1_000;
/** While more ended jobs than these wait to be written, none is claimed: after a crash all of them would run again. */
const MAX_UNWRITTEN = 2 * LARGEST_CLAIM;
const RETRY_DATABASE_MS = 1_000;
/** Claims normally take milliseconds. Without a successful claim for this time, the worker is stalled. */
const CLAIM_STALLED_MS = 3_000;
/** If jobs may wait and none starts or ends for this time, the worker is stalled. */
const PLACES_STALLED_MS = 30_000;

/** Postponement of an attempt that asks for the whole worker while another attempt has it. */
const TAKEN_MS = 2_000;

/**
 * Claims jobs in batches, runs them, settles them in batches and renews its lease. `worker_state.ts` lists its states.
 * Jobs start only while the lease is safe.
 */
export class Worker {
  #state: WorkerState = "Starting";
  /** The claim or give-back that runs, or the last one. It never rejects. */
  #query: Promise<void> = Promise.resolve();
  /** True if the worker was woken during the claim. */
  #wasWokenDuringClaim = false;
  /** True if jobs ended during the claim, so that others may fit. */
  #gotRoomDuringClaim = false;
  #claimMayBeLost = false;
  /** The attempt that has the worker to itself, or waits for it: no other job starts. */
  #taker: Attempt | null = null;
  readonly #held: HeldJobs;
  /** True if `#fillPlaces` is scheduled for the end of this turn of the event loop. */
  #isFillScheduled = false;
  /** Number of pauses and resumes so far. */
  #pauseChanges = 0;
  /** True if no prefetched job may start: they were claimed before the last pause or resume, or a caller asked to stop one. */
  #mustRelease = false;
  #started = 0;
  /** Start of the first claim since the last successful one, as `performance.now()`. */
  #unclaimedSince: number | null = null;
  /** The time since which jobs may wait and none has started or ended, as `performance.now()`; null: none may wait. */
  #waitingSince: number | null = null;
  #poll: ReturnType<typeof setInterval> | undefined;
  #release: ReturnType<typeof setTimeout> | undefined;
  readonly #completionRate = new CompletionRate();
  readonly #attemptLog: AttemptLog;
  readonly #claimer: Claimer;
  readonly #settler: Settler;
  readonly #lease: LeaseKeeper;

  private constructor(private readonly o: WorkerOptions) {
    const { sql, log, types, queues, host, areas, leaseSeconds = LEASE_SECONDS } = o;
    this.#held = new HeldJobs(o.concurrency);
    this.#attemptLog = new AttemptLog(sql, log);
    this.#claimer = new Claimer(
      sql,
      types,
      queues,
      (limits, counts) => this.#held.roomFor(limits, counts),
      () => this.#onPausesChanged(),
      () => this.wake(),
    );
    this.#settler = new Settler({
      sql,
      log,
      types,
      workerId: () => this.#lease.id,
      onChanged: (jobs) => this.#onChanged(jobs),
    });
    this.#lease = new LeaseKeeper({
      connect: o.connect ?? (() => connectSeparately(mainPool(sql))),
      host,
      areas,
      leaseSeconds,
      log,
      onReplaced: () => this.#onReplaced(),
      onAtRisk: () => {
        for (const attempt of this.#held.running) attempt.abort("the worker's lease could not be renewed");
      },
      onSafeAgain: () => this.#fillPlaces(),
    });
  }

  static async start(o: WorkerOptions): Promise<Worker> {
    const worker = new Worker(o);
    await worker.#lease.open();
    worker.#on("opened");
    worker.#poll = setInterval(() => worker.wake(), o.pollMs);
    worker.#fillPlaces();
    return worker;
  }

  get state(): WorkerState {
    return this.#state;
  }

  /** Number of running jobs. */
  get busy(): number {
    return this.#held.running.size;
  }

  /** The reason why no job has started for some time; null if jobs can start. */
  stallReason(): string | null {
    const seconds = (since: number | null) => (performance.now() - (since ?? Infinity)) / 1000;
    const [unclaimed, waiting] = [seconds(this.#unclaimedSince), seconds(this.#waitingSince)];
    if (unclaimed > CLAIM_STALLED_MS / 1000) return `no job could be claimed for ${Math.round(unclaimed)} s`;
    if (waiting > PLACES_STALLED_MS / 1000 && !this.#taker) {
      return `${this.busy} jobs run, others may wait, and none has started or ended for ${
        Math.round(waiting)
      } s`;
    }
    return null;
  }

  /** Searches for due jobs now. */
  wake(): void {
    if (this.#isQuerying) this.#wasWokenDuringClaim = true;
    else this.#claimer.searchAgain();
    this.#on("woken");
    this.#fillPlaces();
  }

  /** Stops the jobs that callers asked to cancel. */
  async checkCancelRequests(): Promise<void> {
    const ids = [...this.#held.running, ...this.#held.prefetched].map(({ job }) => job.id);
    if (ids.length === 0) return;
    const asked = await findCancelRequests(this.o.sql, this.#lease.id, ids);
    for (const attempt of this.#held.running) if (asked.has(attempt.job.id)) attempt.cancel();
    if (!this.#held.prefetched.some(({ job }) => asked.has(job.id))) return;
    this.#mustRelease = true;
    this.#fillPlaces();
  }

  /** Stops claiming, gives running jobs `graceMs` to finish, gives back the others, and settles everything. */
  async stop(graceMs: number): Promise<void> {
    this.#on("stop");
    clearTimeout(this.#release);
    clearInterval(this.#poll);
    await this.#query;
    await this.#giveBackPrefetched().catch((error) =>
      this.o.log.error("the worker could not give back its jobs", { error })
    );
    const allEnded = () => Promise.all([...this.#held.running].map((attempt) => attempt.settlement));
    await waitAtMost(graceMs, allEnded());
    for (const attempt of this.#held.running) attempt.stop("the service stopped");
    await allEnded();
    await this.#attemptLog.flush();
    await this.#settler.flush(5_000);
    await this.#lease.close();
    this.#on("ended");
  }

  #on(event: WorkerEvent): void {
    this.#state = stateAfter(this.#state, event);
  }

  get #isQuerying(): boolean {
    return this.#state === "Claiming" || this.#state === "Retrying" || this.#state === "GivingBack";
  }

  /** Starts prefetched jobs while places are free, and claims more if needed. */
  #fillPlaces(): void {
    const prefetched = this.#held.prefetched;
    if (this.#state === "Draining" || !this.#lease.isSafe) return;
    if (this.#mustRelease || this.#taker) {
      if (!this.#isQuerying && (this.#mustRelease || prefetched.length > 0)) {
        this.#query = this.#releasePrefetched();
      }
      return;
    }
    for (let next = this.#held.takeNext(); next; next = this.#held.takeNext()) {
      next.job.waitedMs = Math.max(0, next.job.waitedMs) + performance.now() - next.since;
      this.#start(next.job);
    }
    if (prefetched.length > 0) this.#scheduleRelease();
    if (this.#state !== "Ready" || this.#settler.backlog > MAX_UNWRITTEN) return;
    const target = Math.min(MAX_PREFETCHED, Math.round(this.#completionRate.perMs * PREFETCH_MS));
    const room = this.#held.roomOf(target);
    if (Math.max(room.open, room.reserve) > 0 && prefetched.length <= target / 2) {
      this.#query = this.#claim(room);
    }
  }

  #start(job: ClaimedJob): void {
    const { types, platform, upkeepPlatform } = this.o;
    const takeWorker = (waitMs: number) => Promise.resolve().then(() => this.#take(attempt, waitMs));
    const attemptLog = this.#attemptLog;
    const attempt = runAttempt(job, { types, attemptLog, platform, upkeepPlatform, takeWorker });
    const { places = 1 } = job.type ?? types.get(job.jobTypeName) ?? {};
    this.#held.running.add(attempt);
    this.#started++;
    this.#held.places.take(job.tenantId, places);
    this.#waitingSince = this.#held.places.free <= 0 ? performance.now() : null;
    attempt.settlement.then((settlement) => {
      this.#held.running.delete(attempt);
      this.#held.places.take(job.tenantId, -places);
      this.#waitingSince = null;
      this.#completionRate.count();
      if (settlement) this.#settler.add(settlement);
      else this.wake(); // a receiver holds the job, so another one may fit
      this.#fillPlacesSoon();
    });
  }

  /** Gives the whole worker to one attempt; see `takeWorker` of the job context. */
  async #take(attempt: Attempt, waitMs: number): Promise<(() => void) | null> {
    if (this.#taker) throw new PostponeJob("Another job runs alone on this worker.", TAKEN_MS);
    this.#taker = attempt;
    const leave = () => {
      if (this.#taker !== attempt) return;
      this.#taker = this.#waitingSince = null;
      this.wake();
    };
    attempt.settlement.then(leave);
    this.#fillPlaces(); // gives back what is prefetched
    const others = [...this.#held.running].filter((running) => running !== attempt);
    if (await waitAtMost(waitMs, Promise.all(others.map(({ settlement }) => settlement)))) return leave;
    leave();
    return null;
  }

  /** Fills the places of all jobs that end in the same turn of the event loop, so that one claim is enough for them. */
  #fillPlacesSoon(): void {
    if (this.#isFillScheduled) return;
    this.#isFillScheduled = true;
    setImmediate(() => {
      this.#isFillScheduled = false;
      this.#fillPlaces();
    });
  }

  async #claim(room: Room): Promise<void> {
    this.#on("claim");
    this.#wasWokenDuringClaim = this.#gotRoomDuringClaim = false;
    this.#unclaimedSince ??= performance.now();
    this.#completionRate.measure();
    const workerId = this.#lease.id;
    const pauseChanges = this.#pauseChanges;
    try {
      await this.#recoverLostClaim();
      const { jobs, mayHaveMore } = await this.#claimer.claim(workerId, room);
      this.#unclaimedSince = null;
      const searchesAgain = this.#wasWokenDuringClaim || this.#gotRoomDuringClaim && !mayHaveMore;
      if (searchesAgain) this.#claimer.searchAgain();
      const mayStart = this.#state !== "Draining" && this.#pauseChanges === pauseChanges;
      if (!mayStart) await giveBackJobs(this.o.sql, workerId, jobs);
      this.#on(mayHaveMore || searchesAgain ? "more" : "none");
      if (mayStart && this.#lease.id === workerId) { // otherwise the lease was lost, and the jobs with it
        const since = performance.now();
        this.o.onClaimed?.(jobs.length);
        this.#held.prefetch(jobs, since);
        if (this.#claimer.leftJobs) this.#waitingSince ??= since;
      }
    } catch (error) {
      this.o.log.error("due jobs could not be claimed", { error });
      this.#claimMayBeLost = true;
      this.#on("failed");
      await pause(RETRY_DATABASE_MS);
      this.#on("retry");
    }
    this.#fillPlaces();
  }

  /** Gives back the jobs of a claim that committed although its query failed. */
  async #recoverLostClaim(): Promise<void> {
    if (!this.#claimMayBeLost) return;
    const known = [...this.#held.prefetched, ...this.#held.running].map(({ job }) => job.id);
    await giveBackUnknownJobs(this.o.sql, this.#lease.id, [...known, ...this.#settler.unwritten()]);
    this.#claimMayBeLost = false;
  }

  /** Gives back prefetched jobs that do not start in time. */
  #scheduleRelease(): void {
    const startedBefore = this.#started;
    this.#release ??= setTimeout(() => {
      this.#release = undefined;
      const [oldest] = this.#held.prefetched;
      if (!oldest) return;
      const startsSoon = this.#held.prefetched.length <= this.#started - startedBefore;
      const heldMs = performance.now() - oldest.since;
      const maxHoldMs = startsSoon ? PREFETCH_MAX_HOLD_MS : PREFETCH_HOLD_MS;
      if (this.#isQuerying || heldMs < maxHoldMs) this.#scheduleRelease();
      else this.#query = this.#releasePrefetched();
    }, PREFETCH_HOLD_MS);
  }

  /** Prefetched jobs may be paused now: none starts, and the next claim reads the pauses. */
  #onPausesChanged(): void {
    this.#pauseChanges++;
    this.#mustRelease = this.#held.prefetched.length > 0;
    this.wake();
  }

  async #releasePrefetched(): Promise<void> {
    this.#on("giveBack");
    this.#completionRate.reset();
    await this.#giveBackPrefetched().catch((error) => {
      this.o.log.error("prefetched jobs could not be given back", { error });
      this.#claimMayBeLost = true;
    });
    this.#on("givenBack");
    this.wake();
  }

  async #giveBackPrefetched(): Promise<void> {
    this.#mustRelease = false;
    await giveBackJobs(this.o.sql, this.#lease.id, this.#held.prefetched.splice(0).map(({ job }) => job));
  }

  #onChanged(jobs: SettledJob[]): void {
    const { onSettled, onDueLater } = this.o;
    onSettled?.(jobs);
    for (const { status, dueInMs } of jobs) {
      if (status === "Failed" || status === "Scheduled") onDueLater?.(dueInMs);
    }
    if (this.#isQuerying) this.#gotRoomDuringClaim = true;
    else if (this.#state === "Waiting") this.wake();
    else this.#fillPlacesSoon();
  }

  /** The lease had expired, so other workers may run the jobs this worker held. */
  #onReplaced(): void {
    this.o.log.warn("the worker's lease had expired; its jobs run again on other workers", {
      running: this.#held.running.size,
    });
    this.#held.prefetched.length = 0;
    this.#mustRelease = false;
    for (const attempt of this.#held.running) attempt.stop("its lease was lost");
    this.wake();
  }
}
