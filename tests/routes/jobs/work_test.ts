// Remote workers: what they claim, report and settle, and what becomes of jobs that they lose or that are cancelled.
import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import { RemoteWorker, type WorkItem } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import * as calls from "./job_calls.ts";
import {
  assertHas,
  declareType,
  enqueueJob,
  enqueueMany,
  jobIdsOf,
  JOBS,
  RECURRING,
  refusal,
  WORKER_PERMISSIONS,
} from "./job_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const tenant = await t.actor({ permissions: WORKER_PERMISSIONS });
const other = await t.actor({ permissions: WORKER_PERMISSIONS });
const platform = await t.actor({ role: "SystemAdmin", global: true });
const worker = new RemoteWorker(tenant, "one");

const declare = (type: Record<string, unknown> = {}, by: Actor = tenant) => declareType(by, type);
const enqueue = (type: string, args: unknown = {}, more = {}, by: Actor = tenant) =>
  enqueueJob(by, type, args, more);
const read = (id: string) => calls.readJob(tenant, id);
const lastRun = async (id: string) => (await calls.executionsOf(tenant, id))[0];
const ask = (id: string) => tenant.post(`${JOBS}/${id}/request-cancel`);
async function claimOne(type: Record<string, unknown> = {}, args: unknown = {}) {
  const name = await declare(type);
  const id = await enqueue(name, args);
  return { id, name, jobs: await claim(name, id) };
}
async function claim(type: string, id: string): Promise<WorkItem[]> {
  const jobs = await worker.claim([type], { waitSeconds: 30 });
  assert.deepEqual(jobIdsOf(jobs), [id]);
  return jobs;
}
/** The lease of a job ends now, and nobody has noticed. */
const endLease = (id: string) => sql`update jobs set lease_until = now() - interval '1 s' where id = ${id}`;
const endDeadline = (id: string) =>
  sql`update jobs set deadline = now() - interval '1 s', started_at = now() - interval '31 s' where id = ${id}`;
async function loseLease(id: string): Promise<void> {
  await endLease(id);
  await t.steward.sweep();
}

Deno.test("a job is claimed, reported on, and settled with its output", async () => {
  const type = await declare({ timeoutSeconds: 120, maxRetries: 7 });
  const id = await enqueue(type, { n: 1, big: 1 });
  const { status, body } = await tenant.post("/api/v1/work/claim", { types: [type], worker: "one" });
  assert.deepEqual([status, body.leaseSeconds, body.jobs.length], [200, 60, 1]);
  const [{ leaseUntil, deadline, traceparent, ...job }] = body.jobs;
  const given = { jobTypeName: type, tenantId: tenant.tenantId, args: { n: 1, big: 1 }, maxRetries: 7 };
  assert.deepEqual(job, { ...given, jobId: id, attempt: 1, attempts: 0 });
  assert.equal(Date.parse(deadline) - Date.parse(leaseUntil), 60_000);
  assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.equal((await read(id)).status, "Processing");
  assert.deepEqual(await worker.claim([type]), []);

  const log = [{ level: "info", message: "a", fields: { n: 1 } }];
  const beat = { jobs: [{ jobId: id, attempt: 1, percent: 40, note: "half", log }] };
  const { body: beaten } = await tenant.post("/api/v1/work/heartbeat", beat);
  assert.deepEqual([beaten.drain, beaten.jobs[0].state], [false, "held"]);
  await worker.beat(body.jobs, { log: [{ level: "warn", message: "b" }, { level: "error", message: "c" }] });
  assertHas(await lastRun(id), { status: "Processing", progressPercent: 40, progressNote: "half" });
  const { items } = (await tenant.get(`${JOBS}/${id}/executions/1/log`)).body;
  const lines = pluck(items, "level", "message", "fields");
  assert.deepEqual(lines, [["info", "a", { n: 1 }], ["warn", "b", null], ["error", "c", null]]);

  await endLease(id);
  assert.deepEqual(await worker.settle(body.jobs, "succeeded", { output: { sent: true } }), ["settled"]);
  assertHas(await read(id), { status: "Succeeded", attempts: 1, lastError: null });
  assertHas(await lastRun(id), { status: "Succeeded", output: '{"sent":true}', attemptNumber: 1 });
  assert.deepEqual(await worker.beat(body.jobs), ["lost"]);
});

