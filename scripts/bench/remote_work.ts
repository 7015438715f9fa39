import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { type BenchSetup, residentMegabytes, runPeer } from "./bench_setup.ts";
import { newAccount } from "./access.ts";
import { compare, percentile, report, scaled } from "./compare.ts";
import { drainRate, JOBS } from "./jobs.ts";
import { signInAdministrator } from "./sample_users.ts";

export const TYPE = "bench.remote";
const PROBES = scaled(300);
const WARM_UP_PROBES = 30;
const POLLS = 1_000;
const IDLE_SECONDS = 10;

type Headers = Record<string, string>;
/** Answer of a claim; other answers are not read. */
type Answer = { jobs: { jobId: string; attempt: number }[] };

/** Rate of draining no-op jobs over HTTP by one worker process, in batches of 100, against a worker of the service. */
export async function remoteDrain(setup: BenchSetup): Promise<void> {
  const { port, headers } = await startWithType(setup);
  const rates: number[] = [];
  await compare({
    name: "drain by a remote worker, against a worker of the service",
    unit: "/s",
    async ours() {
      await enqueue(port, headers, JOBS);
      const { perSecond, settled } = await runPeer<{ perSecond: number; settled: number }>(
        "remote_worker_peer.ts",
        [String(port), JSON.stringify(headers), String(JOBS)],
      );
      if (settled !== JOBS) throw new Error(`${settled} jobs were settled; expected ${JOBS}`);
      rates.push(perSecond);
      return perSecond;
    },
    baseline: () => drainRate(setup),
    minSpeed: 0.3,
  });
  report("drain by a remote worker", percentile(rates.slice(1), 0.5), "/s", { min: 8_000 });
}

/** Time from the answer of an enqueue to the answer of a poll that waited for it. */
export async function remoteLatency(setup: BenchSetup): Promise<void> {
  const { port, headers } = await startWithType(setup);
  const latencies: number[] = [];
  for (let n = 0; n < WARM_UP_PROBES + PROBES; n++) {
    const waiting = post(port, headers, "/work/claim", { types: [TYPE], worker: "bench", waitSeconds: 20 });
    await delay(10);
    await enqueue(port, headers, 1);
    const committed = performance.now();
    const { jobs } = await waiting;
    if (n >= WARM_UP_PROBES) latencies.push(Math.max(0, performance.now() - committed));
    const results = jobs.map(({ jobId, attempt }) => ({ jobId, attempt, outcome: "succeeded" }));
    await post(port, headers, "/work/settle", { jobs: results });
  }
  report("enqueued to claimed by an idle poll, median", percentile(latencies, 0.5), " ms", { max: 5 });
  report("enqueued to claimed by an idle poll, p99", percentile(latencies, 0.99), " ms", { max: 20 });
}

/** Memory and database queries of a thousand waiting polls. */
export async function remotePolls(setup: BenchSetup): Promise<void> {
  const { port, pid, headers } = await startWithType(setup);
  await enqueue(port, headers, 1);
  await post(port, headers, "/work/claim", { types: [TYPE], worker: "bench" });
  await delay(2_000);
  const worker = await newAccount(port, ["work:jobs"]);
  const before = residentMegabytes(pid);
  const idle = await transactionsPerSecond(setup.sql);
  const gone = new AbortController();
  const polls = Array.from({ length: POLLS }, (_, n) => {
    const claim = { types: [TYPE], worker: `bench-${n}`, waitSeconds: 50 };
    return post(port, worker, "/work/claim", claim, gone.signal).catch(() => null);
  });
  await delay(3_000);
  const waiting = await transactionsPerSecond(setup.sql);
  report(`memory of ${POLLS} waiting polls`, residentMegabytes(pid) - before, " MB", { max: 50 });
  report(`transactions with ${POLLS} waiting polls, above those without`, waiting - idle, "/s", { max: 5 });
  gone.abort();
  await Promise.all(polls);
}

async function transactionsPerSecond(sql: Sql): Promise<number> {
  const read = async () => {
    await sql`select pg_stat_force_next_flush()`;
    await delay(1_500); // sessions report their transactions at most once per second
    const [row] = await sql<{ n: number }[]>`
      select xact_commit as n from pg_stat_database where datname = current_database()`;
    return row?.n ?? 0;
  };
  const before = await read();
  await delay(IDLE_SECONDS * 1_000);
  return (await read() - before) / (IDLE_SECONDS + 1.5);
}

async function startWithType(setup: BenchSetup) {
  const { port, pid } = await setup.startService({ JOB_CONCURRENCY: "0" });
  return { port, pid, headers: await declareType(port) };
}

/** Declares the job type for all tenants; returns the headers of the administrator. */
export async function declareType(port: number): Promise<Headers> {
  const headers = await signInAdministrator(port);
  const declared = await fetch(`http://127.0.0.1:${port}/api/v1/job-types/${TYPE}`, {
    method: "PUT",
    headers,
  });
  if (!declared.ok) throw new Error(`the job type was refused: ${await declared.text()}`);
  await declared.body?.cancel();
  return headers;
}

async function enqueue(port: number, headers: Headers, count: number): Promise<void> {
  for (let from = 0; from < count; from += 1_000) {
    const items = Array.from({ length: Math.min(1_000, count - from) }, (_, n) => ({
      jobTypeName: TYPE,
      serializedArgs: JSON.stringify({ n: from + n }),
    }));
    await post(port, headers, "/jobs/bulk", { items });
  }
}

async function post(
  port: number,
  headers: Headers,
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return await response.json();
}
