import { type Ground, median, rounded, tell } from "./ground.ts";
import { enqueueNoops } from "./noop_jobs.ts";

const JOBS = 20_000;
const ROUNDS = 3;

/** The same drain by two worker processes instead of one. */
export async function twoProcesses(ground: Ground): Promise<void> {
  const ratios: number[] = [];
  let last = "";
  for (let round = 0; round <= ROUNDS; round++) {
    const one = await drainWith(ground, 1);
    const two = await drainWith(ground, 2);
    if (round > 0) ratios.push(two / one);
    last = `${two}/s against ${one}/s`;
  }
  tell("drain by two processes, against one", rounded(median(ratios)), " ×", { least: 1.3 });
  console.log(`    last round: ${last}; workers and Postgres share ${navigator.hardwareConcurrency} cores`);
}

async function drainWith(ground: Ground, processes: number): Promise<number> {
  await enqueueNoops(ground.sql, JOBS);
  const workers = await Promise.all(
    Array.from({ length: processes }, () => ground.startPeer("noop_worker.ts", [ground.databaseUrl])),
  );
  const working = performance.now();
  while ((await ground.sql`select from jobs where status in ('Enqueued', 'Processing') limit 1`).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const seconds = (performance.now() - working) / 1000;
  await Promise.all(workers.map((worker) => worker.stop()));
  return Math.round(JOBS / seconds);
}
