import assert from "node:assert/strict";
import { createTestDatabase } from "../../support/cluster.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { declareType, enqueueJob } from "./remote_types.ts";

const t = await setup({ DATABASE_URL: await createTestDatabase() }); // one instance, whose polls the tests count
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const permissions = ["manage:job-types", "work:jobs"];
const tenant = await t.actor({ permissions });
const other = await t.actor({ permissions });
const platform = await t.actor({ role: "SystemAdmin", global: true });
const worker = new RemoteWorker(tenant, "one");

const declare = (type: Record<string, unknown> = {}, by = tenant) => declareType(by, type);
const enqueue = (name: string, args: unknown = {}, more: Record<string, unknown> = {}, by = tenant) =>
  enqueueJob(by, name, args, more);
const read = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}`)).body;
const executions = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}/executions`)).body.items;
/** Ends the leases of jobs now. */
const expire = async (...ids: string[]) => {
  await sql`update jobs set lease_until = now() - interval '1 s' where id = any(${ids}::uuid[]) and lease_until is not null`;
  await t.steward.sweep();
};

Deno.test("a job is claimed, reported on, and settled with its output", async () => {
  const type = await declare({ timeoutSeconds: 120, maxRetries: 7 });
  const id = await enqueue(type, { n: 1, big: 1 });
  const { status, body } = await tenant.post("/api/v1/work/claim", { types: [type], worker: "one" });
  assert.deepEqual([status, body.leaseSeconds, body.jobs.length], [200, 60, 1]);
  const [{ leaseUntil, deadline, traceparent, ...job }] = body.jobs;
  assert.deepEqual(job, {
    jobId: id,
    attempt: 1,
    jobTypeName: type,
    tenantId: tenant.tenantId,
    args: { n: 1, big: 1 },
    attempts: 0,
    maxRetries: 7,
  });
  assert.equal(Date.parse(deadline) - Date.parse(leaseUntil), 60_000);
  assert.match(traceparent, /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  assert.equal((await read(id)).status, "Processing");
  assert.deepEqual(await worker.claim([type]), []);

  const beat = await tenant.post("/api/v1/work/heartbeat", {
    jobs: [{
      jobId: id,
      attempt: 1,
      percent: 40,
      note: "half",
      log: [{ level: "info", message: "a", fields: { n: 1 } }],
    }],
  });
  assert.deepEqual([beat.body.drain, beat.body.jobs[0].state], [false, "held"]);
  await worker.beat(body.jobs, { log: [{ level: "warn", message: "b" }, { level: "error", message: "c" }] });
  const [running] = await executions(id);
  assert.deepEqual([running.status, running.progressPercent, running.progressNote], [
    "Processing",
    40,
    "half",
  ]);
  const log = (await tenant.get(`/api/v1/jobs/${id}/executions/1/log`)).body.items;
  assert.deepEqual(
    log.map(({ level, message, fields }: Record<string, unknown>) => [level, message, fields]),
    [["info", "a", { n: 1 }], ["warn", "b", null], ["error", "c", null]],
  );

  assert.deepEqual(await worker.settle(body.jobs, "succeeded", { output: { sent: true } }), ["settled"]);
  const ended = await read(id);
  assert.deepEqual([ended.status, ended.attempts, ended.lastError], ["Succeeded", 1, null]);
  const [execution] = await executions(id);
  assert.deepEqual([execution.status, execution.output, execution.attemptNumber], [
    "Succeeded",
    '{"sent":true}',
    1,
  ]);
  assert.deepEqual(await worker.beat(body.jobs), ["lost"]);
});

Deno.test("a repeated settlement is settled again, a contradicting one a conflict, and another attempt is lost", async () => {
  const type = await declare();
  const cases: [outcome: string, status: string, execution: string | undefined][] = [
    ["succeeded", "Succeeded", "Succeeded"],
    ["failed", "Failed", "Failed"],
    ["hopeless", "DeadLettered", "Failed"],
    ["postponed", "Scheduled", undefined],
    ["released", "Enqueued", "Abandoned"],
  ];
  for (const [outcome, status, execution] of cases) {
    const id = await enqueue(type);
    const jobs = await worker.claim([type]);
    assert.deepEqual(jobs.map(({ jobId }) => jobId), [id]);
    assert.deepEqual(await worker.settle([{ jobId: id, attempt: 2 }], outcome), ["lost"], "the next attempt");
    assert.deepEqual(await worker.settle(jobs, outcome), ["settled"], outcome);
    assert.deepEqual(await worker.settle(jobs, outcome), ["settled"], outcome);
    const contrary = outcome === "succeeded" ? "failed" : "succeeded";
    assert.deepEqual(await worker.settle(jobs, contrary), ["conflict"], outcome);
    assert.deepEqual(await worker.settle([...jobs, ...jobs], outcome), ["settled", "settled"]);
    assert.deepEqual([(await read(id)).status, (await executions(id))[0]?.status], [status, execution]);
    if (outcome !== "released") continue;
    const again = await worker.claim([type]);
    assert.deepEqual([again[0]?.attempt, again[0]?.attempts], [2, 0], "released counts for nothing");
    assert.deepEqual(await worker.settle(jobs, "released"), ["settled"]);
    assert.deepEqual(await worker.settle(jobs, "succeeded"), ["conflict"]);
    assert.deepEqual(await worker.settle(again, "succeeded"), ["settled"]);
  }
  assert.deepEqual(await worker.settle([{ jobId: crypto.randomUUID(), attempt: 1 }], "succeeded"), ["lost"]);
});

Deno.test("failures are retried after a delay and end as a dead letter; postponed attempts do not count", async () => {
  const type = await declare({ maxRetries: 1 });
  const id = await enqueue(type);
  for (
    const [outcome, attempts] of [["postponed", 0], ["failed", 0], ["postponed", 1], ["failed", 1]] as const
  ) {
    const jobs = await worker.claim([type], { waitSeconds: 5 });
    assert.deepEqual([jobs[0]?.jobId, jobs[0]?.attempts], [id, attempts], outcome);
    await worker.settle(jobs, outcome, { error: "no answer", retryInSeconds: 0 });
  }
  const ended = await read(id);
  assert.deepEqual([ended.status, ended.lastError, ended.attempts], ["DeadLettered", "no answer", 4]);
  const letters = (await tenant.get(`/api/v1/dead-letter-jobs?jobTypeName=${type}`)).body.items;
  assert.deepEqual(letters.map((letter: { jobId: string }) => letter.jobId), [id]);
  assert.equal((await tenant.post(`/api/v1/dead-letter-jobs/${letters[0].id}/retry`)).status, 200);
  const [retried] = await worker.claim([type]);
  assert.deepEqual([retried?.attempt, retried?.attempts, retried?.maxRetries], [1, 0, 1]);
});

Deno.test("continuations and recurring jobs of remote types run remotely", async () => {
  const type = await declare();
  const parent = await enqueue(type, { n: 1 });
  const child = await enqueue(type, { n: 2 }, { parentJobId: parent });
  const [first] = await worker.claim([type]);
  assert.equal(first?.jobId, parent);
  const waiting = worker.claim([type], { waitSeconds: 10 });
  await worker.settle([first!], "succeeded");
  assert.deepEqual((await waiting).map(({ jobId }) => jobId), [child]);
  await tenant.post("/api/v1/recurring-jobs", {
    jobId: type,
    jobTypeName: type,
    cronExpression: "0 4 * * *",
  });
  const run = (await tenant.post(`/api/v1/recurring-jobs/${type}/trigger`)).body.id;
  assert.deepEqual((await worker.claim([type])).map(({ jobId }) => jobId), [run]);
});

Deno.test("workers of the service never claim jobs of remote types", async () => {
  const type = await declare();
  const id = await enqueue(type);
  const own = await enqueue("steward.echo");
  await t.settled(own);
  await t.steward.sweep();
  assert.equal((await read(id)).status, "Enqueued");
});

Deno.test("the first lost lease does not count, further ones do, and the late worker is told", async () => {
  const type = await declare({ maxRetries: 1 });
  const id = await enqueue(type);
  for (const attempts of [0, 0, 1]) {
    const jobs = await worker.claim([type]);
    assert.deepEqual([jobs[0]?.jobId, jobs[0]?.attempts], [id, attempts]);
    await expire(id);
    assert.deepEqual(await worker.beat(jobs), ["lost"]);
    assert.deepEqual(await worker.settle(jobs, "succeeded"), ["lost"]);
  }
  assert.equal((await read(id)).status, "DeadLettered");
});

Deno.test("a heartbeat or a settlement within the deadline revives an expired lease that nobody has noticed", async () => {
  const type = await declare();
  await enqueue(type);
  const jobs = await worker.claim([type]);
  await sql`update jobs set lease_until = now() - interval '1 s' where id = ${jobs[0]!.jobId}`;
  assert.deepEqual(await worker.beat(jobs), ["held"]);
  await t.steward.sweep();
  assert.deepEqual(await worker.settle(jobs, "succeeded"), ["settled"]);
});

Deno.test("past its deadline an attempt fails as a time-out, whatever its heartbeats", async () => {
  const type = await declare({ timeoutSeconds: 30 });
  const id = await enqueue(type);
  const jobs = await worker.claim([type]);
  assert.equal(jobs[0]?.leaseUntil, jobs[0]?.deadline, "a lease ends at the deadline");
  await sql`update jobs set deadline = now() - interval '1 s', started_at = now() - interval '31 s' where id = ${id}`;
  assert.deepEqual(await worker.beat(jobs), ["lost"]);
  assert.deepEqual(await worker.settle(jobs, "succeeded"), ["lost"]);
  await expire(id);
  const job = await read(id);
  assert.equal(job.status, "Failed");
  assert.match(job.lastError, /longer than the 30000 ms work\.type-\d+ may take/);
  const [execution] = await executions(id);
  assert.equal(execution.status, "Failed");
  const [row] = await sql<{ failures: number }[]>`select failures from jobs where id = ${id}`;
  assert.equal(row?.failures, 1);
});

Deno.test("a tenant's jobs are claimed and settled only by callers that serve it", async () => {
  const shared = await declare({}, platform);
  const mine = await enqueue(shared);
  const theirs = await enqueue(shared, {}, {}, other);
  const otherWorker = new RemoteWorker(other, "one");
  const own = await otherWorker.claim([shared]);
  assert.deepEqual(own.map(({ jobId }) => jobId), [theirs]);
  const jobs = await worker.claim([shared]);
  assert.deepEqual(jobs.map(({ jobId }) => jobId), [mine]);
  assert.deepEqual(await otherWorker.beat(jobs), ["lost"]);
  assert.deepEqual(await otherWorker.settle(jobs, "succeeded"), ["lost"]);
  assert.deepEqual(await worker.settle(jobs, "succeeded"), ["settled"]);
  assert.deepEqual(await otherWorker.settle(jobs, "failed"), ["lost"], "not even that it was settled");
  const all = new RemoteWorker(platform, "all");
  await otherWorker.settle(own, "released");
  const second = await enqueue(shared);
  const claimed = await all.claim([shared]);
  assert.deepEqual(claimed.map(({ jobId }) => jobId).toSorted(), [theirs, second].toSorted());
  assert.deepEqual(await all.settle(claimed, "succeeded"), ["settled", "settled"]);
  const powerless = await t.actor();
  assert.equal(
    (await powerless.post("/api/v1/work/claim", { types: [shared], worker: "x" })).body.code,
    "MISSING_PERMISSION",
  );
});

Deno.test("unknown types and malformed items are refused whole", async () => {
  const type = await declare();
  const pushed = await declare({ push: { url: "https://product.example/jobs" } });
  for (
    const [types, code] of [[["absent.type"], "JOB_TYPE_UNKNOWN"], [
      [type, "steward.echo"],
      "JOB_TYPE_UNKNOWN",
    ], [[pushed], "VALIDATION_ERROR"]]
  ) {
    const { status, body } = await tenant.post("/api/v1/work/claim", { types, worker: "one" });
    assert.deepEqual([status, body.code], [400, code]);
  }
  await enqueue(type);
  const [job] = await worker.claim([type]);
  const { jobId, attempt } = job!;
  const malformed: Record<string, unknown>[] = [
    { outcome: "done" },
    { outcome: "succeeded", output: "x".repeat(65_536) },
    { outcome: "failed", error: "é".repeat(4_097) },
    { outcome: "succeeded", retryInSeconds: 1 },
    { outcome: "succeeded", attempt: 0 },
    { outcome: "succeeded", jobId: "x" },
  ];
  for (const more of malformed) {
    const jobs = [{ jobId, attempt, outcome: "succeeded" }, { jobId, attempt, ...more }];
    const { status, body } = await tenant.post("/api/v1/work/settle", { jobs });
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], JSON.stringify(more).slice(0, 80));
  }
  const line = { level: "info", message: "x".repeat(2_048) };
  for (
    const more of [{ percent: 101 }, { log: [line] }, {
      log: Array(101).fill({ level: "info", message: "" }),
    }]
  ) {
    const { status } = await tenant.post("/api/v1/work/heartbeat", { jobs: [{ jobId, attempt, ...more }] });
    assert.equal(status, 400);
  }
  assert.equal((await read(jobId)).status, "Processing");
  assert.deepEqual(await worker.settle([job!], "succeeded", { output: "x".repeat(65_534) }), ["settled"]);
});

