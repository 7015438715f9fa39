// Reads by key and the job engine have connections of their own.
import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/engine/claim.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { laneName } from "../../../domain/jobs/job_row.ts";
import { openLease } from "../../../domain/jobs/engine/lease.ts";
import { readConfig } from "../../../infra/config.ts";
import { ConnectionWait } from "../../../infra/postgres/connection_wait.ts";
import { createLog } from "../../../infra/log.ts";
import { openPools } from "../../../infra/postgres/pools.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { createDatabaseForLongLocks, createTestDatabase } from "../../support/cluster.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { databaseUrl } from "./database.ts";

const CONNECTIONS = 8;
/** Those that are left for other work. */
const SHARED = CONNECTIONS - 2 - 2;

const enqueue = (sql: Sql, jobTypeName: string, platform: EnqueuePlatform, count = 1): Promise<string[]> =>
  transact(sql, (tx) => {
    const job = { jobTypeName, serializedArgs: "{}", maxRetries: 0 };
    return insertJobs(platform, tx, Array.from({ length: count }, () => job));
  });
type EnqueuePlatform = Parameters<typeof insertJobs>[0];

/** They need no connection. */
const OPEN = [
  "/healthz",
  "/problems/DATABASE_BUSY_UNAVAILABLE",
  "/.well-known/jwks.json",
  "/.well-known/openid-configuration",
];

Deno.test("while long work holds all other connections, reads by key are answered and jobs run; other requests get 503 at once, and go on after the release", async () => {
  const url = await createDatabaseForLongLocks();
  const t = await setup({ DATABASE_URL: url, DATABASE_POOL: String(CONNECTIONS) });
  const other = connectPostgres(url, { max: 1 });
  const third = connectPostgres(url, { max: 1 });
  const tenantId = await t.tenant();
  const path = `/api/v1/tenants/${tenantId}`;
  const userPath = `/api/v1/admin/users/${t.systemAdmin.userId}`;
  const rename = () => t.systemAdmin.put(path, { name: `Renamed ${tenantId}` });
  const list = () => t.systemAdmin.get("/api/v1/tenants");
  const requests = () => Array.from({ length: 16 }, (_, n) => n % 2 === 0 ? list() : rename());
  const readByKey = async () => {
    for (const read of [path, userPath, "/api/v1/auth/me"]) {
      assert.equal((await t.systemAdmin.get(read)).status, 200, read);
    }
  };

  const waiting = await transact(other, async (tx) => {
    await tx`select from tenants where id = ${tenantId} for update`;
    const holding = Array.from({ length: SHARED }, rename);
    await until(() => countLockWaits(tx), (waits) => waits >= SHARED);
    const [id = ""] = await enqueue(third, "steward.echo", t.steward.platform);
    await t.settled(id, ["Succeeded"]);
    await readByKey();
    const early = requests();
    await until(() => t.logs.some((line) => line.includes("wait too long for a database connection")));
    for (const { status, body, headers } of await Promise.all(requests())) {
      assert.deepEqual([status, body.code], [503, "DATABASE_BUSY_UNAVAILABLE"]);
      assert.equal(headers.get("retry-after"), "2");
    }
    await readByKey();
    for (const path of OPEN) assert.equal((await t.nobody.get(path)).status, 200, path);
    assert.equal((await t.nobody.get("/readyz")).status, 503);
    const page = await fetch(`${t.url}/console/tenants`, { headers: { cookie: "steward_console=x" } });
    assert.equal(page.status, 503);
    assert.match(await page.text(), /The database is busy/);
    return [...holding, ...early];
  });

  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  assert.ok(statuses.every((status) => [200, 503].includes(status)), `${statuses}`);
  assert.ok(statuses.filter((status) => status === 200).length >= SHARED, `${statuses}`);
  await until(list, ({ status }) => status === 200);
  for (const { status } of await Promise.all(requests())) assert.equal(status, 200);
  assert.ok(t.logs.some((line) => line.includes("get database connections in time again")));
  await Promise.all([other.end(), third.end()]);
  await t.stop();
});

Deno.test("too many requests within a moment are refused too", async () => {
  const sql = connectPostgres(databaseUrl, { max: 1 });
  const wait = new ConnectionWait(sql, databaseUrl, createLog("off"));
  await sql`select 1`; // the driver reserves only an open connection
  const kept = await sql.reserve();
  for (let n = 0; n < 6_000; n++) wait.countArrival();
  await until(() => wait.isTooLong);
  kept.release();
  await until(() => !wait.isTooLong);
  wait.stop();
  await sql.end();
});

Deno.test("the connections for reads by key refuse writes; a pool of few connections is not divided", async () => {
  const open = (size: number) =>
    openPools(readConfig({ DATABASE_URL: databaseUrl, DATABASE_POOL: String(size) }), createLog("off"));
  const [divided, whole] = [open(CONNECTIONS), open(5)];
  assert.notEqual(divided.pointReads, divided.sql);
  await assert.rejects(async () => await divided.pointReads`update tenants set name = 'x'`, {
    code: "25006",
  });
  assert.equal(whole.pointReads, whole.sql);
  await Promise.all([divided.end(), whole.end()]);
});

Deno.test("the job engine claims with a kept plan, by index although the table was empty when it was made", async () => {
  const url = await createTestDatabase();
  const sql = connectPostgres(url, { max: 1 });
  const engineSql = connectPostgres(url, { max: 1, work: "engine" });
  await sql`analyze jobs`; // otherwise Postgres assumes ten pages
  const workerId = await openLease(sql, "test");
  const claim = (tx: Sql) => claimFromLanes(tx, workerId, { lanes: [laneName("default")], take: 10 });
  await claim(engineSql);
  await enqueue(sql, "test.plans", { wakeUps: { at() {} } }, 2_000);

  const { jobs, scans } = await transact(engineSql, async (tx) => {
    const { jobs } = await claim(tx);
    const [row] = await tx<{ scans: number }[]>`
      select seq_scan as scans from pg_stat_xact_user_tables where relname = 'jobs'`;
    return { jobs, scans: row?.scans };
  });
  assert.deepEqual([jobs.length, scans], [10, 0]);
  const [plans] = await engineSql<{ generic: number; custom: number }[]>`
    select sum(generic_plans)::int as generic, sum(custom_plans)::int as custom from pg_prepared_statements
    where statement like ${"%update jobs%"}`;
  assert.deepEqual(plans, { generic: 2, custom: 0 });
  await Promise.all([sql.end(), engineSql.end()]);
});
