// Connections to Postgres whose packets are lost without an error.
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { createLog } from "../../../infra/log.ts";
import { ConnectionWatchdog, type WatchOptions } from "../../../infra/postgres/connection_watchdog.ts";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { connectPostgres, type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { PoolHealth } from "../../../infra/postgres/pools.ts";
import { ProtocolTracker } from "../../../infra/postgres/watched_socket.ts";
import { InstanceHealth } from "../../../domain/operations/health.ts";
import { healthRoutes } from "../../../routes/operations/health.ts";
import { GivenClock } from "../../support/given_clock.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { until } from "../../support/until.ts";
import { databaseUrl } from "./database.ts";

/** Opens all connections of the pool. */
const warm = (sql: Sql, count: number) =>
  Promise.all(Array.from({ length: count }, () => sql`select pg_sleep(0.02)`));

Deno.test("half-open connections are closed, and the pool opens new ones", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const givenUp: number[] = [];
  const sql = connectPostgres(url, { max: 3, onGivenUp: (silentMs) => givenUp.push(silentMs) });
  await warm(sql, 3);
  const inTransaction = Promise.withResolvers<void>();
  const proceed = Promise.withResolvers<void>();
  const cutOff = transact(sql, async (tx) => {
    await tx`select 1`;
    inTransaction.resolve();
    await proceed.promise;
    return await tx`select 2`;
  });
  await inTransaction.promise;
  proxy.halfOpen();
  proceed.resolve();
  const toBeDescribed = sql`select ${3}::int`; // a new statement: the driver first sends Describe without a Sync
  const lost = [sql`select 4`, toBeDescribed, cutOff].map((query) =>
    assert.rejects(query, (error) => databaseFailure(error) === "unreachable")
  );
  await Promise.all(lost);
  assert.ok(givenUp.length >= 3);
  await warm(sql, 3); // idle connections are replaced too
  await sql.end();
  await proxy.refuse();
});

Deno.test("a listening connection that receives nothing any more is replaced, and subscribers are notified", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const sql = connectPostgres(url, { max: 1 });
  const other = connectPostgres(databaseUrl, { max: 1 });
  const heard: string[] = [];
  let began = 0;
  await sql.listen("news", (payload) => void heard.push(payload), () => void began++);
  await sql.listen("other news", () => {});
  proxy.halfOpen();
  // The new connection also listens on channels that were added while the old one was lost.
  const late = sql.listen("late", (payload) => void heard.push(payload));
  await late.then(
    () => assert.fail("the lost connection answered"),
    (error) => assert.equal(databaseFailure(error), "unreachable"),
  );
  await until(() => began >= 2);
  await other`select pg_notify('news', 'one'), pg_notify('late', 'two')`;
  await until(() => heard.length === 2);
  assert.deepEqual(heard.sort(), ["one", "two"]);
  await Promise.all([sql.end(), other.end()]);
  await proxy.refuse();
});

Deno.test("a listening connection that cannot connect keeps retrying", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const sql = connectPostgres(url, { max: 1 });
  let began = 0;
  await sql.listen("news", () => {}, () => void began++);
  await proxy.refuse();
  await pause(100); // in this time the first retry fails
  await proxy.pass();
  await until(() => began >= 2);
  await sql.end();
  await proxy.refuse();
});

Deno.test("a connection that waits long is kept if the server does not answer one check, and closed after two", async () => {
  using clock = new GivenClock("setInterval");
  let answers: boolean[] = [];
  let failure: unknown = null;
  const socket = Object.assign(new EventEmitter(), {
    tracker: { backendPid: 7, silentMs: () => 9_000, idleMs: () => 9_000 },
    fail: (error: unknown) => failure = error,
  });
  const server = {
    openWatched: () => socket,
    queryOnce: () => {
      const isReached = answers.shift() ?? true;
      return Promise.resolve({ rows: isReached ? [{ pid: 7 }] : null, isReached });
    },
  };
  const o = { server, statementMs: 60_000, pooled: false } as unknown as WatchOptions;
  new ConnectionWatchdog(o).open();
  const check = async (given: boolean[]) => {
    answers = given;
    for (let n = given.length; n > 0; n--) {
      clock.tick(5_000);
      await pause(0); // the check awaits its answer
    }
    assert.equal(answers.length, 0);
    return failure;
  };
  assert.equal(await check([false, true, false, true]), null);
  assert.match(String(await check([false, false])), /the database has not answered for 9 s/);
});

Deno.test("an answer is due until all requests are answered, however the bytes are split", () => {
  const message = (kind: string, ...content: number[]) => [
    ...new TextEncoder().encode(kind),
    ...[0, 0, 0, 4 + content.length],
    ...content,
  ];
  const greeting = [
    ...message("R", 0, 0, 0, 0),
    ...message("K", 0, 0, 1, 2, 9, 9, 9, 9),
    ...message("Z", 73),
  ];
  const rows = [...message("D", 0, 1, 90, 83), ...message("C"), ...message("Z", 73)];
  const stream = new Uint8Array([...greeting, ...rows, ...message("A", 1, 2, 3), ...rows]);
  for (let size = 1; size <= stream.length; size++) {
    const tracker = new ProtocolTracker();
    assert.equal(tracker.silentMs(), 0);
    tracker.sent(new Uint8Array([0, 0, 0, 8, 0, 3, 0, 0]));
    tracker.sent(new Uint8Array([...message("P", 0, 0), ...message("S"), ...message("Q", 83, 0)]));
    for (let at = 0; at < stream.length; at += size) {
      assert.ok(tracker.silentMs() > 0);
      tracker.received(stream.subarray(at, at + size));
    }
    assert.equal(tracker.silentMs(), 0);
    assert.equal(tracker.backendPid, 258);
  }
});

Deno.test("a pool that does not answer while the database does is stuck, and only then is the process unhealthy", async () => {
  const { proxy, url } = await TcpProxy.forDatabase(databaseUrl);
  const sql = connectPostgres(url, { max: 1 });
  const poolHealth = new PoolHealth([sql], url, 30);
  const [health] = healthRoutes;
  const platform = {
    health: new InstanceHealth([], { isStuck: () => poolHealth.isStuck, log: createLog("off") }),
  };
  const status = async () => (await health?.run({ platform } as Parameters<typeof health.run>[0]))?.status;
  await warm(sql, 1);
  const kept = await sql.reserve(); // not released until the end of the test
  // A probe of a busy database may miss its 30 ms, so that the pool counts as stuck a little later.
  await until(async () => await status() === 503);
  kept.release();
  await until(async () => await status() === 200);
  await proxy.refuse();
  poolHealth.stop();
  await sql.end({ timeout: 0 });
});
