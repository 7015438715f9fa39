// Jobs that are pushed to a real receiver, which verifies them with a Standard Webhooks library.
import assert from "node:assert/strict";
import { Receiver } from "../events/receiver.ts";
import { accepted } from "../../support/outcomes.ts";
import { RemoteWorker } from "../../support/remote_work.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  assertHas,
  declareType,
  enqueueJob,
  enqueueMany,
  executionsOf,
  jobIdsOf,
  JOBS,
  readJob,
  refusal,
  WORKER_PERMISSIONS,
} from "./job_calls.ts";

const receiver = new Receiver();
const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver.stop();
});
const tenant = await t.actor({ permissions: WORKER_PERMISSIONS });
const outsider = await t.actor({ permissions: WORKER_PERMISSIONS });
const worker = new RemoteWorker(tenant, "receiver");

interface Push {
  jobId: string;
  attempt: number;
  jobTypeName: string;
  tenantId: string;
  args: Record<string, unknown>;
  deadline: string;
}
type Answer = (push: Push) => Response | Promise<Response>;
const answers = new Map<string, Answer>();
const bodyOf = ({ body }: { body: unknown }) => body as Push;
receiver.answers((received) => {
  const push = bodyOf(received);
  return answers.get(push.jobTypeName)?.(push) ?? new Response("thanks");
});

let count = 0;
/** Declares a pushed type with its own path at the receiver, and the answer of the receiver. */
async function declare(answer: Answer, change: Record<string, unknown> = {}) {
  const name = `orders.push-${++count}`;
  answers.set(name, answer);
  const push = { url: receiver.url(`/${name}`) };
  const declared = tenant.put(`/api/v1/job-types/${name}`, { push, maxRetries: 0, ...change });
  const { secret }: { secret: string } = await accepted(declared, 201);
  const pushes = (n: number) => receiver.got(n, (each) => bodyOf(each).jobTypeName === name);
  return { name, secret, pushes };
}
const enqueue = (type: string, args: unknown = {}, by = tenant) => enqueueJob(by, type, args);
const read = (id: string) => readJob(tenant, id);
const lastRun = async (id: string) => (await executionsOf(tenant, id))[0];
/** Runs a job to one of the statuses. @returns its id */
async function run(type: string, status: string, args: unknown = {}): Promise<string> {
  const id = await enqueue(type, args);
  assert.equal(await t.settled(id, [status, "DeadLettered"]), status);
  return id;
}
/** Resolves when the receiver holds the job. */
const handedOver = (id: string) =>
  until(async () => {
    const [row] = await t.steward.platform
      .sql`select lease_until = deadline as is_whole from jobs where id = ${id}`;
    return row?.isWhole;
  });
const handed = () => new Response(null, { status: 202 });
const secondsBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1_000;
const assertWaits = ({ startedAt, nextRetryAt }: { startedAt: string; nextRetryAt: string }, hours: number) =>
  assert.equal(Math.floor(secondsBetween(startedAt, nextRetryAt) / 3_600), hours);

Deno.test("a push is a signed message, and its answer is the output", async () => {
  const answer = () => Response.json({ done: true, note: "ção" });
  const { name, secret, pushes } = await declare(answer, { timeoutSeconds: 60 });
  const id = await run(name, "Succeeded", { orderId: 7 });
  const [push] = await pushes(1);
  assert.ok(push);
  push.verify(secret);
  assert.throws(() => push.verify("whsec_c3Rld2FyZC1kZXZlbG9wbWVudC13ZWJob29rLWtleQ=="));
  assert.equal(push.id, `${id}.1`);
  const { deadline, ...body } = bodyOf(push);
  const { tenantId } = tenant;
  assert.deepEqual(body, { jobId: id, attempt: 1, jobTypeName: name, tenantId, args: { orderId: 7 } });
  assert.equal(Math.round(secondsBetween((await read(id)).startedAt, deadline) / 60), 1, deadline);
  assert.deepEqual(JSON.parse((await lastRun(id)).output), { done: true, note: "ção" });
});

Deno.test("answers are kept to the last digit; those that are no JSON or nested too deep as text, empty ones not", async () => {
  const args = '{"id":9007199254740993}';
  const long = `{"id":12345678901234567890,"x":"${"x".repeat(64 * 1024 - 40)}"}`;
  const deep = `${"[".repeat(30_000)}1${"]".repeat(30_000)}`;
  let text = "";
  const { name, pushes } = await declare(() => new Response(text));
  const outputs = [[long, long], [deep, JSON.stringify(deep)], ["gladly", '"gladly"'], ["", null]] as const;
  for (const [answer, output] of outputs) {
    text = answer;
    const { body: { id } } = await tenant.post(JOBS, { jobTypeName: name, serializedArgs: args });
    assert.equal(await t.settled(id), "Succeeded");
    assert.equal((await lastRun(id)).output, output);
  }
  const [push] = await pushes(1);
  assert.ok(push?.text.includes(`"args":${args},`), push?.text);
});

