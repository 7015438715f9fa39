// What requests get while long work holds all connections of the pool.
import assert from "node:assert/strict";
import { ConnectionWait } from "../../../infra/postgres/connection_wait.ts";
import { createLog } from "../../../infra/log.ts";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { createDatabaseForLongLocks, createTestDatabase } from "../../support/cluster.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const CONNECTIONS = 4;
const OPEN = [
  "/healthz",
  "/problems/DATABASE_BUSY_UNAVAILABLE",
  "/.well-known/jwks.json",
  "/.well-known/openid-configuration",
];
const log = createLog("off");

Deno.test("while all connections are held, requests that need one get 503 at once, others are answered, and all go on after the release", async () => {
  const url = await createDatabaseForLongLocks();
  const t = await setup({ DATABASE_URL: url, DATABASE_POOL: String(CONNECTIONS) });
  const other = connectPostgres(url, { max: 1 });
  const id = await t.tenant();
  const rename = () => t.systemAdmin.put(`/api/v1/tenants/${id}`, { name: `Renamed ${id}` });
  const read = () => t.systemAdmin.get(`/api/v1/tenants/${id}`);
  const requests = () => Array.from({ length: 16 }, (_, n) => n % 2 === 0 ? read() : rename());

  const waiting = await transact(other, async (tx) => {
    await tx`select from tenants where id = ${id} for update`;
    const holding = Array.from({ length: CONNECTIONS }, rename);
    await until(() => countLockWaits(tx), (waits) => waits >= CONNECTIONS);
    const early = requests();
    await until(() => t.logs.some((line) => line.includes("wait too long for a database connection")));
    for (const { status, body, headers } of await Promise.all(requests())) {
      assert.deepEqual([status, body.code], [503, "DATABASE_BUSY_UNAVAILABLE"]);
      assert.equal(headers.get("retry-after"), "2");
    }
    for (const path of OPEN) assert.equal((await t.nobody.get(path)).status, 200, path);
    assert.equal((await t.nobody.get("/readyz")).status, 503);
    const page = await fetch(`${t.url}/console/tenants`, { headers: { cookie: "steward_console=x" } });
    assert.equal(page.status, 503);
    assert.match(await page.text(), /The database is busy/);
    return [...holding, ...early];
  });

  const statuses = (await Promise.all(waiting)).map(({ status }) => status);
  assert.ok(statuses.every((status) => [200, 503].includes(status)), `${statuses}`);
  assert.ok(statuses.filter((status) => status === 200).length >= CONNECTIONS, `${statuses}`);
  await until(read, ({ status }) => status === 200);
  for (const { status } of await Promise.all(requests())) assert.equal(status, 200);
  assert.ok(t.logs.some((line) => line.includes("get database connections in time again")));
  await other.end();
  await t.stop();
});

Deno.test("too many requests within a moment are refused too", async () => {
  const url = await createTestDatabase();
  const sql = connectPostgres(url, { max: 1 });
  const wait = new ConnectionWait(sql, url, log);
  await sql`select 1`; // the driver reserves only an open connection
  const kept = await sql.reserve();
  for (let n = 0; n < 6_000; n++) wait.countArrival();
  await until(() => wait.isTooLong);
  kept.release();
  await until(() => !wait.isTooLong);
  wait.stop();
  await sql.end();
});
