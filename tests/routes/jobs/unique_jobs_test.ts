import assert from "node:assert/strict";
import { fireDueRecurringJobs } from "../../../domain/jobs/fire_recurring.ts";
import { pruneJobs } from "../../../domain/jobs/prune.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const url = "/api/v1/jobs";
const later = new Date(Date.now() + 3_600_000).toISOString();
const echo = (extra: Record<string, unknown> = {}) => ({ jobTypeName: "steward.echo", ...extra });
const key = () => `k-${crypto.randomUUID()}`;
/** Makes the creation of a job `seconds` earlier. */
const age = (id: string, seconds: number) =>
  sql`update jobs set created_at = created_at - make_interval(secs => ${seconds}) where id = ${id}`;

async function deadLetterOf(actor: Actor, jobId: string): Promise<string> {
  const { items } = (await actor.get("/api/v1/dead-letter-jobs")).body;
  return items.find((item: { jobId: string }) => item.jobId === jobId)?.id;
}

async function deadLettered(actor: Actor, extra: Record<string, unknown>): Promise<string> {
  const { body } = await actor.post(url, { jobTypeName: "steward.fail", maxRetries: 0, ...extra });
  assert.equal(await t.settled(body.id), "DeadLettered");
  return body.id;
}

Deno.test("a second job with the key of an unfinished job answers 200 with that job", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const first = await actor.post(url, echo({ uniqueKey, scheduledAt: later }));
  assert.deepEqual([first.status, first.body.uniqueKey], [201, uniqueKey]);
  assert.equal(first.headers.get("steward-duplicate"), null);
  const second = await actor.post(url, echo({ uniqueKey, serializedArgs: '{"other":1}', queue: "mail" }));
  assert.deepEqual([second.status, second.headers.get("steward-duplicate")], [200, "true"]);
  assert.deepEqual(second.body, first.body);
  assert.equal((await actor.get(url)).body.totalCount, 1);
});

Deno.test("keys are separate for each tenant and job type", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  const uniqueKey = key();
  const given = echo({ uniqueKey, scheduledAt: later });
  const answers = [
    await actor.post(url, given),
    await other.post(url, given),
    await actor.post(url, { ...given, jobTypeName: "steward.fail" }),
    await t.systemAdmin.post(url, given),
    await (await t.actor({ role: "SystemAdmin", global: true })).post(url, given),
  ];
  assert.deepEqual(answers.map(({ status }) => status), [201, 201, 201, 201, 201]);
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 5);
});

Deno.test("a job releases its key when it succeeds, is cancelled or is dead-lettered", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const succeeded = await actor.post(url, echo({ uniqueKey }));
  assert.equal(await t.settled(succeeded.body.id), "Succeeded");
  const waiting = await actor.post(url, echo({ uniqueKey, scheduledAt: later }));
  assert.equal(waiting.status, 201);
  assert.equal((await actor.post(`${url}/${waiting.body.id}/cancel`)).status, 200);
  const again = await actor.post(url, echo({ uniqueKey, scheduledAt: later }));
  assert.equal(again.status, 201);
  await deadLettered(actor, { uniqueKey });
  await deadLettered(actor, { uniqueKey });
});

Deno.test("a job that runs or waits for its retry holds its key", async () => {
  const actor = await t.actor();
  const [running, failing] = [key(), key()];
  const sleep = { jobTypeName: "steward.sleep", serializedArgs: '{"milliseconds":1500}', uniqueKey: running };
  const first = await actor.post(url, sleep);
  await until(async () => (await actor.get(`${url}/${first.body.id}`)).body.status === "Processing");
  assert.equal((await actor.post(url, sleep)).body.id, first.body.id);
  const failed = await actor.post(url, { jobTypeName: "steward.fail", uniqueKey: failing });
  await t.settled(failed.body.id, ["Failed"]);
  assert.equal(
    (await actor.post(url, { jobTypeName: "steward.fail", uniqueKey: failing })).body.id,
    failed.body.id,
  );
  await t.settled(first.body.id);
  assert.equal((await actor.post(url, { ...sleep, serializedArgs: '{"milliseconds":1}' })).status, 201);
});

