import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const permissions = ["manage:job-types", "work:jobs", "manage:jobs"];
const jobs = "/api/v1/jobs";

async function declare(
  actor: Actor,
  rateLimit: unknown,
  more: Record<string, unknown> = {},
): Promise<string> {
  const name = `rate.${newId()}`;
  const { status, body } = await actor.put(`/api/v1/job-types/${name}`, { rateLimit, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return name;
}

async function enqueue(actor: Actor, type: string, args: unknown[], more: Record<string, unknown> = {}) {
  const items = args.map((arg) => ({ jobTypeName: type, serializedArgs: JSON.stringify(arg), ...more }));
  const { status, body } = await actor.post(`${jobs}/bulk`, { items });
  assert.equal(status, 200, JSON.stringify(body));
  return body.results.map(({ id }: { id: string }) => id) as string[];
}

/** Claims and settles jobs until `count` have run; returns their arguments. */
async function work(actor: Actor, type: string, count: number, max = 100): Promise<unknown[]> {
  const worker = new RemoteWorker(actor, "one");
  const done: unknown[] = [];
  while (done.length < count) {
    const claimed = await worker.claim([type], { max, waitSeconds: 10 });
    assert.ok(claimed.length > 0, `${done.length} of ${count} jobs came`);
    done.push(...claimed.map(({ args }) => args));
    await actor.post("/api/v1/work/settle", {
      jobs: claimed.map(({ jobId, attempt }) => ({ jobId, attempt, outcome: "succeeded" })),
    });
  }
  return done;
}

/** Start times of the attempts of a type, in seconds, sorted. */
async function starts(type: string): Promise<number[]> {
  const rows = await sql<{ s: number }[]>`
    select extract(epoch from started_at)::float8 as s from jobs
    where job_type_name = ${type} and started_at is not null order by 1`;
  return rows.map(({ s }) => s);
}

/** No window may hold more starts than the bucket's capacity and what is refilled in the window. */
function requireWithin(times: number[], count: number, perSeconds: number): void {
  for (let from = 0; from < times.length; from++) {
    for (let to = from; to < times.length; to++) {
      const seconds = (times[to] ?? 0) - (times[from] ?? 0) + 0.02;
      const allowed = count + seconds * count / perSeconds;
      assert.ok(to - from + 1 <= allowed, `${to - from + 1} starts in ${seconds} s, allowed ${allowed}`);
    }
  }
}

Deno.test("at most `count` jobs start at once, and the others when their tokens come", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 4, perSeconds: 1 });
  const ids = await enqueue(actor, type, Array.from({ length: 12 }, (_, n) => n));
  const worker = new RemoteWorker(actor, "one");
  const first = await worker.claim([type], { waitSeconds: 10 });
  assert.ok(first.length >= 1 && first.length <= 4);
  await actor.post("/api/v1/work/settle", {
    jobs: first.map(({ jobId, attempt }) => ({ jobId, attempt, outcome: "succeeded" })),
  });
  const waiting = (await actor.get(`${jobs}/${ids[11]}`)).body;
  assert.deepEqual([waiting.status, waiting.attempts], ["Enqueued", 0], "what exceeds the limit waits");
  await work(actor, type, 12 - first.length);
  const times = await starts(type);
  assert.equal(times.length, 12);
  requireWithin(times, 4, 1);
  const took = (times.at(-1) ?? 0) - (times[0] ?? 0);
  assert.ok(took > 1.9 && took < 6, `8 further tokens came in ${took} s`);
});

Deno.test("each value of the key has a bucket; an absent value has one too", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 1, perSeconds: 3_600, key: "$.customer.id" });
  const args = [1, 2, "1", null, { a: 1 }].flatMap((
    id,
  ) => [{ customer: { id } }, { customer: { id }, n: 2 }]);
  await enqueue(actor, type, [...args, {}, { customer: 7 }, { customer: { __proto__: null } }]);
  const done = await work(actor, type, 6);
  assert.deepEqual(
    done.map((args) => JSON.stringify((args as { customer?: { id?: unknown } }).customer?.id)).sort(),
    ['"1"', "1", "2", "null", '{"a":1}', undefined].map(String).map((v) => v === "undefined" ? undefined : v)
      .sort(),
  );
  assert.deepEqual(await new RemoteWorker(actor, "one").claim([type]), []);
});

Deno.test("a retry takes a token, and so does an attempt after a released one", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 2, perSeconds: 3_600 });
  const [id = ""] = await enqueue(actor, type, [1]);
  const worker = new RemoteWorker(actor, "one");
  const [job] = await worker.claim([type], { waitSeconds: 10 });
  const settle = (attempt: number | undefined, outcome: string) =>
    actor.post("/api/v1/work/settle", { jobs: [{ jobId: id, attempt, outcome, error: "no" }] });
  await settle(job?.attempt, "failed");
  assert.equal((await actor.post(`${jobs}/${id}/retry-now`)).status, 200);
  const [again] = await worker.claim([type], { waitSeconds: 10 });
  assert.equal(again?.jobId, id);
  await settle(again?.attempt, "released");
  await t.settled((await actor.post(jobs, { jobTypeName: "steward.echo" })).body.id);
  assert.deepEqual(await worker.claim([type], { waitSeconds: 1 }), [], "both tokens are taken");
  assert.equal((await actor.get(`${jobs}/${id}`)).body.status, "Enqueued");
});

