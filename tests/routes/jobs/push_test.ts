// Jobs that are pushed to a real receiver, which verifies them with a Standard Webhooks library.
import assert from "node:assert/strict";
import { Receiver } from "../events/receiver.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const receiver = new Receiver();
const t = await setup({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver.stop();
});
const permissions = ["manage:job-types", "work:jobs"];
const tenant = await t.actor({ permissions });
const outsider = await t.actor({ permissions });

let count = 0;
/** Declares a pushed type with its own path at the receiver. */
async function declare(change: Record<string, unknown> = {}, by = tenant) {
  const name = `orders.push-${++count}`;
  const { status, body } = await by.put(`/api/v1/job-types/${name}`, {
    push: { url: receiver.url(`/${name}`) },
    maxRetries: 0,
    ...change,
  });
  assert.equal(status, 201, JSON.stringify(body));
  const pushes = (n: number) =>
    receiver.got(n, (each) => (each.body as unknown as Push).jobTypeName === name);
  return { name, secret: body.secret as string, pushes };
}

interface Push {
  jobId: string;
  attempt: number;
  jobTypeName: string;
  tenantId: string;
  args: unknown;
  deadline: string;
}

async function enqueue(jobTypeName: string, args: unknown = {}, by = tenant): Promise<string> {
  const { status, body } = await by.post("/api/v1/jobs", {
    jobTypeName,
    serializedArgs: JSON.stringify(args),
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}
const readJob = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}`)).body;
const lastRun = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}/executions`)).body.items[0];
/** The answer to pushes of one type. */
const answers = (name: string, answer: (push: Push) => Response | Promise<Response>) => {
  former.set(name, answer);
  receiver.answers(({ body }) => {
    const push = body as unknown as Push;
    return former.get(push.jobTypeName)?.(push) ?? new Response("thanks");
  });
};
/** Resolves when the receiver holds the job. */
const handedOver = (id: string) =>
  until(async () => {
    const [row] = await t.steward.platform
      .sql`select lease_until = deadline as is_whole from jobs where id = ${id}`;
    return row?.isWhole;
  });
const former = new Map<string, (push: Push) => Response | Promise<Response>>();

Deno.test("a push is a signed message, and its answer is the output", async () => {
  const { name, secret, pushes } = await declare({ timeoutSeconds: 60 });
  answers(name, () => Response.json({ done: true, note: "ção" }));
  const id = await enqueue(name, { orderId: 7 });
  assert.equal(await t.settled(id), "Succeeded");
  const [push] = await pushes(1);
  assert.ok(push);
  push.verify(secret);
  assert.throws(() => push.verify("whsec_c3Rld2FyZC1kZXZlbG9wbWVudC13ZWJob29rLWtleQ=="));
  assert.equal(push.id, `${id}.1`);
  const { deadline, ...body } = push.body as unknown as Push;
  assert.deepEqual(body, {
    jobId: id,
    attempt: 1,
    jobTypeName: name,
    tenantId: tenant.tenantId,
    args: { orderId: 7 },
  });
  const { startedAt } = await readJob(id);
  assert.ok(Math.abs(Date.parse(deadline) - Date.parse(startedAt) - 60_000) < 2_000, deadline);
  assert.deepEqual(JSON.parse((await lastRun(id)).output), { done: true, note: "ção" });
});

Deno.test("numbers that a double cannot hold are pushed and kept as they were given, also in a long answer", async () => {
  const { name, pushes } = await declare();
  const padding = "x".repeat(64 * 1024 - 40);
  const output = `{"id":12345678901234567890,"x":"${padding}"}`;
  answers(name, () => new Response(output));
  const args = '{"id":9007199254740993}';
  const { body: { id } } = await tenant.post("/api/v1/jobs", { jobTypeName: name, serializedArgs: args });
  assert.equal(await t.settled(id), "Succeeded");
  const [push] = await pushes(1);
  assert.ok(push?.text.includes(`"args":${args},`), push?.text);
  assert.equal((await lastRun(id)).output, output);
});

Deno.test("an answer nested too deep is kept as text", async () => {
  const { name } = await declare();
  const deep = `${"[".repeat(30_000)}1${"]".repeat(30_000)}`;
  answers(name, () => new Response(deep));
  const id = await enqueue(name);
  assert.equal(await t.settled(id), "Succeeded");
  assert.equal(JSON.parse((await lastRun(id)).output), deep);
});

