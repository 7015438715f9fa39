import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { setup } from "../../support/setup.ts";

const t = await setup({ OUTBOUND_ALLOW: "127.0.0.1:9" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const jobs = "/api/v1/jobs";
const deadLetters = "/api/v1/dead-letter-jobs";

type Request = { jobTypeName: string; serializedArgs: string } & Record<string, unknown>;
const ECHO: Request = { jobTypeName: "steward.echo", serializedArgs: '{"n":1}' };
const FAIL: Request = { jobTypeName: "steward.fail", serializedArgs: '{"message":"no luck"}', maxRetries: 0 };

/** Enqueues a job and waits for its end. */
async function ended(actor: Actor, request: Request): Promise<string> {
  const { status, body } = await actor.post(jobs, request);
  assert.equal(status, 201, JSON.stringify(body));
  await t.settled(body.id);
  return body.id;
}
const letterOf = async (actor: Actor, jobId: string): Promise<string> =>
  (await actor.get(deadLetters)).body.items.find((each: { jobId: string }) => each.jobId === jobId).id;
const refusal = ({ status, body }: Awaited<ReturnType<Actor["post"]>>) => [status, body.code];

Deno.test("a dead letter is retried with other arguments, given as JSON or as text", async () => {
  const actor = await t.actor();
  for (const change of [{ args: { message: "again" } }, { serializedArgs: '{ "message": "again" }' }]) {
    const jobId = await ended(actor, FAIL);
    const { status, body } = await actor.post(`${deadLetters}/${await letterOf(actor, jobId)}/retry`, change);
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(body.serializedArgs), { message: "again" });
    assert.equal(body.createdBy, actor.userId);
    const stored = (await actor.get(`${jobs}/${jobId}`)).body;
    assert.equal(stored.serializedArgs, '{"message":"no luck"}', "the dead-lettered job does not change");
    await t.settled(body.id);
  }
  const rows = await sql`
    select after from audit_log where action = 'deadLetter.retry' and tenant_id = ${actor.tenantId}`;
  assert.deepEqual(rows.map(({ after }) => after.hasChangedArgs), [true, true]);
});

Deno.test("a dead-lettered job is retried from the job itself, once, and its dead letter says so", async () => {
  const actor = await t.actor();
  const jobId = await ended(actor, FAIL);
  const letter = await letterOf(actor, jobId);
  const answers = await Promise.all(
    Array.from(
      { length: 6 },
      (_, n) => actor.post(n % 2 ? `${jobs}/${jobId}/retry` : `${deadLetters}/${letter}/retry`),
    ),
  );
  const [retried, ...more] = answers.filter(({ status }) => status === 200);
  assert.equal(more.length, 0);
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    assert.deepEqual(refusal(answer), [400, "JOB_DEADLETTER_ALREADY_RETRIED"]);
  }
  assert.equal((await actor.get(`${deadLetters}/${letter}`)).body.retriedJobId, retried?.body.id);
  await t.settled(retried?.body.id);
});

Deno.test("a job whose dead letter was purged can run again", async () => {
  const actor = await t.actor();
  const jobId = await ended(actor, FAIL);
  await actor.post(`${deadLetters}/purge`);
  const { status, body } = await actor.post(`${jobs}/${jobId}/retry`, { args: { message: "2" } });
  assert.deepEqual([status, body.serializedArgs], [200, '{"message":"2"}']);
  await t.settled(body.id);
});