const OUTCOMES = {
  succeeded: { status: "Succeeded", execution: "Succeeded", afterCancelRequest: "Succeeded" },
  failed: { status: "Failed", execution: "Failed", afterCancelRequest: "Cancelled" },
  hopeless: { status: "DeadLettered", execution: "Failed", afterCancelRequest: "Cancelled" },
  postponed: { status: "Scheduled", execution: undefined, afterCancelRequest: "Cancelled" },
  released: { status: "Enqueued", execution: "Abandoned", afterCancelRequest: "Cancelled" },
};

for (const [outcome, { status, execution, afterCancelRequest }] of Object.entries(OUTCOMES)) {
  Deno.test(`settled as ${outcome}: again it is settled, otherwise a conflict; after a cancel request ${afterCancelRequest}`, async () => {
    const { id, name, jobs } = await claimOne();
    assert.deepEqual(await worker.settle([{ jobId: id, attempt: 2 }], outcome), ["lost"], "the next attempt");
    for (const _ of [1, 2]) assert.deepEqual(await worker.settle(jobs, outcome), ["settled"]);
    const contrary = outcome === "succeeded" ? "failed" : "succeeded";
    assert.deepEqual(await worker.settle(jobs, contrary), ["conflict"]);
    assert.deepEqual(await worker.settle([...jobs, ...jobs], outcome), ["settled", "settled"]);
    assert.deepEqual([(await read(id)).status, (await lastRun(id))?.status], [status, execution]);
    if (outcome === "released") {
      const again = await claim(name, id);
      assertHas(again[0], { attempt: 2, attempts: 0 }); // released counts for nothing
      assertHas(await read(id), { lastError: null });
      assert.deepEqual(await worker.settle(jobs, "released"), ["settled"]);
      assert.deepEqual(await worker.settle(jobs, "succeeded"), ["conflict"]);
      assert.deepEqual(await worker.settle(again, "succeeded"), ["settled"]);
    }

    const asked = await claimOne();
    assert.deepEqual(await worker.beat(asked.jobs), ["held"]);
    assert.equal((await ask(asked.id)).status, 202);
    assert.equal((await read(asked.id)).status, "Processing");
    assert.deepEqual(await worker.beat(asked.jobs), ["cancel"]);
    for (const _ of [1, 2]) assert.deepEqual(await worker.settle(asked.jobs, outcome), ["settled"]);
    const ended = await read(asked.id);
    assert.deepEqual([ended.status, ended.completedAt !== null], [afterCancelRequest, true]);
    assert.equal(await calls.deadLetterOf(tenant, asked.id), undefined);
  });
}

Deno.test("failures are retried after a delay and end as a dead letter; postponed attempts do not count", async () => {
  const type = await declare({ maxRetries: 1 });
  const id = await enqueue(type);
  const steps = [["postponed", 0], ["failed", 0], ["postponed", 1], ["failed", 1]] as const;
  for (const [outcome, attempts] of steps) {
    const jobs = await claim(type, id);
    assert.equal(jobs[0]?.attempts, attempts, outcome);
    await worker.settle(jobs, outcome, { error: "no answer", retryInSeconds: 0 });
  }
  assertHas(await read(id), { status: "DeadLettered", lastError: "no answer", attempts: 4 });
  const letter = await calls.deadLetterOf(tenant, id);
  const { status, body } = await tenant.post(`${calls.DEAD_LETTERS}/${letter.id}/retry`);
  assert.equal(status, 200);
  assertHas((await claim(type, body.id))[0], { attempt: 1, attempts: 0, maxRetries: 1 });
});

