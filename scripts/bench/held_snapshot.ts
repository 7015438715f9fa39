import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { foldCounts, foldLagSeconds } from "../../domain/jobs/statistics/fold_counts.ts";
import type { Worker } from "../../domain/jobs/engine/worker.ts";
import { newId } from "../../domain/shared/ids.ts";
import { type BenchSetup, openBenchSetup } from "./bench_setup.ts";
import { median, percentile, report, scaled } from "./compare.ts";
import { drainGraphileWorker, drainPgBoss, drainRate, JOBS, pickUpLatencies, requireAllRun } from "./jobs.ts";
import { enqueueNoops, startNoopWorker } from "./noop_jobs.ts";

/** How long the snapshot is held, in minutes, for each of the systems. */
const HELD_MS = scaled(Number(Deno.env.get("BENCH_HELD_MINUTES") ?? 3) * 60_000);
const FOLD_MS = 1_000;
const WARM_UPS = 5;

/** Runs `JOBS` jobs and resolves with their number per second. */
type Drain = (setup: BenchSetup) => Promise<number>;

/**
 * Pace of the job systems at the end of a long transaction that only reads, against their pace before it. Rows that
 * change meanwhile leave dead versions, which no vacuum may remove. First one worker runs all jobs, as in a service. Then
 * each drain has a new worker, as those of the peers. A new worker searches behind the entries of ended jobs until its
 * first check has found that they stay (`lane_floors.ts`).
 */
export async function heldSnapshot(): Promise<void> {
  const others: Record<string, Drain> = {
    "a new worker for each drain": drainRate,
    "graphile-worker": async ({ databaseUrl }) => (await drainGraphileWorker(databaseUrl)).value,
    "pg-boss": async ({ databaseUrl }) => (await drainPgBoss(databaseUrl)).value,
  };
  const worker = new LastingWorker();
  await paceUnderSnapshot("one worker", (setup) => worker.drain(setup), { min: 0.8 }, async (setup) => {
    await worker.stop();
    const latencies = await pickUpLatencies(setup);
    report("commit to start under a held snapshot, p99", percentile(latencies, 0.99), " ms", { max: 100 });
    report("age of the job counters under a held snapshot", await foldLagSeconds(setup.sql), " s", {
      max: 120,
    });
  });
  for (const [name, drain] of Object.entries(others)) await paceUnderSnapshot(name, drain);
}

/** A worker that runs the jobs of all drains, from the first one on. */
class LastingWorker {
  #worker: Worker | undefined;
  #settled = 0;
  #ended = () => {};

  /** Number of waiting jobs run and settled per second. */
  async drain(setup: BenchSetup): Promise<number> {
    this.#worker ??= await startNoopWorker(setup, {
      pollMs: 600_000, // it starts when it is woken
      onSettled: (count) => {
        this.#settled += count;
        if (this.#settled >= JOBS) this.#ended();
      },
    });
    this.#settled = 0;
    const ended = new Promise<void>((resolve) => this.#ended = resolve);
    const first = newId();
    await enqueueNoops(setup.sql, JOBS);
    const started = performance.now();
    this.#worker.wake();
    await ended;
    const seconds = (performance.now() - started) / 1000;
    await requireAllRun(setup.sql, first);
    return JOBS / seconds;
  }

  async stop(): Promise<void> {
    await this.#worker?.stop(1_000);
  }
}

async function paceUnderSnapshot(
  name: string,
  drain: Drain,
  target: { min?: number } = {},
  whileHeld: (setup: BenchSetup) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const setup = await openBenchSetup();
  const holder = postgres(setup.databaseUrl, { max: 1 });
  const folds = setInterval(() => void foldCounts(setup.sql, { always: false }), FOLD_MS);
  try {
    const drainTimes = async (times: number) => {
      const rates: number[] = [];
      for (let n = 0; n < times; n++) rates.push(await drain(setup));
      return rates;
    };
    await drainTimes(WARM_UPS);
    const before = median(await drainTimes(5));
    const connection = await holder.reserve();
    await connection`begin isolation level repeatable read`;
    await connection`select count(*) from users`;
    const held = performance.now();
    const rates = await drainTimes(5);
    while (performance.now() - held < HELD_MS) rates.push(await drain(setup));
    const after = median(rates.slice(-5));
    report(
      `${name}: pace after ${rates.length * JOBS} jobs in ${
        Math.round(HELD_MS / 1_000)
      } s under a held snapshot`,
      after / before,
      " ×",
      target,
    );
    console.log(`    ${Math.round(after)}/s against ${Math.round(before)}/s`);
    await whileHeld(setup);
    await connection`commit`;
    connection.release();
  } finally {
    clearInterval(folds);
    await delay(FOLD_MS); // a fold may be running
    await holder.end();
    await setup.close();
  }
}
