import assert from "node:assert/strict";
import { transact } from "../../../infra/postgres/postgres.ts";
import { invalid, refused } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { assertHas, enqueueJob, idsOf, jobOf, JOBS, LATER, readJob, refusal, runNow } from "./job_calls.ts";

const t = await setupShared();
const actor = await t.actor();
const { sql } = t.steward.platform;
const BATCHES = `${JOBS}/batches`;

type Members = Record<string, unknown>;
const ECHO = jobOf("steward.echo");
const FAIL = jobOf("steward.fail", {}, { maxRetries: 0 });
const WAITING = { ...ECHO, scheduledAt: LATER };
const GOOD = jobOf("steward.echo", { outcome: "good" });
const BAD = jobOf("steward.echo", { outcome: "bad" }, { queue: "mail", priority: "High" });

const create = (body: Members, by: Actor = actor) => accepted(by.post(BATCHES, body), 201);
const read = async (id: string) => (await actor.get(`${BATCHES}/${id}`)).body;
const jobsOf = async (id: string, query = "") =>
  idsOf((await actor.get(`${BATCHES}/${id}/jobs?pageSize=100${query}`)).body.items);
const add = (id: string, body: Members) => actor.post(`${BATCHES}/${id}/jobs`, body);
const cancel = (id: string) => actor.post(`${BATCHES}/${id}/cancel`);
const ended = async (id: string, status: string) =>
  await until(() => read(id), (batch) => batch.status === status);
Deno.test("a batch enqueues its job for success once when all jobs have succeeded", async () => {
  const followers = { onAllSucceeded: GOOD, onAnyFailed: BAD };
  const batch = await create({ jobs: [ECHO, ECHO, WAITING], name: "night", ...followers });
  const { tenantId, userId: createdBy } = actor;
  assertHas(batch, { name: "night", status: "Running", totalJobs: 3, tenantId, createdBy, endedAt: null });
  assert.deepEqual(batch.onAllSucceeded, { jobTypeName: "steward.echo", jobId: null });
  const ids = await jobsOf(batch.id);
  for (const id of ids.slice(0, 2)) await t.settled(id);
  const running = await read(batch.id);
  assertHas(running, { status: "Running", counts: { Succeeded: 2, Scheduled: 1 } });
  const { items: [listed] } = (await actor.get(`${BATCHES}?pageSize=1`)).body;
  assert.deepEqual(listed, running);
  assert.deepEqual(await jobsOf(batch.id, "&status=Scheduled"), [ids[2]]);
  const { batchId, parentJobIds } = await readJob(actor, ids[0] ?? "");
  assert.deepEqual([batchId, parentJobIds], [batch.id, []]);
  await runNow(t, ids[2] ?? "");
  const done = await ended(batch.id, "Succeeded");
  assert.ok(done.endedAt);
  assertHas(done, { counts: { Succeeded: 3 }, onAnyFailed: { jobId: null } });
  const { jobId } = done.onAllSucceeded;
  assert.equal(await t.settled(jobId), "Succeeded");
  const { serializedArgs } = GOOD;
  assertHas(await readJob(actor, jobId), { serializedArgs, batchId: null, tenantId, createdBy });
});

Deno.test("the first dead letter fails a batch: its job for failures is enqueued once, and the others go on", async () => {
  const batch = await create({ jobs: [FAIL, FAIL, ECHO, WAITING], onAllSucceeded: GOOD, onAnyFailed: BAD });
  const { onAnyFailed } = await ended(batch.id, "Failed");
  assertHas(await readJob(actor, onAnyFailed.jobId), BAD);
  const ids = await jobsOf(batch.id);
  await runNow(t, ids[3] ?? "");
  for (const id of ids) await t.settled(id);
  const last = await read(batch.id);
  assertHas(last, { status: "Failed", counts: { DeadLettered: 2, Succeeded: 2 }, onAnyFailed });
  assert.equal(last.onAllSucceeded.jobId, null);
});