Deno.test("with seconds, a key is held from the creation on, also after the job has ended", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const given = echo({ uniqueKey, uniqueFor: 60 });
  const first = await actor.post(url, given);
  await t.settled(first.body.id);
  const duplicate = await actor.post(url, given);
  assert.deepEqual([duplicate.status, duplicate.body.id, duplicate.body.status], [
    200,
    first.body.id,
    "Succeeded",
  ]);
  await age(first.body.id, 59);
  assert.equal((await actor.post(url, given)).status, 200);
  await age(first.body.id, 1);
  const second = await actor.post(url, { ...given, scheduledAt: later });
  assert.equal(second.status, 201);
  assert.equal((await actor.get(`${url}/${first.body.id}`)).body.uniqueKey, uniqueKey);
  await age(second.body.id, 61);
  assert.equal((await actor.post(url, given)).status, 201, "also while the holder has not ended");
});

Deno.test("many simultaneous enqueues of one key make one job", async () => {
  const actor = await t.actor();
  for (const uniqueFor of ["unfinished", 60]) {
    const given = echo({ uniqueKey: key(), uniqueFor, scheduledAt: later });
    const bulk = { items: [given, echo({ scheduledAt: later }), given] };
    const answers = await Promise.all([
      ...Array.from({ length: 12 }, () => actor.post(url, given)),
      ...Array.from({ length: 6 }, (_, n) => actor.post(url, given, { "idempotency-key": key() + n })),
    ]);
    const bulks = await Promise.all(Array.from({ length: 6 }, () => actor.post(`${url}/bulk`, bulk)));
    const ids = new Set(answers.map(({ body }) => body.id));
    for (const { body } of bulks) for (const n of [0, 2]) ids.add(body.results[n].id);
    assert.equal(ids.size, 1);
    assert.equal(answers.filter(({ status }) => status === 201).length, 1);
    assert.equal(answers.filter(({ headers }) => headers.has("steward-duplicate")).length, 17);
  }
});

