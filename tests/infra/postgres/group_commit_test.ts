import assert from "node:assert/strict";
import { databaseFailure } from "../../../infra/postgres/failures.ts";
import { GroupCommit } from "../../../infra/postgres/group_commit.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { databaseUrl } from "./database.ts";

const sql = connectPostgres(databaseUrl, { max: 2 });
Deno.test.afterAll(() => sql.end());

/** Divides 100 by each item in one statement. A single 0 makes the statement fail. */
function dividing(
  o: {
    concurrency: number;
    maxItems: number;
    maxWeight?: number;
    maxWaiting?: number;
    weigh?: (n: number) => number;
  },
) {
  const groups: number[][] = [];
  const grouped = new GroupCommit(async (divisors: number[]) => {
    groups.push(divisors);
    const [row] = await sql<{ results: number[] }[]>`
      select array_agg(100 / n order by position) as results
      from unnest(${divisors}::int[]) with ordinality as given (n, position)`;
    return row?.results ?? [];
  }, o);
  return { grouped, groups };
}

Deno.test("requests that arrive during a write share the next one, and each gets its own result", async () => {
  const { grouped, groups } = dividing({ concurrency: 1, maxItems: 3 });
  const results = await Promise.all([1, 2, 4, 5, 10, 20].map((n) => grouped.add(n)));
  assert.deepEqual(results, [100, 50, 25, 20, 10, 5]);
  assert.deepEqual(groups, [[1], [2, 4, 5], [10, 20]]);
});

Deno.test("items are split into several writes by weight; an item above the limit is written alone", async () => {
  const { grouped, groups } = dividing({ concurrency: 1, maxItems: 9, maxWeight: 10, weigh: (n) => n });
  await Promise.all([1, 4, 5, 20, 2].map((n) => grouped.add(n)));
  assert.deepEqual(groups, [[1], [4, 5], [20], [2]]);
});

Deno.test("one item that makes the statement fail is the only one that fails", async () => {
  const { grouped } = dividing({ concurrency: 1, maxItems: 100 });
  const results = await Promise.allSettled([1, 2, 0, 4].map((n) => grouped.add(n)));
  assert.deepEqual(results.map((result) => result.status === "fulfilled" ? result.value : "failed"), [
    100,
    50,
    "failed",
    25,
  ]);
  assert.match(String(results[2]?.status === "rejected" && results[2].reason), /division by zero/);
});

Deno.test("after a lost connection no item is written a second time", async () => {
  let writes = 0;
  const grouped = new GroupCommit<number, number>(() => {
    writes++;
    return Promise.reject(Object.assign(new Error("write CONNECTION_CLOSED"), { code: "CONNECTION_CLOSED" }));
  }, { concurrency: 1, maxItems: 100 });
  const results = await Promise.allSettled([1, 2, 3].map((n) => grouped.add(n)));
  assert.deepEqual(results.map((result) => result.status), ["rejected", "rejected", "rejected"]);
  assert.equal(writes, 2, "the first alone, the two that waited for it together");
});

Deno.test("requests beyond those that may wait fail at once as a busy database; the others are written", async () => {
  const { grouped } = dividing({ concurrency: 1, maxItems: 1, maxWaiting: 2 });
  const results = await Promise.allSettled([1, 2, 4, 5, 10].map((n) => grouped.add(n)));
  assert.deepEqual(
    results.map((result) => result.status === "fulfilled" ? result.value : databaseFailure(result.reason)),
    [100, 50, 25, "busy", "busy"],
  );
  assert.equal(await grouped.add(20), 5, "the queue takes requests again");
});
