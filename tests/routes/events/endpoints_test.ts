import assert from "node:assert/strict";
import { EVENT_TYPES } from "../../../domain/events/event_types.ts";
import { setup } from "../../support/setup.ts";
import { conformsToGenericContract } from "../resources/conformance.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const PATH = "/api/v1/webhook-endpoints";
const manager = () => t.actor({ permissions: ["manage:webhooks", "read:users"] });

conformsToGenericContract("webhook endpoints", {
  path: PATH,
  managedBy: "manage:webhooks",
  readBy: "manage:webhooks",
  notFound: "WEBHOOK_ENDPOINT_NOT_FOUND",
  softDeleted: false,
  body: (n) => ({ url: `https://hooks.example.test/${n}`, eventTypes: ["user.created"] }),
  change: {
    body: { url: "https://other.example.test/", isActive: false, description: "Elsewhere" },
    shows: { url: "https://other.example.test/", isActive: false, description: "Elsewhere" },
  },
  required: "url",
  once: "secret",
  sortBy: "url",
  search: (n) => `EXAMPLE.test/${n}`,
}, () => t);

Deno.test("an endpoint's secret is only in the answer that creates it", async () => {
  const by = await manager();
  const body = { url: "https://hooks.example.test/", eventTypes: "*" };
  const keyed = await by.post(PATH, body, { "idempotency-key": "once" });
  assert.equal(keyed.status, 400, "an answer with a secret is not kept");
  const first = await by.post(PATH, body);
  assert.match(first.body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(first.body.eventTypes, ["*"]);
  const { id, secret } = first.body;
  const rotated = await by.post(`${PATH}/${id}/rotate-secret`);
  assert.equal(rotated.status, 200);
  assert.notEqual(rotated.body.secret, secret);
  await by.put(`${PATH}/${id}`, { description: "Changed" });
  const shown = [
    await by.get(PATH),
    await by.get(`${PATH}/${id}`),
    await by.get(`${PATH}/${id}/deliveries`),
    await by.get("/api/v1/audit-log?pageSize=100"),
  ];
  for (const { status, body } of shown) {
    assert.equal(status, 200);
    assert.ok(!JSON.stringify(body).includes("whsec_"));
  }
  assert.ok(t.logs.every((line) => !line.includes(secret) && !line.includes(rotated.body.secret)));
  const [kept] = await sql<{ count: number }[]>`select count(*)::int as count from idempotency_keys`;
  assert.equal(kept?.count, 0);
});

Deno.test("a tenant has at most 100 endpoints, also if several are created at the same time", async () => {
  const by = await manager();
  const body = { url: "https://hooks.example.test/", eventTypes: "*" };
  await sql`insert into webhook_endpoints (id, tenant_id, url, event_types)
    select uuidv7(), ${by.tenantId}, ${body.url}, '{*}' from generate_series(1, 97)`;
  const answers = await Promise.all(Array.from({ length: 6 }, () => by.post(PATH, body)));
  const outcomes = answers.map(({ status, body }) => `${status} ${body.code ?? ""}`).sort();
  const refused = "409 WEBHOOK_ENDPOINT_LIMIT_CONFLICT";
  assert.deepEqual(outcomes, ["201 ", "201 ", "201 ", refused, refused, refused]);
  const made = answers.find(({ status }) => status === 201);
  assert.equal((await by.delete(`${PATH}/${made?.body.id}`)).status, 204);
  assert.equal((await by.post(PATH, body)).status, 201, "a deleted one makes room");
  assert.equal((await (await manager()).post(PATH, body)).status, 201, "tenants are counted apart");
});

Deno.test("URLs that are invalid, private or have credentials are rejected at creation", async () => {
  const by = await manager();
  const { body: { id } } = await by.post(PATH, { url: "https://example.test/", eventTypes: "*" });
  const refused = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://0x7f000001/",
    "http://10.0.0.8:8080/x",
    "https://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[fd00::1]/",
    "http://localhost:9999/",
    "http://api.localhost/",
    "https://user:secret@example.test/",
    "ftp://example.test/",
    "javascript:alert(1)",
    "/relative",
    "not a url",
    `https://example.test/${"x".repeat(2000)}`,
    "https://example.test/\0",
  ];
  for (const url of refused) {
    for (
      const answer of [await by.post(PATH, { url, eventTypes: "*" }), await by.put(`${PATH}/${id}`, { url })]
    ) {
      assert.deepEqual([answer.status, answer.body.code], [400, "VALIDATION_ERROR"], url);
      assert.deepEqual(Object.keys(answer.body.errors), ["url"], url);
    }
  }
});

Deno.test("types are built-in or own types, each once, or all of them", async () => {
  const by = await manager();
  const url = "https://hooks.example.test/";
  for (const eventTypes of [[], "user.created", ["user.creatd"], [7], null, {}, ["webhook.ping"]]) {
    const { status, body } = await by.post(PATH, { url, eventTypes });
    assert.equal(status, 400, JSON.stringify(eventTypes));
    assert.ok(Object.keys(body.errors).every((field) => field.startsWith("eventTypes")));
  }
  const eventTypes = ["user.created", "file.available", "user.created"];
  const made = await by.post(PATH, { url, eventTypes });
  assert.deepEqual(made.body.eventTypes, ["user.created", "file.available"]);
  const all = await by.put(`${PATH}/${made.body.id}`, { eventTypes: ["*", "user.created"] });
  assert.deepEqual(all.body.eventTypes, ["*"]);
  assert.equal(all.body.url, url, "what is left out stays");
});

Deno.test("every type is listed with an example body", async () => {
  const { status, body } = await (await t.actor({ permissions: [] })).get("/api/v1/webhook-events/types");
  assert.equal(status, 200);
  assert.deepEqual(body.map(({ type }: { type: string }) => type), Object.keys(EVENT_TYPES));
  for (const { type, example } of body) {
    assert.equal(example.type, type);
    assert.ok(Object.keys(example.data).length > 1);
    assert.deepEqual(example.data.tenantId, example.tenantId);
  }
});

Deno.test("deliveries, pings and secrets need the permission; an inactive endpoint is sent nothing", async () => {
  const by = await manager();
  const { body: { id } } = await by.post(PATH, {
    url: "https://hooks.example.test/",
    eventTypes: "*",
    isActive: false,
  });
  const reader = await t.actor({ tenantId: by.tenantId ?? "", permissions: ["read:users"] });
  const absent = crypto.randomUUID();
  const routes: [string, string][] = [
    ["GET", `${PATH}/${id}/deliveries`],
    ["POST", `${PATH}/${id}/test`],
    ["POST", `${PATH}/${id}/rotate-secret`],
    ["POST", `${PATH}/${id}/deliveries/${absent}/redeliver`],
  ];
  for (const [method, path] of routes) {
    assert.equal((await reader.send(method, path)).body.code, "MISSING_PERMISSION");
  }
  for (const path of [`${PATH}/${id}/test`, `${PATH}/${id}/deliveries/${absent}/redeliver`]) {
    assert.deepEqual((await by.post(path)).body.code, "WEBHOOK_ENDPOINT_INACTIVE_CONFLICT");
  }
  await by.put(`${PATH}/${id}`, { isActive: true });
  const missing = await by.post(`${PATH}/${id}/deliveries/${absent}/redeliver`);
  assert.deepEqual([missing.status, missing.body.code], [404, "WEBHOOK_DELIVERY_NOT_FOUND"]);
  assert.equal((await by.get(`${PATH}/${id}/deliveries?status=Lost`)).body.code, "VALIDATION_ERROR");
});
