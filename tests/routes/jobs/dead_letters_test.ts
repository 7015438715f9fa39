import assert from "node:assert/strict";
import { foldCounts } from "../../../domain/jobs/statistics/fold_counts.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { pluck } from "../../support/answers.ts";
import { until } from "../../support/until.ts";
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

const GIVEN = { maxRetries: 0, argsTypeName: "Failure", priority: "High", queue: "mail" };
/** A job that fails by running. @returns its dead letter */
async function deadLetter(actor: Actor, message = "no luck") {
  const id = await enqueueJob(actor, "steward.fail", { message }, GIVEN);
  assert.equal(await t.settled(id), "DeadLettered");
  return await deadLetterOf(actor, id);
}
/** Dead letters with these errors, without running jobs. @returns their ids */
const failWith = (actor: Actor, errors: string[], type?: string) =>
  addDeadLetters(sql, actor.tenantId, errors, type);
const list = async (actor: Actor, query = "") =>
  (await actor.get(`${DEAD_LETTERS}?pageSize=100&${query}`)).body;
const groupsOf = async (actor: Actor) => (await actor.get(`${DEAD_LETTERS}/groups`)).body;
const retryMany = async (actor: Actor, filter: unknown) =>
  (await actor.post(`${DEAD_LETTERS}/retry`, filter)).body;

Deno.test("a dead letter shows what failed and why", async () => {
  const actor = await t.actor();
  const { id, ...shown } = await deadLetter(actor);
  assert.ok(shown.failedAt);
  const what = { jobTypeName: "steward.fail", queue: "mail", serializedArgs: '{"message":"no luck"}' };
  assertHas(shown, { ...what, attempts: 1, errorMessage: "no luck", retriedAt: null, retriedJobId: null });
  assert.deepEqual((await actor.get(`${DEAD_LETTERS}/${id}`)).body, { id, ...shown });
  const job = await readJob(actor, shown.jobId);
  assertHas(job.deadLetter, { id, retriedAt: null, retriedJobId: null });
  assert.ok(job.names[actor.userId], "the creator's name");
});

Deno.test("dead letters are filtered by type, group, error, time and state, retried ones too", async () => {
  const actor = await t.actor();
  const ids = await failWith(actor, ["Error A", "Error B", "Error C", "Error A"], "bench.0");
  ids.push(...await failWith(actor, ["Error A", "Error B"], "bench.1"));
  const [first = "", , , , fifth = ""] = ids;
  await sql`update dead_letter_jobs set retried_at = now(), failed_at = now() - interval '1 h'
    where id in (${first}, ${fifth})`;
  const totals = async (more: string) => {
    const pages = ["", "&isRetried=false", "&isRetried=true"].map((state) => list(actor, more + state));
    return (await Promise.all(pages)).map(({ items, totalCount }) =>
      items.length === totalCount && totalCount
    );
  };
  assert.deepEqual(await totals(""), [6, 4, 2]);
  assert.deepEqual(await totals("jobTypeName=bench.1"), [2, 1, 1]);
  assert.deepEqual(await totals("jobTypeName=bench"), [0, 0, 0]);
  assert.deepEqual(await totals("errorPattern=Error%20A"), [3, 1, 2]);
  assert.deepEqual(await totals("errorPattern=Error%20A&jobTypeName=bench.0"), [2, 1, 1]);
  assert.deepEqual(await totals("errorContains=ror%20b"), [2, 2, 0]);
  const { failedAt } = await list(actor, "isRetried=true").then(({ items }) => items[0]);
  assert.deepEqual(await totals(`failedTo=${failedAt}`), [2, 0, 2]);
  assert.deepEqual(await totals(`failedFrom=${failedAt}`), [6, 4, 2]);
});