Deno.test("a cancelled job fails its batch, also if its parent is cancelled", async () => {
  const direct = await create({ jobs: [WAITING, WAITING], onAnyFailed: BAD });
  const [first] = await jobsOf(direct.id);
  const parentJobId = await enqueueJob(actor, "steward.echo", {}, { scheduledAt: LATER });
  const child = await create({ jobs: [ECHO, { ...ECHO, parentJobId }], onAnyFailed: BAD });
  for (const id of [first, parentJobId]) await actor.post(`${JOBS}/${id}/cancel`);
  const late = await create({ jobs: [ECHO, { ...ECHO, parentJobIds: [parentJobId] }], onAnyFailed: BAD });
  for (const { id } of [direct, child, late]) {
    const { status, onAnyFailed } = await read(id);
    assert.deepEqual([status, await t.settled(onAnyFailed.jobId)], ["Failed", "Succeeded"]);
  }
});

Deno.test("a batch without continuations ends too, and one can be scheduled", async () => {
  await ended((await create({ jobs: [FAIL], onAllSucceeded: GOOD })).id, "Failed");
  const { id } = await create({ jobs: [ECHO], onAllSucceeded: { ...GOOD, scheduledAt: LATER } });
  const { onAllSucceeded } = await ended(id, "Succeeded");
  assert.equal((await readJob(actor, onAllSucceeded.jobId)).status, "Scheduled");
});

Deno.test("an open batch takes jobs until it is closed, and succeeds only then", async () => {
  const { id, status } = await create({ jobs: [ECHO], onAllSucceeded: GOOD, open: true });
  assert.equal(status, "Open");
  for (const job of await jobsOf(id)) await t.settled(job);
  assert.equal((await read(id)).status, "Open");
  assertHas(await add(id, { jobs: [ECHO, ECHO] }), { status: 200, body: { totalJobs: 3, status: "Open" } });
  for (const job of await jobsOf(id)) await t.settled(job);
  assert.equal((await add(id, { close: true })).status, 200);
  const done = await read(id);
  assert.equal(done.status, "Succeeded", "its jobs had ended before");
  assert.equal(await t.settled(done.onAllSucceeded.jobId), "Succeeded");
  const last = await create({ jobs: [ECHO], open: true });
  assert.equal((await add(last.id, { jobs: [WAITING], close: true })).body.totalJobs, 2);
  const failed = await create({ jobs: [FAIL], open: true });
  await ended(failed.id, "Failed");
  for (const closed of [id, failed.id, last.id]) {
    assert.equal(refusal(await add(closed, { jobs: [ECHO] })), "409 JOB_BATCH_CLOSED_CONFLICT");
  }
});

Deno.test("cancelling a batch cancels what has not started and enqueues its job for failures once", async () => {
  const batch = await create({ jobs: [WAITING, WAITING, ECHO], onAllSucceeded: GOOD, onAnyFailed: BAD });
  const [waiting = "", , runs = ""] = await jobsOf(batch.id);
  await t.settled(runs);
  const child = await enqueueJob(actor, "steward.echo", {}, { parentJobId: waiting });
  const answers = await Promise.all([1, 2].map(() => cancel(batch.id)));
  const [done, ...others] = answers.toSorted((a, b) => a.status - b.status);
  for (const other of others) assert.equal(refusal(other), "400 JOB_BATCH_ALREADY_CANCELLED");
  assertHas(done?.body, { status: "Cancelled", counts: { Cancelled: 2, Succeeded: 1 } });
  assert.equal(done?.body.onAllSucceeded.jobId, null);
  assert.equal(await t.settled(done?.body.onAnyFailed.jobId), "Succeeded");
  assert.equal((await readJob(actor, child)).status, "Cancelled");
  const [audit] = await sql`
    select after from audit_log where action = 'jobBatch.cancel' and target_id = ${batch.id}`;
  assert.deepEqual(audit?.after, { cancelledJobs: 2, formerStatus: "Running" });
});

Deno.test("a batch is cancelled in the order in which the end of a job locks: first the job, then the batch", async () => {
  const batch = await create({ jobs: [WAITING, WAITING] });
  const [first = ""] = await jobsOf(batch.id);
  const cancelled = await transact(sql, async (tx) => {
    const [own] = await tx`select pg_backend_pid() as pid from jobs where id = ${first} for no key update`;
    const answer = cancel(batch.id);
    const blocked = () => sql`select from pg_stat_activity where ${own?.pid} = any(pg_blocking_pids(pid))`;
    await until(blocked, ({ length }) => length > 0);
    await tx`select id from job_batches where id = ${batch.id} for no key update nowait`;
    return { answer };
  });
  assertHas(await cancelled.answer, { status: 200, body: { status: "Cancelled", counts: { Cancelled: 2 } } });
});

