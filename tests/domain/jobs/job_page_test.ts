import assert from "node:assert/strict";
import { JOB_ORDERS, listJobs } from "../../../domain/jobs/job_list.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { JOB_STATUSES, type JobSummary, PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { foldCounts, type JobFilters } from "../../../domain/jobs/counts.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const [mine, other] = [await t.tenant(), await t.tenant()];
const everything = { everything: true } as const;
const newIds = (count: number) => Array.from({ length: count }, newId);
const ofMine = { everything: false, tenantId: mine } as const;

/** Jobs of two tenants in every status. The orders of creation, start and end differ, and some times are equal. */
await sql`delete from jobs`;
await sql`
  insert into jobs (id, created_at, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
    scheduled_at, started_at, completed_at, worker_id, parent_job_id, max_retries)
  select id, now(), case when n % 3 = 0 then ${other} else ${mine} end::uuid,
    'test.type' || n % 4, '{}', 'FireAndForget', status, n % 4, 'q' || n % 3, 'test', now() + interval '1 hour',
    case when n % 5 < 2 then timestamptz '2026-01-01' + make_interval(mins => (n * 7 % 31)::int) end,
    case when status not in ('Scheduled', 'AwaitingParent') then timestamptz '2026-01-02' + make_interval(mins => (n * 11 % 37)::int) end,
    case when status in ('Succeeded', 'DeadLettered', 'Cancelled') then timestamptz '2026-01-03' + make_interval(mins => (n * 13 % 41)::int) end,
    case when status = 'Processing' then gen_random_uuid() end,
    case when status = 'AwaitingParent' then gen_random_uuid() end, 0
  from unnest(${newIds(150)}::uuid[]) with ordinality made (id, n)
  cross join lateral (select (enum_range(null::job_status))[1 + (n * 5 % 8)::int] as status) s`;

const TIMES = { ScheduledAt: "scheduledAt", StartedAt: "startedAt", CompletedAt: "completedAt" } as const;

/** The order of the list: null times last, ties by id. */
function compare(order: typeof JOB_ORDERS[number], ascending: boolean) {
  const key = (job: JobSummary): number | null => {
    if (order === "CreatedAt") return 0;
    if (order === "Priority") return PRIORITIES.indexOf(job.priority);
    if (order === "Status") return JOB_STATUSES.indexOf(job.status);
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
    ];
    for (const orderBy of JOB_ORDERS) {
      for (const ascending of [true, false]) {
        for (const [filter, fits] of filters) {
          const expected = all.filter(fits).sort(compare(orderBy, ascending)).map(({ id }) => id);
          const found: string[] = [];
          for (let page = 1; page <= Math.ceil(expected.length / 17); page++) {
            const { items, totalCount } = await listJobs(sql, reach, {
              orderBy,
              ascending,
              page,
              pageSize: 17,
              ...filter,
            });
            assert.equal(totalCount, expected.length);
            found.push(...items.map(({ id }) => id));
          }
          assert.deepEqual(found, expected, `${orderBy} ${ascending} ${JSON.stringify(filter)}`);
        }
      }
    }
  });
}

Deno.test("a few jobs behind twenty thousand others are found by any filter, in any order", async () => {
  await sql`
    insert into jobs (id, created_at, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
      scheduled_at, started_at, completed_at, max_retries)
    select id, now(), 'test.many', '{}', 'FireAndForget', 'Succeeded', 3, 'many', 'test', now(), now(), now(), now(), 0
    from unnest(${newIds(20_100)}::uuid[]) made (id)`;
  await foldCounts(sql, { always: true });
  for (const orderBy of JOB_ORDERS) {
    for (const filter of [{ queue: "q2" }, { searchTerm: "type" }, { priority: 1 }]) {
      for (const ascending of [true, false]) {
        const { items, totalCount } = await listJobs(sql, everything, {
          orderBy,
          ascending,
          page: 2,
          pageSize: 15,
          ...filter,
        });
        assert.ok(totalCount < 151);
        assert.equal(items.length, 15, `${orderBy} ${JSON.stringify(filter)}`);
      }
    }
  }
});
