import assert from "node:assert/strict";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { countJobs } from "../../../domain/jobs/lists/job_counts.ts";
import { mainPool, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const sql = mainPool(t.steward.platform.sql);
const [actor, other] = [await t.actor(), await t.actor()];
const JOBS = 1_800;
const MINUTE_MS = 60_000;

/** Inserts a job for each five seconds until now, of two tenants, queues and types each, and three statuses. */
await sql`
  insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, created_at,
    max_retries)
  select uuidv7(-age), case n % 2 when 0 then ${actor.tenantId}::uuid else ${other.tenantId}::uuid end,
    'created.type' || n / 2 % 2, '{}', 'FireAndForget',
    (array['Enqueued', 'Succeeded', 'Failed'])[1 + n % 3]::job_status, 2, 'q' || n % 2, 'q' || n % 2 || '||',
    now() + interval '1 day', now() - age, 3
  from generate_series(1, ${JOBS}::int) n, make_interval(secs => n * 5) age`;

await sql`update jobs set created_at = uuid_extract_timestamp(id) where job_type_name like 'created.%'`;

const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS).toISOString();
const TIMES = [
  { from: ago(100) },
  { from: ago(120), to: ago(25) },
  { from: ago(20), to: ago(60) },
];
const FILTERS: Record<string, string>[] = [
  {},
  { status: "Succeeded" },
  { jobTypeName: "created.type1", status: "Failed" },
  { searchTerm: "TYPE0" },
  { queue: "q1", tenantId: other.tenantId ?? "" },
];

/** Compares the totals of lists with a count of the rows. */
async function assertTotals() {
  for (const { from, to } of TIMES) {
    for (const filters of FILTERS) {
      const { status, queue, jobTypeName, searchTerm, tenantId } = filters;
      const [rows] = await sql`
        select count(*) as n from jobs where created_at >= coalesce(${from ?? null}, '-infinity')::timestamptz
          and created_at <= coalesce(${to ?? null}, 'infinity')::timestamptz
          and status = coalesce(${status ?? null}::job_status, status) and queue = coalesce(${
        queue ?? null
      }, queue)
          and job_type_name = coalesce(${jobTypeName ?? null}, job_type_name)
          and lower(job_type_name) like '%' || lower(coalesce(${searchTerm ?? null}, '')) || '%'
          and (${tenantId ?? null}::uuid is null or tenant_id = ${tenantId ?? null})`;
      const query = new URLSearchParams({ ...filters, ...(from ? { from } : {}), ...(to ? { to } : {}) });
      const { body } = await t.systemAdmin.get(`/api/v1/jobs?pageSize=1&${query}`);
      assert.equal(body.totalCount, rows?.n, `${query}`);
    }
  }
}

Deno.test("after a restore into a new server, whose transactions are counted from 1, all changes are counted", async () => {
  const succeeded = async () => (await t.systemAdmin.get("/api/v1/jobs/dashboard/stats")).body.succeededJobs;
  const before = await succeeded();
  await sql`update count_folds set folded_to = ((pg_current_xact_id()::text::bigint + 1000000)::text)::xid8`;
  await sql`insert into job_count_changes (status, type, priority, queue, job_type_name, n)
    values ('Succeeded', 'Delayed', 2, 'restored', 'test.backlog', 3)`;
  await foldCounts(sql, { always: true });
  assert.equal(await succeeded(), before + 3);
});

Deno.test("totals of jobs between two times are exact before and after folds, changes and deletions", async () => {
  await until(() => foldCounts(sql, { always: true }));
  await assertTotals();
  const [old, from80, to50] = [ago(90), ago(80), ago(50)];
  await sql`update jobs set status = 'Cancelled' where job_type_name like 'created.%' and created_at < ${old}`;
  await sql`delete from jobs where job_type_name like 'created.%' and created_at between ${from80} and ${to50}`;
  await assertTotals();
  await until(() => foldCounts(sql, { always: true }));
  await assertTotals();
  const [left] = await sql`select count(*) as n from job_creation_count_deltas`;
  assert.equal(left?.n, 0);
  const [from, to] = [ago(120), ago(25)];
  const { body } = await t.systemAdmin.get(`/api/v1/jobs/counts?from=${from}&to=${to}`);
  const rows = await sql<{ status: string; count: number }[]>`
    select status, count(*) as count from jobs where created_at >= ${from} and created_at <= ${to}
    group by 1 order by 1`;
  assert.deepEqual(body.statuses, rows.map((row) => ({ ...row })));
});

Deno.test("a total of jobs between two times reads the jobs of two stretches, not all", async () => {
  const from = new Date(Date.now() - 140 * MINUTE_MS);
  const read = await transact(sql, async (tx) => {
    const before = await rowsRead(tx);
    const { matching } = await countJobs(tx, { everything: true }, { from, status: "Succeeded" });
    assert.ok(matching > JOBS / 10);
    return await rowsRead(tx) - before;
  });
  assert.ok(read > 0 && read <= 18 * 12, `${read} rows`);
});

/** Rows of jobs that this connection has read since it last reported. */
async function rowsRead(tx: Tx): Promise<number> {
  const [row] = await tx<{ n: number }[]>`
    select (seq_tup_read + idx_tup_fetch)::bigint as n from pg_stat_xact_user_tables where relname = 'jobs'`;
  return row?.n ?? 0;
}
