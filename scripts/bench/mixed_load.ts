import type { BenchSetup } from "./bench_setup.ts";
import { report, scaled } from "./compare.ts";
import { type FileUser, openFileUser, reservationOf } from "./file_setup.ts";
import { failures, load, type LoadRequest } from "./load.ts";
import { fillJobs, fillMessages } from "./sample_history.ts";
import { findAdministrator, populate, signInAdministrator } from "./sample_users.ts";

const CONNECTIONS = 64;
const WARM_UP_SECONDS = 3;
/** The settings that SIZING.md advises for a Postgres on the same two cores. */
const poolOf = ({ socketUrl }: BenchSetup) => ({ DATABASE_URL: socketUrl, DATABASE_POOL: "8" });
/** Ended jobs and sent messages that exist before the run; this many of each. */
const HISTORY_ROWS = scaled(100_000);

/**
 * Errors and p95 of a mixed load: four reads, then one write, over every area, on 64 connections, with older jobs and
 * messages in the tables.
 */
export async function mixedLoad(setup: BenchSetup): Promise<void> {
  const { port } = await setup.startService(poolOf(setup));
  const next = await prepareRequests(setup, port);
  await load({ port, connections: CONNECTIONS, seconds: WARM_UP_SECONDS, next });
  const result = await load({ port, connections: CONNECTIONS, seconds: 60, next });
  report(`p95 over ${CONNECTIONS} connections, 20 % writes`, result.p95, " ms", { max: 40 });
  report("responses with a status of 300 or above", failures(result), "", { max: 0 });
  report("requests", result.perSecond, "/s");
  console.log(`    p50 ${result.p50} ms, p99 ${result.p99} ms, load average ${Deno.loadavg()[0]}`);
}

/** Measures the mixed load on two instances with one database and one bucket, half of the connections on each. */
export async function mixedLoadTwice(setup: BenchSetup): Promise<void> {
  const env = {
    ...await setup.startObjectStore(),
    ...poolOf(setup),
    PUBLIC_URL: "http://steward.test",
    JOB_CONCURRENCY: "10",
  };
  const first = await setup.startService(env);
  const next = await prepareRequests(setup, first.port);
  const run = (port: number, connections: number, seconds: number) =>
    load({ port, connections, seconds, next });
  await run(first.port, CONNECTIONS, WARM_UP_SECONDS);
  const alone = await run(first.port, CONNECTIONS, 15);
  const second = await setup.startService(env);
  await run(second.port, CONNECTIONS, WARM_UP_SECONDS);
  const both = await Promise.all([first, second].map(({ port }) => run(port, CONNECTIONS / 2, 15)));
  const together = both.reduce((sum, { perSecond }) => sum + perSecond, 0);
  const failed = [alone, ...both].reduce((sum, result) => sum + failures(result), 0);
  report("requests by two instances, against one", together / alone.perSecond, " ×", { min: 1 });
  report("responses with a status of 300 or above", failed, "", { max: 0 });
  const cores = navigator.hardwareConcurrency;
  console.log(
    `    ${together}/s against ${alone.perSecond}/s; callers, instances and Postgres share ${cores} cores`,
  );
  console.log(`    p95 ${both.map(({ p95 }) => p95).join(" and ")} ms against ${alone.p95} ms`);
}

/** Fills the tables; returns the nth request of the load. */
async function prepareRequests(setup: BenchSetup, port: number): Promise<(n: number) => LoadRequest> {
  await populate(setup.sql, { users: scaled(10_000), tenants: 100 });
  await fillJobs(setup.sql, HISTORY_ROWS);
  await fillMessages(setup.sql, HISTORY_ROWS, await findAdministrator(setup.sql));
  const user = await openFileUser(setup, port);
  const admin = await signInAdministrator(port);
  const reads = readsOf(user, admin);
  const writes = writesOf(user, admin);
  return (n) => {
    if (n % 5 !== 4) return reads[(n - Math.floor(n / 5)) % reads.length] as LoadRequest;
    return writes[Math.floor(n / 5) % writes.length]?.(n) as LoadRequest;
  };
}

const readsOf = ({ userId, headers }: FileUser, admin: Record<string, string>): LoadRequest[] => [
  { path: `/api/v1/users/${userId}`, headers },
  { path: "/api/v1/auth/me", headers },
  { path: "/api/v1/admin/users?pageSize=20&sortBy=email", headers: admin },
  { path: "/api/v1/roles?pageSize=20", headers: admin },
  { path: "/api/v1/jobs?pageSize=20", headers: admin },
  { path: "/api/v1/jobs/dashboard/stats", headers: admin },
  { path: "/api/v1/notifications?pageSize=20", headers: admin },
  { path: "/api/v1/reports", headers: admin },
  { path: "/api/v1/applications?pageSize=20", headers: admin },
  { path: "/api/v1/tenants?pageSize=20", headers: admin },
];

function writesOf(
  { headers }: FileUser,
  admin: Record<string, string>,
): ((n: number) => LoadRequest)[] {
  const echo = { jobTypeName: "steward.echo", serializedArgs: "{}" };
  const email = (n: number) => ({
    channel: "Email",
    recipients: [{ address: `r${n}@example.test` }],
    subject: "S",
    textBody: "T",
  });
  return [
    () => ({ path: "/api/v1/jobs", headers: admin, body: echo }),
    (n) => ({ path: "/api/v1/notifications/send", headers: admin, body: email(n) }),
    () => ({ path: "/api/v1/files", headers, body: reservationOf(1_000) }),
    () => ({ path: "/api/v1/settings", headers: admin, body: { key: crypto.randomUUID(), value: "on" } }),
  ];
}
