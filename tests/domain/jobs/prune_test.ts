import assert from "node:assert/strict";
import { pruneJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { firstIdOf, newId } from "../../../domain/shared/ids.ts";
import { readJobStats } from "../../../domain/jobs/statistics/stats.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const { sql } = t;
const now = new Date();
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);

/** A job with a row in each table of attempts. @param ended how many days ago; null: it has not ended */
async function job(
  tenantId: string,
  created: number,
  ended: number | null,
  status: string,
  hasDeadLetter = false,
) {
  const id = firstIdOf(daysAgo(created)).slice(0, 19) + newId().slice(19);
  await sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
      created_at, completed_at, max_retries, search_keys)
    values (${id}, ${tenantId}, 'steward.echo', '{}', 'FireAndForget', ${status}, 2, 'default', 'default||', now(),
      ${daysAgo(created)}, ${ended === null ? null : daysAgo(ended)}, 3, '{n=1}')`;
  await sql`insert into job_attempts (job_id, tenant_id, attempt_number, status, started_at, completed_at, worker_id)
    values (${id}, ${tenantId}, 1, 'Succeeded', now(), now(), ${newId()})`;
  await sql`insert into job_log_lines values (${id}, 1, 1, now(), 'info', 'x', null)`;
  await sql`insert into job_progress values (${id}, 1, 50, null)`;
  if (hasDeadLetter) {
    await sql`insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts)
      values (${newId()}, ${id}, ${tenantId}, 'steward.echo', 'default', '{}', 1)`;
  }
  return id;
}

Deno.test("only jobs that ended long enough ago are deleted, with all their rows", async () => {
  const tenantId = await t.tenant();
  const gone = [
    await job(tenantId, 40, 31, "Succeeded"),
    await job(tenantId, 40, 40, "Cancelled"),
    await job(tenantId, 40, 40, "DeadLettered"),
  ];
  const kept = [
    await job(tenantId, 40, 40, "DeadLettered", true),
    await job(tenantId, 40, 29, "Succeeded"),
    await job(tenantId, 40, null, "Scheduled"),
    await job(tenantId, 1, 1, "Succeeded"),
  ];
  assert.ok(await pruneJobs(t.platform, { retentionDays: 30, now }) >= gone.length);
  const left = await sql`select id from jobs where tenant_id = ${tenantId}`;
  assert.deepEqual(left.map((row) => row.id).sort(), kept.sort());
  for (const table of ["job_executions", "job_log_lines", "job_progress", "job_search_keys"]) {
    const rows = await sql`select distinct job_id from ${sql(table)} where job_id = any(${[
      ...gone,
      ...kept,
    ]}::uuid[])`;
    assert.deepEqual(rows.map((row) => row.jobId).sort(), kept, table);
  }
  assert.deepEqual(await Array.fromAsync(t.platform.objects.list("archive/")), []);
  const stats = await readJobStats(sql, { everything: false, tenantId });
  assert.deepEqual([stats.totalJobs, stats.totalExecutions], [4, 4]);
});

Deno.test("many jobs are deleted in batches, and old jobs that must stay do not block the scan", async () => {
  const tenantId = await t.tenant();
  const first = firstIdOf(daysAgo(50)).slice(0, 15);
  await sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
      created_at, completed_at, max_retries)
    select overlay(gen_random_uuid()::text placing ${first} from 1 for 15)::uuid, ${tenantId}, 'steward.echo', '{}',
      'FireAndForget', case when n % 3 = 0 then 'Scheduled' else 'Succeeded' end::job_status, 2, 'default', 'default||', now(),
      ${daysAgo(50)}, case when n % 3 <> 0 then ${daysAgo(45)}::timestamptz end, 3
    from generate_series(1, 3000) n`;
  assert.ok(await pruneJobs(t.platform, { retentionDays: 30, now }) >= 2000);
  assert.equal((await sql`select 1 from jobs where tenant_id = ${tenantId}`).length, 1000);
  assert.equal(
    await pruneJobs(t.platform, { retentionDays: 30, now, signal: AbortSignal.abort() }),
    0,
  );
});