Deno.test("continuations and recurring jobs of remote types run remotely, and never in the service", async () => {
  const type = await declare();
  const parent = await enqueue(type);
  await t.settled(await enqueue("steward.echo"));
  await t.steward.sweep();
  assert.equal((await read(parent)).status, "Enqueued");
  const child = await enqueue(type, {}, { parentJobId: parent });
  const first = await claim(type, parent);
  const waiting = claim(type, child);
  await worker.settle(first, "succeeded");
  await waiting;
  await tenant.post(RECURRING, { jobId: type, jobTypeName: type, cronExpression: "0 4 * * *" });
  await claim(type, (await tenant.post(`${RECURRING}/${type}/trigger`)).body.id);
});

Deno.test("the first lost lease does not count, further ones do, and the late worker is told", async () => {
  const type = await declare({ maxRetries: 1 });
  const id = await enqueue(type);
  for (const attempts of [0, 0, 1]) {
    const jobs = await claim(type, id);
    assert.equal(jobs[0]?.attempts, attempts);
    await endLease(id);
    assert.deepEqual(await worker.beat(jobs), ["held"], "within the deadline, until the end is noticed");
    await t.steward.sweep();
    assert.equal((await read(id)).status, "Processing", "the heartbeat has renewed the lease");
    await loseLease(id);
    assert.deepEqual(await worker.beat(jobs), ["lost"]);
    assert.deepEqual(await worker.settle(jobs, "succeeded"), ["lost"]);
  }
  assert.equal((await read(id)).status, "DeadLettered");
});

Deno.test("past its deadline an attempt fails as a time-out, whatever its heartbeats", async () => {
  const { id, jobs } = await claimOne({ timeoutSeconds: 30 });
  assert.equal(jobs[0]?.leaseUntil, jobs[0]?.deadline, "a lease ends at the deadline");
  await endDeadline(id);
  assert.deepEqual(await worker.beat(jobs), ["lost"]);
  assert.deepEqual(await worker.settle(jobs, "succeeded"), ["lost"]);
  await loseLease(id);
  const job = await read(id);
  assert.equal(job.status, "Failed");
  assert.match(job.lastError, /longer than the 30000 ms declared\.type-\d+ may take/);
  assert.equal((await lastRun(id)).status, "Failed");
  const [row] = await sql`select failures from jobs where id = ${id}`;
  assert.equal(row?.failures, 1);
});

Deno.test("a tenant's jobs are claimed and settled only by callers that serve it", async () => {
  const shared = await declare({}, platform);
  const mine = await enqueue(shared);
  const theirs = await enqueue(shared, {}, {}, other);
  const otherWorker = new RemoteWorker(other, "one");
  const own = await otherWorker.claim([shared]);
  assert.deepEqual(jobIdsOf(own), [theirs]);
  const jobs = await claim(shared, mine);
  assert.deepEqual(await otherWorker.beat(jobs), ["lost"]);
  assert.deepEqual(await otherWorker.settle(jobs, "succeeded"), ["lost"]);
  assert.deepEqual(await worker.settle(jobs, "succeeded"), ["settled"]);
  assert.deepEqual(await otherWorker.settle(jobs, "failed"), ["lost"], "not even that it was settled");
  const all = new RemoteWorker(platform, "all");
  await otherWorker.settle(own, "released");
  const second = await enqueue(shared);
  const claimed = await all.claim([shared]);
  assert.deepEqual(jobIdsOf(claimed).sort(), [theirs, second].sort());
  assert.deepEqual(await all.settle(claimed, "succeeded"), ["settled", "settled"]);
});