Deno.test("temporary refusals are failed attempts; with Retry-After the job waits and has not failed", async () => {
  let answer: [status: number, retryAfter: number | null] = [204, null];
  const { name, pushes } = await declare(() => {
    const [status, retryAfter] = answer;
    const headers: Record<string, string> = retryAfter === null ? {} : { "retry-after": String(retryAfter) };
    return new Response(status === 204 ? null : "later", { status, headers });
  }, { maxRetries: 3 });
  for (const status of [408, 503]) {
    answer = [status, null];
    const failed = await run(name, "Failed");
    assert.match((await lastRun(failed)).errorMessage, new RegExp(`answered ${status}: later$`));
    assert.equal((await tenant.post(`${JOBS}/${failed}/cancel`)).status, 200);

    answer = [status, 7_200];
    const waiting = await run(name, "Scheduled");
    const job = await read(waiting);
    assert.match(job.waitReason, new RegExp(`answered ${status} with Retry-After`));
    assertWaits(job, 2);
    assert.deepEqual(await executionsOf(tenant, waiting), []);
    answer = [204, null];
    assert.equal((await tenant.post(`${JOBS}/${waiting}/retry-now`)).status, 200);
    assert.equal(await t.settled(waiting, ["Succeeded"]), "Succeeded");
    const ids = (await pushes(2)).filter((push) => bodyOf(push).jobId === waiting).map(({ id }) => id);
    assert.deepEqual(ids, [`${waiting}.1`, `${waiting}.2`]);
  }
  answer = [503, 999_999];
  assertWaits(await read(await run(name, "Scheduled")), 24); // at most a day
});

Deno.test("redirects and other refusals are failures with the first 4 KiB of the answer", async () => {
  const headers = { location: receiver.url("/elsewhere"), "retry-after": "60" };
  const { name, pushes } = await declare(({ args }) =>
    new Response("é".repeat(5_000), { status: Number(args.status), headers })
  );
  for (const status of [307, 410]) {
    const { errorMessage } = await lastRun(await run(name, "DeadLettered", { status }));
    assert.ok(errorMessage.endsWith(`answered ${status}: ${"é".repeat(2_048)}`), errorMessage.slice(0, 100));
  }
  assert.equal((await pushes(2)).length, 2, "no redirect was followed");
});

Deno.test("a receiver that does not answer in time, or not at all, fails the attempt", async () => {
  const gate = Promise.withResolvers<Response>();
  const slow = await declare(() => gate.promise, { timeoutSeconds: 1 });
  const late = await run(slow.name, "DeadLettered");
  assert.match((await lastRun(late)).errorMessage, /took longer|did not answer in time/);
  gate.resolve(new Response("late"));
  const away = await declare(handed, { push: { url: "http://127.0.0.1:1/" } });
  const { errorMessage } = await lastRun(await run(away.name, "DeadLettered"));
  assert.match(errorMessage, /the request to 127.0.0.1:1 failed/);
});

Deno.test("after 202 the receiver holds the job until its deadline and settles it by the API", async () => {
  const { name } = await declare(handed, { timeoutSeconds: 3_600 });
  const id = await enqueue(name);
  await handedOver(id);
  const attempt = [{ jobId: id, attempt: 1 }];
  assert.deepEqual(await new RemoteWorker(outsider, "other").settle(attempt, "succeeded"), ["lost"]);
  assert.deepEqual(await worker.beat(attempt, { percent: 50 }), ["held"]);
  await handedOver(id); // a heartbeat does not shorten the lease
  assert.deepEqual(await worker.settle(attempt, "succeeded", { output: { by: "receiver" } }), ["settled"]);
  assertHas(await lastRun(id), { status: "Succeeded", output: '{"by":"receiver"}' });

  const early = await declare(async (push) => {
    await worker.settle([push], "failed", { error: "out of stock" });
    return handed();
  });
  const settled = await enqueue(early.name); // before the answer
  await until(async () => (await read(settled)).status === "DeadLettered");
  assert.equal((await read(settled)).lastError, "out of stock");
});

Deno.test("a job that is not settled after 202 fails at its deadline", async () => {
  const { name } = await declare(handed, { maxRetries: 1 });
  const id = await enqueue(name);
  await handedOver(id);
  await t.steward.platform.sql`
    update jobs set lease_until = now() - interval '1 s', deadline = now() - interval '1 s' where id = ${id}`;
  await t.steward.sweep();
  assertHas(await lastRun(id), { status: "Failed" });
  assert.match((await lastRun(id)).errorMessage, /took longer/);
});

Deno.test("a push that a caller asks to stop is cancelled and not repeated", async () => {
  const gate = Promise.withResolvers<Response>();
  const answer: Answer = ({ args }) => args.waits ? gate.promise : handed();
  const { name, pushes } = await declare(answer, { maxRetries: 3 });
  const stop = (id: string) => tenant.post(`${JOBS}/${id}/request-cancel`);
  const running = await enqueue(name, { waits: true });
  await pushes(1);
  assert.equal((await stop(running)).status, 202);
  assert.equal(await t.settled(running), "Cancelled");
  gate.resolve(handed());

  const id = await enqueue(name);
  await handedOver(id);
  await stop(id);
  assert.deepEqual(await worker.beat([{ jobId: id, attempt: 1 }]), ["cancel"]);
  await worker.settle([{ jobId: id, attempt: 1 }], "failed");
  assert.equal((await read(id)).status, "Cancelled");
  assert.equal((await pushes(2)).length, 2);
});

