import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { foldCounts } from "../../domain/jobs/fold_counts.ts";
import { type BenchSetup, openBenchSetup } from "./bench_setup.ts";
import { median, percentile, report, scaled } from "./compare.ts";
import { drainRate, JOBS, pickUpLatencies, runGraphileWorker, runPgBoss } from "./jobs.ts";

/** Jobs that run while the snapshot is held: as many as in half an hour at a thousand per second. */
const CHURNED = scaled(1_800_000);
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
  await paceUnderSnapshot("drain", ({ sql }) => drainRate(sql), { min: 0.8 }, async ({ sql }) => {
    const latencies = await pickUpLatencies(sql);
    report("commit to start under a held snapshot, p99", percentile(latencies, 0.99), " ms", { max: 100 });
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
    const rates = await drainTimes(Math.max(10, Math.ceil(CHURNED / JOBS)));
    const after = median(rates.slice(-5));
    report(
      `${name}: pace after ${rates.length * JOBS} jobs under a held snapshot`,
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