Deno.test("simultaneous takers of an expired key make one job", async () => {
  const actor = await t.actor();
  const given = echo({ uniqueKey: key(), uniqueFor: 60, scheduledAt: later });
  const { body: old } = await actor.post(url, given);
  await age(old.id, 61);
  const answers = await Promise.all(Array.from({ length: 12 }, () => actor.post(url, given)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  assert.notEqual(answers[0]?.body.id, old.id);
});

Deno.test("enqueues while their holders end leave at most one unfinished job, and each ends", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const ids = new Set<string>();
  const enqueueSome = async () => {
    for (let n = 0; n < 25; n++) {
      const { status, body } = await actor.post(url, echo({ uniqueKey }));
      assert.ok(status === 200 || status === 201, JSON.stringify(body));
      ids.add(body.id);
    }
  };
  await Promise.all([enqueueSome(), enqueueSome(), enqueueSome(), enqueueSome()]);
  for (const id of ids) assert.equal(await t.settled(id), "Succeeded");
  const rows = await sql<{ startedAt: Date; completedAt: Date; createdAt: Date }[]>`
    select created_at, started_at, completed_at from jobs where unique_key = ${uniqueKey} order by id`;
  assert.equal(rows.length, ids.size);
});

Deno.test("a bulk request with keys in opposite orders does not deadlock", async () => {
  const actor = await t.actor();
  const items = Array.from({ length: 40 }, (_, n) => echo({ uniqueKey: `${n}`, scheduledAt: later }));
  const answers = await Promise.all(
    Array.from(
      { length: 8 },
      (_, n) => actor.post(`${url}/bulk`, { items: n % 2 ? items : items.toReversed() }),
    ),
  );
  assert.deepEqual(answers.map(({ status }) => status), Array(8).fill(200));
  assert.equal((await actor.get(url)).body.totalCount, 40);
});

Deno.test("a bulk answer names the duplicates among its items", async () => {
  const actor = await t.actor();
  const [held, twice] = [key(), key()];
  const { body: holder } = await actor.post(url, echo({ uniqueKey: held, scheduledAt: later }));
  const given = (uniqueKey?: string) => echo({ scheduledAt: later, ...(uniqueKey ? { uniqueKey } : {}) });
  const { status, body, headers } = await actor.post(`${url}/bulk`, {
    items: [given(), { jobTypeName: "nothing" }, given(held), given(twice), given(twice), given()],
    continueOnError: true,
  });
  assert.equal(status, 200);
  assert.equal(headers.get("steward-duplicate"), "true");
  assert.deepEqual([body.total, body.succeeded, body.failed, body.duplicates], [6, 5, 1, [2, 4]]);
  assert.equal(body.results[1].id, holder.id);
  assert.equal(body.results[2].id, body.results[3].id);
  assert.equal((await actor.get(url)).body.totalCount, 4);
  const plain = await actor.post(`${url}/bulk`, { items: [given()] });
  assert.deepEqual([plain.body.duplicates, plain.headers.get("steward-duplicate")], [[], null]);
  const refused = await actor.post(`${url}/bulk`, { items: [given(key()), { jobTypeName: "nothing" }] });
  assert.equal(refused.status, 400);
  assert.equal((await actor.get(url)).body.totalCount, 5, "a refused request takes no key");
});

Deno.test("an Idempotency-Key is looked at before the uniqueKey", async () => {
  const actor = await t.actor();
  const given = echo({ uniqueKey: key(), scheduledAt: later });
  const repeated = { "idempotency-key": key() };
  const first = await actor.post(url, given, repeated);
  const replay = await actor.post(url, given, repeated);
  assert.deepEqual([replay.status, replay.headers.get("idempotency-replayed"), replay.body], [
    201,
    "true",
    first.body,
  ]);
  assert.equal(replay.headers.get("steward-duplicate"), null);
  const other = { "idempotency-key": key() };
  assert.equal((await actor.post(url, given, other)).status, 200);
  assert.equal((await actor.post(`${url}/${first.body.id}/cancel`)).status, 200);
  const replayedDuplicate = await actor.post(url, given, other);
  assert.deepEqual(
    [
      replayedDuplicate.status,
      replayedDuplicate.headers.get("steward-duplicate"),
      replayedDuplicate.body.status,
    ],
    [200, "true", "Scheduled"],
  );
});

Deno.test("invalid keys and durations are refused by name", async () => {
  const actor = await t.actor();
  const cases: [Record<string, unknown>, string][] = [
    [{ uniqueKey: "" }, "uniqueKey"],
    [{ uniqueKey: "x".repeat(201) }, "uniqueKey"],
    [{ uniqueKey: 7 }, "uniqueKey"],
    [{ uniqueKey: "k", uniqueFor: "forever" }, "uniqueFor"],
    [{ uniqueKey: "k", uniqueFor: 0 }, "uniqueFor"],
    [{ uniqueKey: "k", uniqueFor: 1.5 }, "uniqueFor"],
    [{ uniqueKey: "k", uniqueFor: 366 * 86_400 + 1 }, "uniqueFor"],
  ];
  for (const [extra, field] of cases) {
    const { status, body } = await actor.post(url, echo(extra));
    assert.deepEqual([status, body.code, Object.keys(body.errors)], [400, "VALIDATION_ERROR", [field]]);
  }
  const longest = echo({ uniqueKey: "🗝".repeat(100), uniqueFor: null, scheduledAt: later });
  assert.equal((await actor.post(url, longest)).status, 201);
  assert.equal((await actor.post(url, longest)).status, 200);
});

Deno.test("a continuation with a key is a duplicate like any other job", async () => {
  const actor = await t.actor();
  const { body: parent } = await actor.post(url, echo({ scheduledAt: later }));
  const given = echo({ parentJobId: parent.id, uniqueKey: key() });
  const first = await actor.post(url, given);
  assert.deepEqual([first.status, first.body.status], [201, "AwaitingParent"]);
  assert.deepEqual(
    [(await actor.post(url, given)).status, (await actor.post(url, given)).body.id],
    [200, first.body.id],
  );
});

Deno.test("the retry of a dead letter takes the key again, or is refused if another job holds it", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const jobId = await deadLettered(actor, { uniqueKey });
  const path = `/api/v1/dead-letter-jobs/${await deadLetterOf(actor, jobId)}/retry`;
  const { body: holder } = await actor.post(url, {
    jobTypeName: "steward.fail",
    uniqueKey,
    scheduledAt: later,
  });
  const refused = await actor.post(path);
  assert.deepEqual([refused.status, refused.body.code], [409, "JOB_DUPLICATE_CONFLICT"]);
  assert.ok(refused.body.detail.includes(holder.id));
  assert.equal((await actor.post(`${url}/${holder.id}/cancel`)).status, 200);
  const retried = await actor.post(path);
  assert.deepEqual([retried.status, retried.body.uniqueKey], [200, uniqueKey]);
  assert.equal((await actor.post(path)).body.code, "JOB_DEADLETTER_ALREADY_RETRIED");
});

