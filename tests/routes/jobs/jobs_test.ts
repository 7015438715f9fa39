import assert from "node:assert/strict";
import { z } from "zod";
import { defineJob, PostponeJob } from "../../../domain/jobs/job_type.ts";
import { invalid, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import * as jobs from "./job_calls.ts";
import { assertHas, enqueueJob, executionsOf, jobOf, JOBS, LATER, readJob, refusal } from "./job_calls.ts";

const t = await setupShared();

const end = Promise.withResolvers<string>();
const held = defineJob({
  name: "test.jobs-held",
  args: z.object({}),
  exposed: true,
  run(_args, { progress }) {
    progress(40, "half");
    return end.promise;
  },
});
const waiting = defineJob({
  name: "test.jobs-waiting",
  args: z.object({}),
  exposed: true,
  run(_args, { attempt }) {
    if (attempt < 3) throw new PostponeJob(`place ${attempt} in the line`, 60_000);
    return "done";
  },
});
t.steward.platform.jobTypes.register(held, waiting);
const actor = await t.actor();
const call = (id: string, verb: string) => actor.post(`${JOBS}/${id}/${verb}`);
const echo = (more: Record<string, unknown> = {}) => jobOf("steward.echo", {}, more);

Deno.test("a job is enqueued, runs, and stores its execution", async () => {
  const given = { argsTypeName: "Hello", queue: "mail", serializedArgs: '{"hello":"world"}' };
  const omitted = { scheduledAt: null, maxRetries: null, uniqueKey: null };
  const { status, body, headers } = await actor.post(JOBS, echo({ ...given, ...omitted, priority: "high" }));
  assert.deepEqual([status, headers.get("location")], [201, `${JOBS}/${body.id}`]);
  assertHas(body, { ...given, type: "FireAndForget", status: "Enqueued", priority: "High", maxRetries: 3 });
  assertHas(body, { tenantId: actor.tenantId, createdBy: actor.userId });
  assert.equal(await t.settled(body.id), "Succeeded");
  const job = await readJob(actor, body.id);
  assertHas(job, { status: "Succeeded", attempts: 1 });
  assert.ok(job.startedAt && job.completedAt);
  const [execution, ...more] = await executionsOf(actor, body.id);
  assertHas(execution, { status: "Succeeded", attemptNumber: 1, output: given.serializedArgs });
  assert.ok(execution.durationMs >= 0 && more.length === 0);
  assertHas(await actor.get(`${JOBS}/${body.id}/executions/1/log`), { status: 200, body: { totalCount: 0 } });
  assert.equal(refusal(await actor.get(`${JOBS}/${body.id}/executions/2/log`)), "404 JOB_NOT_FOUND");
});

Deno.test("a long output is cut between characters", async () => {
  const serializedArgs = JSON.stringify(`${"x".repeat(64 * 1024 - 2)}🇵🇹`);
  const { body } = await actor.post(JOBS, echo({ serializedArgs }));
  assert.equal(await t.settled(body.id), "Succeeded");
  assert.equal((await executionsOf(actor, body.id))[0].output, serializedArgs.slice(0, 64 * 1024 - 1));
});

Deno.test("with a global token only a system administrator enqueues jobs: the service's own", async () => {
  assert.equal(refusal(await (await t.actor({ global: true })).post(JOBS, echo())), "403 FORBIDDEN");
  const { body } = await (await t.actor({ role: "SystemAdmin", global: true })).post(JOBS, echo());
  assert.equal(body.tenantId, null);
  assert.equal(refusal(await actor.get(`${JOBS}/${body.id}`)), "404 JOB_NOT_FOUND");
  assert.equal((await t.systemAdmin.get(`${JOBS}/${body.id}`)).status, 200);
});

Deno.test("types that callers may not enqueue, and arguments that do not fit, are refused", async () => {
  for (const name of ["steward.nothing", "steward.prune-jobs", "__proto__"]) {
    assert.equal(refusal(await actor.post(JOBS, jobOf(name))), "400 JOB_TYPE_UNKNOWN", name);
  }
  const sleep = jobOf("steward.sleep", { milliseconds: -1 });
  const digits = '{"orders":[{"id":9007199254740993}]}';
  for (const job of [echo({ serializedArgs: "{" }), echo({ serializedArgs: digits }), sleep]) {
    invalid(await actor.post(JOBS, job), "serializedArgs");
  }
});

Deno.test("a future scheduledAt creates a delayed job, a past one runs at once", async () => {
  const { body: delayed } = await actor.post(JOBS, echo({ scheduledAt: LATER }));
  assertHas(delayed, { type: "Delayed", status: "Scheduled", scheduledAt: LATER, nextRetryAt: null });
  assert.equal(refusal(await call(delayed.id, "retry-now")), "400 JOB_CANNOT_RETRY");
  const { body: past } = await actor.post(JOBS, echo({ scheduledAt: "2020-01-01T00:00:00Z" }));
  assertHas(past, { status: "Enqueued", scheduledAt: "2020-01-01T00:00:00.000Z" });
  assert.equal(await t.settled(past.id), "Succeeded");
});

Deno.test("a failing job waits for its retry, can be retried at once, and ends as a dead letter", async () => {
  const id = await enqueueJob(actor, "steward.fail", { message: "no luck" }, { maxRetries: 1 });
  await t.settled(id, ["Failed"]);
  const failed = await readJob(actor, id);
  assertHas(failed, { status: "Failed", lastError: "no luck" });
  assert.ok(failed.nextRetryAt > failed.startedAt);
  assertHas(await call(id, "retry-now"), { status: 200, body: { nextRetryAt: null } });
  assert.equal(await t.settled(id), "DeadLettered");
  assert.equal(refusal(await call(id, "retry-now")), "400 JOB_CANNOT_RETRY");
  const executions = await executionsOf(actor, id);
  assert.equal(executions.length, 2);
  for (const n of [0, 1]) assertHas(executions[n], { attemptNumber: 2 - n, errorMessage: "no luck" });
});

Deno.test("a postponed job waits without an error, a failed attempt or a dead letter, and runs in the end", async () => {
  const own = await t.actor();
  const id = await enqueueJob(own, waiting.name, {}, { maxRetries: 0 });
  for (const attempts of [1, 2]) {
    const read = () => readJob(own, id);
    const job = await until(read, (job) => job.status === "Scheduled" && job.attempts === attempts);
    assertHas(job, { lastError: null, waitReason: `place ${attempts} in the line` });
    assert.ok(Date.parse(job.nextRetryAt) - Date.parse(job.startedAt) >= 60_000);
    assert.deepEqual(await executionsOf(own, id), []);
    const early = await own.post(`${JOBS}/${id}/retry-now`);
    assertHas(early, { status: 200, body: { status: "Enqueued", waitReason: null } });
  }
  assert.equal(await t.settled(id), "Succeeded");
  assertHas(await readJob(own, id), { attempts: 3, lastError: null, waitReason: null, nextRetryAt: null });
  const executions = await executionsOf(own, id);
  assert.equal(executions.length, 1);
  assertHas(executions[0], { attemptNumber: 3, status: "Succeeded" });
  assert.equal((await own.get(jobs.DEAD_LETTERS)).body.totalCount, 0);
  const { intervals } = (await own.get(`${JOBS}/throughput`)).body;
  assert.ok(intervals.every(({ failed }: { failed: number }) => failed === 0));
  const metrics = t.steward.platform.metrics.print();
  assert.match(metrics, /steward_job_attempts_total\{type="test\.jobs-waiting",outcome="Postponed"\} 2\n/);
  assert.doesNotMatch(metrics, /type="test\.jobs-waiting",outcome="Failed"/);

  const other = await enqueueJob(own, waiting.name);
  await t.settled(other, ["Scheduled"]);
  assert.equal((await own.post(`${JOBS}/${other}/cancel`)).body.status, "Cancelled");
});

Deno.test("a running attempt is the first execution, cannot be cancelled, and keeps its id", async () => {
  const id = await enqueueJob(actor, held.name);
  const first = async () => (await executionsOf(actor, id))[0];
  const running = await until(first, (found) => found?.progressPercent === 40);
  assertHas(running, { status: "Processing", completedAt: null, progressNote: "half" });
  const job = async () => (await actor.get(`${JOBS}/${id}`)).body;
  assertHas(await job(), { progressPercent: 40, progressNote: "half", output: null });
  assert.equal(refusal(await call(id, "cancel")), "400 JOB_CANNOT_CANCEL");
  end.resolve("ended");
  await t.settled(id);
  assertHas(await first(), { status: "Succeeded", id: running.id, output: '"ended"' });
  assertHas(await job(), { progressPercent: 40, output: '"ended"' });
  assert.equal(refusal(await call(id, "cancel")), "400 JOB_CANNOT_CANCEL");
});

Deno.test("of simultaneous cancels of a waiting job, also by a system administrator, one succeeds, with one audit row", async () => {
  const id = await enqueueJob(actor, "steward.echo", {}, { scheduledAt: LATER });
  const answers = await Promise.all([actor, t.systemAdmin].map((by) => by.post(`${JOBS}/${id}/cancel`)));
  const [done, ...others] = answers.toSorted((a, b) => a.status - b.status);
  assertHas(done, { status: 200, body: { status: "Cancelled" } });
  for (const other of others) assert.equal(refusal(other), "400 JOB_ALREADY_CANCELLED");
  const audit = await t.steward.platform.sql`select action from audit_log where target_id = ${id}`;
  assert.deepEqual(audit.map((row) => row.action), ["job.cancel"]);
});

Deno.test("a bulk request creates all jobs or none, unless it says to continue on errors", async () => {
  const own = await t.actor();
  const bulk = (items: unknown[], more = {}) => own.post(`${JOBS}/bulk`, { items, ...more });
  const items = [echo(), echo({ queue: "No Good" }), jobOf("nope"), echo({ queue: "a\0b" }), echo()];
  const refused = await bulk(items);
  assert.equal(refusal(refused), "400 VALIDATION_ERROR");
  assert.ok(refused.body.errors["items.1.queue"]);
  assert.equal((await own.get(JOBS)).body.totalCount, 0);
  const { body } = await bulk(items, { continueOnError: true });
  assertHas(body, { total: 5, succeeded: 2, failed: 3 });
  const codes = [[1, "VALIDATION_ERROR"], [2, "JOB_TYPE_UNKNOWN"], [3, "VALIDATION_ERROR"]];
  assert.deepEqual(pluck(body.failures, "index", "code"), codes);
  for (const id of jobs.idsOf(body.results)) assert.equal(await t.settled(id), "Succeeded");
});
