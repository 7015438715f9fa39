import assert from "node:assert/strict";
import { foldCounts } from "../../../domain/jobs/fold_counts.ts";
import type { Actor } from "../../support/setup.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const url = "/api/v1/dead-letter-jobs";

async function deadLetter(actor: Actor, message = "no luck"): Promise<{ id: string; jobId: string }> {
  const { body } = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.fail",
    serializedArgs: JSON.stringify({ message }),
    argsTypeName: "Failure",
    maxRetries: 0,
    priority: "High",
    queue: "mail",
  });
  await t.settled(body.id);
  const { items } = (await actor.get(url)).body;
  return items.find((item: { jobId: string }) => item.jobId === body.id);
}

Deno.test("a dead letter shows what failed and why", async () => {
  const actor = await t.actor();
  const entry = await deadLetter(actor);
  const { body } = await actor.get(url);
  assert.equal(body.totalCount, 1);
  assert.deepEqual({ ...body.items[0], failedAt: null }, {
    id: entry.id,
    jobId: entry.jobId,
    tenantId: actor.tenantId,
    jobTypeName: "steward.fail",
    queue: "mail",
    serializedArgs: '{"message":"no luck"}',
    attempts: 1,
    errorMessage: "no luck",
    failedAt: null,
    retriedAt: null,
    retriedJobId: null,
  });
  const outsider = await t.actor();
  assert.equal((await outsider.get(url)).body.totalCount, 0);
  const foreign = await outsider.post(`${url}/${entry.id}/retry`);
  assert.equal(foreign.status, 404);
  assert.equal(foreign.body.code, "JOB_DEADLETTER_NOT_FOUND");
  assert.equal(
    (await actor.post(`${url}/${crypto.randomUUID()}/retry`)).body.code,
    "JOB_DEADLETTER_NOT_FOUND",
  );
  assert.equal((await actor.post(`${url}/x/retry`)).body.code, "VALIDATION_ERROR");
});

Deno.test("of ten simultaneous retries one creates a new job like the old one", async () => {
  const actor = await t.actor();
  const entry = await deadLetter(actor);
  const answers = await Promise.all(Array.from({ length: 10 }, () => actor.post(`${url}/${entry.id}/retry`)));
  const [retried, ...others] = answers.filter((answer) => answer.status === 200);
  assert.equal(others.length, 0);
  for (const refused of answers.filter((answer) => answer.status !== 200)) {
    assert.deepEqual([refused.status, refused.body.code], [400, "JOB_DEADLETTER_ALREADY_RETRIED"]);
  }
  const job = retried?.body;
  assert.notEqual(job.id, entry.jobId);
  assert.deepEqual(
    [job.jobTypeName, job.serializedArgs, job.argsTypeName, job.queue, job.priority, job.maxRetries],
    ["steward.fail", '{"message":"no luck"}', "Failure", "mail", "High", 0],
  );
  await t.settled(job.id);
  const { items } = (await actor.get(url)).body;
  assert.equal(items.length, 2);
  const first = items.find((item: { id: string }) => item.id === entry.id);
  assert.equal(first.retriedJobId, job.id);
  assert.ok(first.retriedAt);
});

Deno.test("purge deletes by age, or everything with null, {} and an empty body, in the own tenant only", async () => {
  const actor = await t.actor();
  const other = await t.actor();
  await deadLetter(other);
  const old = await deadLetter(actor);
  await deadLetter(actor);
  await sql`update dead_letter_jobs set failed_at = now() - interval '10 days' where id = ${old.id}`;
  const purge = async (body?: unknown) => (await actor.post(`${url}/purge`, body)).body.purged;
  assert.equal(await purge({ retentionDays: 11 }), 0);
  assert.equal(await purge({ retentionDays: 9 }), 1);
  assert.equal((await actor.get(url)).body.totalCount, 1);
  assert.equal(await purge({ retentionDays: null }), 1);
  await deadLetter(actor);
  assert.equal(await purge(), 1);
  await deadLetter(actor);
  assert.equal(await purge({}), 1);
  await deadLetter(actor);
  assert.equal(await purge({ retentionDays: 0 }), 1);
  for (const retentionDays of [-1, 1.5, "7", 1e9]) {
    const refused = await actor.post(`${url}/purge`, { retentionDays });
    assert.equal(refused.status, 400);
    assert.ok(refused.body.errors.retentionDays);
  }
  assert.equal((await other.get(url)).body.totalCount, 1);
  assert.equal((await t.systemAdmin.post(`${url}/purge?tenantId=${other.tenantId}`)).body.purged, 1);
});