Deno.test("an ended job runs again as a new job with the same or other arguments, any number of times", async () => {
  const actor = await t.actor();
  const jobId = await ended(actor, {
    ...ECHO,
    queue: "mail",
    priority: "High",
    maxRetries: 7,
    argsTypeName: "E",
  });
  for (const [change, args] of [[undefined, { n: 1 }], [{ args: { n: 2 } }, { n: 2 }], [{}, { n: 1 }]]) {
    const { status, body } = await actor.post(`${jobs}/${jobId}/retry`, change);
    assert.equal(status, 200);
    assert.notEqual(body.id, jobId);
    assert.deepEqual(JSON.parse(body.serializedArgs), args);
    assert.deepEqual(
      [body.queue, body.priority, body.maxRetries, body.argsTypeName, body.tenantId, body.createdBy],
      ["mail", "High", 7, "E", actor.tenantId, actor.userId],
    );
    assert.equal(await t.settled(body.id), "Succeeded");
  }
  const cancelled = (await actor.post(jobs, { ...ECHO, scheduledAt: "2090-01-01T00:00:00Z" })).body.id;
  await actor.post(`${jobs}/${cancelled}/cancel`);
  const again = (await actor.post(`${jobs}/${cancelled}/retry`)).body;
  assert.deepEqual([again.type, await t.settled(again.id)], ["FireAndForget", "Succeeded"]);
  const rows =
    await sql`select after from audit_log where action = 'job.retry' and target_id = ${jobId} order by id`;
  assert.deepEqual(rows.map(({ after }) => after.hasChangedArgs), [false, true, false]);
});

Deno.test("a job that has not ended, is unknown or another tenant's is not retried", async () => {
  const [actor, outsider] = [await t.actor(), await t.actor()];
  const waiting = (await actor.post(jobs, { ...ECHO, scheduledAt: "2090-01-01T00:00:00Z" })).body.id;
  assert.deepEqual(refusal(await actor.post(`${jobs}/${waiting}/retry`)), [400, "JOB_CANNOT_RETRY"]);
  const done = await ended(actor, ECHO);
  for (const id of [done, crypto.randomUUID()]) {
    assert.deepEqual(refusal(await outsider.post(`${jobs}/${id}/retry`)), [404, "JOB_NOT_FOUND"]);
    assert.deepEqual(refusal(await outsider.post(`${jobs}/${id}/retry`, { args: {} })), [
      404,
      "JOB_NOT_FOUND",
    ]);
  }
  assert.deepEqual(refusal(await actor.post(`${jobs}/x/retry`)), [400, "VALIDATION_ERROR"]);
  assert.deepEqual(refusal(await t.nobody.post(`${jobs}/${done}/retry`)), [401, "TOKEN_MISSING"]);
  const bySystem = await t.systemAdmin.post(`${jobs}/${done}/retry`);
  assert.equal(bySystem.body.tenantId, actor.tenantId);
  await t.settled(bySystem.body.id);
});

Deno.test("arguments of a retry are checked like those of a new job", async () => {
  const actor = await t.actor();
  const sleeping = await ended(actor, { jobTypeName: "steward.sleep", serializedArgs: '{"milliseconds":1}' });
  const dead = await ended(actor, FAIL);
  const urls = [
    `${jobs}/${sleeping}/retry`,
    `${jobs}/${dead}/retry`,
    `${deadLetters}/${await letterOf(actor, dead)}/retry`,
  ];
  const wrong = [
    ...[{ serializedArgs: "{" }, { serializedArgs: "" }, { serializedArgs: 7 }, {
      args: { milliseconds: "x", message: 1 },
    }],
    ...[{ args: [] }, { args: "text" }, { args: {}, serializedArgs: "{}" }],
    ...[{ args: { millisecond: 1, mesage: "x", message: "x", milliseconds: 1 } }],
  ];
  for (const url of urls) {
    for (const body of wrong) {
      assert.deepEqual(
        refusal(await actor.post(url, body)),
        [400, "VALIDATION_ERROR"],
        `${url} ${JSON.stringify(body)}`,
      );
    }
  }
  assert.equal((await actor.get(`${deadLetters}?isRetried=false`)).body.totalCount, 1);
});

