import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { enqueueNoops } from "./noop_jobs.ts";

const JOBS = 20_000;
const ROUNDS = 3;

/** Drain rate of two worker processes, against one. */
export async function twoProcesses(setup: BenchSetup): Promise<void> {
  const ratios: number[] = [];
  let last = "";
  for (let round = 0; round <= ROUNDS; round++) {
    const one = await drainWith(setup, 1);
    const two = await drainWith(setup, 2);
    if (round > 0) ratios.push(two / one);
    last = `${two}/s against ${one}/s`;
  }
  printResult("drain by two processes, against one", rounded(median(ratios)), " ×", { min: 1.3 });
  console.log(`    last round: ${last}; workers and Postgres share ${navigator.hardwareConcurrency} cores`);
}

async function drainWith(setup: BenchSetup, processes: number): Promise<number> {
  await enqueueNoops(setup.sql, JOBS);
  const workers = await Promise.all(
    Array.from({ length: processes }, () => setup.startPeer("noop_worker.ts", [setup.databaseUrl])),
  );
  const working = performance.now();
  while ((await setup.sql`select from jobs where status in ('Enqueued', 'Processing') limit 1`).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const seconds = (performance.now() - working) / 1000;
  await Promise.all(workers.map((worker) => worker.stop()));
  return Math.round(JOBS / seconds);
}
