import { setTimeout as delay } from "node:timers/promises";
import { JobWriter } from "../../domain/jobs/enqueue.ts";
import { newId } from "../../domain/shared/ids.ts";
import { mainPool, type Sql } from "../../infra/postgres/postgres.ts";
import { type BenchSetup, isInstalled, openBenchSetup, runPeer } from "./bench_setup.ts";
import { compare, measure, percentile, report, scaled, timeOf } from "./compare.ts";
import { rateOf, reportLatencies } from "./load.ts";
import { enqueueNoops, type JobConnections, startNoopWorker } from "./noop_jobs.ts";
import { fillJobs } from "./sample_history.ts";
import { signInAdministrator } from "./sample_users.ts";

export const JOBS = scaled(20_000);
const SINGLE_JOBS = scaled(4_000);
const FINISHED_JOBS = scaled(1_000_000);
const PROBES = 400;
const WARM_UP_PROBES = 50;

/** Rate of draining no-op jobs, each with its status and execution row, against graphile-worker and pg-boss. */
export async function drain(setup: BenchSetup): Promise<void> {
  const { databaseUrl } = setup;
  await compare({
    name: "drain, against graphile-worker",
    unit: "/s",
    ours: () => drainRate(setup),
    baseline: async () => (await runGraphileWorker(databaseUrl)).drainPerSecond,
    minSpeed: 1,
  });
  await compare({
    name: "drain, against pg-boss with batches of 500",
    unit: "/s",
    ours: () => drainRate(setup),
    baseline: () => runPgBoss(databaseUrl),
    minSpeed: 5,
  });
}

/** Rate of single enqueues, 20 at a time, against graphile-worker's addJob; and of POST /api/v1/jobs. */
export async function enqueue(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  const writer = new JobWriter(mainPool(sql));
  await compare({
    name: "single enqueues, against graphile-worker's addJob",
    unit: "/s",
    async ours() {
      let next = 0;
      const enqueueNext = async () => {
        while (next < SINGLE_JOBS) {
          const serializedArgs = JSON.stringify({ n: next++ });
          await writer.write(sql, [{ jobTypeName: "bench.noop", serializedArgs, maxRetries: 3 }]);
        }
      };
      const ms = await timeOf(() => Promise.all(Array.from({ length: 20 }, enqueueNext)));
      await truncateJobs(sql);
      return SINGLE_JOBS / ms * 1000;
    },
    baseline: async () => (await runGraphileWorker(setup.databaseUrl)).addsPerSecond,
    minSpeed: 3,
  });
  const { port } = await setup.startService({ JOB_CONCURRENCY: "0" });
  const headers = await signInAdministrator(port);
  const body = { jobTypeName: "steward.echo", serializedArgs: '{"n":1}' };
  await measure({
    name: "POST /api/v1/jobs with 32 connections",
    unit: "/s",
    run: () => rateOf(port, { path: "/api/v1/jobs", headers, body }, { connections: 32, seconds: 3 }),
    min: 3_000,
  });
}

/** Time from the committed enqueue to the start of the job, one job at a time on an idle worker. */
export async function latency(setup: BenchSetup): Promise<void> {
  const latencies = await pickUpLatencies(setup);
  const peer = (await runGraphileWorker(setup.databaseUrl)).latencies;
  report("commit to start when idle, median", percentile(latencies, 0.5), " ms", { max: 2 });
  report("commit to start when idle, p99", percentile(latencies, 0.99), " ms", { max: 15 });
  console.log(`    graphile-worker: median ${percentile(peer, 0.5)} ms, p99 ${percentile(peer, 0.99)} ms`);
}

/** The times from commit to start of jobs that are enqueued one by one, in ms. */
export async function pickUpLatencies(connections: JobConnections): Promise<number[]> {
  const { sql } = connections;
  let reportStart: (at: number) => void = () => {};
  const worker = await startNoopWorker(connections, {
    pollMs: 2_000,
    onStart: () => reportStart(performance.now()),
  });
  const writer = new JobWriter(mainPool(sql));
  const latencies: number[] = [];
  for (let n = 0; n < WARM_UP_PROBES + PROBES; n++) {
    const started = new Promise<number>((resolve) => reportStart = resolve);
    await writer.write(sql, [{ jobTypeName: "bench.noop", serializedArgs: '{"n":1}', maxRetries: 0 }]);
    const committed = performance.now();
    worker.wake(); // as the service does after a commit
    const at = await started;
    if (n >= WARM_UP_PROBES) latencies.push(at - committed);
    await delay(2); // the attempt settles, so that the worker is idle
  }
  await worker.stop(1_000);
  return latencies;
}

