import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/claim.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { HopelessJob } from "../../../domain/jobs/job_type.ts";
import { laneName } from "../../../domain/jobs/lanes.ts";
import { openLease } from "../../../domain/jobs/lease.ts";
import { failed, settleJobs, succeeded } from "../../../domain/jobs/settle.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

async function claimed(queue: string) {
  const workerId = await openLease(sql, "test");
  await transact(sql, (tx) =>
    insertJobs({ bell: { ring() {} } }, tx, [
      { jobTypeName: "test.times", serializedArgs: "{}", maxRetries: 0, queue },
    ]));
  const plan = { lanes: [{ priority: 2, lane: laneName(queue) }], take: 1 };
  const [job] = (await claimFromLanes(sql, workerId, plan)).jobs;
  assert.ok(job);
  return { workerId, job };
}

for (const end of ["succeeded", "failed"] as const) {
  Deno.test(`what ${end} never ended before it began, also where the database's clock was set back`, async () => {
    const { workerId, job } = await claimed(end);
    await sql`update jobs set started_at = now() + interval '1 minute' where id = ${job.id}`;
    const times = { startedAt: performance.now(), endedAt: performance.now() };
    const settlement = end === "succeeded"
      ? succeeded(job, null, times)
      : failed(job, new HopelessJob("no"), times);
    await settleJobs(sql, workerId, [settlement]);
    const [row] = await sql`
      select j.completed_at >= j.started_at as job, e.completed_at >= e.started_at and e.started_at >= j.started_at as execution
      from jobs j join job_executions e on e.job_id = j.id where j.id = ${job.id}`;
    assert.deepEqual({ ...row }, { job: true, execution: true });
  });
}