Deno.test("a dead-lettered job that holds its key for seconds hands it to its retry", async () => {
  const actor = await t.actor();
  const given = { jobTypeName: "steward.fail", maxRetries: 0, uniqueKey: key(), uniqueFor: 3_600 };
  const jobId = await deadLettered(actor, given);
  assert.equal((await actor.post(url, given)).body.id, jobId);
  const id = await deadLetterOf(actor, jobId);
  const retried = await actor.post(`/api/v1/dead-letter-jobs/${id}/retry`);
  assert.equal(retried.status, 200);
  assert.equal((await actor.post(url, given)).body.id, retried.body.id);
});

Deno.test("a bulk retry of dead letters leaves those whose key is held", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const jobIds = [await deadLettered(actor, { uniqueKey }), await deadLettered(actor, { uniqueKey })];
  const { body } = await actor.post("/api/v1/dead-letter-jobs/retry", { all: true });
  assert.deepEqual([body.matched, body.retried, body.jobIds.length], [2, 1, 1]);
  assert.equal(await t.settled(body.jobIds[0]), "DeadLettered");
  const { items } = (await actor.get("/api/v1/dead-letter-jobs")).body;
  const open = items.filter((item: { retriedAt: string | null }) => item.retriedAt === null);
  assert.deepEqual(open.map((item: { jobId: string }) => jobIds.indexOf(item.jobId)).sort(), [-1, 1]);
});

Deno.test("a recurring job gives its key to its jobs; a tick and a trigger of a held key enqueue nothing", async () => {
  const actor = await t.actor();
  const recurring = "/api/v1/recurring-jobs";
  const given = { jobId: "unique", jobTypeName: "steward.echo", cronExpression: "0 4 * * *" };
  const uniqueKey = key();
  const made = await actor.post(recurring, { ...given, uniqueKey, uniqueFor: 3_600 });
  assert.deepEqual([made.status, made.body.uniqueKey, made.body.uniqueFor], [201, uniqueKey, 3_600]);
  const first = await actor.post(`${recurring}/unique/trigger`);
  assert.deepEqual([first.body.uniqueKey, first.headers.get("steward-duplicate")], [uniqueKey, null]);
  await t.settled(first.body.id);
  const duplicate = await actor.post(`${recurring}/unique/trigger`);
  assert.deepEqual([duplicate.status, duplicate.body.id, duplicate.headers.get("steward-duplicate")], [
    200,
    first.body.id,
    "true",
  ]);
  await sql`update recurring_jobs set next_run_at = now() - interval '1 s' where tenant_id = ${actor.tenantId}`;
  await fireDueRecurringJobs(t.steward.platform);
  const { body: skipped } = await actor.get(`${recurring}/unique`);
  assert.ok(Date.parse(skipped.nextRunAt) > Date.now());
  assert.equal((await actor.get(url)).body.totalCount, 1);
  const { body: changed } = await actor.put(`${recurring}/unique`, { uniqueFor: null });
  assert.deepEqual([changed.uniqueKey, changed.uniqueFor], [uniqueKey, "unfinished"]);
  const { body: cleared } = await actor.put(`${recurring}/unique`, { uniqueKey: null });
  assert.deepEqual([cleared.uniqueKey, cleared.uniqueFor], [null, null]);
  assert.equal((await actor.post(`${recurring}/unique/trigger`)).headers.get("steward-duplicate"), null);
});

Deno.test("a job is not pruned while it holds its key", async () => {
  const actor = await t.actor();
  const kept = await actor.post(url, echo({ uniqueKey: key(), uniqueFor: 3 * 86_400 }));
  const gone = await actor.post(url, echo({ uniqueKey: key(), uniqueFor: 3_600 }));
  await t.settled(kept.body.id);
  await t.settled(gone.body.id);
  await pruneJobs(sql, { retentionDays: 1, now: new Date(Date.now() + 2 * 86_400_000) });
  assert.equal((await actor.get(`${url}/${kept.body.id}`)).status, 200);
  assert.equal((await actor.get(`${url}/${gone.body.id}`)).status, 404);
});
