// Reads by key have connections of their own.
import assert from "node:assert/strict";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const CONNECTIONS = 6;
const FOR_POINT_READS = 2;

Deno.test("reads by key are answered while long work holds all other connections", async () => {
  const url = new URL(await createTestDatabase());
  for (const limit of ["lock_timeout", "idle_in_transaction_session_timeout"]) {
    url.searchParams.set(limit, "60000");
  }
  const t = await setup({ DATABASE_URL: url.href, DATABASE_POOL: String(CONNECTIONS) });
  const other = connectPostgres(url.href, { max: 1 });
  const tenantId = await t.tenant();
  const path = `/api/v1/tenants/${tenantId}`;
  const me = await t.systemAdmin.get("/api/v1/auth/me");
  const userPath = `/api/v1/admin/users/${me.body.user.id}`;

  const held = await transact(other, async (tx) => {
    await tx`select from tenants where id = ${tenantId} for update`;
    const rename = () => t.systemAdmin.put(path, { name: `Renamed ${tenantId}` });
    const renames = Array.from({ length: CONNECTIONS - FOR_POINT_READS }, rename);
    await until(async () =>
      (await tx`select from pg_locks where not granted`).length >= CONNECTIONS - FOR_POINT_READS
    );
    for (const read of [path, userPath, "/api/v1/auth/me"]) {
      assert.equal((await t.systemAdmin.get(read)).status, 200, read);
    }
    await until(() => t.logs.some((line) => line.includes("wait too long for a database connection")));
    assert.equal((await t.systemAdmin.get("/api/v1/tenants")).body.code, "DATABASE_BUSY_UNAVAILABLE");
    assert.equal((await t.systemAdmin.get(path)).status, 200);
    return renames;
  });

  for (const { status } of await Promise.all(held)) assert.ok([200, 503].includes(status), String(status));
  await other.end();
  await t.stop();
});

Deno.test("the connections for reads by key refuse writes", async () => {
  const t = await setup({ DATABASE_POOL: String(CONNECTIONS) });
  const { sql, pointReads } = t.steward.platform;
  assert.notEqual(pointReads, sql);
  await assert.rejects(async () => await pointReads`update tenants set name = 'x'`, { code: "25006" });
  await t.stop();
});

Deno.test("a pool of few connections is not divided", async () => {
  const t = await setup({ DATABASE_POOL: String(CONNECTIONS - 1) });
  const { sql, pointReads } = t.steward.platform;
  assert.equal(pointReads, sql);
  await t.stop();
});
