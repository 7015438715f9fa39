// Reads by key and the job engine have connections of their own.
import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/engine/claim.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { laneName } from "../../../domain/jobs/job_row.ts";
import { openLease } from "../../../domain/jobs/engine/lease.ts";
import { readConfig } from "../../../infra/config.ts";
import { createLog } from "../../../infra/log.ts";
import { openPools } from "../../../infra/postgres/pools.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { createDatabaseForLongLocks, createTestDatabase } from "../../support/cluster.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const CONNECTIONS = 8;
/** Those that are left for other work. */
const SHARED = CONNECTIONS - 2 - 2;

const enqueue = (sql: Sql, jobTypeName: string, count = 1): Promise<string[]> =>
  transact(sql, (tx) => {
    const job = { jobTypeName, serializedArgs: "{}", maxRetries: 0 };
    return insertJobs({ wakeUps: { at() {} } }, tx, Array.from({ length: count }, () => job));
  });

Deno.test("reads by key are answered and jobs run while long work holds all other connections", async () => {
  const url = await createDatabaseForLongLocks();
  const t = await setup({ DATABASE_URL: url, DATABASE_POOL: String(CONNECTIONS) });
  const other = connectPostgres(url, { max: 1 });
  const third = connectPostgres(url, { max: 1 });
  const tenantId = await t.tenant();
  const path = `/api/v1/tenants/${tenantId}`;
  const me = await t.systemAdmin.get("/api/v1/auth/me");
  const userPath = `/api/v1/admin/users/${me.body.user.id}`;

  const held = await transact(other, async (tx) => {
    await tx`select from tenants where id = ${tenantId} for update`;
    const rename = () => t.systemAdmin.put(path, { name: `Renamed ${tenantId}` });
    const renames = Array.from({ length: SHARED }, rename);
    await until(() => countLockWaits(tx), (waits) => waits >= SHARED);
    const [id = ""] = await enqueue(third, "steward.echo");
    await until(async () =>
      (await third`select from jobs where id = ${id} and status = 'Succeeded'`).count === 1
    );
    for (const read of [path, userPath, "/api/v1/auth/me"]) {
      assert.equal((await t.systemAdmin.get(read)).status, 200, read);
    }
    // A request starts the measurement. Those before may have been answered before all connections were held.
    const lists: Promise<unknown>[] = [];
    await until(() => {
      lists.push(t.systemAdmin.get("/api/v1/tenants"));
      return t.logs.some((line) => line.includes("wait too long for a database connection"));
    });
    assert.equal((await t.systemAdmin.get("/api/v1/tenants")).body.code, "DATABASE_BUSY_UNAVAILABLE");
    assert.equal((await t.systemAdmin.get(path)).status, 200);
    return { renames, lists };
  });

  await Promise.all(held.lists);
  for (const { status } of await Promise.all(held.renames)) {
    assert.ok([200, 503].includes(status), String(status));
  }
  await Promise.all([other.end(), third.end()]);
  await t.stop();
});

Deno.test("the connections for reads by key refuse writes; a pool of few connections is not divided", async () => {
  const DATABASE_URL = await createTestDatabase();
  const open = (size: number) =>
    openPools(readConfig({ DATABASE_URL, DATABASE_POOL: String(size) }), createLog("off"));
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
  await enqueue(sql, "test.plans", 2_000);

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