Deno.test("similar errors form a group, which can be retried at once after a dry run", async () => {
  const actor = await t.actor();
  const last = `HTTP 409 for user 3 of ${crypto.randomUUID()}`;
  const ids = await failWith(actor, ["HTTP 409 for user 1 of 2", "HTTP 409 for user 2 of 1", last]);
  await failWith(actor, ["something else"]);
  const groups = await groupsOf(actor);
  assert.equal(groups.totalCount, 2);
  const [group, single] = groups.items;
  assertHas(group, { count: 3, errorPattern: "HTTP 409 for user # of #", exampleError: last });
  assertHas(single, { count: 1, errorPattern: "something else" });
  const times = pluck((await list(actor, "errorContains=409")).items, "failedAt").toSorted();
  assert.deepEqual([group.firstFailedAt, group.lastFailedAt], [times[0], times.at(-1)]);
  await until(() => foldCounts(sql, { always: true }));
  assert.deepEqual(await groupsOf(actor), groups, "folded");

  const filter = { jobTypeName: "steward.fail", errorPattern: group.errorPattern };
  const dry = await retryMany(actor, { ...filter, dryRun: true });
  assert.deepEqual(dry, { matched: 3, retried: 0, dryRun: true, jobIds: [] });
  assert.equal((await retryMany(actor, { ...filter, failedTo: "2020-01-01" })).matched, 0);
  assert.equal((await retryMany(actor, { errorContains: "ELSE", dryRun: true })).matched, 1);
  assert.equal((await retryMany(await t.actor(), { all: true })).matched, 0);
  const [one, two] = await Promise.all([retryMany(actor, filter), retryMany(actor, filter)]);
  const jobIds: string[] = [...one.jobIds, ...two.jobIds];
  // the second request also finds retried jobs that have failed again meanwhile
  assert.equal(new Set(jobIds).size, one.retried + two.retried);
  const rows =
    await sql`select retried_job_id as job_id from dead_letter_jobs where id = any(${ids}::uuid[])`;
  const retried = new Set<string>(pluck([...rows], "jobId"));
  assert.equal(retried.size, 3, "each dead letter is retried once");
  assert.deepEqual(retried.difference(new Set(jobIds)), new Set());
});

Deno.test("a bulk retry does not retry what results from its own retries", async () => {
  const actor = await t.actor();
  await failWith(actor, Array(600).fill("\u{1F600}".repeat(400))); // more than one step retries
  const [{ errorPattern }] = (await groupsOf(actor)).items;
  assert.equal((await retryMany(actor, { errorPattern, dryRun: true })).matched, 600);
  assertHas(await retryMany(actor, { all: true }), { matched: 600, retried: 600 });
});

Deno.test("a dead letter is discarded once; one that was retried stays", async () => {
  const actor = await t.actor();
  const [retried = "", one = ""] = await failWith(actor, ["a", "b"]);
  const { jobId } = (await actor.get(`${DEAD_LETTERS}/${one}`)).body;
  await actor.post(`${DEAD_LETTERS}/${retried}/retry`);
  const discard = (id: string) => actor.delete(`${DEAD_LETTERS}/${id}`);
  assert.equal(refusal(await discard(retried)), "400 JOB_DEADLETTER_ALREADY_RETRIED");
  const both = await Promise.all([discard(one), discard(one)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [204, 404]);
  const gone = await actor.get(`${DEAD_LETTERS}/${one}`);
  assert.equal(refusal(gone), "404 JOB_DEADLETTER_NOT_FOUND");
  assert.equal((await readJob(actor, jobId)).deadLetter, null);
  const reader = await t.actor({ tenantId: actor.tenantId ?? "", permissions: ["read:users"] });
  const { items: [entry] } = (await reader.get("/api/v1/audit-log?action=deadLetter.discard")).body;
  assert.deepEqual(entry.before, { jobId, jobTypeName: "steward.fail" });
});

const purge = (actor: Actor, body?: unknown) => actor.post(`${DEAD_LETTERS}/purge`, body);
const left = async (actor: Actor) => (await list(actor)).totalCount;

Deno.test("purge deletes by filters and age, or everything with null, {} and an empty body, in the own tenant only", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  await failWith(other, ["disk full"]);
  const [old] = await failWith(actor, ["disk full", "disk full", "no route"]);
  await failWith(actor, ["disk full"], "steward.echo");
  await sql`update dead_letter_jobs set failed_at = now() - interval '10 days' where id = ${old ?? ""}`;
  const purged = async (body?: unknown) => (await purge(actor, body)).body.purged;
  const cases: [filter: unknown, purged: number][] = [
    [{ retentionDays: 11 }, 0],
    [{ retentionDays: 1e20 }, 0],
    [{ errorContains: "DISK", retentionDays: 9 }, 1],
    [{ errorContains: "disk", jobTypeName: "steward.echo" }, 1],
    [{ failedTo: "2020-01-01" }, 0],
    [{ failedFrom: "2020-01-01" }, 2],
  ];
  for (const [filter, expected] of cases) {
    assert.equal(await purged(filter), expected, JSON.stringify(filter));
  }

  const nulls = { retentionDays: null, jobTypeName: null, failedFrom: null, all: null, dryRun: null };
  for (const body of [undefined, nulls, { retentionDays: 0 }, { expectedCount: 1 }]) {
    await failWith(actor, ["again"]);
    assert.equal(await purged(body), 1);
  }
  await failWith(actor, ["again"]);
  const { body } = await actor.post(`${DEAD_LETTERS}/purge?colour=blue`);
  assert.equal(body.purged, 1, "an unknown parameter of the query is ignored");
  assert.equal(await left(other), 1);
  assert.equal((await t.systemAdmin.post(`${DEAD_LETTERS}/purge?tenantId=${other.tenantId}`)).body.purged, 1);
});

