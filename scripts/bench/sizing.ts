import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { hashPassword } from "../../infra/passwords.ts";
import type { BenchSetup, MeasuredProcess } from "./bench_setup.ts";
import { scaled } from "./compare.ts";
import { contentOf, openFileUser, uploadFile } from "./file_setup.ts";
import { failures, load, type LoadRequest } from "./load.ts";
import { EMAIL } from "./notifications.ts";
import { postgresMs, processorMs } from "./processor_time.ts";
import { openReportsSetup } from "./reports_setup.ts";
import { populate } from "./sample_users.ts";

const PASSWORD = "bench-password";
const USERS = 200;
const IDLE_SECONDS = 10;
const FILE_BYTES = 10_000;
const REPORT_ROWS = 1_000;

/** The cost of one piece of work. */
interface Cost {
  serviceMs: number;
  postgresMs: number;
  walBytes: number;
  diskBytes: number;
}

/**
 * Prints what one job, message, file, report, sign-in and read costs: processor time of the service and of Postgres, WAL,
 * and bytes on the disk of the database. The processor time of an idle service is subtracted. infra/SIZING.md has a table of it.
 */
export async function sizing(setup: BenchSetup): Promise<void> {
  const sink = await setup.startPeer("smtp_sink.mjs", []);
  const { smtpPort } = await (await fetch(`http://127.0.0.1:${sink.port}/`)).json();
  const { service, headers, generate, waitForScan } = await openReportsSetup(setup, REPORT_ROWS, {
    SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
    MAIL_FROM: "Bench <bench@example.test>",
  });
  const { port } = service;
  await populate(setup.sql, { users: 10_000, tenants: 100 });
  const user = await openFileUser(setup, port);
  const logins = await signInBodies(setup.sql);
  const send = async (count: number, connections: number, next: (n: number) => LoadRequest) => {
    const result = await load({ port, connections, requests: count, next });
    if (failures(result) > 0) throw new Error(`refused: ${JSON.stringify(result.statuses)}`);
  };
  const works: Record<string, { count: number; run(count: number): Promise<void> }> = {
    "a read of one user": {
      count: scaled(10_000),
      run: (count) =>
        send(count, 16, () => ({ path: `/api/v1/users/${user.userId}`, headers: user.headers })),
    },
    "a sign-in by password": {
      count: scaled(400),
      run: (count) =>
        send(count, 4, (n) => ({ path: "/api/v1/auth/login", body: logins[n % logins.length] })),
    },
    "a job, enqueued by one request": {
      count: scaled(10_000),
      run: async (count) => {
        const body = { jobTypeName: "steward.echo", serializedArgs: '{"n":1}' };
        await send(count, 16, () => ({ path: "/api/v1/jobs", headers, body }));
        await untilJobsEnd(setup.sql);
      },
    },
    "a job, enqueued with 99 others": {
      count: scaled(20_000),
      run: async (count) => {
        const items = Array.from(
          { length: 100 },
          () => ({ jobTypeName: "steward.echo", serializedArgs: "{}" }),
        );
        await send(
          Math.ceil(count / 100),
          2,
          () => ({ path: "/api/v1/jobs/bulk", headers, body: { items } }),
        );
        await untilJobsEnd(setup.sql);
      },
    },
    "a mail to one recipient": {
      count: scaled(5_000),
      run: async (count) => {
        await send(count, 16, () => ({ path: "/api/v1/notifications/send", headers, body: EMAIL }));
        await untilJobsEnd(setup.sql);
      },
    },
    [`a file of ${FILE_BYTES} bytes, uploaded and scanned`]: {
      count: scaled(300),
      run: async (count) => {
        for (let n = 0; n < count; n++) await uploadFile(port, user, contentOf(FILE_BYTES));
      },
    },
    [`a report of ${REPORT_ROWS} rows as CSV`]: {
      count: scaled(200),
      run: async (count) => {
        for (let n = 0; n < count; n++) await waitForScan((await generate("csv", REPORT_ROWS)).id);
      },
    },
  };
  const idle = await idleCost(setup, service);
  console.log(
    `    idle: ${show(idle.serviceMs)} ms/s of the service, ${show(idle.postgresMs)} ms/s of Postgres`,
  );
  console.log("    | One | Service, ms | Postgres, ms | WAL, bytes | Disk, bytes |");
  for (const [name, { count, run }] of Object.entries(works)) {
    await run(Math.ceil(count / 10)); // plans and caches
    const cost = await costOf(setup, service, idle, count, () => run(count));
    const cells = [cost.serviceMs, cost.postgresMs].map(show);
    const bytes = [cost.walBytes, cost.diskBytes].map((value) => Math.round(value));
    console.log(`    | ${[name, ...cells, ...bytes].join(" | ")} |`);
  }
}

async function signInBodies(sql: Sql): Promise<{ email: string; password: string }[]> {
  const hash = await hashPassword(PASSWORD);
  const users = await sql<{ email: string }[]>`
    update users set password_hash = ${hash}, is_active = true where id in (
      select id from users where email like 'user%' limit ${USERS}) returning email`;
  return users.map(({ email }) => ({ email, password: PASSWORD }));
}

async function untilJobsEnd(sql: Sql): Promise<void> {
  while ((await sql`select from jobs where status in ('Enqueued', 'Processing') limit 1`).length > 0) {
    await pause(50);
  }
}

/** Costs of an idle second. */
async function idleCost(setup: BenchSetup, service: MeasuredProcess): Promise<Cost> {
  const none = { serviceMs: 0, postgresMs: 0, walBytes: 0, diskBytes: 0 };
  return await costOf(setup, service, none, IDLE_SECONDS, () => pause(IDLE_SECONDS * 1_000));
}

async function costOf(
  { sql, folder }: BenchSetup,
  { pid }: MeasuredProcess,
  idle: Cost,
  count: number,
  work: () => Promise<void>,
): Promise<Cost> {
  const [postmaster = ""] = Deno.readTextFileSync(join(folder, "postgres", "postmaster.pid")).split("\n");
  const read = async () => {
    const [row] = await sql<{ wal: number; disk: number }[]>`
      select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 as wal, sum(pg_total_relation_size(oid))::float8 as disk
      from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`;
    return {
      service: processorMs(pid),
      postgres: postgresMs(postmaster),
      wal: row?.wal ?? 0,
      disk: row?.disk ?? 0,
    };
  };
  const before = await read();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1_000;
  const after = await read();
  const one = (spent: number, whileIdle = 0) => Math.max(0, spent - whileIdle * seconds) / count;
  return {
    serviceMs: one(after.service - before.service, idle.serviceMs),
    postgresMs: one(after.postgres - before.postgres, idle.postgresMs),
    walBytes: one(after.wal - before.wal),
    diskBytes: one(after.disk - before.disk),
  };
}

const show = (value: number): string => value < 10 ? value.toFixed(2) : value.toFixed(1);