Deno.test("a bulk retry does not retry dead letters that result from its own retries", async () => {
  const actor = await t.actor();
  const item = { jobTypeName: "steward.fail", serializedArgs: "{}", maxRetries: 0 };
  const jobs = (await actor.post("/api/v1/jobs/bulk", { items: Array(600).fill(item) })).body.results;
  await Promise.all(jobs.map((job: { id: string }) => t.settled(job.id)));
  const { matched, retried } = (await actor.post(`${url}/retry`, { all: true })).body;
  assert.deepEqual({ matched, retried }, { matched: 600, retried: 600 });
});

Deno.test("a bulk retry with an Idempotency-Key retries once, and its repetition gets the first answer", async () => {
  const actor = await t.actor();
  const retry = () => actor.post(`${url}/retry`, { all: true }, { "idempotency-key": "once" });
  await deadLetter(actor);
  const first = await retry();
  assert.equal(first.body.retried, 1);
  await t.settled(first.body.jobIds[0]); // a new dead letter, which a second retry would match
  const again = await retry();
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(again.body, first.body);
  assert.equal((await actor.get("/api/v1/jobs")).body.totalCount, 2);
});

Deno.test("a group of errors with characters beyond the basic plane can be retried", async () => {
  const actor = await t.actor();
  await deadLetter(actor, "\u{1F600}".repeat(400));
  const [group] = (await actor.get(`${url}/groups`)).body.items;
  const dry = await actor.post(`${url}/retry`, { errorPattern: group.errorPattern, dryRun: true });
  assert.equal(dry.body.matched, 1);
});

Deno.test("similar errors form a group, which can be retried at once after a dry run", async () => {
  const actor = await t.actor();
  for (const number of [1, 2, 3]) await deadLetter(actor, `user ${number} of ${crypto.randomUUID()} is gone`);
  await deadLetter(actor, "something else");
  const groups = (await actor.get(`${url}/groups`)).body;
  assert.equal(groups.totalCount, 2);
  const [group, single] = groups.items;
  assert.deepEqual([group.count, group.errorPattern], [3, "user # of # is gone"]);
  assert.deepEqual([single.count, single.errorPattern], [1, "something else"]);
  const [times] = await sql`select min(failed_at) as first, max(failed_at) as last from dead_letter_jobs
    where tenant_id = ${actor.tenantId} and error_pattern = ${group.errorPattern}`;
  assert.deepEqual([group.firstFailedAt, group.lastFailedAt], [
    times?.first.toISOString(),
    times?.last.toISOString(),
  ]);
  await until(() => foldCounts(sql, { always: true }));
  assert.deepEqual((await actor.get(`${url}/groups`)).body, groups, "folded");
  const filter = { jobTypeName: "steward.fail", errorPattern: group.errorPattern };
  const dry = (await actor.post(`${url}/retry`, { ...filter, dryRun: true })).body;
  assert.deepEqual(dry, { matched: 3, retried: 0, dryRun: true, jobIds: [] });
  assert.equal((await actor.post(`${url}/retry`, { ...filter, failedTo: "2020-01-01" })).body.matched, 0);
  assert.equal((await actor.post(`${url}/retry`, { errorContains: "ELSE", dryRun: true })).body.matched, 1);
  const ofGroup = sql`tenant_id = ${actor.tenantId} and error_pattern = ${group.errorPattern}`;
  const before = await sql<{ id: string }[]>`select id from dead_letter_jobs where ${ofGroup}`;
  const [one, two] = await Promise.all([
    actor.post(`${url}/retry`, filter),
    actor.post(`${url}/retry`, filter),
  ]);
  const jobIds: string[] = [...one?.body.jobIds ?? [], ...two?.body.jobIds ?? []];
  const retried = await sql<{ jobId: string }[]>`
    select retried_job_id as job_id from dead_letter_jobs where id = any(${
    before.map(({ id }) => id)
  }::uuid[])`;
  // the second request also finds retried jobs that have failed again meanwhile
  assert.equal(new Set(jobIds).size, one?.body.retried + two?.body.retried);
  assert.equal(new Set(retried.map(({ jobId }) => jobId)).size, 3, "each dead letter is retried once");
  assert.ok(retried.every(({ jobId }) => jobIds.includes(jobId)));
  for (const jobId of jobIds) await t.settled(jobId);
  assert.equal(
    (await actor.get(`${url}/groups`)).body.items[0].count,
    3,
    "the new ones, without the retried ones",
  );
  const outsider = await t.actor();
  assert.equal((await outsider.post(`${url}/retry`, { all: true })).body.matched, 0);
  const audit =
    await sql`select 1 from audit_log where action = 'deadLetter.retryMany' and tenant_id = ${actor.tenantId}`;
  assert.ok(audit.length > 0);
});
