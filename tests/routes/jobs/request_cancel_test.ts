import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { RemoteWorker } from "../../support/remote_work.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const tenant = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
const worker = new RemoteWorker(tenant, "one");
const TYPE = "cancel.type";
await tenant.put(`/api/v1/job-types/${TYPE}`, {});

async function enqueue(
  jobTypeName: string,
  args: unknown = {},
  more: Record<string, unknown> = {},
): Promise<string> {
  const { status, body } = await tenant.post("/api/v1/jobs", {
    jobTypeName,
    serializedArgs: JSON.stringify(args),
    ...more,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}
const read = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}`)).body;
const ask = (id: string) => tenant.post(`/api/v1/jobs/${id}/request-cancel`);

Deno.test("a running handler of the service is aborted, and its job and continuations are cancelled", async () => {
  const id = await enqueue("steward.sleep", { milliseconds: 60_000 });
  const child = await enqueue("steward.echo", {}, { parentJobId: id });
  await until(async () => (await read(id)).status === "Processing");
  const { status, body, headers } = await ask(id);
  assert.deepEqual([status, headers.get("location")], [202, `/api/v1/jobs/${id}`]);
  assert.ok(Date.parse(body.cancelRequestedAt) > 0);
  assert.equal((await ask(id)).status === 202 || (await read(id)).status === "Cancelled", true);
  assert.equal(await t.settled(id), "Cancelled");
  await until(async () => (await read(child)).status === "Cancelled");
  const ended = await read(id);
  assert.deepEqual([ended.cancelRequestedAt, ended.status], [body.cancelRequestedAt, "Cancelled"]);
  const audited = await sql`select 1 from audit_log where action = 'job.requestCancel' and target_id = ${id}`;
  assert.equal(audited.length, 1, "the repeated request changed nothing");
});

Deno.test("a remote worker hears a cancel request by heartbeat; its next word decides", async () => {
  const outcomes = {
    released: "Cancelled",
    failed: "Cancelled",
    postponed: "Cancelled",
    hopeless: "Cancelled",
    succeeded: "Succeeded",
  };
  for (const [outcome, status] of Object.entries(outcomes)) {
    const id = await enqueue(TYPE);
    const jobs = await worker.claim([TYPE]);
    assert.deepEqual(await worker.beat(jobs), ["held"]);
    assert.equal((await ask(id)).status, 202);
    assert.equal((await read(id)).status, "Processing");
    assert.deepEqual(await worker.beat(jobs), ["cancel"]);
    assert.deepEqual(await worker.settle(jobs, outcome), ["settled"]);
    const job = await read(id);
    assert.deepEqual([job.status, job.completedAt !== null], [status, true], outcome);
    assert.deepEqual(await worker.settle(jobs, outcome), ["settled"], outcome);
  }
  assert.equal((await sql`select 1 from dead_letter_jobs where job_type_name = ${TYPE}`).length, 0);
});

Deno.test("a job whose worker is lost or late after a cancel request is cancelled", async () => {
  for (const late of [false, true]) {
    const id = await enqueue(TYPE);
    await worker.claim([TYPE]);
    await ask(id);
    await sql`update jobs set lease_until = now() - interval '1 s',
      deadline = case when ${late} then now() - interval '1 s' else deadline end where id = ${id}`;
    await t.steward.sweep();
    await until(async () => (await read(id)).status === "Cancelled");
  }
});

Deno.test("an attempt that is lost after a cancel request is no dead letter in the figures", async () => {
  const type = "cancel.lost";
  await tenant.put(`/api/v1/job-types/${type}`, { maxRetries: 0 });
  const id = await enqueue(type);
  const lose = async () => {
    assert.equal((await worker.claim([type])).length, 1);
    if ((await read(id)).attempts > 1) await ask(id);
    await sql`update jobs set lease_until = now() - interval '1 s' where id = ${id}`;
    await t.steward.sweep();
  };
  await lose();
  await lose(); // the second one counts as a failure
  assert.equal((await read(id)).status, "Cancelled");
  const figures = async () => (await tenant.get(`/api/v1/jobs/types/${type}/stats`)).body.total;
  await until(async () => (await figures()).abandoned + (await figures()).deadLettered === 2);
  assert.deepEqual([(await figures()).abandoned, (await figures()).deadLettered], [2, 0]);
});

Deno.test("only a running job can be asked to stop", async () => {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  const id = await enqueue("steward.echo", {}, { scheduledAt: later });
  assert.equal((await ask(id)).body.code, "JOB_CANNOT_CANCEL");
  await tenant.post(`/api/v1/jobs/${id}/cancel`);
  assert.equal((await ask(id)).body.code, "JOB_ALREADY_CANCELLED");
  assert.equal((await ask(crypto.randomUUID())).body.code, "JOB_NOT_FOUND");
});

Deno.test("a cancel request and a settlement at the same time agree", async () => {
  for (let n = 0; n < 20; n++) {
    const id = await enqueue(TYPE);
    const jobs = await worker.claim([TYPE]);
    const outcome = n % 2 === 0 ? "released" : "succeeded";
    const [asked, verdicts] = await Promise.all([ask(id), worker.settle(jobs, outcome), pause(n % 3)]);
    assert.deepEqual(verdicts, ["settled"]);
    const { status } = await read(id);
    const expected = outcome === "succeeded" ? "Succeeded" : asked.status === 202 ? "Cancelled" : "Enqueued";
    assert.equal(status, expected, `${outcome}, asked ${asked.status}`);
    for (const job of await worker.claim([TYPE])) await worker.settle([job], "succeeded");
  }
});