Deno.test("an answer that is not JSON is kept as text, and an empty one is no output", async () => {
  const { name } = await declare();
  answers(name, ({ args }) => new Response((args as { answer: string }).answer));
  const text = await enqueue(name, { answer: "gladly" });
  assert.equal(await t.settled(text), "Succeeded");
  assert.equal(JSON.parse((await lastRun(text)).output), "gladly");
  const empty = await enqueue(name, { answer: "" });
  assert.equal(await t.settled(empty), "Succeeded");
  assert.equal((await lastRun(empty)).output, null);
});

Deno.test("temporary refusals are failed attempts; with Retry-After the job waits and has not failed", async () => {
  const { name, pushes } = await declare({ maxRetries: 3 });
  for (const status of [408, 425, 429, 500, 503]) {
    answers(name, () => new Response("later", { status }));
    const failed = await enqueue(name);
    await t.settled(failed, ["Failed"]);
    assert.match((await lastRun(failed)).errorMessage, new RegExp(`answered ${status}: later$`));
    assert.equal((await tenant.post(`/api/v1/jobs/${failed}/cancel`)).status, 200);

    answers(name, () => new Response("later", { status, headers: { "retry-after": "7200" } }));
    const waiting = await enqueue(name);
    await t.settled(waiting, ["Scheduled"]);
    const job = await readJob(waiting);
    assert.match(job.waitReason, new RegExp(`answered ${status} with Retry-After`));
    const inMs = Date.parse(job.nextRetryAt) - Date.now();
    assert.ok(Math.abs(inMs - 7_200_000) < 60_000, job.nextRetryAt);
    assert.equal((await tenant.get(`/api/v1/jobs/${waiting}/executions`)).body.totalCount, 0);
    answers(name, () => new Response(null, { status: 204 }));
    assert.equal((await tenant.post(`/api/v1/jobs/${waiting}/retry-now`)).status, 200);
    assert.equal(await t.settled(waiting, ["Succeeded"]), "Succeeded");
    const ids = (await pushes(2)).filter(({ body }) => (body as unknown as Push).jobId === waiting);
    assert.deepEqual(ids.map((push) => push.id), [`${waiting}.1`, `${waiting}.2`]);
  }
  answers(name, () => new Response(null, { status: 503, headers: { "retry-after": "999999" } }));
  const longest = await enqueue(name);
  await t.settled(longest, ["Scheduled"]);
  const inMs = Date.parse((await readJob(longest)).nextRetryAt) - Date.now();
  assert.ok(Math.abs(inMs - 24 * 3_600_000) < 60_000, "at most a day");
});

Deno.test("redirects and other refusals are failures with the first 4 KiB of the answer", async () => {
  const { name, pushes } = await declare();
  for (const status of [301, 302, 307, 400, 401, 404, 410, 422]) {
    const headers = { location: receiver.url("/elsewhere"), "retry-after": "60" };
    answers(name, () => new Response("é".repeat(5_000), { status, headers }));
    const id = await enqueue(name);
    assert.equal(await t.settled(id), "DeadLettered", String(status));
    const { errorMessage } = await lastRun(id);
    assert.ok(errorMessage.endsWith(`answered ${status}: ${"é".repeat(2_048)}`), errorMessage.slice(0, 100));
  }
  assert.equal((await pushes(8)).length, 8, "no redirect was followed");
});

Deno.test("a receiver that does not answer in time, or not at all, fails the attempt", async () => {
  const slow = await declare({ timeoutSeconds: 1 });
  const gate = Promise.withResolvers<void>();
  answers(slow.name, async () => {
    await gate.promise;
    return new Response("late");
  });
  const id = await enqueue(slow.name);
  assert.equal(await t.settled(id), "DeadLettered");
  assert.match((await lastRun(id)).errorMessage, /took longer|did not answer in time/);
  gate.resolve();
  const away = await declare({ push: { url: "http://127.0.0.1:1/" } });
  const refused = await enqueue(away.name);
  assert.equal(await t.settled(refused), "DeadLettered");
  assert.match((await lastRun(refused)).errorMessage, /the request to 127.0.0.1:1 failed/);
});

