import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { racingFor } from "../auth/people.ts";
import {
  addDeadLetters,
  assertHas,
  DEAD_LETTERS,
  deadLetterOf,
  enqueueJob,
  jobOf,
  JOBS,
  LATER,
  readJob,
  refusal,
} from "./job_calls.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
const { sql } = t.steward.platform;

async function ended(by: Actor, type: string, args: unknown, more = {}): Promise<string> {
  const id = await enqueueJob(by, type, args, more);
  await t.settled(id);
  return id;
}
const failedJob = (by: Actor) => ended(by, "steward.fail", { message: "no luck" }, { maxRetries: 0 });
const retryJob = (by: Actor, id: string, change?: unknown, headers = {}) =>
  by.post(`${JOBS}/${id}/retry`, change, headers);
const actor = await t.actor();

Deno.test("a dead letter is retried with other arguments, given as JSON or as text", async () => {
  const actor = await t.actor();
  for (const change of [{ args: { message: "again" } }, { serializedArgs: '{ "message": "again" }' }]) {
    const jobId = await failedJob(actor);
    const { id } = await deadLetterOf(actor, jobId);
    const { status, body } = await actor.post(`${DEAD_LETTERS}/${id}/retry`, change);
    assert.deepEqual([status, body.createdBy], [200, actor.userId]);
    assert.deepEqual(JSON.parse(body.serializedArgs), { message: "again" });
    const { serializedArgs } = await readJob(actor, jobId);
    assert.equal(serializedArgs, '{"message":"no luck"}', "the dead-lettered job does not change");
  }
  const rows = await sql`
    select after from audit_log where action = 'deadLetter.retry' and tenant_id = ${actor.tenantId}`;
  assert.deepEqual(rows.map(({ after }) => after.hasChangedArgs), [true, true]);
});

Deno.test("a dead-lettered job is retried from the job itself, once, and its dead letter says so", async () => {
  const jobId = await failedJob(actor);
  const { id } = await deadLetterOf(actor, jobId);
  const ways = [`${JOBS}/${jobId}/retry`, `${DEAD_LETTERS}/${id}/retry`];
  const answers = await Promise.all(ways.map((path) => actor.post(path)));
  const [retried, ...others] = answers.toSorted((a, b) => a.status - b.status);
  assertHas(retried, { status: 200, body: { jobTypeName: "steward.fail", maxRetries: 0 } });
  for (const other of others) assert.equal(refusal(other), "400 JOB_DEADLETTER_ALREADY_RETRIED");
  assert.equal((await deadLetterOf(actor, jobId)).retriedJobId, retried?.body.id);

  await actor.post(`${DEAD_LETTERS}/purge`);
  const again = await retryJob(actor, jobId, { args: { message: "2" } });
  assertHas(again, { status: 200, body: { serializedArgs: '{"message":"2"}' } });
});

Deno.test("a retry of a job that waits for the purge of its dead letter runs the job again, as after the purge", async () => {
  const actor = await t.actor();
  const jobId = await failedJob(actor);
  const { id } = await deadLetterOf(actor, jobId);
  const raced = await racingFor(
    t,
    (tx) => tx`select from dead_letter_jobs where id = ${id} for update`,
    () => actor.post(`${DEAD_LETTERS}/purge`),
    () => retryJob(actor, jobId),
  );
  assert.deepEqual(raced, ["200", "200"]);
});

Deno.test("an ended job runs again as a new job with the same or other arguments, any number of times", async () => {
  const given = { queue: "mail", priority: "High", maxRetries: 7, argsTypeName: "E" };
  const jobId = await ended(actor, "steward.echo", { n: 1 }, given);
  for (const [change, n] of [[undefined, 1], [{ args: { n: 2 } }, 2], [{}, 1]] as const) {
    const { status, body } = await retryJob(actor, jobId, change);
    assert.ok(status === 200 && body.id !== jobId);
    const { tenantId, userId: createdBy } = actor;
    assertHas(body, { ...given, serializedArgs: `{"n":${n}}`, tenantId, createdBy });
    assert.equal(await t.settled(body.id), "Succeeded");
  }
  const cancelled = await enqueueJob(actor, "steward.echo", {}, { scheduledAt: LATER });
  await actor.post(`${JOBS}/${cancelled}/cancel`);
  const { body: again } = await retryJob(actor, cancelled);
  assert.deepEqual([again.type, await t.settled(again.id)], ["FireAndForget", "Succeeded"]);
  const rows = await sql`
    select after from audit_log where action = 'job.retry' and target_id = ${jobId} order by id`;
  assert.deepEqual(rows.map(({ after }) => after.hasChangedArgs), [false, true, false]);
});

