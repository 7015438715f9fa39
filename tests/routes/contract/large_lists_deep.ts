// Every list with every filter, order and search, over tables with many rows. LIST_ROWS is their number, LIST_ONLY a part of the
// id of the endpoints to ask. `deno task bench lists` runs it with a million rows.
import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { Contract } from "./contract.ts";
import { growTables, timeLists } from "./large_lists.ts";
import { makeMany } from "./many.ts";

const ROWS = Number(Deno.env.get("LIST_ROWS") ?? 20_000);
const LIMIT_MS = 50;
/** The slowest lists that are printed. */
const SHOWN = 20;

Deno.test(`every list answers within ${LIMIT_MS} ms`, async () => {
  await using t = await setup({ JOB_CONCURRENCY: "0", LOG_LEVEL: "error" });
  const c = await Contract.build(t);
  await makeMany(c);
  await growTables(t.platform.config.DATABASE_URL ?? "", ROWS);
  const timed = await timeLists(c, Deno.env.get("LIST_ONLY"));
  const slow = timed.filter(({ fastest }) => fastest > LIMIT_MS);
  for (const { path, median, p95 } of timed.slice(0, SHOWN)) {
    console.log(`${path}: ${median.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms`);
  }
  console.log(`${timed.length} lists, ${slow.length} over ${LIMIT_MS} ms, with ${ROWS} rows a table`);
  assert.deepEqual(slow, []);
});
