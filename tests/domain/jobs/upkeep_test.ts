import assert from "node:assert/strict";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import type { JobPlatform } from "../../../domain/jobs/platform.ts";
import { startUpkeep } from "../../../domain/jobs/instance/engine.ts";
import { createLog } from "../../../infra/log.ts";
import { connectPostgres, type Pool } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { GivenClock } from "../../support/given_clock.ts";
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
  using clock = new GivenClock("setInterval");
  let folds = 0;
  const counting = Object.assign((...args: Parameters<Pool>) => {
    if (args[0].join("").includes("with restored as")) folds++;
    return sql(...args);
  }, sql) as unknown as Pool;
  const parts = { sql: counting, jobTypes: new JobTypes(), log: createLog("off") };
  const upkeep = startUpkeep(parts as unknown as JobPlatform, 60);
  clock.tick(1_000);
  for (const _ of [1, 2]) {
    await appendChanges();
    await until(() => (clock.tick(0), readNumbers()), ({ waiting }) => waiting === 0);
  }
  await upkeep.sweep(); // after the last fold
  await sql.begin(async (tx) => {
    await tx`lock table job_counts in exclusive mode`;
    await appendChanges();
    await until(() => (clock.tick(0), readNumbers()), ({ waitForLock }) => waitForLock > 0);
    clock.ms += 2_000;
  });
  await upkeep.sweep(); // after the slow fold
  await appendChanges();
  const before = folds;
  clock.tick(9_999);
  await sql`select 1`;
  assert.equal(folds, before);
  clock.tick(1);
  await until(readNumbers, ({ waiting }) => waiting === 0);
  assert.equal(folds, before + 1);
  await upkeep.stop();
});
