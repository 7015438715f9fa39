import assert from "node:assert/strict";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { countByStatus, JOB_ORDERS, listJobs } from "../../../domain/jobs/lists/job_list.ts";
import { firstIdOf, newId, timeOfId } from "../../../domain/shared/ids.ts";
import { JOB_STATUSES, type JobSummary, PRIORITIES } from "../../../domain/jobs/job_row.ts";
import type { JobFilters } from "../../../domain/jobs/lists/job_filters.ts";
import { countJobs } from "../../../domain/jobs/lists/job_counts.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { readQueues } from "../../../domain/jobs/lists/queues.ts";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { readJobStats } from "../../../domain/jobs/statistics/stats.ts";
import { connectPostgres, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { until } from "../../support/until.ts";

const sql = connectPostgres(await createTestDatabase(), { max: 2 });
Deno.test.afterAll(() => sql.end());
const [mine, other] = [newId(), newId()];
const everything = { everything: true } as const;
const newIds = (count: number) => Array.from({ length: count }, newId);
/** Ids of jobs that are created one millisecond after another. */
const spacedIds = (count: number) =>
  Array.from({ length: count }, (_, n) => firstIdOf(new Date(Date.now() - count + n)).replace(/0$/, "1"));
const creators = newIds(3);
const traces = ["1".repeat(32), "2".repeat(32)];
const ids = spacedIds(150);
const createdAt = (n: number) => timeOfId(ids[n] ?? "");
const [from, to] = [createdAt(20), createdAt(110)];
const ofMine = { everything: false, tenantId: mine } as const;

/** Jobs of two tenants in every status. The orders of creation, start and end differ, and some times are equal. */
await sql`
  insert into jobs (id, created_at, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
    scheduled_at, started_at, completed_at, worker_id, parent_job_id, created_by, trace_id, search_keys, max_retries)
  select id, created_at, case when n % 3 = 0 then ${other} else ${mine} end::uuid,
    'test.type' || n % 4, '{}', 'FireAndForget', status, n % 4, 'q' || n % 3, 'test', now() + interval '1 hour',
    case when n % 5 < 2 then timestamptz '2026-01-01' + make_interval(mins => (n * 7 % 31)::int) end,
    case when status not in ('Scheduled', 'AwaitingParent') then timestamptz '2026-01-02' + make_interval(mins => (n * 11 % 37)::int) end,
    case when status in ('Succeeded', 'DeadLettered', 'Cancelled') then timestamptz '2026-01-03' + make_interval(mins => (n * 13 % 41)::int) end,
    case when status = 'Processing' then gen_random_uuid() end,
    case when status = 'AwaitingParent' then gen_random_uuid() end, (${creators}::uuid[])[1 + n % 4],
    (${traces}::text[])[1 + n % 9], array['shop=' || n % 5, 'day.name=Mon'], 0
  from unnest(${ids}::uuid[], ${
  ids.map((id) => timeOfId(id).toISOString())
}::timestamptz[]) with ordinality made (id, created_at, n)
  cross join lateral (select (enum_range(null::job_status))[1 + (n * 5 % 8)::int] as status) s`;

const TIMES = { ScheduledAt: "scheduledAt", StartedAt: "startedAt", CompletedAt: "completedAt" } as const;

/** The order of the list: null times last, ties by id. */
function compare(order: typeof JOB_ORDERS[number], ascending: boolean) {
  const key = (job: JobSummary): number | null => {
    if (order === "CreatedAt") return 0;
    if (order === "Priority") return -PRIORITIES.indexOf(job.priority); // the first is Critical
    if (order === "Status") return JOB_STATUSES.indexOf(job.status);
    if (order === "Duration") {
      return job.startedAt && job.completedAt && job.completedAt.getTime() - job.startedAt.getTime();
    }
    return job[TIMES[order]]?.getTime() ?? null;
  };
  return (a: JobSummary, b: JobSummary): number => {
    const [left, right] = [key(a), key(b)];
    if ((left === null) !== (right === null)) return left === null ? 1 : -1;
    const byKey = (left ?? 0) - (right ?? 0) || (a.id < b.id ? -1 : 1);
    return ascending ? byKey : -byKey;
  };
}

const inOrderOfIds = { orderBy: "CreatedAt", ascending: true, page: 1 } as const;

for (const [whose, reach] of [["everyone's", everything], ["a tenant's", ofMine]] as const) {
  Deno.test(`pages of ${whose} jobs equal slices of the sorted whole, for every order and filter`, async () => {
    const { items: all } = await listJobs(sql, reach, { ...inOrderOfIds, pageSize: 1_000 });
    assert.equal(all.length, reach.everything ? 150 : 100);
    const filters: [JobFilters, (job: JobSummary) => boolean][] = [
      [{}, () => true],
      [{ queue: "q1" }, ({ queue }) => queue === "q1"],
      [{ status: "Failed" }, ({ status }) => status === "Failed"],
      [
        { status: "Succeeded", priority: 2 },
        (job) => job.status === "Succeeded" && job.priority === "Normal",
      ],
      [{ searchTerm: "TYPE3" }, ({ jobTypeName }) => jobTypeName === "test.type3"],
      [{ jobTypeName: "test.type3" }, ({ jobTypeName }) => jobTypeName === "test.type3"],
      [{ withoutTypes: ["test.type3", "test.type1"] }, ({ jobTypeName }) => /[02]$/.test(jobTypeName)],
      [{ from, to }, ({ createdAt }) => createdAt >= from && createdAt <= to],
      [{ from, status: "Failed" }, ({ createdAt, status }) => createdAt >= from && status === "Failed"],
      [{ to, queue: "q1" }, ({ createdAt, queue }) => createdAt <= to && queue === "q1"],
      [{ createdBy: creators[1] }, ({ createdBy }) => createdBy === creators[1]],
      [
        { createdBy: creators[1], to, priority: 1 },
        (job) => job.createdBy === creators[1] && job.createdAt <= to && job.priority === "High",
      ],
      [{ traceId: traces[1] }, ({ id }) => (ids.indexOf(id) + 1) % 9 === 1],
      [{ args: { shop: "3" } }, ({ id }) => (ids.indexOf(id) + 1) % 5 === 3],
      [
        { args: { shop: "3", "day.name": "Mon" }, createdBy: creators[0] },
        ({ id, createdBy }) => (ids.indexOf(id) + 1) % 5 === 3 && createdBy === creators[0],
      ],
      [{ args: { shop: "x" } }, () => false],
    ];
    /** Two filters are tried with all orders, the others with some; a tenant's list is the same with one more condition. */
    const isTried = (n: number, order: number, ascending: boolean) =>
      n < 2 || (n + order) % 4 === (ascending ? 0 : 2) && (reach.everything || n % 3 === 0);
    for (const [at, orderBy] of JOB_ORDERS.entries()) {
      for (const ascending of [true, false]) {
        for (const [filter, fits] of filters.filter((_, n) => isTried(n, at, ascending))) {
          const expected = all.filter(fits).sort(compare(orderBy, ascending)).map(({ id }) => id);
          const found: string[] = [];
          for (let page = 1; page <= Math.ceil(expected.length / 40); page++) {
            const o = { orderBy, ascending, page, pageSize: 40, ...filter };
            const { items, totalCount } = await listJobs(sql, reach, o);
            assert.equal(totalCount, expected.length);
            found.push(...items.map(({ id }) => id));
          }
          assert.deepEqual(found, expected, `${orderBy} ${ascending} ${JSON.stringify(filter)}`);
        }
      }
    }
  });
}

Deno.test("every queue shows since when its oldest job waits, also with more queues than one scan step finds", async () => {
  const job = { jobTypeName: "steward.echo", serializedArgs: "{}", maxRetries: 0 };
  const queues = Array.from({ length: 1_100 }, (_, n) => `q${n}`);
  await transact(
    sql,
    (tx) => insertJobs({ wakeUps: { at() {} } }, tx, queues.map((queue) => ({ ...job, queue }))),
  );
  const found = (await readQueues({ sql, jobTypes: new JobTypes() }, { everything: true }))
    .filter(({ queue }) => /^q\d/.test(queue) && queues.includes(queue));
  assert.equal(found.length, queues.length);
  assert.ok(found.every(({ oldestDueAt }) => oldestDueAt !== null));
});

Deno.test("after a restore into a new server, whose transactions are counted from 1, all changes are counted", async () => {
  const before = await readJobStats(sql, everything);
  await sql`update count_folds set folded_to = ((pg_current_xact_id()::text::bigint + 1000000)::text)::xid8`;
  await sql`insert into job_count_changes (status, type, priority, queue, job_type_name, n)
    values ('Succeeded', 'Delayed', 2, 'restored', 'test.backlog', 3)`;
  await foldCounts(sql, { always: true });
  assert.equal((await readJobStats(sql, everything)).succeededJobs, before.succeededJobs + 3);
});

Deno.test("totals of jobs between two times are exact before and after folds, changes and deletions", async () => {
  await sql`
    insert into jobs (id, created_at, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane,
      due_at, max_retries)
    select id, uuid_extract_timestamp(id), case n % 2 when 0 then ${mine} else ${other} end::uuid,
      'created.type' || n / 2 % 2, '{}', 'FireAndForget',
      (array['Enqueued', 'Succeeded', 'Failed'])[1 + n % 3]::job_status, 2, 'q' || n % 2, 'test', now(), 3
    from generate_series(1, 1800) n, uuidv7(make_interval(secs => n * -5)) id`;
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  const times = [{ from: ago(100) }, { from: ago(120), to: ago(25) }, { from: ago(20), to: ago(60) }];
  const rowsIn = async ({ from = new Date(0), to = new Date() }: JobFilters) =>
    await sql<{ status: string; queue: string; type: string; isOfMine: boolean }[]>`
      select status, queue, job_type_name as type, coalesce(tenant_id = ${mine}, false) as is_of_mine from jobs
      where created_at between ${from} and ${to}`;
  type Row = Awaited<ReturnType<typeof rowsIn>>[number];
  const filters: [JobFilters, fits: (row: Row) => boolean][] = [
    [{}, () => true],
    [{ status: "Succeeded" }, ({ status }) => status === "Succeeded"],
    [
      { jobTypeName: "created.type1", status: "Failed" },
      ({ type, status }) => type + status === "created.type1Failed",
    ],
    [{ searchTerm: "TYPE0" }, ({ type }) => type.endsWith("type0")],
    [{ queue: "q1" }, ({ queue }) => queue === "q1"],
  ];
  const assertTotals = async () => {
    for (const within of times) {
      const rows = await rowsIn(within);
      for (const [filter, fits] of filters) {
        const options = { ...inOrderOfIds, pageSize: 1, ...within, ...filter };
        const message = JSON.stringify(options);
        assert.equal(
          (await listJobs(sql, everything, options)).totalCount,
          rows.filter(fits).length,
          message,
        );
        const own = rows.filter((row) => row.isOfMine && fits(row));
        assert.equal((await listJobs(sql, ofMine, options)).totalCount, own.length, message);
      }
    }
  };
  await until(() => foldCounts(sql, { always: true }));
  await assertTotals();
  await sql`update jobs set status = 'Cancelled' where job_type_name like 'created.%' and created_at < ${
    ago(90)
  }`;
  await sql`delete from jobs where created_at between ${ago(80)} and ${ago(50)}`;
  await assertTotals();
  await until(() => foldCounts(sql, { always: true }));
  await assertTotals();
  const [left] = await sql`select (select count(*) from job_creation_count_deltas) as created,
    (select count(*) from job_count_deltas) as deltas, (select count(*) from job_counts where n <= 0) as empty`;
  assert.deepEqual({ ...left }, { created: 0, deltas: 0, empty: 0 });
  const within = times[1]!;
  const counts = Object.groupBy(await rowsIn(within), ({ status }) => status);
  const expected = Object.entries(counts).map(([key, rows = []]) => ({ key, n: rows.length }));
  assert.deepEqual(new Set(await countByStatus(sql, everything, within)), new Set(expected));
});

Deno.test("a total of jobs between two times reads the jobs of two stretches, not all", async () => {
  const from = new Date(Date.now() - 140 * 60_000);
  const read = await transact(sql, async (tx) => {
    const rowsRead = async () =>
      (await tx<[{ n: number }]>`select (seq_tup_read + idx_tup_fetch)::bigint as n
        from pg_stat_xact_user_tables where relname = 'jobs'`)[0].n;
    const before = await rowsRead();
    const { matching } = await countJobs(tx, { everything: true }, { from, status: "Succeeded" });
    assert.ok(matching > 180);
    return await rowsRead() - before;
  });
  assert.ok(read > 0 && read <= 18 * 12, `${read} rows`);
});