Deno.test("a job that has not ended is not retried; a system administrator retries a job for its tenant", async () => {
  const waiting = await enqueueJob(actor, "steward.echo", {}, { scheduledAt: LATER });
  assert.equal(refusal(await retryJob(actor, waiting)), "400 JOB_CANNOT_RETRY");
  const given = jobOf("steward.echo", {}, { uniqueKey: "k", uniqueFor: 3600 });
  const { id } = (await actor.post(JOBS, given)).body;
  await t.settled(id);
  const { tenantId } = actor;
  assertHas(await retryJob(t.systemAdmin, id), { status: 200, body: { tenantId, uniqueKey: "k" } });
  assert.equal(refusal(await retryJob(actor, id)), "409 JOB_DUPLICATE_CONFLICT", "another job holds its key");
});

Deno.test("arguments of a retry are checked like those of a new job", async () => {
  const sleeping = await ended(actor, "steward.sleep", { milliseconds: 1 });
  const dead = await failedJob(actor);
  const { id } = await deadLetterOf(actor, dead);
  const wrong = [
    { serializedArgs: "{" },
    { args: {}, serializedArgs: "{}" },
    { args: { millisecond: 1, mesage: "x", message: "x", milliseconds: 1 } },
    { args: { milliseconds: "x", message: 1 } },
    { args: [] },
  ];
  const paths = [`${JOBS}/${sleeping}`, `${JOBS}/${dead}`, `${DEAD_LETTERS}/${id}`];
  for (const [n, body] of wrong.entries()) {
    const answer = await actor.post(`${paths[n % 3]}/retry`, body);
    assert.equal(refusal(answer), "400 VALIDATION_ERROR", JSON.stringify(body));
  }
  assert.equal((await deadLetterOf(actor, dead)).retriedAt, null);
});

Deno.test("secret arguments shown as *** keep what is stored, only for the same receiver", async () => {
  const actor = await t.actor({ permissions: ["run:http-requests"] });
  const args = { url: "http://127.0.0.1:9/", headers: { authorization: "Bearer s3cret" } };
  const dead = await ended(actor, "steward.http-request", args, { maxRetries: 0 });
  const shown = JSON.parse((await readJob(actor, dead)).serializedArgs);
  assert.equal(shown.headers.authorization, "***");
  const changes = [
    [{ url: "http://127.0.0.2:9/" }, /^headers\.authorization: .* another receiver/],
    [{ headers: { ...shown.headers, "x-new": "***" } }, /^headers\.x-new: \*\*\* stands for a secret/],
  ] as const;
  for (const [change, reason] of changes) {
    const { body } = await retryJob(actor, dead, { args: { ...shown, ...change } });
    assert.match(Object.values<string[]>(body.errors).flat()[0] ?? "", reason);
  }
  const { status, body } = await retryJob(actor, dead, { args: { ...shown, method: "PUT" } });
  assert.equal(status, 200);
  assert.doesNotMatch(JSON.stringify(body), /s3cret/);
  const [row] = await sql`select serialized_args from jobs where id = ${body.id}`;
  assertHas(JSON.parse(row?.serializedArgs), { headers: args.headers, method: "PUT" });

  const colleague = await t.actor({ tenantId: actor.tenantId ?? "" });
  await t.settled(body.id);
  for (const change of [{ args: { ...shown, method: "POST" } }, { args }]) {
    assert.equal(refusal(await retryJob(colleague, body.id, change)), "403 MISSING_PERMISSION");
  }
  await sql`delete from dead_letter_jobs where job_id = ${body.id}`;
  assert.equal(refusal(await retryJob(colleague, body.id)), "403 MISSING_PERMISSION");
});

Deno.test("a job of a type that callers cannot enqueue is retried only from its dead letter, with its own arguments", async () => {
  const actor = await t.actor();
  await addDeadLetters(sql, actor.tenantId, ["one", "other"], "files.scan");
  const { items: [dead, ended] } = (await actor.get(JOBS)).body;
  await sql`delete from dead_letter_jobs where job_id = ${ended.id}`;
  assert.equal(refusal(await retryJob(actor, ended.id)), "400 JOB_TYPE_UNKNOWN");
  assert.equal(refusal(await retryJob(actor, dead.id, { args: { a: 1 } })), "400 JOB_TYPE_UNKNOWN");
  assert.equal((await retryJob(actor, dead.id)).status, 200);
});
