import { join } from "node:path";
import { type BenchSetup, median, printResult, rounded } from "./bench_setup.ts";
import { enqueueNoops, startNoopWorker } from "./noop_jobs.ts";

const JOBS = 20_000;
const ROUNDS = 3;

/** Rate of draining no-op jobs, each with its status and execution row, against graphile-worker's fastest mode. */
export async function drain(setup: BenchSetup): Promise<void> {
  const ratios: number[] = [];
  const rates: [number, number][] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const ours = await drainOurs(setup);
    const theirs = (await runGraphileWorker(setup)).drainPerSecond;
    if (round > 0) {
      ratios.push(ours / theirs);
      rates.push([ours, theirs]);
    }
  }
  printResult("drain, against graphile-worker", rounded(median(ratios)), " ×", { min: 1 });
  console.log(`    rounds: ${rates.map(([ours, theirs]) => `${ours}/s against ${theirs}/s`).join("; ")}`);
  const boss = await runPgBoss(setup);
  printResult(
    "drain, against pg-boss with batches of 500",
    rounded(median(rates.map(([ours]) => ours)) / boss),
    " ×",
    { min: 5 },
  );
}

/** Jobs per second of a worker in this process; checks that every job has its status and its execution row. */
export async function drainOurs({ sql }: BenchSetup): Promise<number> {
  await enqueueNoops(sql, JOBS);
  let settled = 0;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const started = performance.now();
  const worker = await startNoopWorker(sql, 2_000, (count) => {
    settled += count;
    if (settled >= JOBS) resolve();
  });
  await done;
  const perSecond = Math.round(JOBS / ((performance.now() - started) / 1000));
  await worker.stop(1_000);
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from jobs j join job_executions e on e.job_id = j.id
    where j.job_type_name = 'bench.noop' and j.status = 'Succeeded' and e.status = 'Succeeded'`;
  if ((row?.n ?? 0) % JOBS !== 0) {
    throw new Error(`${row?.n} jobs have a status and an execution; expected a multiple of ${JOBS}`);
  }
  return perSecond;
}

/** Runs pg-boss under Deno, because it needs a newer Node than many machines have. */
async function runPgBoss(setup: BenchSetup): Promise<number> {
  const script = join(import.meta.dirname ?? ".", "pg_boss_peer.mjs");
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", script, setup.databaseUrl, String(JOBS)],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the pg-boss peer failed");
  return JSON.parse(new TextDecoder().decode(stdout).trim()).drainPerSecond;
}

/** Runs the graphile-worker peer under Node if it is installed, else under Deno. */
export async function runGraphileWorker(
  setup: BenchSetup,
): Promise<{ drainPerSecond: number; addsPerSecond: number; latencyP50: number; latencyP99: number }> {
  const script = join(import.meta.dirname ?? ".", "graphile_worker_peer.mjs");
  const [program, ...args] = await hasNode() ? ["node"] : [Deno.execPath(), "run", "-A"];
  const { stdout, success } = await new Deno.Command(program ?? "node", {
    args: [...args, script, setup.databaseUrl, String(JOBS)],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the graphile-worker peer failed");
  return JSON.parse(new TextDecoder().decode(stdout).trim());
}

async function hasNode(): Promise<boolean> {
  try {
    return (await new Deno.Command("node", { args: ["--version"], stdout: "null" }).output()).success;
  } catch {
    return false;
  }
}