Deno.test("an ended batch is cancelled only if jobs of it still wait", async () => {
  const good = await create({ jobs: [ECHO] });
  await ended(good.id, "Succeeded");
  assert.equal(refusal(await cancel(good.id)), "400 JOB_BATCH_CANNOT_CANCEL");
  assert.equal(refusal(await cancel(crypto.randomUUID())), "404 JOB_BATCH_NOT_FOUND");
  const bad = await create({ jobs: [FAIL, WAITING], onAnyFailed: BAD });
  const { onAnyFailed } = await ended(bad.id, "Failed");
  const cancelled = await cancel(bad.id);
  assertHas(cancelled, { status: 200, body: { status: "Failed", counts: { Cancelled: 1 }, onAnyFailed } });
  assert.equal(refusal(await cancel(bad.id)), "400 JOB_BATCH_CANNOT_CANCEL");
});

Deno.test("one wrong job refuses the whole batch and names its place", async () => {
  const own = await t.actor();
  const keyed = { ...ECHO, uniqueKey: "k" };
  const orphan = { ...ECHO, parentJobId: crypto.randomUUID() };
  const wrong: [field: string, body: Members][] = [
    ["jobs.1.serializedArgs", { jobs: [ECHO, { ...ECHO, serializedArgs: "{" }] }],
    ["jobs.0.uniqueKey", { jobs: [keyed] }],
    ["jobs.0.parentJobId", { jobs: [orphan] }],
    ["onAnyFailed.uniqueKey", { jobs: [ECHO], onAnyFailed: keyed }],
    ["onAllSucceeded.parentJobId", { jobs: [ECHO], onAllSucceeded: orphan }],
  ];
  for (const [field, body] of wrong) invalid(await own.post(BATCHES, body), field);
  const request = jobOf("steward.http-request", { url: "https://example.com/" });
  const others = [[jobOf("no.such"), "400 JOB_TYPE_UNKNOWN"], [request, "403 MISSING_PERMISSION"]] as const;
  for (const [job, expected] of others) {
    for (const more of [{ jobs: [ECHO, job] }, { onAllSucceeded: job }, { onAnyFailed: job }]) {
      assert.equal(refusal(await own.post(BATCHES, { jobs: [ECHO], ...more })), expected);
    }
  }
  for (const path of [JOBS, BATCHES]) assert.equal((await own.get(path)).body.totalCount, 0);
  const { id } = await create({ jobs: [WAITING], open: true });
  for (const body of [{}, { jobs: [keyed], close: true }]) {
    refused(await add(id, body), 400, "VALIDATION_ERROR");
  }
  assertHas(await read(id), { status: "Open", totalJobs: 1 });
});

Deno.test("pruned jobs stay in the counts of their batch, and the list of its jobs counts what it shows", async () => {
  const { id } = await create({ jobs: [WAITING, WAITING, WAITING] });
  await cancel(id);
  await sql`delete from jobs where id = (select min(id::text)::uuid from jobs where batch_id = ${id})`; // as pruning does
  assert.equal((await read(id)).totalJobs, 3);
  for (const query of ["", "?status=Cancelled"]) {
    const { items, totalCount } = (await actor.get(`${BATCHES}/${id}/jobs${query}`)).body;
    assert.deepEqual([items.length, totalCount], [2, 2], query);
  }
});

Deno.test("secrets of batches are stored for the jobs and never shown", async () => {
  const holder = await t.actor({ permissions: ["run:http-requests"] });
  const args = { url: "https://example.com/", headers: { authorization: "Bearer s3cret-value" } };
  const job = jobOf("steward.http-request", args, { scheduledAt: LATER });
  const batch = await create({ jobs: [job], onAllSucceeded: job, onAnyFailed: job }, holder);
  const jobs = await holder.get(`${BATCHES}/${batch.id}/jobs`);
  const cancelled = await holder.post(`${BATCHES}/${batch.id}/cancel`);
  assert.doesNotMatch(JSON.stringify([batch, jobs.body, cancelled.body]), /s3cret/);
  const [row] = await sql`select serialized_args from jobs where id = ${cancelled.body.onAnyFailed.jobId}`;
  assert.match(row?.serializedArgs, /s3cret-value/);
});
