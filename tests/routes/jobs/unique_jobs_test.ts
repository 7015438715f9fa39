import assert from "node:assert/strict";
import { fireDueRecurringJobs } from "../../../domain/jobs/recurring/fire_recurring.ts";
import { pruneJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  assertHas,
  DEAD_LETTERS,
  deadLetterOf,
  enqueueJob,
  jobOf,
  JOBS,
  LATER,
  readJob,
  RECURRING,
  refusal,
} from "./job_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const echo = (more: Record<string, unknown> = {}) => jobOf("steward.echo", {}, more);
const key = () => `k-${crypto.randomUUID()}`;
const isDuplicate = ({ headers }: { headers: Headers }) => headers.get("steward-duplicate") === "true";
/** Enqueues a job. @returns its id, and "new" or "duplicate" */
async function put(by: Actor, given: unknown): Promise<{ id: string; is: string }> {
  const answer = await by.post(JOBS, given);
  assert.deepEqual([answer.status, isDuplicate(answer)], answer.status === 200 ? [200, true] : [201, false]);
  return { id: answer.body.id, is: answer.status === 200 ? "duplicate" : "new" };
}
const totalOf = async (by: Actor) => (await by.get(JOBS)).body.totalCount;
/** Makes the creation of a job `seconds` earlier. */
const age = (id: string, seconds: number) =>
  sql`update jobs set created_at = created_at - make_interval(secs => ${seconds}) where id = ${id}`;
async function deadLettered(by: Actor, more: Record<string, unknown>): Promise<string> {
  const id = await enqueueJob(by, "steward.fail", {}, { maxRetries: 0, ...more });
  assert.equal(await t.settled(id), "DeadLettered");
  return id;
}
const actor = await t.actor();

Deno.test("a second job with the key of an unfinished job answers 200 with that job; tenants and types have separate keys", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  const uniqueKey = "\u{1F511}".repeat(100);
  const given = echo({ uniqueKey, uniqueFor: null, scheduledAt: LATER });
  const first = await actor.post(JOBS, given);
  assert.deepEqual([first.status, first.body.uniqueKey, isDuplicate(first)], [201, uniqueKey, false]);
  const second = await actor.post(JOBS, jobOf("steward.echo", { other: 1 }, { uniqueKey, queue: "mail" }));
  assert.deepEqual([second.status, isDuplicate(second), second.body], [200, true, first.body]);
  assert.equal(await totalOf(actor), 1);
  assert.equal((await put(other, given)).is, "new");
  assert.equal((await put(actor, { ...given, jobTypeName: "steward.fail" })).is, "new");
  const global = await t.actor({ role: "SystemAdmin", global: true });
  for (const by of [t.systemAdmin, global]) assert.equal((await put(by, given)).is, "new");
  const child = { ...given, uniqueKey: key(), parentJobId: first.body.id };
  const { id } = await put(actor, child);
  assert.deepEqual(await put(actor, child), { id, is: "duplicate" }, "continuations have keys too");
});

Deno.test("a job releases its key when it succeeds, is cancelled or is dead-lettered", async () => {
  const uniqueKey = key();
  assert.equal(await t.settled((await put(actor, echo({ uniqueKey }))).id), "Succeeded");
  const waiting = await put(actor, echo({ uniqueKey, scheduledAt: LATER }));
  assert.equal((await actor.post(`${JOBS}/${waiting.id}/cancel`)).status, 200);
  assert.equal((await put(actor, echo({ uniqueKey, scheduledAt: LATER }))).is, "new");
  for (const _ of [1, 2]) await deadLettered(actor, { uniqueKey });
});

Deno.test("a job that runs or waits for its retry holds its key", async () => {
  const running = jobOf("steward.sleep", { milliseconds: 600_000 }, { uniqueKey: key() });
  const { id } = await put(actor, running);
  await until(async () => (await readJob(actor, id)).status === "Processing");
  assert.deepEqual(await put(actor, running), { id, is: "duplicate" });
  const failing = jobOf("steward.fail", {}, { uniqueKey: key() });
  const failed = await put(actor, failing);
  await t.settled(failed.id, ["Failed"]);
  assert.deepEqual(await put(actor, failing), { id: failed.id, is: "duplicate" });
  await actor.post(`${JOBS}/${id}/request-cancel`);
  await t.settled(id);
  assert.equal((await put(actor, { ...running, scheduledAt: LATER })).is, "new");
});

