import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { setup } from "../../support/setup.ts";

const received: { method: string; path: string; body: string; contentType: string | null }[] = [];
const authorizations: (string | null)[] = [];
const signatures: Record<string, string>[] = [];
const target = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  const path = new URL(request.url).pathname;
  signatures.push(Object.fromEntries([...request.headers].filter(([name]) => name.startsWith("webhook-"))));
  received.push({
    method: request.method,
    path,
    body: await request.text(),
    contentType: request.headers.get("content-type"),
  });
  const authorization = request.headers.get("authorization");
  authorizations.push(authorization);
  if (path === "/refusing") return new Response(`${authorization} is unknown here`, { status: 403 });
  if (path === "/slow") await new Promise((resolve) => setTimeout(resolve, 3_000));
  if (path === "/wordy") return new Response("é".repeat(5_000), { status: 500 });
  return new Response("gladly", { status: path === "/teapot" ? 418 : 200 });
});
const host = `127.0.0.1:${target.addr.port}`;
const t = await setup({ OUTBOUND_ALLOW: host });
Deno.test.afterAll(async () => {
  await t.stop();
  await target.shutdown();
});
const actor = await t.actor({ permissions: ["run:http-requests"] });

async function run(args: Record<string, unknown>) {
  const { status, body } = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.http-request",
    serializedArgs: JSON.stringify(args),
    maxRetries: 0,
  });
  assert.equal(status, 201, JSON.stringify(body));
  const ended = await t.settled(body.id);
  const [execution] = (await actor.get(`/api/v1/jobs/${body.id}/executions`)).body.items;
  return { ended, error: execution.errorMessage, output: execution.output && JSON.parse(execution.output) };
}

Deno.test("a job requests a URL and stores the answer", async () => {
  const { ended, output } = await run({ url: `http://${host}/hook`, method: "POST", body: { a: 1 } });
  assert.equal(ended, "Succeeded");
  assert.deepEqual([output.status, output.body, output.isTruncated], [200, "gladly", false]);
  assert.deepEqual(received.at(-1), {
    method: "POST",
    path: "/hook",
    body: '{"a":1}',
    contentType: "application/json",
  });
});

Deno.test("an unexpected status fails the job, an expected one does not", async () => {
  const unexpected = await run({ url: `http://${host}/teapot` });
  assert.equal(unexpected.ended, "DeadLettered");
  assert.match(unexpected.error, /answered 418; expected 200 to 299/);
  assert.equal((await run({ url: `http://${host}/teapot`, expectedStatuses: [418] })).ended, "Succeeded");
});

Deno.test("a request with a signing secret is signed, and the secret is never shown", async () => {
  const signingSecret = `whsec_${btoa("the receiver's own signing secret")}`;
  const { ended } = await run({ url: `http://${host}/hook`, method: "POST", body: { a: 1 }, signingSecret });
  assert.equal(ended, "Succeeded");
  const headers = signatures.at(-1) ?? {};
  assert.deepEqual(new Webhook(signingSecret).verify(received.at(-1)?.body ?? "", headers), { a: 1 });
  const [job] = (await actor.get("/api/v1/jobs?pageSize=1")).body.items;
  assert.equal(headers["webhook-id"], `${job.id}.1`);
  assert.equal(JSON.parse(job.serializedArgs).signingSecret, "***");
  await run({ url: `http://${host}/hook`, signingSecret, headers: { "webhook-signature": "v1,forged" } });
  assert.throws(() => new Webhook(signingSecret).verify("another body", signatures.at(-1) ?? {}));
  new Webhook(signingSecret).verify("", signatures.at(-1) ?? {});
  await run({ url: `http://${host}/hook` });
  assert.deepEqual(signatures.at(-1), {});
});

Deno.test("a request ends after the time it is given", async () => {
  const { ended, error } = await run({ url: `http://${host}/slow`, timeoutSeconds: 1 });
  assert.equal(ended, "DeadLettered");
  assert.match(error, /did not answer in time/);
});

Deno.test("the error keeps the first 4 KiB of the answer", async () => {
  const { error } = await run({ url: `http://${host}/wordy` });
  assert.ok(error.endsWith(`it said: ${"é".repeat(2_048)}`), error);
});

Deno.test("forbidden addresses are never requested, and the job is not retried", async () => {
  for (const url of ["http://127.0.0.1:1/", "http://localhost:1/", "http://169.254.169.254/"]) {
    const { body } = await actor.post("/api/v1/jobs", {
      jobTypeName: "steward.http-request",
      serializedArgs: JSON.stringify({ url }),
    });
    assert.equal(await t.settled(body.id), "DeadLettered");
    assert.equal((await actor.get(`/api/v1/jobs/${body.id}`)).body.attempts, 1);
  }
});