Deno.test("a group is purged with the count that the groups show; a wrong count deletes nothing", async () => {
  const actor = await t.actor();
  const [, , , retried = ""] = await failWith(actor, [
    ...["order 1: answered 409", "order 2: answered 409", "order 3: answered 500", "order 4: answered 409"],
  ]);
  await sql`update dead_letter_jobs set retried_at = now(), retried_job_id = gen_random_uuid() where id = ${retried}`;
  const [{ jobTypeName, errorPattern, count }] = (await groupsOf(actor)).items;
  assert.deepEqual([errorPattern, count], ["order #: answered 409", 2]);
  const group = { jobTypeName, errorPattern };
  assertHas(await purge(actor, { ...group, dryRun: true }), { status: 200, body: { purged: 0, matched: 2 } });
  for (const [filter, matched, dryRun] of [[group, 2, false], [{ all: true }, 4, true]] as const) {
    for (const expectedCount of [0, matched + 1]) {
      const refused = await purge(actor, { ...filter, expectedCount, dryRun });
      assert.equal(refusal(refused), "409 JOB_DEADLETTER_COUNT_CONFLICT");
      assert.ok(refused.body.detail.includes(`matches ${matched} dead letters; expected ${expectedCount}`));
    }
  }
  assert.equal(await left(actor), 4);
  const answers = await Promise.all([1, 2].map(() => purge(actor, { ...group, expectedCount: count })));
  assert.deepEqual(answers.map(({ status, body }) => body.purged ?? status).sort(), [2, 409]);
  assert.equal(await left(actor), 2, "the retried one and the other group stay");
  const [audit] = await sql`
    select after from audit_log where action = 'deadLetter.purge' and tenant_id = ${actor.tenantId}`;
  assertHas(audit?.after, { purged: 2, errorPattern });
});

Deno.test("without a known filter, a bulk retry needs all: true, and so does a purge with an unknown one", async () => {
  const actor = await t.actor();
  await failWith(actor, ["x", "y"]);
  const unfiltered: Record<string, unknown[]> = {
    retry: [undefined, { dryRun: true }, { jobTypeName: null }],
    purge: [{ all: false }, { colour: "blue" }, { retentionDays: null, type: "a" }, { dryRun: true, x: 1 }],
  };
  for (const [verb, bodies] of Object.entries(unfiltered)) {
    for (const body of bodies) {
      const { body: { errors } } = await actor.post(`${DEAD_LETTERS}/${verb}`, body);
      assert.match(errors.all[0], /all: true/, JSON.stringify(body));
    }
  }
  assert.equal(await left(actor), 2);
  assert.equal((await purge(actor, { dryRun: true, retentionDays: null, queue: null })).body.matched, 2);
  assert.equal((await purge(actor, { all: true, expectedCount: 2 })).body.purged, 2);
});

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