Deno.test("after 202 the receiver holds the job until its deadline and settles it by the API", async () => {
  const { name } = await declare({ timeoutSeconds: 120 });
  answers(name, () => new Response(null, { status: 202 }));
  const settle = (jobId: string, by = tenant, attempt = 1) =>
    by.post("/api/v1/work/settle", {
      jobs: [{ jobId, attempt, outcome: "succeeded", output: { by: "receiver" } }],
    });
  const id = await enqueue(name);
  await handedOver(id);
  assert.equal((await readJob(id)).status, "Processing");
  assert.equal((await settle(id, outsider)).body.jobs[0].result, "lost");
  assert.equal((await settle(id, tenant, 2)).body.jobs[0].result, "lost");
  const beat = { jobs: [{ jobId: id, attempt: 1, percent: 50 }] };
  const { body: beaten } = await tenant.post("/api/v1/work/heartbeat", beat);
  assert.equal(beaten.jobs[0].state, "held");
  assert.ok(
    Date.parse(beaten.jobs[0].leaseUntil) - Date.now() > 100_000,
    "a heartbeat does not shorten the lease",
  );
  assert.equal((await settle(id)).body.jobs[0].result, "settled");
  assert.equal((await readJob(id)).status, "Succeeded");
  assert.deepEqual(JSON.parse((await lastRun(id)).output), { by: "receiver" });
});

Deno.test("a receiver may settle before it answers", async () => {
  const { name } = await declare();
  const results: string[] = [];
  answers(name, async ({ jobId, attempt }) => {
    const { body } = await tenant.post("/api/v1/work/settle", {
      jobs: [{ jobId, attempt, outcome: "failed", error: "out of stock" }],
    });
    results.push(body.jobs[0].result);
    return new Response(null, { status: 202 });
  });
  const id = await enqueue(name);
  await until(() => results.length > 0);
  assert.deepEqual(results, ["settled"]);
  const job = await readJob(id);
  assert.deepEqual([job.status, job.lastError], ["DeadLettered", "out of stock"]);
});

Deno.test("a job that is not settled after 202 fails at its deadline", async () => {
  const { name, pushes } = await declare({ timeoutSeconds: 1, maxRetries: 1 });
  answers(name, ({ attempt }) => new Response(null, { status: attempt === 1 ? 202 : 200 }));
  const id = await enqueue(name);
  await pushes(1);
  await until(async () => {
    await t.steward.sweep();
    return (await readJob(id)).status === "Failed";
  });
  assert.match((await lastRun(id)).errorMessage, /took longer/);
  await tenant.post(`/api/v1/jobs/${id}/retry-now`);
  assert.equal(await t.settled(id, ["Succeeded"]), "Succeeded");
});

Deno.test("a push that a caller asks to stop is cancelled and not repeated", async () => {
  const { name, pushes } = await declare({ maxRetries: 3 });
  const gate = Promise.withResolvers<void>();
  answers(name, async ({ args }) => {
    if ((args as { waits?: true }).waits) await gate.promise;
    return new Response(null, { status: 202 });
  });
  const running = await enqueue(name, { waits: true });
  await pushes(1);
  assert.equal((await tenant.post(`/api/v1/jobs/${running}/request-cancel`)).status, 202);
  assert.equal(await t.settled(running), "Cancelled");
  gate.resolve();

  const accepted = await enqueue(name);
  await handedOver(accepted);
  const beat = { jobs: [{ jobId: accepted, attempt: 1 }] };
  await tenant.post(`/api/v1/jobs/${accepted}/request-cancel`);
  assert.equal((await tenant.post("/api/v1/work/heartbeat", beat)).body.jobs[0].state, "cancel");
  await tenant.post("/api/v1/work/settle", { jobs: [{ jobId: accepted, attempt: 1, outcome: "failed" }] });
  assert.equal((await readJob(accepted)).status, "Cancelled");
  assert.equal((await pushes(2)).length, 2);
});

Deno.test("pushes keep to the rate limit of their type", async () => {
  const { name, pushes } = await declare({ rateLimit: { count: 2, perSeconds: 3_600 } });
  const ids = await Promise.all(Array.from({ length: 5 }, () => enqueue(name)));
  await pushes(2);
  await t.steward.sweep();
  assert.equal((await pushes(2)).length, 2);
  const jobs = await Promise.all(ids.map(readJob));
  const waiting = jobs.filter(({ status }) => status !== "Succeeded" && status !== "Processing");
  assert.equal(waiting.length, 3, JSON.stringify(jobs));
  for (const { attempts } of waiting) assert.equal(attempts, 0);
});

