// Changes of job counts that commit while others are folded, each more than a batch takes.
import assert from "node:assert/strict";
import postgres from "postgres";
import { foldCounts, foldLagSeconds } from "../../../domain/jobs/statistics/fold_counts.ts";
import { readJobStats } from "../../../domain/jobs/statistics/stats.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupFile();
const sql = mainPool(t.sql);

/** More than a batch takes. */
const BACKLOG = 21_000;
const changeOf = (jobs: number) =>
  `insert into job_count_changes (tenant_id, status, type, priority, queue, job_type_name, n)
   select null, 'Succeeded', 'Delayed', 2, 'held', 'test.backlog', 1 from generate_series(1, ${jobs})`;
const succeeded = async () => (await readJobStats(sql, { everything: true })).succeededJobs;

/** Starts a transaction with the statements. Connections of the service would end it while it is idle. */
async function openTransaction(statements: string[]) {
  const client = postgres(t.platform.config.DATABASE_URL ?? "", { max: 1 });
  const connection = await client.reserve();
  for (const statement of statements) await connection.unsafe(statement);
  return {
    async commit() {
      await connection`commit`;
      connection.release();
      await client.end();
    },
  };
}

async function assertAllFolded(expected: number) {
  assert.equal(await succeeded(), expected);
  await until(() => foldCounts(sql, { always: true }));
  assert.equal(await succeeded(), expected);
  const [left] = await sql`select count(*) as n from job_count_changes where job_type_name = 'test.backlog'`;
  assert.equal(left?.n, 0);
}

const HOLDERS = {
  "an old snapshot was held": {
    statements: ["begin isolation level repeatable read", "select count(*) from job_counts"],
    changed: 0,
  },
  "a transaction that changed jobs stayed open": { statements: ["begin", changeOf(10)], changed: 10 },
};
for (const [what, { statements, changed }] of Object.entries(HOLDERS)) {
  Deno.test(`a fold does not read again what was folded while ${what}`, async () => {
    const holder = await openTransaction(statements);
    await sql.unsafe(changeOf(BACKLOG));
    const before = await succeeded();
    await until(
      async () => {
        await foldCounts(sql, { always: true });
        return await buffersOf("select count(*) from job_count_deltas") < 100;
      },
      Boolean,
      { what: "a read that leaves out the folded changes, which fill 200 pages," },
    );
    assert.equal(await succeeded(), before);
    await holder.commit();
    await assertAllFolded(before + changed);
  });
}

Deno.test("the changes of a transaction that commits after many folds are counted once, also in several batches", async () => {
  const before = await succeeded();
  const holder = await openTransaction(["begin", changeOf(BACKLOG)]);
  for (let n = 1; n <= 3; n++) {
    await sql.unsafe(changeOf(1));
    await foldCounts(sql, { always: true });
    assert.equal(await succeeded(), before + n);
  }
  const later = await openTransaction(["begin", changeOf(1)]);
  await foldCounts(sql, { always: true });
  await holder.commit();
  await sql.unsafe(changeOf(BACKLOG));
  const batches = [];
  while (!await foldCounts(sql, { always: true })) batches.push(await succeeded());
  assert.ok(batches.every((n) => n === before + 3 + 2 * BACKLOG), `${batches}`);
  await later.commit();
  await assertAllFolded(before + 4 + 2 * BACKLOG);
});

Deno.test("a backlog of changes is folded in several batches, and sums are exact all the time", async () => {
  const tenantId = await t.tenant();
  const reach = { everything: false as const, tenantId };
  await until(() => foldCounts(sql, { always: true }));
  await sql`
    insert into job_count_changes (tenant_id, status, type, priority, queue, job_type_name, n)
    select ${tenantId}, 'Succeeded', 'Delayed', 2, 'q' || i % 7, 'test.backlog', 1 from generate_series(1, ${BACKLOG}) i`;
  await sql`
    insert into execution_count_changes (tenant_id, minute, n, duration_ms)
    select ${tenantId}, date_trunc('minute', now()), 1, 10 from generate_series(1, ${BACKLOG})`;
  await sql`update count_folds set folded_at = now() - interval '1 hour'`;
  assert.ok(await foldLagSeconds(sql) >= 3_600);
  const batches = new Set<number>();
  let isFolded = false;
  const folding = (async () => {
    while (!await foldCounts(sql, { always: false }));
    isFolded = true;
  })();
  while (!isFolded) {
    const { succeededJobs, totalExecutions } = await readJobStats(sql, reach);
    assert.deepEqual([succeededJobs, totalExecutions], [BACKLOG, BACKLOG]);
    const [counter] = await sql`select n from execution_counts where scope = ${tenantId}`;
    batches.add(counter?.n ?? 0);
  }
  await folding;
  await until(() => foldCounts(sql, { always: true }));
  const [counter] = await sql`select n, (select count(*) from job_count_changes) as jobs,
    (select count(*) from execution_count_changes) as executions from execution_counts where scope = ${tenantId}`;
  assert.deepEqual({ ...counter }, { n: BACKLOG, jobs: 0, executions: 0 });
  assert.ok([...batches].every((n) => n === BACKLOG || n % 20_000 === 0), `${[...batches]}`);
  assert.ok(await foldLagSeconds(sql) < 60);
});

/** Number of pages that a query reads. */
async function buffersOf(query: string): Promise<number> {
  const [row] = await sql.unsafe<{ "QUERY PLAN": [{ Plan: Record<string, number> }] }[]>(
    `explain (analyze, buffers, format json) ${query}`,
  );
  const { Plan: plan } = row?.["QUERY PLAN"][0] ?? {};
  return (plan?.["Shared Hit Blocks"] ?? Infinity) + (plan?.["Shared Read Blocks"] ?? 0);
}
