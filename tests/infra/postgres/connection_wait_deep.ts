// Some waits for a connection do not count as too long.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createLog } from "../../../infra/log.ts";
import { ConnectionWait } from "../../../infra/postgres/connection_wait.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";

const log = createLog("off");

Deno.test("a single long statement does not count, nor do many requests that are answered", async () => {
  const url = await createTestDatabase();
  const sql = connectPostgres(url, { max: 2 });
  const wait = new ConnectionWait(sql, url, log);
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
  const { proxy, url } = await TcpProxy.forDatabase(await createTestDatabase());
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
