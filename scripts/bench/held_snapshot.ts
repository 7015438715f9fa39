import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { foldCounts, foldLagSeconds } from "../../domain/jobs/fold_counts.ts";
import { type BenchSetup, openBenchSetup } from "./bench_setup.ts";
import { median, percentile, report, scaled } from "./compare.ts";
import { drainRate, JOBS, pickUpLatencies, runGraphileWorker, runPgBoss } from "./jobs.ts";

/** How long the snapshot is held, in minutes, for each of the systems. */
const HELD_MS = scaled(Number(Deno.env.get("BENCH_HELD_MINUTES") ?? 3) * 60_000);
const FOLD_MS = 1_000;

type Drain = (setup: BenchSetup) => Promise<number>;

/**
 * Pace of the job systems at the end of a long transaction that only reads, against their pace before it. Rows that
 * change meanwhile leave dead versions, which no vacuum may remove.
 */
export async function heldSnapshot(): Promise<void> {
  const peers: Record<string, Drain> = {
    "graphile-worker": async ({ databaseUrl }) => (await runGraphileWorker(databaseUrl)).drainPerSecond,
    "pg-boss": ({ databaseUrl }) => runPgBoss(databaseUrl),
  };
  await paceUnderSnapshot("drain", drainRate, { min: 0.8 }, async (setup) => {
    const latencies = await pickUpLatencies(setup);
    report("commit to start under a held snapshot, p99", percentile(latencies, 0.99), " ms", { max: 100 });
    report("age of the job counters under a held snapshot", await foldLagSeconds(setup.sql), " s", {
      max: 120,
    });
  });
  for (const [name, drain] of Object.entries(peers)) await paceUnderSnapshot(name, drain);
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
    await drain(setup); // warm-up
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