/** Lists, stats and drain rate with a million finished jobs in the tables; the drain rate against empty tables. */
export async function fullLedger(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  await fillJobs(sql, FINISHED_JOBS);
  const service = await setup.startService({ JOB_CONCURRENCY: "0" });
  const headers = await signInAdministrator(service.port);
  const lists = {
    "list of failed jobs": "/api/v1/jobs?status=Failed&page=3",
    "list by type and priority": "/api/v1/jobs?searchTerm=bench&priority=High",
    "list by completion": "/api/v1/jobs?orderBy=CompletedAt",
    "list by start": "/api/v1/jobs?orderBy=StartedAt",
    "list of the last hour": `/api/v1/jobs?from=${new Date(Date.now() - 3_600_000).toISOString()}`,
    "list of a queue with 100 old jobs": "/api/v1/jobs?queue=old",
  };
  await reportLatencies(service.port, headers, lists, { max: 20 });
  const stats = { "dashboard stats": "/api/v1/jobs/dashboard/stats" };
  await reportLatencies(service.port, headers, stats, { max: 5 });
  await service.stop();
  const empty = await openBenchSetup();
  try {
    await compare({
      name: "drain with a million finished jobs, against empty tables",
      unit: "/s",
      ours: () => drainRate(setup),
      baseline: () => drainRate(empty),
      minSpeed: 0.85,
    });
  } finally {
    await empty.close();
  }
}

/** Drain rate of two worker processes, against one. */
export async function twoProcesses(setup: BenchSetup): Promise<void> {
  await compare({
    name: "drain by two processes, against one",
    unit: "/s",
    ours: () => processDrainRate(setup, 2),
    baseline: () => processDrainRate(setup, 1),
    minSpeed: 1.3,
  });
  console.log(`    workers and Postgres share ${navigator.hardwareConcurrency} cores`);
}

/** Jobs per second of a worker in this process; checks that every job has its status and its execution row. */
export async function drainRate(connections: JobConnections): Promise<number> {
  const { sql } = connections;
  const first = newId();
  await enqueueNoops(sql, JOBS);
  let settled = 0;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const started = performance.now();
  const worker = await startNoopWorker(connections, {
    pollMs: 2_000,
    onSettled(count) {
      settled += count;
      if (settled >= JOBS) resolve();
    },
  });
  await done;
  const seconds = (performance.now() - started) / 1000;
  await worker.stop(1_000);
  await requireAllRun(sql, first);
  return JOBS / seconds;
}

/** Throws unless the `JOBS` jobs with ids after `first` have succeeded, each with an execution. */
export async function requireAllRun(sql: Sql, first: string): Promise<void> {
  const [row] = await sql<{ n: number }[]>`
    select least(
      (select count(*)::int from jobs where id > ${first} and job_type_name = 'bench.noop' and status = 'Succeeded'),
      (select count(*)::int from job_executions where job_id > ${first} and status = 'Succeeded')
    ) as n`;
  if (row?.n !== JOBS) throw new Error(`${row?.n} jobs have a status and an execution; expected ${JOBS}`);
}

async function processDrainRate(
  { sql, databaseUrl, startPeer }: BenchSetup,
  processes: number,
): Promise<number> {
  await enqueueNoops(sql, JOBS);
  const workers = await Promise.all(
    Array.from({ length: processes }, () => startPeer("noop_worker.ts", [databaseUrl])),
  );
  const ms = await timeOf(async () => {
    while ((await sql`select from jobs where status in ('Enqueued', 'Processing') limit 1`).length > 0) {
      await delay(10);
    }
  });
  await Promise.all(workers.map((worker) => worker.stop()));
  return JOBS / ms * 1000;
}

/** Runs the graphile-worker peer under Node if it is installed, else under Deno. */
export const runGraphileWorker = async (databaseUrl: string) =>
  await runPeer<{ drainPerSecond: number; addsPerSecond: number; latencies: number[] }>(
    "graphile_worker_peer.mjs",
    [databaseUrl, String(JOBS)],
    await isInstalled("node") ? "node" : undefined,
  );

/** Runs the pg-boss peer under Deno, because it needs a newer Node than many machines have. Returns the jobs per second. */
export const runPgBoss = (databaseUrl: string) =>
  runPeer<number>("pg_boss_peer.mjs", [databaseUrl, String(JOBS)]);

const truncateJobs = (sql: Sql) =>
  sql`truncate jobs, job_attempts, job_count_changes, job_counts, job_creation_count_changes, job_creation_counts`;