Deno.test("unknown types and malformed items are refused whole", async () => {
  const { id: jobId, name, jobs } = await claimOne();
  const post = (verb: string, body: unknown) => tenant.post(`/api/v1/work/${verb}`, body);
  for (const types of [["absent.type"], [name, "steward.echo"]]) {
    assert.equal(refusal(await post("claim", { types, worker: "one" })), "400 JOB_TYPE_UNKNOWN");
  }
  const item = { jobId, attempt: 1, outcome: "succeeded" };
  const malformed = [
    { output: "x".repeat(65_536) },
    { outcome: "failed", error: "é".repeat(4_097) },
    { retryInSeconds: 1 },
  ];
  for (const more of malformed) {
    const refused = refusal(await post("settle", { jobs: [item, { ...item, ...more }] }));
    assert.equal(refused, "400 VALIDATION_ERROR", JSON.stringify(more).slice(0, 80));
  }
  const log = [{ level: "info", message: "x".repeat(2_048) }];
  assert.equal((await post("heartbeat", { jobs: [{ jobId, attempt: 1, log }] })).status, 400);
  assert.equal((await read(jobId)).status, "Processing");
  assert.deepEqual(await worker.settle(jobs, "succeeded", { output: "x".repeat(65_534) }), ["settled"]);
});

Deno.test("jobs that were enqueued while their type was deleted do not wait forever", async () => {
  const type = await declare();
  const id = await enqueue(type);
  const moved = id.replace(/^.{8}/, "00000000"); // enqueued long ago
  await sql`update job_types set deleted_at = now() where name = ${type}`;
  await sql`update jobs set id = ${moved} where id = ${id}`;
  await declare(); // announces a change, so that no instance knows the type
  await t.steward.sweep();
  await until(async () => (await read(moved)).status === "DeadLettered");
});