Deno.test("pushes keep to the rate limit of their type", async () => {
  const { name, pushes } = await declare(handed, { rateLimit: { count: 1, perSeconds: 3_600 } });
  const ids = await enqueueMany(tenant, name, [1, 2]);
  await pushes(1);
  await t.steward.sweep();
  await run("steward.echo", "Succeeded");
  const jobs = await Promise.all(ids.map(read));
  assert.deepEqual(jobs.map(({ attempts }) => attempts).sort(), [0, 1]);
});

Deno.test("a receiver that does not answer leaves places for other jobs and receivers", async () => {
  const gate = Promise.withResolvers<void>();
  const { name } = await declare(() => gate.promise.then(() => new Response("late")));
  const prompt = await declare(() => new Response("prompt"));
  const ids = await enqueueMany(tenant, name, Array(60).fill({}));
  for (const type of [prompt.name, "steward.echo"]) await run(type, "Succeeded");
  gate.resolve();
  for (const id of ids) assert.equal(await t.settled(id), "Succeeded");
});

Deno.test("no more pushes run at once than the type allows", async () => {
  let [running, most] = [0, 0];
  const gates: (() => void)[] = [];
  const { name, pushes } = await declare(async () => {
    most = Math.max(most, ++running);
    await new Promise<void>((resolve) => gates.push(resolve));
    running--;
    return new Response("ok");
  }, { concurrency: 2 });
  const ids = await enqueueMany(tenant, name, [1, 2, 3, 4]);
  for (let ended = 0; ended < ids.length; ended += 2) {
    await until(() => gates.length === 2);
    assert.equal(await t.settled(await enqueue("steward.echo")), "Succeeded");
    gates.splice(0).forEach((open) => open());
  }
  for (const id of ids) assert.equal(await t.settled(id), "Succeeded");
  assert.deepEqual([most, (await pushes(4)).length], [2, 4]);
});

Deno.test("after a rotation both secrets sign; another tenant's type of that name has its own receiver and secret", async () => {
  const { name, secret, pushes } = await declare(() => new Response("ok"));
  const { body } = await tenant.post(`/api/v1/job-types/${name}/rotate-secret`);
  await run(name, "Succeeded");
  const [first] = await pushes(1);
  for (const each of [secret, body.secret]) first?.verify(each);
  await t.steward.platform
    .sql`update job_type_old_secrets set valid_until = now() - interval '1 ms' where secret = ${secret}`;
  await run(name, "Succeeded");
  const [, later] = await pushes(2);
  later?.verify(body.secret);
  assert.throws(() => later?.verify(secret));
  const push = { url: receiver.url("/outsider") };
  const theirs = await outsider.put(`/api/v1/job-types/${name}`, { push });
  const id = await enqueue(name, {}, outsider);
  assert.equal(await t.settled(id), "Succeeded");
  const other = receiver.received.find((each) => each.id === `${id}.1`)!;
  other.verify(theirs.body.secret);
  assert.throws(() => other.verify(body.secret));
  assert.equal(bodyOf(other).tenantId, outsider.tenantId);
});

Deno.test("pushed types cannot be claimed; a type that is no longer pushed, or of another tenant, can", async () => {
  const { name } = await declare(handed);
  const refused = await tenant.post("/api/v1/work/claim", { types: [name], worker: "w" });
  assert.equal(refusal(refused), "400 VALIDATION_ERROR");
  await declareType(outsider, {}, name);
  const everywhere = new RemoteWorker(await t.actor({ role: "SystemAdmin", global: true }), "all");
  const pushed = await enqueue(name);
  const theirs = await enqueue(name, {}, outsider);
  assert.deepEqual(jobIdsOf(await everywhere.claim([name])), [theirs]);
  await handedOver(pushed);
  await tenant.put(`/api/v1/job-types/${name}`, { push: null });
  const id = await enqueue(name);
  assert.deepEqual(jobIdsOf(await worker.claim([name], { waitSeconds: 30 })), [id]);
});

Deno.test("secrets of the arguments are sent, but shown nowhere, not even if the receiver repeats them", async () => {
  const repeat: Answer = ({ args }) => Response.json(args, { status: 400 });
  const { name, pushes } = await declare(repeat, { secretArgs: ["$.card.number"] });
  const args = { card: { number: "4111-1111-1111-1111" } };
  const id = await run(name, "DeadLettered", args);
  const [push] = await pushes(1);
  assert.deepEqual(push && bodyOf(push).args, args);
  const { errorMessage } = await lastRun(id);
  assert.ok(errorMessage.includes("***") && !errorMessage.includes("4111"), errorMessage);
});
