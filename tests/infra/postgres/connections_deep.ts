// Connections to Postgres over time: lost packets are noticed after a bounded time, long statements are not interrupted, some
// waits for a connection do not count as too long, and a standby replaces a frozen primary.
import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createLog } from "../../../infra/log.ts";
import { ConnectionWait } from "../../../infra/postgres/connection_wait.ts";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { PoolHealth } from "../../../infra/postgres/pools.ts";
import { connectPostgres, type Sql } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { startSystemPostgres, systemPostgresInstalled } from "../../support/system_postgres.ts";
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

const log = createLog("off");

Deno.test("a single long statement does not count, nor do many requests that are answered", async () => {
  const sql = connectPostgres(databaseUrl, { max: 2 });
  const wait = new ConnectionWait(sql, databaseUrl, log);
  const long = sql`select pg_sleep(5)`.execute();
  let isRunning = true;
  long.finally(() => isRunning = false);
  for (let n = 0; isRunning; n++) {
    wait.countArrival();
    assert.equal(wait.isTooLong, false);
    await Promise.race([sql`select 1`, pause(20)]);
  }
  wait.stop();
  await sql.end();
});

Deno.test("while the database is unreachable, the wait does not count as too long", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const sql = connectPostgres(url, { max: 1 });
  const wait = new ConnectionWait(sql, url, log);
  await sql`select 1`; // the driver reserves only an open connection
  const kept = await sql.reserve(); // a probe waits, and no new connection is accepted
  await proxy.refuse();
  for (let n = 0; n < 6_000; n++) wait.countArrival();
  for (const since = performance.now(); performance.now() - since < 5_000;) {
    assert.equal(wait.isTooLong, false);
    await pause(50);
  }
  kept.release();
  wait.stop();
  await sql.end({ timeout: 0 });
});

Deno.test({
  name: "while a frozen primary does not answer, a connection waits for the standby that replaces it",
  ignore: !systemPostgresInstalled,
  async fn() {
    const postgres = await startSystemPostgres();
    using frozen = Deno.listen({ hostname: "127.0.0.1", port: 0 }); // nobody answers
    await postgres.database("steward");
    const standby = await postgres.standby("steward");
    const direct = connectPostgres(standby.url, { max: 1 });
    const { host } = new URL(standby.url);
    const sql = connectPostgres(standby.url.replace(host, `127.0.0.1:${frozen.addr.port},${host}`), {
      max: 1,
    });
    try {
      await direct`select 1`;
      const answer = sql`select pg_is_in_recovery() as standby`.execute();
      using _ = await frozen.accept();
      await pause(500); // the standby has been asked, too
      await direct`select pg_promote()`;
      assert.deepEqual([...await answer], [{ standby: false }]);
    } finally {
      await Promise.all([sql.end(), direct.end()]);
      await standby.stop();
      await postgres.stop();
    }
  },
});
