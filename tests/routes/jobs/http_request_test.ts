import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";

const received: { method: string; path: string; body: string; contentType: string | null }[] = [];
const target = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
  const path = new URL(request.url).pathname;
  received.push({
    method: request.method,
    path,
    body: await request.text(),
    contentType: request.headers.get("content-type"),
  });
  return new Response("gladly", { status: path === "/teapot" ? 418 : 200 });
});
const host = `127.0.0.1:${target.addr.port}`;
const t = await setup({ OUTBOUND_ALLOW: host });
Deno.test.afterAll(async () => {
  await t.stop();
  await target.shutdown();
});
const actor = await t.actor();

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

Deno.test("a URL is called and its answer kept", async () => {
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

Deno.test("an unexpected status is a failure, an expected one is not", async () => {
  const unexpected = await run({ url: `http://${host}/teapot` });
  assert.equal(unexpected.ended, "DeadLettered");
  assert.match(unexpected.error, /answered 418; expected 200 to 299/);
  assert.equal((await run({ url: `http://${host}/teapot`, expectedStatuses: [418] })).ended, "Succeeded");
});

Deno.test("addresses out of bounds are never called, and not retried", async () => {
  for (const url of ["http://127.0.0.1:1/", "http://localhost:1/", "http://169.254.169.254/"]) {
    const { body } = await actor.post("/api/v1/jobs", {
      jobTypeName: "steward.http-request",
      serializedArgs: JSON.stringify({ url }),
    });
    assert.equal(await t.settled(body.id), "DeadLettered");
    assert.equal((await actor.get(`/api/v1/jobs/${body.id}`)).body.attempts, 1);
  }
});

Deno.test("arguments that do not fit are refused at once", async () => {
  for (
    const args of [{}, { url: "ftp://x/" }, { url: `http://${host}`, method: "CONNECT" }, {
      url: `http://${host}`,
      expectedStatuses: [],
    }]
  ) {
    const { body } = await actor.post("/api/v1/jobs", {
      jobTypeName: "steward.http-request",
      serializedArgs: JSON.stringify(args),
    });
    assert.equal(body.code, "VALIDATION_ERROR", JSON.stringify(args));
  }
});
