// Time passes by moving the buckets: a limit of some jobs an hour gives no token during a test.
import assert from "node:assert/strict";
import { foldBucketEvents, releaseLimitedJobs } from "../../../domain/jobs/limits/release_limited.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { declareType, enqueueJob, enqueueMany, JOBS, readJob, WORKER_PERMISSIONS } from "./job_calls.ts";

const t = await setupShared();
const { platform } = t.steward;
const { sql } = platform;
const permissions = [...WORKER_PERMISSIONS, "manage:jobs"];
const anHour = (count: number, more = {}) => ({ rateLimit: { count, perSeconds: 3_600, ...more } });
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

const bucketsOf = (type: string) => sql`bucket like ${`${type}%`}`;
/** Has the jobs released that have a token now. */
const release = (type: string) =>
  until(async () => {
    await foldBucketEvents(platform);
    await releaseLimitedJobs(platform);
    const rows = await sql`
      select from job_bucket_events where ${bucketsOf(type)}
      union all select from job_buckets where ${bucketsOf(type)} and next_at <= now()`;
    return rows.length === 0;
  });
/** The tokens of `seconds` come. */
async function pass(type: string, seconds: number): Promise<void> {
  await release(type);
  await sql`update job_buckets set full_at = full_at - make_interval(secs => ${seconds}), next_at = now() - interval '1 ms'
    where ${bucketsOf(type)}`;
}
/** Claims and settles the jobs that may start now. @returns their arguments */
async function start(by: Actor, type: string, outcome = "succeeded"): Promise<unknown[]> {
  await release(type);
  const worker = new RemoteWorker(by, "one");
  const jobs = await worker.claim([type]);
  await worker.settle(jobs, outcome);
  return jobs.map(({ args }) => args);
}
const actor = await t.actor({ permissions });

Deno.test("at most `count` jobs start at once, and the others when their tokens come", async () => {
  const type = await declareType(actor, anHour(4));
  const ids = await enqueueMany(actor, type, numbers(12));
  assert.equal((await start(actor, type)).length, 4);
  assert.deepEqual(await start(actor, type), []);
  const { status, attempts } = await readJob(actor, ids.at(-1) ?? "");
  assert.deepEqual([status, attempts], ["Enqueued", 0], "what exceeds the limit waits");
  for (const [seconds, started] of [[890, 0], [20, 1], [1_800, 2], [30_000, 4]] as const) {
    await pass(type, seconds);
    assert.equal((await start(actor, type)).length, started, `after ${seconds} s`);
  }
});

Deno.test("each value of the key has a bucket; an absent value has one too", async () => {
  const type = await declareType(actor, anHour(1, { key: "$.customer.id" }));
  const ids = [1, 2, "1", null, { a: 1 }];
  const args = ids.flatMap((id) => [{ customer: { id } }, { customer: { id }, n: 2 }]);
  await enqueueMany(actor, type, [...args, {}, { customer: 7 }]);
  const idOf = (each: unknown) =>
    JSON.stringify((each as { customer?: { id?: unknown } }).customer?.id) ?? "absent";
  const done = (await start(actor, type)).map(idOf);
  assert.deepEqual(done.toSorted(), ['"1"', "1", "2", "absent", "null", '{"a":1}']);
  assert.deepEqual(await start(actor, type), []);
  for (const id of ["9007199254740993", "9007199254740992", "1e2", "100"]) {
    await enqueueJob(actor, type, {}, { serializedArgs: `{"customer":{"id":${id}}}` });
  }
  assert.equal((await start(actor, type)).length, 3, "numbers are compared to the last digit");
});

Deno.test("a retry takes a token, and so does an attempt after a released one", async () => {
  const type = await declareType(actor, anHour(2));
  const [id = ""] = await enqueueMany(actor, type, [1]);
  assert.deepEqual(await start(actor, type, "failed"), [1]);
  assert.equal((await actor.post(`${JOBS}/${id}/retry-now`)).status, 200);
  assert.deepEqual(await start(actor, type, "released"), [1]);
  assert.deepEqual(await start(actor, type), [], "both tokens are taken");
  assert.equal((await readJob(actor, id)).status, "Enqueued");
});

Deno.test("tenants have separate buckets of their own types, and share those of a platform type fairly", async () => {
  const [one, two] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const name = `rate.${newId()}`;
  for (const actor of [one, two]) {
    await declareType(actor, anHour(1), name);
    await enqueueMany(actor, name, [1, 2]);
  }
  for (const actor of [one, two]) assert.deepEqual(await start(actor, name), [1]);

  const shared = await declareType(await t.actor({ role: "SystemAdmin", global: true }), anHour(10));
  await enqueueMany(one, shared, numbers(30));
  assert.equal((await start(one, shared)).length, 10);
  await enqueueMany(two, shared, ["a", "b", "c"]);
  await pass(shared, 3_600);
  assert.equal((await start(two, shared)).length, 3, "the single jobs did not wait for the long line");
  assert.equal((await start(one, shared)).length, 7);
});

