import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { JobPlatform } from "../../../domain/jobs/platform.ts";
import { startUpkeep } from "../../../domain/jobs/upkeep.ts";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";

const url = await createTestDatabase();
const sql = connectPostgres(url, { max: 3 });
Deno.test.afterAll(() => sql.end());

const appendChanges = () =>
  sql`
    insert into job_count_changes (tenant_id, status, type, priority, queue, job_type_name, n)
    select null, 'Succeeded', 'Delayed', 2, 'default', 'test.upkeep', 1 from generate_series(1, 300)`;
const readNumbers = async () => {
  const [row] = await sql<{ waiting: number; waitForLock: number }[]>`
    select (select count(*) from job_count_deltas) as waiting,
      (select count(*) from pg_locks where relation = 'job_counts'::regclass and not granted
        and database = (select oid from pg_database where datname = current_database())) as wait_for_lock`;
  return row ?? { waiting: 0, waitForLock: 0 };
};

Deno.test("counters are folded every second, but after a slow fold only when five times its duration has passed", async () => {
  await appendChanges();
  const upkeep = startUpkeep({ sql } as JobPlatform, 60); // folding uses no other member
  try {
    await until(readNumbers, ({ waiting }) => waiting === 0);
    await appendChanges();
    await until(readNumbers, ({ waiting }) => waiting === 0);
    const { lockedAt, heldMs, releasedAt } = await sql.begin(async (tx) => {
      await tx`lock table job_counts in exclusive mode`;
      const lockedAt = performance.now();
      await appendChanges();
      await until(readNumbers, ({ waitForLock }) => waitForLock > 0);
      const began = performance.now();
      await pause(1_000);
      const releasedAt = performance.now();
      return { lockedAt, heldMs: releasedAt - began, releasedAt };
    });
    await until(readNumbers, ({ waiting }) => waiting === 0);
    const longestMs = performance.now() - lockedAt;
    await appendChanges();
    await until(readNumbers, ({ waiting }) => waiting === 0);
    const rested = performance.now() - releasedAt;
    const found = `folded again after ${rested} ms; the fold before took ${heldMs} to ${longestMs} ms`;
    assert.ok(rested >= 5 * heldMs && rested < 10 * longestMs, found);
  } finally {
    await upkeep.stop();
  }
});