Deno.test("secrets of the arguments are masked in what a worker reports", async () => {
  const type = await declare({ secretArgs: ["$.password"] });
  const password = 'se"cret\\word';
  const id = await enqueue(type, { password });
  const jobs = await worker.claim([type]);
  assert.deepEqual(jobs[0]?.args, { password }, "its worker needs it");
  const log = [{ level: "info", message: `tried ${password}`, fields: { password: 1, sent: password } }];
  await worker.beat(jobs, { percent: 1, note: password, log });
  await worker.beat([jobs[0]!, jobs[0]!], { percent: 2, note: password });
  await worker.settle(jobs, "failed", { error: `refused ${password}`, output: { password } });
  const shown = JSON.stringify([
    await read(id),
    await executions(id),
    (await tenant.get(`/api/v1/jobs/${id}/executions/1/log`)).body,
  ]);
  assert.ok(!shown.includes("cret"), shown);
  assert.match(shown, /refused \*\*\*/);
  assert.match(shown, /tried \*\*\*/);
});

Deno.test("jobs that were enqueued while their type was deleted do not wait forever", async () => {
  const type = await declare();
  const id = await enqueue(type);
  await sql`update job_types set deleted_at = now() where name = ${type}`;
  await sql`update jobs set id = ${id.replace(/^.{8}/, "00000000")} where id = ${id}`; // enqueued long ago
  await tenant.put("/api/v1/job-types/work.other", {}); // announces a change, so that no instance knows the type
  await t.steward.sweep();
  const moved = id.replace(/^.{8}/, "00000000");
  await until(async () => (await read(moved)).status === "DeadLettered");
});

Deno.test("remote workers are listed by their names", async () => {
  const type = await declare();
  await enqueue(type);
  const named = new RemoteWorker(tenant, "listed-worker");
  await named.claim([type]);
  const listed = async () =>
    (await platform.get("/api/v1/jobs/workers")).body.find(({ host }: { host: string }) =>
      host === "listed-worker"
    );
  await until(async () => await listed() !== undefined);
  const { isRemote, holds, program, jobs: [job] } = await listed();
  assert.deepEqual([isRemote, holds, job.jobTypeName], [true, 1, type]);
  assert.match(program, /^Deno\//, "the User-Agent of the claim");
});