Deno.test("a tenant without workers does not keep the tokens of a shared bucket", async () => {
  const [one, two] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const shared = await declareType(await t.actor({ role: "SystemAdmin", global: true }), anHour(1));
  await enqueueMany(one, shared, [1]);
  await release(shared);
  await enqueueMany(two, shared, [2]);
  assert.deepEqual(await start(two, shared), []);
  await sql`update job_buckets set released_at = now() - interval '11 s', next_at = now() - interval '1 ms' where ${
    bucketsOf(shared)
  }`;
  assert.deepEqual(await start(two, shared), [2]);
  await pass(shared, 3_600);
  assert.deepEqual(await start(one, shared), [1]);
});

Deno.test("priority decides among waiting jobs, cancelled ones take no token, and other lanes go on", async () => {
  const type = await declareType(actor, anHour(1));
  const [, cancelled = ""] = await enqueueMany(actor, type, ["first", "cancelled"]);
  assert.deepEqual(await start(actor, type), ["first"]);
  await enqueueMany(actor, type, ["low"], { priority: "Low" });
  await enqueueMany(actor, type, ["critical"], { priority: "Critical" });
  assert.equal((await actor.post(`${JOBS}/${cancelled}/cancel`)).status, 200);
  assert.equal(await t.settled(await enqueueJob(actor)), "Succeeded");
  for (const expected of ["critical", "low"]) {
    await pass(type, 3_600);
    assert.deepEqual(await start(actor, type), [expected]);
  }
});

Deno.test("paused work takes no tokens, and starts within the limit after the resume", async () => {
  const type = await declareType(actor, anHour(2));
  await actor.post(`${JOBS}/queues/slow/pause`);
  await enqueueMany(actor, type, numbers(6), { queue: "slow" });
  await enqueueMany(actor, type, [7]);
  assert.deepEqual(await start(actor, type), [7]);
  const { body: queues } = await actor.get(`${JOBS}/queues`);
  const slow = queues.find(({ queue }: { queue: string }) => queue === "slow");
  assert.deepEqual([slow.waiting, slow.oldestDueAt], [6, null]);
  await actor.post(`${JOBS}/queues/slow/resume`);
  await pass(type, 0);
  assert.equal((await start(actor, type)).length, 1);
  await pass(type, 3_600);
  assert.equal((await start(actor, type)).length, 2);
});

Deno.test("a changed or removed limit holds for the jobs that wait", async () => {
  const type = await declareType(actor, anHour(1));
  await enqueueMany(actor, type, numbers(6));
  assert.deepEqual(await start(actor, type), [0]);
  const change = (rateLimit: unknown) => actor.put(`/api/v1/job-types/${type}`, { rateLimit });
  await change({ count: 3, perSeconds: 36_000 });
  assert.equal((await start(actor, type)).length, 2);
  await change(null);
  assert.equal((await start(actor, type)).length, 3);
});

Deno.test("after the clock was set back, waiting jobs start within the period of the limit", async () => {
  const type = await declareType(actor, anHour(1));
  await enqueueMany(actor, type, [1, 2]);
  assert.deepEqual(await start(actor, type), [1]);
  await release(type);
  await sql`update job_buckets set full_at = full_at + interval '5 hours', next_at = next_at + interval '5 hours'
    where ${bucketsOf(type)}`;
  await releaseLimitedJobs(platform); // looks at it although it is due in hours
  await pass(type, 3_600);
  assert.deepEqual(await start(actor, type), [2]);
});

Deno.test("the service releases waiting jobs itself: for a poll that waits, when the token comes", async () => {
  const type = await declareType(actor, { rateLimit: { count: 1, perSeconds: 1 } });
  await enqueueMany(actor, type, [1, 2]);
  const worker = new RemoteWorker(actor, "one");
  for (const n of [1, 2]) {
    const jobs = await worker.claim([type], { waitSeconds: 30 });
    assert.deepEqual(jobs.map(({ args }) => args), [n]);
    await worker.settle(jobs, "succeeded");
  }
});

Deno.test("jobs left by an instance that was killed before it released them are released by another", async () => {
  const type = await declareType(actor, anHour(1));
  const bucket = `${type}@${actor.tenantId}`;
  // as a killed instance leaves them: the job and its event are committed, and no one was woken
  await sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, due_at,
      max_retries, limit_key, bucket, lane)
    values (${newId()}, ${actor.tenantId}, ${type}, '1', 'FireAndForget', 'Enqueued', 2, 'default', now(), 0,
      ${`~${type}|${actor.tenantId}`}, ${bucket}, ${`§${bucket}|${actor.tenantId}|default`})`;
  assert.deepEqual(await start(actor, type), [1]);
});