Deno.test("with seconds, a key is held from the creation on, also after the job has ended", async () => {
  const given = echo({ uniqueKey: key(), uniqueFor: 3_600 });
  const { id } = await put(actor, given);
  await t.settled(id);
  await sql`update jobs set created_at = now() where id = ${id}`; // however long its run took
  assert.deepEqual(await put(actor, given), { id, is: "duplicate" });
  await age(id, 3_500);
  assert.deepEqual(await put(actor, given), { id, is: "duplicate" });
  await age(id, 100);
  const second = await put(actor, { ...given, scheduledAt: LATER });
  assert.equal(second.is, "new");
  assert.equal((await readJob(actor, id)).uniqueKey, given.uniqueKey);
  await age(second.id, 3_600);
  assert.equal((await put(actor, given)).is, "new", "also while the holder has not ended");
});

Deno.test("many simultaneous enqueues of one key make one job", async () => {
  for (const uniqueFor of ["unfinished", 3_600]) {
    const given = echo({ uniqueKey: key(), uniqueFor, scheduledAt: LATER });
    const single = (headers = {}) => actor.post(JOBS, given, headers);
    const singles = [single(), single(), single(), single(), single({ "idempotency-key": key() })];
    const more = echo({ uniqueKey: key(), scheduledAt: LATER });
    const bulks = [[given, more, given], [more, given]].map((items) => actor.post(`${JOBS}/bulk`, { items }));
    const answers = await Promise.all(singles);
    const made = (await Promise.all(bulks)).flatMap(({ body }) => body.results as { id: string }[]);
    const ids = new Set([...answers.map(({ body }) => body.id), ...made.map(({ id }) => id)]);
    assert.equal(ids.size, 2, "one for each key, without a deadlock");
    assert.ok(answers.filter(({ status }) => status === 201).length <= 1);
    assert.ok(answers.filter((answer) => answer.status === 200 && isDuplicate(answer)).length >= 4);
    await age(answers[0]?.body.id, uniqueFor === 3_600 ? 3_601 : 0);
    const takers = await Promise.all([1, 2].map(() => put(actor, given)));
    assert.equal(takers.filter(({ is }) => is === "new").length, uniqueFor === 3_600 ? 1 : 0);
    assert.equal(new Set(takers.map(({ id }) => id)).size, 1);
  }
});

Deno.test("a bulk answer names the duplicates among its items", async () => {
  const actor = await t.actor();
  const [held, twice] = [key(), key()];
  const given = (uniqueKey?: string) => echo({ scheduledAt: LATER, ...(uniqueKey ? { uniqueKey } : {}) });
  const holder = await put(actor, given(held));
  const bulk = (items: unknown[], more = {}) => actor.post(`${JOBS}/bulk`, { items, ...more });
  const items = [given(), jobOf("nothing"), given(held), given(twice), given(twice), given()];
  const answer = await bulk(items, { continueOnError: true });
  const { total, succeeded, failed, duplicates, results } = answer.body;
  assert.deepEqual([answer.status, isDuplicate(answer)], [200, true]);
  assert.deepEqual([total, succeeded, failed, duplicates], [6, 5, 1, [2, 4]]);
  assert.deepEqual([results[1].id, results[2].id], [holder.id, results[3].id]);
  assert.equal(await totalOf(actor), 4);
  const taken = key();
  assert.equal((await bulk([given(taken), jobOf("nothing")])).status, 400);
  const plain = await bulk([given(taken)]);
  assert.ok(plain.body.duplicates.length === 0 && !isDuplicate(plain), "a refused request takes no key");
});

Deno.test("an Idempotency-Key is looked at before the uniqueKey", async () => {
  const given = echo({ uniqueKey: key(), scheduledAt: LATER });
  const { id } = await put(actor, given);
  const keyed = () => actor.post(JOBS, given, { "idempotency-key": "k" });
  assert.equal((await keyed()).status, 200);
  assert.equal((await actor.post(`${JOBS}/${id}/cancel`)).status, 200);
  const replayed = await keyed();
  assert.deepEqual([replayed.status, isDuplicate(replayed), replayed.body.status], [200, true, "Scheduled"]);
});

