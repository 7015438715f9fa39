import { setTimeout as delay } from "node:timers/promises";
import { JobWriter } from "../../domain/jobs/enqueue.ts";
import { newId } from "../../domain/shared/ids.ts";
import { createLog } from "../../infra/log.ts";
import { openChannel } from "../../infra/postgres/channel.ts";
import { mainPool, type Sql } from "../../infra/postgres/postgres.ts";
import { JOBS_CHANNEL } from "../../infra/wakeups/wakeups.ts";
import { type BenchSetup, isInstalled, openBenchSetup, runPeer } from "./bench_setup.ts";
import { compare, measure, median, percentile, report, type Sample, scaled, timeOf } from "./compare.ts";
import { rateOf } from "./load.ts";
import { enqueueNoops, type JobConnections, startNoopWorker } from "./noop_jobs.ts";
import { fillJobs } from "./sample_history.ts";
import { signInAdministrator } from "./sample_users.ts";

export const JOBS = scaled(20_000);
const SINGLE_JOBS = scaled(4_000);
const FINISHED_JOBS = scaled(1_000_000);
const PROBES = 400;
const WARM_UP_PROBES = 50;

/** Settings of the peers; the fastest counts. */
const GRAPHILE_SETTINGS = [{ size: 500, concurrency: 24 }, { size: 2_000, concurrency: 100 }];
const PG_BOSS_SETTINGS = [{ batchSize: 500, loops: 4 }, { batchSize: 2_000, loops: 2 }];

/** Rate of draining no-op jobs, each with its status and execution row, against graphile-worker and pg-boss. */
export async function drain(setup: BenchSetup): Promise<void> {
  const { databaseUrl } = setup;
  await compare({
    name: "drain, against graphile-worker in its fastest setting",
    unit: "/s",
    ours: () => drainRate(setup),
    baseline: () => drainGraphileWorker(databaseUrl),
    rounds: 5,
    minSpeed: 1.2,
  });
  await compare({
    name: "drain, against pg-boss in its fastest setting",
    unit: "/s",
    ours: () => drainRate(setup),
    baseline: () => drainPgBoss(databaseUrl),
    rounds: 5,
    minSpeed: 4,
  });
}

/** Rate of single enqueues, 20 at a time, against graphile-worker's addJob; and of POST /api/v1/jobs. */
export async function enqueue(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  const writer = new JobWriter(mainPool(sql), { wakeUps: { at() {} } });
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
      const { count } = await sql`select from jobs`;
      if (count !== SINGLE_JOBS) throw new Error(`${count} jobs were added; expected ${SINGLE_JOBS}`);
      await truncateJobs(sql);
      return SINGLE_JOBS / ms * 1000;
    },
    baseline: () => runGraphileWorker<number>(setup.databaseUrl, "add", SINGLE_JOBS),
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

/** Time from the committed enqueue to the start of the job, one job at a time on an idle worker that NOTIFY wakes. */
export async function latency(setup: BenchSetup): Promise<void> {
  const rounds: { ours: number[]; theirs: number[] }[] = [];
  for (let round = 0; round < 3; round++) {
    const ours = await pickUpLatencies(setup);
    const theirs = await runGraphileWorker<number[]>(setup.databaseUrl, "latency", PROBES);
    rounds.push({ ours, theirs });
  }
  const shares = [["median", 0.5, 1], ["p99", 0.99, 1.2]] as const;
  for (const [name, share, max] of shares) {
    const pairs = rounds.map(({ ours, theirs }) =>
      [percentile(ours, share), percentile(theirs, share)] as const
    );
    const ratio = median(pairs.map(([ours, theirs]) => ours / theirs));
    report(`commit to start when idle, ${name}, against graphile-worker`, ratio, " ×", { max });
    console.log(`    rounds: ${pairs.map(([ours, theirs]) => `${ours} ms against ${theirs} ms`).join("; ")}`);
  }
}

/** The times from commit to start of jobs that are enqueued one by one, in ms. The worker is woken by NOTIFY. */
export async function pickUpLatencies(connections: JobConnections): Promise<number[]> {
  const { sql } = connections;
  let reportStart: (at: number) => void = () => {};
  const worker = await startNoopWorker(connections, {
    pollMs: 2_000,
    onStart: () => reportStart(performance.now()),
  });
  const channel = await openChannel({
    sql: mainPool(sql),
    name: JOBS_CHANNEL,
    onMessage: () => worker.wake(),
    log: createLog("warn"),
    listens: true,
    minIntervalMs: 0,
  });
  const notice = () => channel.takeTurn() ? "" : null;
  const writer = new JobWriter(mainPool(sql), { wakeUps: { at() {}, notice } });
  const latencies: number[] = [];
  for (let n = 0; n < WARM_UP_PROBES + PROBES; n++) {
    const started = new Promise<number>((resolve) => reportStart = resolve);
    await writer.write(sql, [{ jobTypeName: "bench.noop", serializedArgs: '{"n":1}', maxRetries: 0 }]);
    const committed = performance.now();
    const at = await started;
    if (n >= WARM_UP_PROBES) latencies.push(at - committed);
    await delay(2); // the attempt settles, so that the worker is idle
  }
  await channel.stop();
  await worker.stop(1_000);
  return latencies;
}

/** Drain rate with a million finished jobs in the tables, against empty tables. */
export async function fullLedger(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  await fillJobs(sql, FINISHED_JOBS);
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

/** Jobs per second of graphile-worker in its fastest setting. */
export const drainGraphileWorker = (databaseUrl: string) =>
  fastest(
    GRAPHILE_SETTINGS,
    ({ size, concurrency }) => runGraphileWorker<number>(databaseUrl, "drain", JOBS, size, concurrency),
    ({ size, concurrency }) => `local queue ${size}, ${concurrency} at a time`,
  );

/** Jobs per second of pg-boss in its fastest setting. */
export const drainPgBoss = (databaseUrl: string) =>
  fastest(
    PG_BOSS_SETTINGS,
    ({ batchSize, loops }) =>
      runPeer<number>("pg_boss_peer.mjs", [databaseUrl, ...[JOBS, batchSize, loops].map(String)]),
    ({ batchSize, loops }) => `${loops} loops of ${batchSize}`,
  );

async function fastest<S>(
  settings: S[],
  run: (setting: S) => Promise<number>,
  nameOf: (setting: S) => string,
): Promise<Sample> {
  const samples: Sample[] = [];
  for (const setting of settings) samples.push({ value: await run(setting), note: nameOf(setting) });
  return samples.reduce((best, sample) => sample.value > best.value ? sample : best);
}

/** Runs the graphile-worker peer under Node if it is installed, else under Deno. */
const runGraphileWorker = async <T>(
  databaseUrl: string,
  what: "drain" | "add" | "latency",
  ...sizes: number[]
) =>
  await runPeer<T>(
    "graphile_worker_peer.mjs",
    [databaseUrl, what, ...sizes.map(String)],
    await isInstalled("node") ? "node" : undefined,
  );

const truncateJobs = (sql: Sql) =>
  sql`truncate jobs, job_attempts, job_count_changes, job_counts, job_creation_count_changes, job_creation_counts`;