Deno.test("invalid arguments are rejected at once", async () => {
  for (
    const args of [
      {},
      { url: "ftp://x/" },
      { url: `http://${host}`, method: "CONNECT" },
      {
        url: `http://${host}`,
        expectedStatuses: [],
      },
      { url: `http://${host}`, timeoutSeconds: 301 },
      { url: `http://${host}`, signingSecret: "whsec_short" },
    ]
  ) {
    const { body } = await actor.post("/api/v1/jobs", {
      jobTypeName: "steward.http-request",
      serializedArgs: JSON.stringify(args),
    });
    assert.equal(body.code, "VALIDATION_ERROR", JSON.stringify(args));
  }
});

const SECRET = "Bearer an-upstream-secret";
const secretArgs = (path: string) => ({
  url: `http://user:pass-word@${host}${path}`,
  headers: { Authorization: SECRET, "X-Key": "another-secret", "content-type": "text/x", Accept: "text/y" },
});
const hidden = (path: string) => ({
  url: `http://***@${host}${path}`,
  headers: { Authorization: "***", "X-Key": "***", "content-type": "text/x", Accept: "text/y" },
});

Deno.test("callers without the permission for HTTP requests cannot enqueue such jobs, whatever their role", async () => {
  const job = {
    jobTypeName: "steward.http-request",
    serializedArgs: JSON.stringify({ url: "https://a.test" }),
  };
  const recurring = { ...job, jobId: "calls", cronExpression: "0 3 1 1 *" };
  for (const role of ["Admin", "Visitor"] as const) {
    const other = await t.actor({ role });
    for (
      const refused of [
        await other.post("/api/v1/jobs", job),
        await other.post("/api/v1/jobs/bulk", { items: [job] }),
        await other.post("/api/v1/recurring-jobs", recurring),
      ]
    ) {
      assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"], role);
      assert.match(refused.body.detail, /run:http-requests/);
    }
  }
  assert.equal((await t.systemAdmin.post("/api/v1/recurring-jobs", recurring)).status, 201);
  const maker = await t.actor({ permissions: ["run:http-requests"] });
  await maker.post("/api/v1/recurring-jobs", recurring);
  const colleague = await t.actor({ tenantId: maker.tenantId ?? "" });
  const path = "/api/v1/recurring-jobs/calls";
  const changed = { serializedArgs: JSON.stringify({ url: "https://b.test" }) };
  assert.equal((await colleague.put(path, changed)).body.code, "MISSING_PERMISSION");
  assert.equal((await colleague.put(path, { cronExpression: "0 4 1 1 *" })).status, 200);
});

Deno.test("credentials in the URL are sent as Basic authorization, unless the job has such a header", async () => {
  const credentials = "us%C3%A9r:p%40ss%zz%3A1";
  const url = `http://${credentials}@${host}/hook`;
  assert.equal((await run({ url })).ended, "Succeeded");
  assert.equal(authorizations.at(-1), `Basic ${Buffer.from("usér:p@ss%zz:1").toString("base64")}`);
  assert.equal((await run({ url: `http://token@${host}/hook` })).ended, "Succeeded");
  assert.equal(authorizations.at(-1), `Basic ${Buffer.from("token:").toString("base64")}`);
  assert.equal((await run({ url, headers: { AUTHORIZATION: "Bearer abc" } })).ended, "Succeeded");
  assert.equal(authorizations.at(-1), "Bearer abc");
  const echoed = await run({ url: `http://token@${host}/refusing` });
  assert.match(echoed.error, /it said: \*\*\* is unknown here$/);
});

