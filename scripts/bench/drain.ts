import { join } from "node:path";
import { z } from "zod";
import { insertJobs } from "../../domain/jobs/enqueue.ts";
import { defineJob, JobTypes } from "../../domain/jobs/job_type.ts";
import { startWorker } from "../../domain/jobs/worker.ts";
import { createLog } from "../../infra/log.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import { type Ground, median, rounded, tell } from "./ground.ts";

const JOBS = 20_000;
const ROUNDS = 3;

/** Drain of no-op jobs, every one with its status and execution row, against graphile-worker's fastest mode. */
export async function drain(ground: Ground): Promise<void> {
  const ratios: number[] = [];
  const rates: [number, number][] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const ours = await drainOurs(ground);
    const theirs = (await runGraphileWorker(ground)).drainPerSecond;
    if (round > 0) {
      ratios.push(ours / theirs);
      rates.push([ours, theirs]);
    }
  }
  tell("drain, against graphile-worker", rounded(median(ratios)), " ×", { least: 0.7 });
  console.log(`    rounds: ${rates.map(([ours, theirs]) => `${ours}/s against ${theirs}/s`).join("; ")}`);
}

export async function drainOurs({ sql }: Ground): Promise<number> {
  const types = new JobTypes();
  types.register(
    defineJob({
      name: "bench.noop",
      args: z.object({ n: z.number() }),
      run: () => Promise.resolve(undefined),
    }),
  );
  for (let from = 0; from < JOBS; from += 5_000) {
    const jobs = Array.from({ length: 5_000 }, (_, n) => ({
      jobTypeName: "bench.noop",
      serializedArgs: JSON.stringify({ n: from + n }),
      maxRetries: 3,
    }));
    await transact(sql, (tx) => insertJobs({ bell: { ring() {} } }, tx, jobs));
  }
  let settled = 0;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const started = performance.now();
  const worker = await startWorker({
    sql,
    types,
    log: createLog("warn"),
    host: "bench",
    concurrency: 24,
    queues: null,
    pollMs: 2_000,
    onSettled: (jobs) => {
      settled += jobs.length;
      if (settled >= JOBS) resolve();
    },
  });
  await done;
  const perSecond = Math.round(JOBS / ((performance.now() - started) / 1000));
  await worker.stop(1_000);
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from jobs j join job_executions e on e.job_id = j.id
    where j.job_type_name = 'bench.noop' and j.status = 'Succeeded' and e.status = 'Succeeded'`;
  if ((row?.n ?? 0) % JOBS !== 0) {
    throw new Error(`${row?.n} jobs have a status and an execution; expected all`);
  }
  return perSecond;
}

/** Runs the peer under Node where there is one, else under Deno. */
export async function runGraphileWorker(
  ground: Ground,
): Promise<{ drainPerSecond: number; addsPerSecond: number; latencyP50: number; latencyP99: number }> {
  const script = join(import.meta.dirname ?? ".", "graphile_worker_peer.mjs");
  const [program, ...args] = await hasNode() ? ["node"] : [Deno.execPath(), "run", "-A"];
  const { stdout, success } = await new Deno.Command(program ?? "node", {
    args: [...args, script, ground.databaseUrl, String(JOBS)],
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