Deno.test("a receiver that does not answer leaves places for other jobs and receivers", async () => {
  const { name } = await declare();
  const other = await declare();
  const gate = Promise.withResolvers<void>();
  answers(name, async () => {
    await gate.promise;
    return new Response("late");
  });
  answers(other.name, () => new Response("prompt"));
  const items = Array.from({ length: 300 }, () => ({ jobTypeName: name, serializedArgs: "{}" }));
  const { body } = await tenant.post("/api/v1/jobs/bulk", { items });
  for (const jobType of [other.name, "steward.echo"]) {
    assert.equal(await t.settled(await enqueue(jobType)), "Succeeded", jobType);
  }
  gate.resolve();
  for (const { id } of body.results) assert.equal(await t.settled(id), "Succeeded");
});

Deno.test("after a rotation both secrets sign", async () => {
  const { name, secret, pushes } = await declare();
  answers(name, () => new Response("ok"));
  const { body } = await tenant.post(`/api/v1/job-types/${name}/rotate-secret`);
  await t.settled(await enqueue(name));
  const [push] = await pushes(1);
  push?.verify(secret);
  push?.verify(body.secret);
  await t.steward.platform.sql`update job_type_old_secrets set valid_until = now() where secret = ${secret}`;
  await t.settled(await enqueue(name));
  const [, later] = await pushes(2);
  later?.verify(body.secret);
  assert.throws(() => later?.verify(secret));
});

Deno.test("pushed types cannot be claimed; a type that is no longer pushed can", async () => {
  const { name } = await declare();
  const claim = { types: [name], max: 1, waitSeconds: 0, worker: "w" };
  const refused = await tenant.post("/api/v1/work/claim", claim);
  assert.deepEqual([refused.status, refused.body.code], [400, "VALIDATION_ERROR"]);
  await tenant.put(`/api/v1/job-types/${name}`, { push: null });
  const id = await enqueue(name);
  const { body } = await tenant.post("/api/v1/work/claim", { ...claim, waitSeconds: 5 });
  assert.equal(body.jobs[0]?.jobId, id);
});

Deno.test("no more pushes run at once than the type allows", async () => {
  const { name, pushes } = await declare({ concurrency: 2 });
  let running = 0;
  let most = 0;
  answers(name, async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 50));
    running--;
    return new Response("ok");
  });
  const ids = await Promise.all(Array.from({ length: 8 }, () => enqueue(name)));
  for (const id of ids) assert.equal(await t.settled(id), "Succeeded");
  assert.equal((await pushes(8)).length, 8);
  assert.equal(most, 2);
});

Deno.test("types of one name in two tenants are pushed to their own receivers with their own secrets", async () => {
  const { name, secret } = await declare();
  answers(name, () => new Response("ok"));
  const theirs = await outsider.put(`/api/v1/job-types/${name}`, {
    push: { url: receiver.url("/outsider") },
  });
  assert.equal(theirs.status, 201);
  const [own, other] = [await enqueue(name), await enqueue(name, {}, outsider)];
  for (const id of [own, other]) assert.equal(await t.settled(id), "Succeeded");
  const of = (id: string) => receiver.received.find((each) => each.id === `${id}.1`);
  of(own)?.verify(secret);
  assert.throws(() => of(own)?.verify(theirs.body.secret));
  of(other)?.verify(theirs.body.secret);
  assert.equal((of(other)?.body as unknown as Push).tenantId, outsider.tenantId);
});

Deno.test("secrets of the arguments are sent, but shown nowhere, not even if the receiver repeats them", async () => {
  const { name, pushes } = await declare({ secretArgs: ["$.card.number"] });
  answers(name, ({ args }) => new Response(JSON.stringify(args), { status: 400 }));
  const id = await enqueue(name, { card: { number: "4111-1111-1111-1111" } });
  assert.equal(await t.settled(id), "DeadLettered");
  const [push] = await pushes(1);
  assert.deepEqual((push?.body as unknown as Push).args, { card: { number: "4111-1111-1111-1111" } });
  const { errorMessage } = await lastRun(id);
  assert.ok(errorMessage.includes("***") && !errorMessage.includes("4111"), errorMessage);
});