Deno.test("secrets in arguments are stored and used but never shown", async () => {
  const job = (path: string) => ({
    jobTypeName: "steward.http-request",
    serializedArgs: JSON.stringify(secretArgs(path)),
    maxRetries: 0,
  });
  const made = await actor.post("/api/v1/jobs", job("/teapot"));
  await t.settled(made.body.id);
  const bulk = await actor.post("/api/v1/jobs/bulk", { items: [job("/teapot")] }, { "idempotency-key": "s" });
  const again = await actor.post("/api/v1/jobs/bulk", { items: [job("/teapot")] }, {
    "idempotency-key": "s",
  });
  const letters = (await actor.get("/api/v1/dead-letter-jobs")).body.items;
  const letter = letters.find((entry: { jobId: string }) => entry.jobId === made.body.id);
  const recurring = await actor.post("/api/v1/recurring-jobs", {
    ...job("/teapot"),
    jobId: "secret",
    cronExpression: "0 3 1 1 *",
  });
  const shown = [
    made.body,
    ...[bulk.body.results[0], again.body.results[0]],
    (await actor.get(`/api/v1/jobs/${made.body.id}`)).body,
    (await actor.get("/api/v1/jobs")).body.items.find(({ id }: { id: string }) => id === made.body.id),
    letter,
    (await actor.get(`/api/v1/dead-letter-jobs/${letter.id}`)).body,
    (await actor.post(`/api/v1/dead-letter-jobs/${letter.id}/retry`)).body,
    recurring.body,
    (await actor.get("/api/v1/recurring-jobs")).body.items[0],
    (await actor.post("/api/v1/recurring-jobs/secret/trigger")).body,
    (await actor.get("/api/v1/recurring-jobs/secret/runs")).body[0],
  ];
  for (const [n, each] of shown.entries()) {
    assert.deepEqual(JSON.parse(each.serializedArgs), hidden("/teapot"), String(n));
  }
  const console = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const pages: string[] = [];
  for (const page of [`jobs/${made.body.id}`, `dead-letters/${letter.id}`, "recurring/secret"]) {
    const response = await fetch(`${t.url}/console/${page}`, {
      headers: { cookie: `steward_console=${console}` },
    });
    pages.push(await response.text());
    assert.match(pages.at(-1) ?? "", /\*\*\*@127/, page);
  }
  const everything = JSON.stringify([
    ...shown,
    ...pages,
    (await t.systemAdmin.get("/api/v1/audit-log?pageSize=100")).body,
    ...t.logs,
  ]);
  for (const secret of [SECRET, "another-secret", "pass-word"]) {
    assert.ok(!everything.includes(secret), secret);
  }
  const kept = await t.steward.platform.sql`select from idempotency_keys where body like ${`%${SECRET}%`}`;
  assert.equal(kept.length, 0);
});

Deno.test("an answer that repeats a sent secret is stored without it, and an error stores the answer", async () => {
  const { error } = await run({ url: `http://${host}/refusing`, headers: { authorization: SECRET } });
  assert.equal(authorizations.at(-1), SECRET);
  assert.match(error, /answered 403; expected 200 to 299; it said: \*\*\* is unknown here$/);
  const { output } = await run({
    url: `http://${host}/refusing`,
    headers: { authorization: SECRET },
    expectedStatuses: [403],
  });
  assert.equal(output.body, "*** is unknown here");
});

Deno.test("*** in a changed job keeps the secret for the same receiver only", async () => {
  const args = (url: string, authorization: string) =>
    JSON.stringify({ url, headers: { authorization, accept: "text/z" } });
  const path = "/api/v1/recurring-jobs/kept";
  const job = { jobTypeName: "steward.http-request", jobId: "kept", cronExpression: "0 3 1 1 *" };
  const made = await actor.post("/api/v1/recurring-jobs", {
    ...job,
    serializedArgs: args(`http://${host}/one`, SECRET),
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const back = await actor.put(path, { serializedArgs: args(`http://${host}/two`, "***") });
  assert.equal(back.status, 200, JSON.stringify(back.body));
  const triggered = await actor.post(`${path}/trigger`);
  await t.settled(triggered.body.id);
  assert.deepEqual([authorizations.at(-1), received.at(-1)?.path], [SECRET, "/two"]);

  const elsewhere = await actor.put(path, { serializedArgs: args("https://elsewhere.test/", "***") });
  assert.equal(elsewhere.status, 400);
  assert.match(elsewhere.body.errors.serializedArgs[0], /^headers.authorization: .* another receiver/);
  const other = { serializedArgs: JSON.stringify({ url: `http://${host}/`, headers: { "x-new": "***" } }) };
  for (
    const refused of [
      await actor.put(path, other),
      await actor.post("/api/v1/jobs", { jobTypeName: job.jobTypeName, ...other }),
    ]
  ) {
    assert.equal(refused.status, 400);
    assert.match(refused.body.errors.serializedArgs[0], /^headers.x-new: \*\*\* stands for a secret/);
  }
});

Deno.test("the list of job types has the maximum duration of an attempt", async () => {
  const { body } = await actor.get("/api/v1/jobs/types");
  const type = body.find(({ name }: { name: string }) => name === "steward.http-request");
  assert.equal(type.timeoutMs, 300_000, "as long as `timeoutSeconds` may be");
});
