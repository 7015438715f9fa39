import assert from "node:assert/strict";
import { JOB_ORDERS, listJobs } from "../../../domain/jobs/lists/job_list.ts";
import { readQueues } from "../../../domain/jobs/lists/queues.ts";
import type { JobReach } from "../../../domain/jobs/reach.ts";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { setupFile } from "../../support/setup.ts";

const t = await setupFile({ JOB_CONCURRENCY: "0" });
const { sql } = t;
const other = await t.tenant();
const everything = { everything: true } as const;

Deno.test("behind 20,001 waiting jobs, queues show the oldest one of each, and lists find the jobs that have ended", async () => {
  const actor = await t.actor();
  const insert = (status: string, count: number, tenantId: string | null) =>
    sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
        completed_at, max_retries)
      select uuidv7(), ${tenantId}, 'steward.echo', '{}', 'FireAndForget', ${status}::job_status, n % 4, 'long',
        'long||' || ${tenantId}::text, now() - make_interval(mins => n), case when ${status} = 'Succeeded' then now() end, 0
      from generate_series(1, ${count}::int) n`;
  await insert("Succeeded", 3_000, actor.tenantId);
  await insert("Enqueued", 20_001, actor.tenantId);
  await insert("Enqueued", 5, other);
  const oldest = async (reach: JobReach) => {
    const found = (await readQueues(t.platform, reach)).find(({ queue }) => queue === "long");
    return [found?.waiting, Math.round((Date.now() - (found?.oldestDueAt?.getTime() ?? 0)) / 60_000)];
  };
  const of = (tenantId: string | null) => ({ everything: false as const, tenantId: tenantId ?? "" });
  assert.deepEqual(await oldest(everything), [20_006, 20_001]);
  assert.deepEqual(await oldest(of(actor.tenantId)), [20_001, 20_001]);
  assert.deepEqual(await oldest(of(other)), [5, 5]);
  const { body } = await actor.get("/api/v1/jobs?status=Succeeded");
  assert.deepEqual([body.totalCount, body.items.length], [3_000, 20]);
});

Deno.test("a few jobs behind twenty thousand others are found by any filter, in any order", async () => {
  const insert = (count: number, type: string, queue: string, priority: number) =>
    sql`insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, scheduled_at,
        started_at, completed_at, max_retries)
      select uuidv7(), ${type}, '{}', 'FireAndForget', 'Succeeded', ${priority}, ${queue}, 'test', now(), now(), now(), now(), 0
      from generate_series(1, ${count}::int)`;
  await insert(50, "test.few", "few", 1);
  await insert(20_100, "test.many", "many", 3);
  await foldCounts(sql, { always: true });
  for (const [n, orderBy] of JOB_ORDERS.entries()) {
    for (
      const [m, filter] of [{ queue: "few" }, { searchTerm: "FEW" }, { jobTypeName: "test.few", priority: 1 }]
        .entries()
    ) {
      const o = { orderBy, ascending: (n + m) % 2 === 0, page: 2, pageSize: 15, ...filter };
      const { items, totalCount } = await listJobs(sql, everything, o);
      assert.deepEqual([totalCount, items.length], [50, 15], `${orderBy} ${JSON.stringify(filter)}`);
    }
  }
});
