import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { setupShared } from "../../support/setup.ts";
import {
  assertHas,
  DEAD_LETTERS,
  deadLetterOf,
  enqueueJob,
  executionsOf,
  jobOf,
  JOBS,
  readJob,
  RECURRING,
  refusal,
} from "./job_calls.ts";

/** Requests that the target got; `headers` are those of interest. */
const received: { path: string; body: string; headers: Record<string, string> }[] = [];
const slow = Promise.withResolvers<void>();
const target = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  const path = new URL(request.url).pathname;
  const headers = Object.fromEntries(request.headers);
  received.push({ path: `${request.method} ${path}`, body: await request.text(), headers });
  if (path === "/refusing") return new Response(`${headers.authorization} is unknown here`, { status: 403 });
  if (path === "/slow") await slow.promise;
  if (path === "/wordy") return new Response("é".repeat(5_000), { status: 500 });
  return new Response("gladly", { status: path === "/teapot" ? 418 : 200 });
});
const host = `127.0.0.1:${target.addr.port}`;
const at = (path: string) => `http://${host}${path}`;
const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(async () => {
  await t.stop();
  await target.shutdown();
});
const actor = await t.actor({ permissions: ["run:http-requests"] });
const TYPE = "steward.http-request";
const SECRET = "Bearer an-upstream-secret";

async function run(args: Record<string, unknown>) {
  const id = await enqueueJob(actor, TYPE, args, { maxRetries: 0 });
  const ended = await t.settled(id);
  const [{ errorMessage: error, output }] = await executionsOf(actor, id);
  return { id, ended, error, output: output && JSON.parse(output), sent: received.at(-1)! };
}
const sentAuthorization = async (args: Record<string, unknown>) =>
  (await run(args)).sent.headers.authorization;

Deno.test("a job requests a URL and stores the answer", async () => {
  const { ended, output, sent } = await run({ url: at("/hook"), method: "POST", body: { a: 1 } });
  assert.equal(ended, "Succeeded");
  assert.deepEqual([output.status, output.body, output.isTruncated], [200, "gladly", false]);
  assertHas(sent, { path: "POST /hook", body: '{"a":1}', headers: { "content-type": "application/json" } });
});

Deno.test("an unexpected status fails the job with the first 4 KiB of the answer, an expected one does not", async () => {
  assert.equal((await run({ url: at("/teapot"), expectedStatuses: [418] })).ended, "Succeeded");
  const { ended, error } = await run({ url: at("/wordy") });
  assert.equal(ended, "DeadLettered");
  assert.ok(error.endsWith(`answered 500; expected 200 to 299; it said: ${"é".repeat(2_048)}`), error);
});

Deno.test("a request with a signing secret is signed, and the secret is never shown", async () => {
  const signingSecret = `whsec_${btoa("the receiver's own signing secret")}`;
  const webhook = new Webhook(signingSecret);
  const url = at("/hook");
  const signed = await run({ url, method: "POST", body: { a: 1 }, signingSecret });
  assert.equal(signed.ended, "Succeeded");
  assert.deepEqual(webhook.verify(signed.sent.body, signed.sent.headers), { a: 1 });
  assert.equal(signed.sent.headers["webhook-id"], `${signed.id}.1`);
  assert.equal(JSON.parse((await readJob(actor, signed.id)).serializedArgs).signingSecret, "***");
  const { sent } = await run({ url, signingSecret, headers: { "webhook-signature": "v1,forged" } });
  assert.throws(() => webhook.verify("another body", sent.headers));
  webhook.verify("", sent.headers);
  const plain = await run({ url });
  assert.deepEqual(Object.keys(plain.sent.headers).filter((name) => name.startsWith("webhook-")), []);
});

Deno.test("a request ends after the time it is given", async () => {
  const { ended, error } = await run({ url: at("/slow"), timeoutSeconds: 1 });
  slow.resolve();
  assert.equal(ended, "DeadLettered");
  assert.match(error, /did not answer in time/);
});

Deno.test("invalid arguments are rejected; forbidden addresses are never requested, and the job is not retried", async () => {
  const url = at("/");
  const wrong = [{ url: "ftp://x/" }, { url, method: "CONNECT" }, { url, signingSecret: "whsec_short" }];
  for (const args of [{}, ...wrong]) {
    const answer = await actor.post(JOBS, jobOf(TYPE, args));
    assert.equal(refusal(answer), "400 VALIDATION_ERROR", JSON.stringify(args));
  }
  const id = await enqueueJob(actor, TYPE, { url: "http://localhost:1/" });
  assert.equal(await t.settled(id), "DeadLettered");
  const executions = await executionsOf(actor, id);
  assert.equal(executions.length, 1);
  assert.match(executions[0].errorMessage, /OUTBOUND_ALLOW/);
});

