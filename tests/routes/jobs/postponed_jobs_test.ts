import assert from "node:assert/strict";
import { z } from "zod";
import { defineJob, PostponeJob } from "../../../domain/jobs/job_type.ts";
import { until } from "../../support/until.ts";
import { setupShared } from "../../support/setup.ts";

const ATTEMPTS = 3;
const waiting = defineJob({
  name: "test.waiting",
  args: z.object({}),
  exposed: true,
  run(_args, { attempt }) {
    if (attempt < ATTEMPTS) throw new PostponeJob(`place ${attempt} in the line`, 60_000);
    return "done";
  },
});

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
t.steward.platform.jobTypes.register(waiting);
const actor = await t.actor();
const url = "/api/v1/jobs";
const body = { jobTypeName: waiting.name, serializedArgs: "{}", maxRetries: 0 };

Deno.test("a postponed job waits without an error, a failed attempt or a dead letter, and runs in the end", async () => {
  const { id } = (await actor.post(url, body)).body;
  for (let attempt = 1; attempt < ATTEMPTS; attempt++) {
    const { body: job } = await until(
      () => actor.get(`${url}/${id}`),
      ({ body }) => body.status === "Scheduled" && body.attempts === attempt,
    );
    assert.deepEqual([job.attempts, job.lastError, job.waitReason], [
      attempt,
      null,
      `place ${attempt} in the line`,
    ]);
    const seconds = (Date.parse(job.nextRetryAt) - Date.now()) / 1000;
    assert.ok(seconds > 50 && seconds <= 60, `due in ${seconds} s`);
    assert.equal((await actor.get(`${url}/${id}/executions`)).body.totalCount, 0);
    const early = await actor.post(`${url}/${id}/retry-now`);
    assert.deepEqual([early.status, early.body.status, early.body.waitReason], [200, "Enqueued", null]);
  }
  assert.equal(await t.settled(id), "Succeeded");
  const { body: job } = await actor.get(`${url}/${id}`);
  assert.deepEqual([job.attempts, job.lastError, job.waitReason, job.nextRetryAt], [
    ATTEMPTS,
    null,
    null,
    null,
  ]);
  const { items } = (await actor.get(`${url}/${id}/executions`)).body;
  assert.deepEqual(
    items.map((item: { attemptNumber: number; status: string }) => [item.attemptNumber, item.status]),
    [[ATTEMPTS, "Succeeded"]],
  );
  assert.equal((await actor.get("/api/v1/dead-letter-jobs")).body.totalCount, 0);
  const { intervals } = (await actor.get(`${url}/throughput`)).body;
  assert.equal(intervals.reduce((sum: number, { failed }: { failed: number }) => sum + failed, 0), 0);
  const metrics = t.steward.platform.metrics.print();
  assert.match(metrics, /steward_job_attempts_total\{type="test\.waiting",outcome="Postponed"\} 2\n/);
  assert.doesNotMatch(metrics, /type="test\.waiting",outcome="Failed"/);
});

Deno.test("a postponed job can be cancelled; a job scheduled by its caller cannot be retried now", async () => {
  const { id } = (await actor.post(url, body)).body;
  await t.settled(id, ["Scheduled"]);
  assert.equal((await actor.post(`${url}/${id}/cancel`)).body.status, "Cancelled");
  const scheduledAt = new Date(Date.now() + 3_600_000).toISOString();
  const later = (await actor.post(url, { ...body, scheduledAt })).body;
  assert.deepEqual([later.nextRetryAt, later.waitReason], [null, null]);
  assert.equal((await actor.post(`${url}/${later.id}/retry-now`)).body.code, "JOB_CANNOT_RETRY");
});
