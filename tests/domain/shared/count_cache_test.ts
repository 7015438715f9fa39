import assert from "node:assert/strict";
import { countCached, invalidateCounts } from "../../../domain/shared/count_cache.ts";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { GivenClock } from "../../support/given_clock.ts";

const sql = connectPostgres(await createTestDatabase(), { max: 2 });
Deno.test.afterAll(() => sql.end());

/** A fake count query that returns `total` and counts its calls in `times`. */
function counter(total: number) {
  const counted = { total, times: 0 };
  return Object.assign(counted, { count: () => Promise.resolve((counted.times++, counted.total)) });
}

Deno.test("small totals are counted every time", async () => {
  const rows = counter(9_999);
  await countCached(sql, "small", rows.count);
  rows.total = 3;
  assert.equal(await countCached(sql, "small", rows.count), 3);
  assert.equal(rows.times, 2);
});

Deno.test("a large total is counted once a second, until a change commits here", async () => {
  using clock = new GivenClock("setInterval");
  const rows = counter(20_000);
  await countCached(sql, "large", rows.count);
  rows.total = 20_001;
  clock.tick(999);
  assert.equal(await countCached(sql, "large", rows.count), 20_000);
  clock.tick(1);
  assert.equal(await countCached(sql, "large", rows.count), 20_001);
  rows.total = 20_002;
  await assert.rejects(transact(sql, (tx) => {
    invalidateCounts(tx);
    return Promise.reject(new Error("rolled back"));
  }));
  assert.equal(await countCached(sql, "large", rows.count), 20_001);
  await transact(sql, (tx) => Promise.resolve(invalidateCounts(tx)));
  assert.equal(await countCached(sql, "large", rows.count), 20_002);
  rows.total = 5;
  await transact(sql, (tx) => Promise.resolve(invalidateCounts(tx)));
  assert.equal(await countCached(sql, "large", rows.count), 5);
  rows.total = 6;
  assert.equal(await countCached(sql, "large", rows.count), 6, "no longer large");
});

Deno.test("a count that began before a change is not cached after it", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const early = countCached(sql, "raced", () => promise);
  await transact(sql, (tx) => Promise.resolve(invalidateCounts(tx)));
  resolve(30_000);
  assert.equal(await early, 30_000);
  assert.equal(await countCached(sql, "raced", () => Promise.resolve(30_001)), 30_001);
});

Deno.test("a caller gets a count that began after its own write", async () => {
  const { promise, resolve } = Promise.withResolvers<number>();
  const early = countCached(sql, "written", () => promise);
  assert.equal(await countCached(sql, "written", () => Promise.resolve(8)), 8);
  resolve(7);
  assert.equal(await early, 7);
});

Deno.test("a failed count rejects and is not cached", async () => {
  await assert.rejects(countCached(sql, "failing", () => Promise.reject(new Error("gone"))), /gone/);
  assert.equal(await countCached(sql, "failing", () => Promise.resolve(7)), 7);
});
