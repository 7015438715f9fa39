import assert from "node:assert/strict";
import { claimFromLanes } from "../../../domain/jobs/claim.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { DependencyUnavailable, PermanentJobFailure, PostponeJob } from "../../../domain/jobs/job_type.ts";
import { laneName } from "../../../domain/jobs/job_row.ts";
import { openLease } from "../../../domain/jobs/lease.ts";
import { failed, settleJobs, succeeded } from "../../../domain/jobs/settle.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

async function claimed(queue: string) {
  const workerId = await openLease(sql, "test");
  await transact(sql, (tx) =>
    insertJobs({ wakeUps: { at() {} } }, tx, [
      { jobTypeName: "test.times", serializedArgs: "{}", maxRetries: 0, queue },
    ]));
  const plan = { lanes: [laneName(queue)], take: 1 };
  const [job] = (await claimFromLanes(sql, workerId, plan)).jobs;
  assert.ok(job);
  return { workerId, job };
}

for (const end of ["succeeded", "failed"] as const) {
  Deno.test(`a job that ${end} never ends before it started, also if the database's clock was set back`, async () => {
    const { workerId, job } = await claimed(end);
    await sql`update jobs set started_at = now() + interval '1 minute' where id = ${job.id}`;
    const times = { startedAt: performance.now(), endedAt: performance.now() };
    const settlement = end === "succeeded"
      ? succeeded(job, null, times)
      : failed(job, new PermanentJobFailure("no"), times);
    await settleJobs(sql, workerId, [settlement]);
    const [row] = await sql`
      select j.completed_at >= j.started_at as job, e.completed_at >= e.started_at and e.started_at >= j.started_at as execution
      from jobs j join job_executions e on e.job_id = j.id where j.id = ${job.id}`;
    assert.deepEqual({ ...row }, { job: true, execution: true });
  });
}

Deno.test("outages of a dependency are retried with growing delays and use up no retries; after 24 h they count", async () => {
  const { workerId, job } = await claimed("outage");
  const plan = { lanes: [laneName("outage")], take: 1 };
  /** Runs one more attempt, `hours` after the first outage. */
  async function attemptAfter(hours: number, error: Error = new DependencyUnavailable("the store is away")) {
    await sql`
      update jobs set status = 'Enqueued', due_at = now(), outage_since = now() - make_interval(secs => ${
      hours * 3600
    })
      where id = ${job.id}`;
    const [again] = (await claimFromLanes(sql, workerId, plan)).jobs;
    assert.ok(again);
    return await settle(again, error);
  }
  async function settle(held: typeof job, error: Error) {
    const times = { startedAt: performance.now(), endedAt: performance.now() };
    await settleJobs(sql, workerId, [failed(held, error, times)]);
    const [row] = await sql<{ status: string; failures: number; pause: number; isOutage: boolean }[]>`
      select status, failures, extract(epoch from due_at - now())::float8 as pause, outage_since is not null as is_outage
      from jobs where id = ${job.id}`;
    assert.ok(row);
    return row;
  }
  const between = (low: number, value: number, high: number) =>
    assert.ok(low <= value && value <= high, `${value} is not between ${low} and ${high}`);

  const first = await settle(job, new DependencyUnavailable("the store is away"));
  assert.deepEqual([first.status, first.failures, first.isOutage], ["Failed", 0, true]);
  between(1.5, first.pause, 2.5);
  between(23, (await attemptAfter(1 / 60)).pause, 37);
  between(235, (await attemptAfter(23.9)).pause, 365);
  between(
    598,
    (await attemptAfter(1, new DependencyUnavailable("busy", { retryAfterMs: 600_000 }))).pause,
    600,
  );

  const other = await attemptAfter(1, new PostponeJob("not yet", 0));
  assert.equal(other.status, "Scheduled");
  assert.equal(other.isOutage, true, "a postponement does not end the outage");
  await sql`update jobs set max_retries = 1 where id = ${job.id}`;
  const refusal = await attemptAfter(1, new Error("no such bucket"));
  assert.deepEqual([refusal.status, refusal.failures, refusal.isOutage], ["Failed", 1, false]);
  const tooLong = await attemptAfter(24);
  assert.deepEqual([tooLong.status, tooLong.failures], ["DeadLettered", 2]);
});

Deno.test("an outage and the delay of a retry begin when the attempt is settled, also in a transaction that began before", async () => {
  const { workerId, job } = await claimed("late-transaction");
  const times = { startedAt: performance.now(), endedAt: performance.now() };
  const found = await transact(sql, async (tx) => {
    await until(async () =>
      (await tx`select clock_timestamp() > now() + interval '2 ms' as is_later`)[0]?.isLater
    );
    await settleJobs(tx, workerId, [failed(job, new DependencyUnavailable("the store is away"), times)]);
    return (await tx`select outage_since > now() as is_outage_later, due_at >= outage_since + interval '1.6 s' as is_due_later
      from jobs where id = ${job.id}`)[0];
  });
  assert.deepEqual({ ...found }, { isOutageLater: true, isDueLater: true });
});