Deno.test("callers without the permission for HTTP requests cannot enqueue such jobs, whatever their role", async () => {
  const recurring = jobOf(TYPE, { url: "https://a.test" }, { jobId: "calls", cronExpression: "0 3 1 1 *" });
  const { jobId: _, cronExpression: __, ...job } = recurring;
  const requests = [[JOBS, job], [`${JOBS}/bulk`, { items: [job] }], [RECURRING, recurring]] as const;
  const other = await t.actor({ role: "Admin" });
  for (const [path, body] of requests) {
    const refused = await other.post(path, body);
    assert.equal(refusal(refused), "403 MISSING_PERMISSION");
    assert.match(refused.body.detail, /run:http-requests/);
  }
  assert.equal((await t.systemAdmin.post(JOBS, job)).status, 201);
  const maker = await t.actor({ permissions: ["run:http-requests"] });
  await maker.post(RECURRING, recurring);
  const colleague = await t.actor({ tenantId: maker.tenantId ?? "" });
  const change = (body: unknown) => colleague.put(`${RECURRING}/calls`, body);
  const { serializedArgs } = jobOf(TYPE, { url: "https://b.test" });
  assert.equal(refusal(await change({ serializedArgs })), "403 MISSING_PERMISSION");
  assert.equal((await change({ cronExpression: "0 4 1 1 *" })).status, 200);
});

Deno.test("credentials in the URL are sent as Basic authorization, unless the job has such a header", async () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  const url = `http://us%C3%A9r:p%40ss%zz%3A1@${host}/hook`; // not a secret
  assert.equal(await sentAuthorization({ url }), basic("usér:p@ss%zz:1"));
  assert.equal(await sentAuthorization({ url: `http://token@${host}/hook` }), basic("token:"));
  assert.equal(await sentAuthorization({ url, headers: { AUTHORIZATION: "Bearer abc" } }), "Bearer abc");
  const { error } = await run({ url: `http://token@${host}/refusing` });
  assert.match(error, /answered 403; expected 200 to 299; it said: \*\*\* is unknown here$/);
  const expected = { url: at("/refusing"), headers: { authorization: SECRET }, expectedStatuses: [403] };
  assert.equal((await run(expected)).output.body, "*** is unknown here");
});

Deno.test("secrets in arguments are stored and used but never shown", async () => {
  const args = (userInfo: string, authorization: string, key: string) => ({
    url: `http://${userInfo}@${host}/teapot`,
    headers: { Authorization: authorization, "X-Key": key, "content-type": "text/x", Accept: "text/y" },
  });
  const job = jobOf(TYPE, args("user:pass-word", SECRET, "another-secret"), { maxRetries: 0 });
  const made = await actor.post(JOBS, job);
  await t.settled(made.body.id);
  const bulk = () => actor.post(`${JOBS}/bulk`, { items: [job] }, { "idempotency-key": "s" });
  const letter = await deadLetterOf(actor, made.body.id);
  const recurring = `${RECURRING}/secret`;
  const shown = [
    made.body,
    ...[(await bulk()).body.results[0], (await bulk()).body.results[0]],
    await readJob(actor, made.body.id),
    (await actor.get(JOBS)).body.items.find(({ id }: { id: string }) => id === made.body.id),
    letter,
    (await actor.get(`${DEAD_LETTERS}/${letter.id}`)).body,
    (await actor.post(`${DEAD_LETTERS}/${letter.id}/retry`)).body,
    (await actor.post(RECURRING, { ...job, jobId: "secret", cronExpression: "0 3 1 1 *" })).body,
    (await actor.get(RECURRING)).body.items[0],
    (await actor.post(`${recurring}/trigger`)).body,
    (await actor.get(`${recurring}/runs`)).body[0],
  ];
  for (const [n, each] of shown.entries()) {
    assert.deepEqual(JSON.parse(each.serializedArgs), args("***", "***", "***"), String(n));
  }
  const session = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const pages: string[] = [];
  for (const page of [`jobs/${made.body.id}`, `dead-letters/${letter.id}`, "recurring/secret"]) {
    const headers = { cookie: `steward_console=${session}` };
    pages.push(await (await fetch(`${t.url}/console/${page}`, { headers })).text());
    assert.match(pages.at(-1) ?? "", /\*\*\*@127/, page);
  }
  const audit = (await t.systemAdmin.get(`/api/v1/audit-log?pageSize=100&tenantId=${actor.tenantId}`)).body;
  const everything = JSON.stringify([shown, pages, audit, t.logs]);
  for (const secret of [SECRET, "another-secret", "pass-word"]) {
    assert.ok(!everything.includes(secret), secret);
  }
  const kept = await t.steward.platform.sql`select from idempotency_keys where body like ${`%${SECRET}%`}`;
  assert.equal(kept.length, 0);
});