Deno.test("tenants have separate buckets of their own types, and share those of a platform type fairly", async () => {
  const [one, two] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const name = `rate.${newId()}`;
  const limit = { rateLimit: { count: 1, perSeconds: 3_600 } };
  for (const actor of [one, two]) {
    assert.equal((await actor.put(`/api/v1/job-types/${name}`, limit)).status, 201);
    await enqueue(actor, name, [1, 2]);
  }
  for (const actor of [one, two]) assert.deepEqual(await work(actor, name, 1), [1]);

  const platform = await t.actor({ role: "SystemAdmin", global: true });
  const shared = await declare(platform, { count: 10, perSeconds: 1 });
  await enqueue(one, shared, Array.from({ length: 300 }, () => 0));
  await enqueue(two, shared, [1, 2, 3]);
  const ofOne = work(one, shared, 5);
  await work(two, shared, 3);
  await ofOne;
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from jobs where job_type_name = ${shared} and status = 'Enqueued'`;
  assert.ok((row?.n ?? 0) > 200, "the single jobs did not wait for the long line");
});

Deno.test("a tenant without workers does not keep the tokens of a shared bucket", async () => {
  const [one, two] = [await t.actor({ permissions }), await t.actor({ permissions })];
  const platform = await t.actor({ role: "SystemAdmin", global: true });
  const shared = await declare(platform, { count: 1, perSeconds: 1 });
  await enqueue(one, shared, [1]);
  await until(async () =>
    (await sql`select from jobs where job_type_name = ${shared} and lane < '§'`).length === 1
  );
  await enqueue(two, shared, [2]);
  await sql`update job_buckets set released_at = now() - interval '11 s' where bucket = ${shared}`;
  assert.deepEqual(await work(two, shared, 1), [2]);
  await sql`update job_buckets set released_at = now() - interval '11 s' where bucket = ${shared}`;
  assert.deepEqual(await work(one, shared, 1), [1]);
});

Deno.test("priority decides among waiting jobs, cancelled ones take no token, and other lanes go on", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 1, perSeconds: 2 });
  const [, cancelled = ""] = await enqueue(actor, type, ["first", "cancelled"]);
  assert.deepEqual(await work(actor, type, 1), ["first"]);
  await enqueue(actor, type, ["low"], { priority: "Low" });
  await enqueue(actor, type, ["critical"], { priority: "Critical" });
  assert.equal((await actor.post(`${jobs}/${cancelled}/cancel`)).status, 200);
  const other = (await actor.post(jobs, { jobTypeName: "steward.echo" })).body;
  assert.equal(await t.settled(other.id), "Succeeded");
  assert.deepEqual(await work(actor, type, 2), ["critical", "low"]);
  requireWithin(await starts(type), 1, 2);
});

Deno.test("paused work takes no tokens, and starts within the limit after the resume", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 2, perSeconds: 1 });
  await actor.post(`${jobs}/queues/slow/pause`);
  await enqueue(actor, type, [1, 2, 3, 4, 5, 6], { queue: "slow" });
  await enqueue(actor, type, [7]);
  assert.deepEqual(await work(actor, type, 1), [7]);
  const { body: queues } = await actor.get(`${jobs}/queues`);
  const slow = queues.find(({ queue }: { queue: string }) => queue === "slow");
  assert.deepEqual([slow.waiting, slow.oldestDueAt], [6, null]);
  await actor.post(`${jobs}/queues/slow/resume`);
  await work(actor, type, 6);
  requireWithin(await starts(type), 2, 1);
});

Deno.test("a changed or removed limit holds for the jobs that wait", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 1, perSeconds: 3_600 });
  await enqueue(actor, type, [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(await work(actor, type, 1), [1]);
  await actor.put(`/api/v1/job-types/${type}`, { rateLimit: { count: 2, perSeconds: 1 } });
  await work(actor, type, 2, 1);
  await actor.put(`/api/v1/job-types/${type}`, { rateLimit: null });
  assert.equal((await work(actor, type, 3)).length, 3);
});

Deno.test("after the clock was set back, waiting jobs start within the period of the limit", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 1, perSeconds: 1 });
  await enqueue(actor, type, [1, 2, 3]);
  assert.deepEqual(await work(actor, type, 1), [1]);
  await sql`update job_buckets set full_at = full_at + interval '5 hours', next_at = next_at + interval '5 hours'
    where bucket like ${`${type}%`}`;
  await work(actor, type, 2);
});

Deno.test("jobs left by an instance that was killed before it released them are released by another", async () => {
  const actor = await t.actor({ permissions });
  const type = await declare(actor, { count: 1, perSeconds: 1 });
  const id = newId();
  // as a killed instance leaves them: the job and its event are committed, and no one was woken
  await sql`insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, due_at,
      max_retries, limit_key, bucket, lane)
    values (${id}, ${actor.tenantId}, ${type}, '1', 'FireAndForget', 'Enqueued', 2, 'default', now(), 0,
      ${`~${type}|${actor.tenantId}`}, ${`${type}@${actor.tenantId}`}, ${`§${type}@${actor.tenantId}|${actor.tenantId}|default`})`;
  assert.deepEqual(await work(actor, type, 1), [1]);
});

Deno.test("invalid rate limits are refused by name", async () => {
  const actor = await t.actor({ permissions });
  for (
    const rateLimit of [{ count: 0, perSeconds: 1 }, { count: 1 }, { count: 1, perSeconds: 86_401 }, {
      count: 1,
      perSeconds: 1,
      key: "customer",
    }]
  ) {
    const { status, body } = await actor.put(`/api/v1/job-types/rate.${newId()}`, { rateLimit });
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"]);
    assert.match(Object.keys(body.errors).join(), /^rateLimit/);
  }
});
