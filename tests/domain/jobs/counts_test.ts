import assert from "node:assert/strict";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { countJobs } from "../../../domain/jobs/lists/job_counts.ts";
import { readJobStats } from "../../../domain/jobs/statistics/stats.ts";
import { setup } from "../../support/setup.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const sql = mainPool(t.steward.platform.sql);
const tenants = await Promise.all([t.actor(), t.actor()]);

async function counted(tenantId: string) {
  const [jobs] = await sql`
    select count(*) as total, count(*) filter (where status = 'Enqueued') as enqueued,
      count(*) filter (where status = 'Processing') as processing,
      count(*) filter (where status = 'Succeeded') as succeeded, count(*) filter (where status = 'Failed') as failed,
      count(*) filter (where status = 'DeadLettered') as dead, count(*) filter (where status = 'Scheduled') as scheduled
    from jobs where tenant_id = ${tenantId}`;
  const [executions] = await sql`
    select count(*) as total, coalesce(avg(extract(epoch from e.completed_at - e.started_at) * 1000), 0)::float8 as average
    from job_executions e join jobs j on j.id = e.job_id where j.tenant_id = ${tenantId}`;
  return { jobs, executions };
}

Deno.test("the counters equal a count of the rows after every kind of job change, with folds in between", async () => {
  let folding = true;
  const folds = (async () => {
    while (folding) await foldCounts(sql, { always: true });
  })();
  const ids: string[] = [];
  await Promise.all(tenants.flatMap((actor) =>
    Array.from({ length: 24 }, async (_, index) => {
      const kind = index % 4;
      const { body } = await actor.post("/api/v1/jobs", {
        jobTypeName: kind === 1 ? "steward.fail" : "steward.echo",
        serializedArgs: "{}",
        maxRetries: index % 3 === 0 ? 0 : 3,
        queue: `q${index % 5}`,
        priority: index % 2 ? "High" : "Low",
        ...(kind === 2 ? { scheduledAt: "2050-01-01T00:00:00Z" } : {}),
      });
      ids.push(body.id);
      if (kind === 2 && index % 8 === 2) await actor.post(`/api/v1/jobs/${body.id}/cancel`);
      else if (kind !== 2) await t.settled(body.id, ["Succeeded", "Failed", "DeadLettered"]);
    })
  ));
  folding = false;
  await folds;
  for (const { tenantId } of tenants) {
    const reach = { everything: false as const, tenantId: tenantId ?? "" };
    const stats = await readJobStats(sql, reach);
    const { jobs, executions } = await counted(reach.tenantId);
    assert.deepEqual({
      total: stats.totalJobs,
      enqueued: stats.enqueuedJobs,
      processing: stats.processingJobs,
      succeeded: stats.succeededJobs,
      failed: stats.failedJobs,
      dead: stats.deadLetteredJobs,
      scheduled: stats.scheduledJobs,
    }, { ...jobs });
    assert.equal(stats.totalExecutions, executions?.total);
    assert.ok(Math.abs(stats.averageExecutionDurationMs - executions?.average) < 0.01);
    const [row] = await sql`select count(*) as n from jobs where tenant_id = ${reach.tenantId}
      and queue = 'q1' and priority = 1 and job_type_name like '%fail%'`;
    const filters = { queue: "q1", priority: 1, searchTerm: "Fail" };
    assert.deepEqual(await countJobs(sql, reach, filters), { matching: row?.n, all: stats.totalJobs });
  }
  const everything = await readJobStats(sql, { everything: true });
  const [all] = await sql`select count(*) as n from jobs`;
  assert.equal(everything.totalJobs, all?.n);
});

Deno.test("folding leaves no deltas and no empty counters", async () => {
  await sql`delete from jobs where status = 'Scheduled'`;
  await foldCounts(sql, { always: true });
  const [row] = await sql`select (select count(*) from job_count_deltas) as deltas,
    (select count(*) from job_counts where n <= 0) as empty`;
  assert.deepEqual({ ...row }, { deltas: 0, empty: 0 });
});

Deno.test("after a restore into a new server, whose transactions are counted from 1, all changes are counted", async () => {
  const before = (await readJobStats(sql, { everything: true })).succeededJobs;
  await sql`
    update count_folds set folded_to = ((pg_current_xact_id()::text::bigint + 1000000)::text)::xid8`;
  await sql`
    insert into job_count_changes (status, type, priority, queue, job_type_name, n)
    values ('Succeeded', 'Delayed', 2, 'restored', 'test.backlog', 3)`;
  await foldCounts(sql, { always: true });
  assert.equal((await readJobStats(sql, { everything: true })).succeededJobs, before + 3);
});