Deno.test("remote workers are listed by their names", async () => {
  const type = await declare();
  await enqueue(type);
  await new RemoteWorker(tenant, "listed-worker").claim([type]);
  const listed = async () => {
    const { body } = await platform.get(`${JOBS}/workers`);
    return body.find(({ host }: { host: string }) => host === "listed-worker");
  };
  const { isRemote, holds, program, jobs: [job] } = await until(listed);
  assert.deepEqual([isRemote, holds, job.jobTypeName], [true, 1, type]);
  assert.match(program, /^Deno\//, "the User-Agent of the claim");
});

Deno.test("a running handler of the service is aborted, and its job and continuations are cancelled", async () => {
  const id = await enqueue("steward.sleep", { milliseconds: 600_000 });
  const child = await enqueue("steward.echo", {}, { parentJobId: id });
  assert.equal(refusal(await ask(child)), "400 JOB_CANNOT_CANCEL", "it does not run");
  await until(async () => (await read(id)).status === "Processing");
  const { status, body, headers } = await ask(id);
  assert.deepEqual([status, headers.get("location")], [202, `${JOBS}/${id}`]);
  assert.ok(Date.parse(body.cancelRequestedAt) > 0);
  assert.ok((await ask(id)).status === 202 || (await read(id)).status === "Cancelled");
  assert.equal(await t.settled(id), "Cancelled");
  await until(async () => (await read(child)).status === "Cancelled");
  assert.equal(refusal(await ask(child)), "400 JOB_ALREADY_CANCELLED");
  assertHas(await read(id), { cancelRequestedAt: body.cancelRequestedAt, status: "Cancelled" });
});

Deno.test("a job whose worker is lost or late after a cancel request is cancelled, and no dead letter in the figures", async () => {
  const type = await declare({ maxRetries: 0 });
  for (const late of [false, true]) {
    const id = await enqueue(type);
    await claim(type, id);
    await loseLease(id); // the next one counts as a failure
    await claim(type, id);
    await ask(id);
    if (late) await endDeadline(id);
    await loseLease(id);
    assert.equal((await read(id)).status, "Cancelled");
  }
  const figures = async () => (await tenant.get(`${JOBS}/types/${type}/stats`)).body.total;
  const total = await until(figures, ({ abandoned, failed }) => abandoned + failed === 4);
  assertHas(total, { deadLettered: 0 });
});

Deno.test("of contradicting settlements at the same time one counts, and all calls agree on which", async () => {
  const type = await declare();
  await enqueueMany(tenant, type, Array(6).fill({}));
  const jobs = await worker.claim([type]);
  assert.equal(jobs.length, 6);
  const answers = await Promise.all(
    Object.keys(OUTCOMES).flatMap((outcome) => {
      const shuffled = jobs.toSorted(() => Math.random() - 0.5);
      const verdicts = worker.settle(shuffled, outcome).then((all) =>
        all.map((verdict, n) => ({ outcome, verdict, jobId: shuffled[n]?.jobId }))
      );
      return [verdicts, worker.beat(shuffled).then(() => [])];
    }),
  );
  const byJob = Map.groupBy(answers.flat(), ({ jobId }) => jobId);
  for (const { jobId } of jobs) {
    const verdicts = byJob.get(jobId) ?? [];
    const [winner, ...more] = verdicts.filter(({ verdict }) => verdict === "settled");
    assert.ok(winner && more.length === 0, JSON.stringify(verdicts));
    assert.equal(verdicts.filter(({ verdict }) => verdict === "conflict").length, verdicts.length - 1);
    const [row] =
      await sql`select status, exists (select from dead_letter_jobs where job_id = j.id) as is_dead
      from jobs j where id = ${jobId}`;
    const { status } = OUTCOMES[winner.outcome as keyof typeof OUTCOMES];
    assert.deepEqual({ ...row }, { status, isDead: status === "DeadLettered" });
  }
});

Deno.test("the next log lines of an attempt follow those of heartbeats at the same time", async () => {
  const { id, jobs } = await claimOne();
  const log = Array.from({ length: 100 }, (_, n) => ({ level: "info", message: String(n) }));
  await Promise.all(Array.from({ length: 12 }, () => worker.beat(jobs, { log })));
  const [row] = await sql`
    select count(*)::int as n, max(line_number) as last from job_log_lines where job_id = ${id}`;
  assert.deepEqual({ ...row }, { n: 1_000, last: 1_000 });
});

Deno.test("calls about a job at the same time agree: claim and cancel, settlement and cancel request or end of the lease", async () => {
  const type = await declare({ maxRetries: 9 });
  for (let n = 0; n < 2; n++) {
    const id = await enqueue(type);
    const cancel = tenant.post(`${JOBS}/${id}/cancel`);
    const [claimed, cancelled] = await Promise.all([worker.claim([type]), cancel]);
    const { status } = await read(id);
    assert.equal(status, cancelled.status === 200 ? "Cancelled" : "Processing");
    assert.equal(claimed.length, cancelled.status === 200 ? 0 : 1);
    await worker.settle(claimed, "succeeded");

    const asked = await enqueue(type);
    const jobs = await claim(type, asked);
    const outcome = n % 2 === 0 ? "released" : "succeeded";
    const [answer, verdicts] = await Promise.all([ask(asked), worker.settle(jobs, outcome)]);
    assert.deepEqual(verdicts, ["settled"]);
    const expected = outcome === "succeeded" ? "Succeeded" : answer.status === 202 ? "Cancelled" : "Enqueued";
    assert.equal((await read(asked)).status, expected, `${outcome}, asked ${answer.status}`);
    await worker.settle(await worker.claim([type]), "succeeded");

    const lost = await enqueue(type);
    const held = await claim(type, lost);
    await endLease(lost);
    const sweeps = [t.steward.sweep(), t.steward.sweep()];
    const [[verdict]] = await Promise.all([worker.settle(held, "succeeded"), ...sweeps]);
    const [row] = await sql`select status, lost_leases as lost from jobs where id = ${lost}`;
    const end = verdict === "settled" ? { status: "Succeeded", lost: 0 } : { status: "Enqueued", lost: 1 };
    assert.deepEqual({ ...row }, end);
    await worker.settle(await worker.claim([type]), "succeeded");
  }
});
