// Connections to Postgres whose packets are lost without an error are given up after a bounded time.
import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { PoolHealth } from "../../../infra/postgres/pools.ts";
import { connectPostgres, type Sql } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";

const databaseUrl = await createTestDatabase();

async function secondsOf(work: Promise<unknown>): Promise<number> {
  const since = performance.now();
  await work;
  return (performance.now() - since) / 1000;
}

/** Opens all connections of the pool. */
const warm = (sql: Sql, count: number) =>
  Promise.all(Array.from({ length: count }, () => sql`select pg_sleep(0.02)`));

Deno.test("queries fail within ten seconds while the server is unreachable, and work again afterwards", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const sql = connectPostgres(url, { max: 2 });
  await warm(sql, 2);
  proxy.blackHole();
  const failing = [sql`select 1`, sql`select 2`, sql`select 3`].map((query) =>
    assert.rejects(query, (error) => databaseFailure(error) === "unreachable")
  );
  const early = await secondsOf(Promise.any(failing));
  assert.ok(early > 7 && early < 10, `${early} s`);
  await proxy.pass();
  await Promise.allSettled(failing);
  assert.ok(await secondsOf(warm(sql, 2)) < 1.5);
  await sql.end();
  await proxy.refuse();
});

Deno.test("a long silent statement and one with a large result are not interrupted", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const sql = connectPostgres(url, { max: 2 });
  const [[slow], rows] = await Promise.all([
    sql`select pg_sleep(9), 'slept' as it`,
    sql`select repeat('x', 1000) as it from generate_series(1, 20000)`,
  ]);
  assert.equal(slow?.it, "slept");
  assert.equal(rows.length, 20_000);
  await sql.end();
  await proxy.refuse();
});

Deno.test("a process that stood still during a check does not take it for a lost connection", async () => {
  const target = new URL(databaseUrl);
  let connections = 0;
  const server = createServer((inward) => {
    if (++connections === 2) standStill(7_000); // the second one is that of the check
    const outward = connect(Number(target.port), target.hostname);
    inward.on("error", () => outward.destroy()).pipe(outward).on("error", () => inward.destroy()).pipe(
      inward,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port);
  const sql = connectPostgres(url.href, { max: 1 });
  const [row] = await sql`select pg_sleep(12), 'slept' as it`;
  assert.ok(connections >= 2, "the server was asked");
  assert.equal(row?.it, "slept");
  await sql.end();
  server.close();
});

function standStill(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

Deno.test("while the database is unreachable, the pool is not stuck", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const sql = connectPostgres(url, { max: 1 });
  const poolHealth = new PoolHealth([sql], url, 30);
  await warm(sql, 1);
  await proxy.refuse();
  await pause(600);
  assert.equal(poolHealth.isStuck, false);
  poolHealth.stop();
  await sql.end({ timeout: 0 });
});
