import assert from "node:assert/strict";
import { inOneInstance } from "../../support/in_one_instance.ts";
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
const worker = new RemoteWorker(tenant, "one");

const declare = (type: Record<string, unknown> = {}, by = tenant) => declareType(by, type);
const enqueue = (name: string, args: unknown = {}, more: Record<string, unknown> = {}, by = tenant) =>
  enqueueJob(by, name, args, more);

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

Deno.test("a claim that does not wait finds its queue among more lanes than one search finds", async () => {
  const type = await declare();
  const items = Array.from({ length: 1_000 }, (_, n) => ({ jobTypeName: type, queue: `a${n}` }));
  assert.equal((await tenant.post("/api/v1/jobs/bulk", { items })).body.succeeded, 1_000);
  const ids = [await enqueue(type, {}, { queue: "zzz" }), await enqueue(type, {}, { queue: "zzz" })];
  const claimed = [];
  for (const _ of ids) claimed.push(...await worker.claim([type], { queues: ["zzz"], max: 1 }));
  assert.deepEqual(claimed.map(({ jobId }) => jobId), ids);
  assert.deepEqual(await worker.claim([type], { queues: ["zzz"] }), []);
  assert.equal((await worker.claim([type], { queues: ["a7"] })).length, 1);
  await sql`delete from jobs where job_type_name = ${type}`;
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