Deno.test("secret arguments shown as *** keep what is stored, only for the same receiver", async () => {
  const actor = await t.actor({ permissions: ["run:http-requests"] });
  const args = { url: "http://127.0.0.1:9/", headers: { authorization: "Bearer s3cret" } };
  const dead = await ended(actor, {
    jobTypeName: "steward.http-request",
    serializedArgs: JSON.stringify(args),
    maxRetries: 0,
  });
  const shown = JSON.parse((await actor.get(`${jobs}/${dead}`)).body.serializedArgs);
  assert.equal(shown.headers.authorization, "***");
  const elsewhere = await actor.post(`${jobs}/${dead}/retry`, {
    args: { ...shown, url: "http://127.0.0.2:9/" },
  });
  assert.deepEqual(refusal(elsewhere), [400, "VALIDATION_ERROR"]);
  const { status, body } = await actor.post(`${jobs}/${dead}/retry`, { args: { ...shown, method: "PUT" } });
  assert.equal(status, 200);
  assert.doesNotMatch(JSON.stringify(body), /s3cret/);
  const [row] = await sql`select serialized_args from jobs where id = ${body.id}`;
  const stored = JSON.parse(row?.serializedArgs);
  assert.deepEqual([stored.headers.authorization, stored.method], ["Bearer s3cret", "PUT"]);

  const colleague = await t.actor({ tenantId: actor.tenantId ?? "" });
  await t.settled(body.id);
  for (const change of [{ args: { ...shown, method: "POST" } }, { args }]) {
    assert.deepEqual(refusal(await colleague.post(`${jobs}/${body.id}/retry`, change)), [
      403,
      "MISSING_PERMISSION",
    ]);
  }
  await sql`delete from dead_letter_jobs where job_id = ${body.id}`;
  assert.deepEqual(refusal(await colleague.post(`${jobs}/${body.id}/retry`)), [403, "MISSING_PERMISSION"]);
});

Deno.test("a job of a type that callers cannot enqueue is retried only from its dead letter, with its own arguments", async () => {
  const actor = await t.actor();
  const add = async (status: string) => {
    const id = crypto.randomUUID();
    await sql`
      insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
        max_retries, completed_at)
      values (${id}, ${actor.tenantId}, 'files.scan', '{}', 'FireAndForget', ${status}, 2, 'default', 'default||', now(),
        0, now())`;
    return id;
  };
  const succeeded = await add("Succeeded");
  assert.deepEqual(refusal(await actor.post(`${jobs}/${succeeded}/retry`)), [400, "JOB_TYPE_UNKNOWN"]);
  const dead = await add("DeadLettered");
  await sql`insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts)
    values (gen_random_uuid(), ${dead}, ${actor.tenantId}, 'files.scan', 'default', '{}', 1)`;
  assert.deepEqual(refusal(await actor.post(`${jobs}/${dead}/retry`, { args: { a: 1 } })), [
    400,
    "JOB_TYPE_UNKNOWN",
  ]);
  assert.equal((await actor.post(`${jobs}/${dead}/retry`)).status, 200);
});

Deno.test("a retry with an Idempotency-Key happens once", async () => {
  const actor = await t.actor();
  const done = await ended(actor, ECHO);
  const retry = (args: unknown) =>
    actor.post(`${jobs}/${done}/retry`, { args }, { "idempotency-key": "again" });
  const [first, second] = [await retry({ n: 2 }), await retry({ n: 2 })];
  assert.equal(second.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(second.body, first.body);
  assert.equal((await retry({ n: 3 })).status, 422);
  assert.equal((await actor.get(jobs)).body.totalCount, 2);
});

Deno.test("a job whose unique key another job holds does not run again", async () => {
  const actor = await t.actor();
  const done = await ended(actor, { ...ECHO, uniqueKey: "k", uniqueFor: 3600 });
  const again = await actor.post(`${jobs}/${done}/retry`);
  assert.deepEqual([again.status, again.body.uniqueKey], [200, "k"]);
  assert.deepEqual(refusal(await actor.post(`${jobs}/${done}/retry`)), [409, "JOB_DUPLICATE_CONFLICT"]);
  await t.settled(again.body.id);
});