Deno.test("the retry of a dead letter takes the key again, or is refused if another job holds it", async () => {
  const uniqueKey = key();
  const { id } = await deadLetterOf(actor, await deadLettered(actor, { uniqueKey }));
  const retry = () => actor.post(`${DEAD_LETTERS}/${id}/retry`);
  const holder = await put(actor, jobOf("steward.fail", {}, { uniqueKey, scheduledAt: LATER }));
  const refused = await retry();
  assert.equal(refusal(refused), "409 JOB_DUPLICATE_CONFLICT");
  assert.ok(refused.body.detail.includes(holder.id));
  assert.equal((await actor.post(`${JOBS}/${holder.id}/cancel`)).status, 200);
  assertHas(await retry(), { status: 200, body: { uniqueKey } });

  const more = { maxRetries: 0, uniqueKey: key(), uniqueFor: 3_600 };
  const jobId = await deadLettered(actor, more);
  assert.equal((await put(actor, jobOf("steward.fail", {}, more))).id, jobId);
  const letter = await deadLetterOf(actor, jobId);
  const retried = await actor.post(`${DEAD_LETTERS}/${letter.id}/retry`);
  const { id: heldBy } = await put(actor, jobOf("steward.fail", {}, more));
  assert.equal(heldBy, retried.body.id, "held for seconds: handed over");
});

Deno.test("a bulk retry of dead letters leaves those whose key is held", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const first = await deadLettered(actor, { uniqueKey });
  const second = await deadLettered(actor, { uniqueKey });
  const { body } = await actor.post(`${DEAD_LETTERS}/retry`, { all: true });
  assert.deepEqual([body.matched, body.retried, body.jobIds.length], [2, 1, 1]);
  assert.ok((await deadLetterOf(actor, first)).retriedAt);
  assert.equal((await deadLetterOf(actor, second)).retriedAt, null);
  assert.equal(await t.settled(body.jobIds[0]), "DeadLettered");
});

Deno.test("a recurring job gives its key to its jobs; a tick and a trigger of a held key enqueue nothing", async () => {
  const actor = await t.actor();
  const path = `${RECURRING}/unique`;
  const trigger = () => actor.post(`${path}/trigger`);
  const unique = { uniqueKey: key(), uniqueFor: 3_600 };
  const made = await actor.post(RECURRING, echo({ jobId: "unique", cronExpression: "0 4 * * *", ...unique }));
  assertHas(made, { status: 201, body: unique });
  const first = await trigger();
  assert.deepEqual([first.body.uniqueKey, isDuplicate(first)], [unique.uniqueKey, false]);
  await t.settled(first.body.id);
  const again = await trigger();
  assert.deepEqual([again.status, again.body.id, isDuplicate(again)], [200, first.body.id, true]);
  await sql`update recurring_jobs set next_run_at = now() - interval '1 s' where tenant_id = ${actor.tenantId}`;
  await fireDueRecurringJobs(t.steward.platform);
  assert.ok(Date.parse((await actor.get(path)).body.nextRunAt) > Date.now());
  assert.equal(await totalOf(actor), 1);
  assertHas((await actor.put(path, { uniqueFor: null })).body, { ...unique, uniqueFor: "unfinished" });
  assertHas((await actor.put(path, { uniqueKey: null })).body, { uniqueKey: null, uniqueFor: null });
  assert.equal(isDuplicate(await trigger()), false);
});

Deno.test("a job is not pruned while it holds its key", async () => {
  const hold = async (uniqueFor: number) => (await put(actor, echo({ uniqueKey: key(), uniqueFor }))).id;
  const [kept, gone] = [await hold(3 * 86_400), await hold(3_600)];
  for (const id of [kept, gone]) await t.settled(id);
  await pruneJobs(t.steward.platform, { retentionDays: 1, now: new Date(Date.now() + 2 * 86_400_000) });
  assert.equal((await readJob(actor, kept)).id, kept);
  assert.equal(refusal(await actor.get(`${JOBS}/${gone}`)), "404 JOB_NOT_FOUND");
});

Deno.test("enqueues while their holders end leave at most one unfinished job, and each ends", async () => {
  const actor = await t.actor();
  const uniqueKey = key();
  const ids = new Set<string>();
  await Promise.all([1, 2, 3].map(async () => {
    for (let n = 0; n < 3; n++) ids.add((await put(actor, echo({ uniqueKey }))).id);
  }));
  for (const id of ids) assert.equal(await t.settled(id), "Succeeded");
  assert.equal(await totalOf(actor), ids.size);
});
