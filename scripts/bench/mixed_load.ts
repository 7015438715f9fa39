import { startEmbeddedObjectStore } from "../../infra/embedded/objectstore/server.ts";
import { type FileUser, openFileUser } from "./file_setup.ts";
import { type BenchSetup, printResult, rounded } from "./bench_setup.ts";
import { load, type LoadRequest, type LoadResult } from "./load.ts";
import { fillJobs, fillMessages } from "./sample_history.ts";
import { findAdministrator, populate, signIn } from "./sample_users.ts";

const CONNECTIONS = 64;
/** Seconds of a run; set by `BENCH_SECONDS`. */
const SECONDS = Number(Deno.env.get("BENCH_SECONDS") ?? 60);
const WARM_UP_SECONDS = 3;
/** Ended jobs and sent messages that exist before the run; this many of each. */
const HISTORY_ROWS = 100_000;

/**
 * Errors and p95 of a mixed load: four reads, then one write, over every area, on 64 connections, with older jobs and
 * messages in the tables.
 */
export async function mixedLoad(setup: BenchSetup): Promise<void> {
  const service = await setup.startService();
  const next = await requests(setup, service.port);
  await load({ port: service.port, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, next });
  const result = await load({ port: service.port, connections: CONNECTIONS, seconds: SECONDS, next });
  printResult(`p95 over ${CONNECTIONS} connections, 20 % writes`, result.p95, " ms", { max: 50 });
  printResult("responses with a status of 300 or above", failures(result), "", { max: 0 });
  printResult("requests", result.perSecond, "/s");
  console.log(`    p50 ${result.p50} ms, p99 ${result.p99} ms, load average ${Deno.loadavg()[0]}`);
  await service.stop();
}

/** The same load on two instances with one database and one bucket, half of the connections on each. */
export async function mixedLoadTwice(setup: BenchSetup): Promise<void> {
  const seconds = Math.min(SECONDS, 15);
  const folder = await Deno.makeTempDir({ prefix: "steward-bench-" });
  const keys = { accessKey: "bench-key", secretKey: "bench-secret" };
  const store = await startEmbeddedObjectStore({ dir: folder, port: 0, region: "us-east-1", ...keys });
  const env = {
    S3_ENDPOINT: store.endpoint,
    S3_ACCESS_KEY: keys.accessKey,
    S3_SECRET_KEY: keys.secretKey,
    PUBLIC_URL: "http://steward.test",
    JOB_CONCURRENCY: "10",
  };
  const first = await setup.startService(env);
  const next = await requests(setup, first.port);
  const run = (port: number, connections: number) => load({ port, connections, seconds, next });
  await load({ port: first.port, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, next });
  const alone = await run(first.port, CONNECTIONS);
  const second = await setup.startService(env);
  await load({ port: second.port, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, next });
  const both = await Promise.all([first, second].map(({ port }) => run(port, CONNECTIONS / 2)));
  const together = both.reduce((sum, { perSecond }) => sum + perSecond, 0);
  printResult("requests by two instances, against one", rounded(together / alone.perSecond), " ×");
  printResult("responses with a status of 300 or above", failures(alone, ...both), "", { max: 0 });
  const cores = navigator.hardwareConcurrency;
  console.log(
    `    ${together}/s against ${alone.perSecond}/s; callers, instances and Postgres share ${cores} cores`,
  );
  console.log(`    p95 ${both.map(({ p95 }) => p95).join(" and ")} ms against ${alone.p95} ms`);
  await Promise.all([first.stop(), second.stop()]);
  await store.stop();
  await Deno.remove(folder, { recursive: true });
}

function failures(...results: LoadResult[]): number {
  return results.flatMap(({ statuses }) => Object.entries(statuses))
    .reduce((sum, [status, n]) => sum + (Number(status) >= 300 ? n : 0), 0);
}

async function requests(setup: BenchSetup, port: number): Promise<(n: number) => LoadRequest> {
  await populate(setup.sql, { users: 10_000, tenants: 100 });
  await fillJobs(setup.sql, HISTORY_ROWS);
  await fillMessages(setup.sql, HISTORY_ROWS, await findAdministrator(setup.sql));
  const user = await openFileUser(setup, port);
  const admin = { authorization: `Bearer ${await signIn(port, "admin@steward.local", "steward-admin-dev")}` };
  const reads = readsOf(user, admin);
  const writes = writesOf(user, admin);
  return (n) => {
    if (n % 5 !== 4) return reads[(n - Math.floor(n / 5)) % reads.length] as LoadRequest;
    return writes[Math.floor(n / 5) % writes.length]?.(n) as LoadRequest;
  };
}

function readsOf(user: FileUser, admin: Record<string, string>): LoadRequest[] {
  const own = { authorization: user.authorization };
  return [
    { path: `/api/v1/users/${user.userId}`, headers: own },
    { path: "/api/v1/auth/me", headers: own },
    { path: "/api/v1/admin/users?pageSize=20&sortBy=email", headers: admin },
    { path: "/api/v1/roles?pageSize=20", headers: admin },
    { path: "/api/v1/jobs?pageSize=20", headers: admin },
    { path: "/api/v1/jobs/dashboard/stats", headers: admin },
    { path: "/api/v1/notifications?pageSize=20", headers: admin },
    { path: "/api/v1/reports", headers: admin },
    { path: "/api/v1/applications?pageSize=20", headers: admin },
    { path: "/api/v1/tenants?pageSize=20", headers: admin },
  ];
}

function writesOf(user: FileUser, admin: Record<string, string>): ((n: number) => LoadRequest)[] {
  const run = crypto.randomUUID().slice(0, 8);
  let settings = 0;
  const post = (path: string, headers: Record<string, string>, body: unknown): LoadRequest => ({
    method: "POST",
    path,
    body: JSON.stringify(body),
    headers: { ...headers, "content-type": "application/json" },
  });
  return [
    () => post("/api/v1/jobs", admin, { jobTypeName: "steward.echo", serializedArgs: "{}" }),
    (n) =>
      post("/api/v1/notifications/send", admin, {
        channel: "Email",
        recipients: [{ address: `r${n}@example.test` }],
        subject: "S",
        textBody: "T",
      }),
    () =>
      post("/api/v1/files", { authorization: user.authorization }, {
        profile: "document",
        fileName: "a.txt",
        contentType: "text/plain",
        sizeBytes: 1_000,
      }),
    () => post("/api/v1/settings", admin, { key: `bench-${run}-${settings++}`, value: "on" }),
  ];
}
