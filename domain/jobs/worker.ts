import type { Log } from "../../infra/log.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Attempt, runAttempt } from "./attempt.ts";
import { claimDueJobs, type ClaimedJob, nextDueIn } from "./claim.ts";
import type { JobTypes } from "./job_type.ts";
import { closeLease, openLease, recoverLostJobs, renewLease } from "./lease.ts";
import { giveBackJobs, type SettledJob, settleJobs, type Settlement } from "./settle.ts";

export interface WorkerOptions {
  sql: Sql;
  types: JobTypes;
  log: Log;
  host: string;
  /** Jobs run at once. */
  concurrency: number;
  /** Queues worked; null: all. */
  queues: string[] | null;
  /** How often the ledger is looked at without any ring, in ms. */
  pollMs: number;
  /** Hears of every job whose result counted; tests and waiting callers hang on it. */
  onSettled?: (jobs: SettledJob[]) => void;
}

export interface Worker {
  /** Looks at the ledger for due jobs. */
  wake(): void;
  /** Stops claiming, lets running jobs finish for `graceMs`, gives the rest back, settles everything. */
  stop(graceMs: number): Promise<void>;
}

const HEARTBEAT_MS = 15_000;
const LARGEST_CLAIM = 500;
const LARGEST_SETTLEMENT = 500;
/** Claims fetch ahead what would run within this time at the present pace, so that short jobs come in large batches
 * and long ones stay free for other instances. */
const AHEAD_MS = 60;
const RETRY_DATABASE_MS = 1_000;

/** Starts a worker: claims in batches, runs, settles in batches, renews its lease, takes over from dead workers. */
export async function startWorker(o: WorkerOptions): Promise<Worker> {
  const { sql, log } = o;
  let workerId = await openLease(sql, o.host);
  let stopping = false;
  let claiming: Promise<void> | null = null;
  let rungMeanwhile = false;
  let mayHaveMore = true;
  let pacePerMs = 0;
  let finished = 0;
  let paceSince = performance.now();
  const ahead: ClaimedJob[] = [];
  const running = new Set<Attempt>();
  let unsettled: Settlement[] = [];
  const settling = new Set<Promise<void>>();
  let dueTimer: ReturnType<typeof setTimeout> | undefined;

  function pump(): void {
    while (running.size < o.concurrency) {
      const job = ahead.shift();
      if (!job) break;
      begin(job);
    }
    if (!stopping && mayHaveMore && !claiming && ahead.length <= aheadTarget() / 2 && hasRoom()) claim();
  }

  const aheadTarget = () => Math.min(LARGEST_CLAIM, Math.round(pacePerMs * AHEAD_MS));
  const hasRoom = () => running.size + ahead.length < o.concurrency + aheadTarget();

  function begin(job: ClaimedJob): void {
    const attempt = runAttempt(job, o.types, log);
    running.add(attempt);
    attempt.settlement.then((settlement) => {
      running.delete(attempt);
      finished++;
      unsettled.push(settlement);
      settle();
      pump();
    });
  }

  function claim(): void {
    const limit = Math.min(LARGEST_CLAIM, o.concurrency + aheadTarget() - running.size - ahead.length);
    rungMeanwhile = false;
    measurePace();
    claiming = claimDueJobs(sql, { workerId, queues: o.queues, limit }).then((jobs) => {
      mayHaveMore = jobs.length === limit || rungMeanwhile;
      if (stopping) return giveBackJobs(sql, workerId, jobs);
      ahead.push(...jobs);
    }).catch(async (error) => {
      log.error("due jobs could not be claimed", { error });
      await pause(RETRY_DATABASE_MS);
    }).then(() => {
      claiming = null;
      if (!stopping) pump();
    });
  }

  function measurePace(): void {
    const now = performance.now();
    if (now - paceSince < 5) return;
    pacePerMs = (pacePerMs + finished / (now - paceSince)) / 2;
    finished = 0;
    paceSince = now;
  }

  /** Writes what has ended. What ends while a write is under way goes with the next one: the busier, the larger. */
  function settle(): void {
    if (settling.size > 0 || unsettled.length === 0) return;
    const batch = unsettled.slice(0, LARGEST_SETTLEMENT);
    unsettled = unsettled.slice(batch.length);
    const write = writeBatch(batch).then(() => {
      settling.delete(write);
      settle();
    });
    settling.add(write);
  }

  async function writeBatch(batch: Settlement[]): Promise<void> {
    const holder = workerId;
    for (;;) {
      try {
        const settled = await settleJobs(sql, holder, batch);
        if (settled.length < batch.length) {
          log.warn("late results were refused: the lease had been lost", {
            refused: batch.length - settled.length,
          });
        }
        o.onSettled?.(settled);
        const retries = settled.filter((job) => job.status === "Failed").map((job) => job.dueInMs);
        if (retries.length > 0) wakeIn(Math.min(...retries));
        if (settled.some((job) => job.status === "Enqueued")) wake();
        return;
      } catch (error) {
        log.error("ended jobs could not be settled; trying again", { error, jobs: batch.length });
        await pause(RETRY_DATABASE_MS);
        if (stopping && performance.now() > giveUpAt) return;
      }
    }
  }

  function wake(): void {
    mayHaveMore = true;
    rungMeanwhile = true;
    pump();
  }

  let dueAt = Infinity;
  function wakeIn(ms: number): void {
    const at = performance.now() + ms;
    if (stopping || at >= dueAt) return;
    clearTimeout(dueTimer);
    dueAt = at;
    dueTimer = setTimeout(() => {
      dueAt = Infinity;
      wake();
    }, Math.min(ms, o.pollMs));
  }

  const poll = every(o.pollMs, async () => {
    wake();
    const ms = await nextDueIn(sql, o.pollMs);
    if (ms !== null) wakeIn(Math.max(1, ms));
  });
  const heartbeat = every(HEARTBEAT_MS, async () => {
    if (!await renewLease(sql, workerId)) await replaceLease();
    if (await recoverLostJobs(sql) > 0) wake();
  });

  /** The lease had run out, so all this worker held belongs to others now. */
  async function replaceLease(): Promise<void> {
    log.warn("the worker's lease had run out; what it held runs elsewhere", { running: running.size });
    for (const attempt of running) attempt.stop("lease lost");
    ahead.length = 0;
    workerId = await openLease(sql, o.host);
  }

  function every(ms: number, work: () => Promise<void>): { stop(): Promise<void> } {
    let current: Promise<void> = Promise.resolve();
    const timer = setInterval(() => {
      current = work().catch((error) => log.error("the worker could not reach the ledger", { error }));
    }, ms);
    return {
      stop: () => {
        clearInterval(timer);
        return current;
      },
    };
  }

  let giveUpAt = Infinity;
  await recoverLostJobs(sql);
  wake();

  return {
    wake,
    async stop(graceMs) {
      stopping = true;
      giveUpAt = performance.now() + graceMs + 5_000;
      clearTimeout(dueTimer);
      await poll.stop();
      await claiming;
      const unbegun = ahead.splice(0);
      await giveBackJobs(sql, workerId, unbegun);
      await settledWithin(Promise.all([...running].map((attempt) => attempt.settlement)), graceMs);
      for (const attempt of running) attempt.stop("interrupted");
      while (running.size > 0 || unsettled.length > 0 || settling.size > 0) {
        settle();
        await Promise.all([...settling, pause(1)]);
      }
      await heartbeat.stop();
      await closeLease(sql, workerId);
    },
  };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}
