import assert from "node:assert/strict";
import { inOneInstance } from "../../support/in_one_instance.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setup({ DATABASE_URL: await createTestDatabase() }); // one instance, whose polls the tests count
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const permissions = ["manage:job-types", "work:jobs"];
const tenant = await t.actor({ permissions });
const other = await t.actor({ permissions });
const platform = await t.actor({ role: "SystemAdmin", global: true });
const worker = new RemoteWorker(tenant, "one");

let count = 0;
async function declare(type: Record<string, unknown> = {}, by = tenant): Promise<string> {
  const name = `work.type-${++count}`;
  const { status, body } = await by.put(`/api/v1/job-types/${name}`, type);
  assert.equal(status, 201, JSON.stringify(body));
  return name;
}
async function enqueue(
  jobTypeName: string,
  args: unknown = {},
  more: Record<string, unknown> = {},
  by = tenant,
) {
  const { status, body } = await by.post("/api/v1/jobs", {
    jobTypeName,
    serializedArgs: JSON.stringify(args),
    ...more,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id as string;
}
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

Deno.test("a waiting poll gets a job as soon as it is enqueued, and none after the wait", async () => {
  const type = await declare();
  const waiting = worker.claim([type], { waitSeconds: 20 });
  await until(() => t.instances.some(({ platform }) => platform.workPolls.size > 0));
  const id = await enqueue(type);
  assert.deepEqual((await waiting).map(({ jobId }) => jobId), [id]);
  const since = performance.now();
  assert.deepEqual(await worker.claim([type], { waitSeconds: 0.3 }), []);
  assert.ok(performance.now() - since > 250);
});

Deno.test("few jobs are spread over the waiting polls, and two claims never share a job", async () => {
  const type = await declare();
  const polls = Array.from({ length: 5 }, () => worker.claim([type], { waitSeconds: 3, max: 50 }));
  await until(() => t.instances.reduce((sum, { platform }) => sum + platform.workPolls.size, 0) >= 5);
  const items = Array.from({ length: 100 }, (_, n) => ({ jobTypeName: type, serializedArgs: `${n}` }));
  await tenant.post("/api/v1/jobs/bulk", { items });
  const taken = [...await Promise.all(polls)];
  const all = taken.flat();
  for (let more = await worker.claim([type]); more.length > 0; more = await worker.claim([type])) {
    all.push(...more);
  }
  assert.equal(all.length, 100);
  assert.equal(new Set(all.map(({ jobId }) => jobId)).size, 100);
  assert.deepEqual(taken.map((jobs) => jobs.length), [20, 20, 20, 20, 20]);
});

Deno.test("a claim names queues, priorities are kept, and max bounds it", async () => {
  const type = await declare();
  const low = await enqueue(type, {}, { queue: "slow", priority: "Low" });
  const normal = await enqueue(type, {}, { queue: "slow" });
  const critical = await enqueue(type, {}, { queue: "slow", priority: "Critical" });
  await enqueue(type, {}, { queue: "other" });
  const [first] = await worker.claim([type], { queues: ["slow"], max: 1 });
  assert.equal(first?.jobId, critical);
  const rest = await worker.claim([type], { queues: ["slow"] });
  assert.deepEqual(rest.map(({ jobId }) => jobId), [normal, low]);
});

Deno.test("a repeated claim with its requestId gets the same jobs while they are held", async () => {
  const type = await declare();
  const ids = [await enqueue(type), await enqueue(type)];
  const requestId = crypto.randomUUID();
  const jobs = await worker.claim([type], { requestId });
  assert.deepEqual(jobs.map(({ jobId }) => jobId).toSorted(), ids.toSorted());
  const again = await worker.claim([type], { requestId });
  const same = (items: typeof jobs) => items.map(({ jobId, attempt }) => `${jobId} ${attempt}`).toSorted();
  assert.deepEqual(same(again), same(jobs));
  assert.deepEqual(
    await new RemoteWorker(other, "one").by.post("/api/v1/work/claim", {
      types: [type],
      worker: "one",
      requestId,
    }).then((a) => a.body.code),
    "JOB_TYPE_UNKNOWN",
  );
  await worker.settle(jobs.slice(0, 1), "succeeded");
  assert.deepEqual(same(await worker.claim([type], { requestId })), same(jobs.slice(1)));
  await worker.settle(jobs, "succeeded");
  assert.deepEqual(await worker.claim([type], { requestId }), []);
});

inOneInstance(
  "a repeated claim ends the waiting one, so that it takes no jobs for a client that has gone",
  "polls wait in the memory of an instance",
  async () => {
    const type = await declare();
    const claim = { requestId: crypto.randomUUID(), waitSeconds: 30 };
    const first = worker.claim([type], claim);
    await until(() => t.steward.platform.workPolls.size > 0);
    assert.deepEqual(await worker.claim([type], { ...claim, waitSeconds: 0 }), []);
    assert.deepEqual(await first, []);
  },
);

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

Deno.test("a type with a concurrency never runs more at once, and other types go on", async () => {
  const limited = await declare({ concurrency: 3 });
  const free = await declare();
  for (let n = 0; n < 8; n++) await enqueue(limited);
  const claims = await Promise.all([1, 2, 3].map((n) => new RemoteWorker(tenant, `w${n}`).claim([limited])));
  const held = claims.flat();
  assert.equal(held.length, 3);
  await enqueue(free);
  assert.deepEqual((await worker.claim([limited, free])).map(({ jobTypeName }) => jobTypeName), [free]);
  const waiting = worker.claim([limited], { waitSeconds: 10 });
  await worker.settle(held.slice(0, 2), "succeeded");
  const next = await waiting;
  assert.ok(next.length > 0 && next.length <= 2, String(next.length));
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

Deno.test("a claim answers at most 4 MiB of arguments, and at least one job", async () => {
  const type = await declare();
  for (let n = 0; n < 6; n++) await enqueue(type, "x".repeat(900_000));
  const first = await worker.claim([type]);
  assert.equal(first.length, 4);
  assert.equal((await worker.claim([type])).length, 2);
});

Deno.test("jobs claimed for a client that has gone are given back, or found by the requestId", async () => {
  const type = await declare();
  const id = await enqueue(type);
  const { workPolls } = t.steward.platform;
  const caller = { userId: tenant.userId, serviceAccount: null };
  const asked = {
    program: null,
    types: [type],
    queues: null,
    max: 1,
    worker: "gone",
    workerId: crypto.randomUUID(),
    served: { tenantIds: [tenant.tenantId ?? ""] },
    caller,
  };
  for (const requestId of [null, crypto.randomUUID()]) {
    const read = async () => (await sql`select status, attempts from jobs where id = ${id}`)[0];
    const before = (await read())?.attempts;
    const leave = async () => {
      const gone = new AbortController();
      const answer = workPolls.wait({ ...asked, requestId }, 1_000, gone.signal);
      gone.abort(); // usually the search has begun
      assert.deepEqual(await answer, []);
      return await read();
    };
    const status = requestId === null ? "Enqueued" : "Processing";
    await until(leave, (row) => row?.attempts > before && row?.status === status);
  }
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

Deno.test("a claim whose client has gone leaves no poll behind", async () => {
  const type = await declare();
  const gone = new AbortController();
  const request = fetch(`${tenant.baseUrl}/api/v1/work/claim`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" },
    body: JSON.stringify({ types: [type], worker: "gone", waitSeconds: 40 }),
    signal: gone.signal,
  }).catch(() => null);
  const waiting = () => t.instances.reduce((sum, { platform }) => sum + platform.workPolls.size, 0);
  await until(() => waiting() > 0);
  gone.abort();
  await request;
  await until(() => waiting() === 0);
  const id = await enqueue(type);
  assert.deepEqual((await worker.claim([type], { waitSeconds: 5 })).map(({ jobId }) => jobId), [id]);
});
