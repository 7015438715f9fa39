import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { accountOf, numbers, outcome, PATH, poll, publish, publisherOf } from "./event_calls.ts";
import { Receiver } from "./receiver.ts";

const here = await setup({ OUTBOUND_ALLOW: "127.0.0.1" });
const receiver = new Receiver();
Deno.test.afterAll(async () => {
  await here.stop();
  await receiver.stop();
});
const { sql } = here.steward.platform;
const publisher = () => publisherOf(here);
const account = (more: Record<string, unknown>) => accountOf(here, more);

Deno.test("a service account publishes for a tenant that it names in the header or in the body", async () => {
  const by = await publisher();
  const { client } = await account({ tenants: [by.tenantId] });
  const event = { type: "invoice.paid", data: { n: 1 } };
  assert.equal(await outcome(client.post(PATH, event)), "400 VALIDATION_ERROR");
  assert.equal((await client.post(PATH, { ...event, tenantId: by.tenantId })).status, 201);
  assert.equal((await client.post(PATH, event, { "x-tenant-id": by.tenantId ?? "" })).status, 201);
  const other = await here.tenant();
  assert.equal(await outcome(client.post(PATH, { ...event, tenantId: other })), "403 TENANT_FORBIDDEN");
  const both = client.post(PATH, { ...event, tenantId: other }, { "x-tenant-id": by.tenantId ?? "" });
  assert.equal(await outcome(both), "403 CROSS_TENANT_FORBIDDEN");
  assert.equal(await outcome(by.post(PATH, { ...event, tenantId: other })), "403 CROSS_TENANT_FORBIDDEN");
  assert.deepEqual(numbers(await poll(by)), [1, 1]);
  const { client: reader } = await account({ tenants: [by.tenantId], permissions: ["read:events"] });
  assert.equal(
    await outcome(reader.post(PATH, { ...event, tenantId: by.tenantId })),
    "403 MISSING_PERMISSION",
  );
});

Deno.test("the same type and key within a day is the same event, also of concurrent requests", async () => {
  const by = await publisher();
  const event = { type: "invoice.paid", data: { n: 1 }, key: "invoice 7" };
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => by.post(PATH, { ...event, data: { n } })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
  const [first] = answers;
  for (const { status, body, headers } of answers) {
    assert.deepEqual(body, first?.body);
    assert.equal(headers.get("steward-duplicate"), status === 200 ? "true" : null);
  }
  assert.equal((await poll(by)).items.length, 1);
  const other = await publisher();
  for (
    const [actor, more] of [[by, { key: "invoice 8" }], [by, { type: "invoice.sent" }], [other, {}]] as const
  ) {
    assert.equal((await actor.post(PATH, { ...event, ...more })).status, 201);
  }
  await sql`update event_keys set created_at = now() - interval '24 hours' where tenant_id = ${by.tenantId}`;
  const next = await by.post(PATH, event);
  assert.equal(next.status, 201);
  assert.notEqual(next.body.id, first?.body.id);
});

Deno.test("an Idempotency-Key replays the answer of a published event", async () => {
  const by = await publisher();
  const send = () => by.post(PATH, { type: "invoice.paid", data: {} }, { "idempotency-key": "once" });
  const [first, again] = [await send(), await send()];
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.equal((await poll(by)).items.length, 1);
});

Deno.test("malformed events and polls are refused, naming the member", async () => {
  const by = await publisher();
  const good = { type: "invoice.paid", data: {} };
  const bad: [Record<string, unknown>, string][] = [
    [{ ...good, type: "invoice" }, "type"],
    [{ ...good, type: "Invoice.Paid" }, "type"],
    [{ ...good, type: "invoice." }, "type"],
    [{ ...good, type: `a.${"b".repeat(99)}` }, "type"],
    [{ ...good, type: "user.created" }, "type"],
    [{ ...good, type: "webhook.ping" }, "type"],
    [{ ...good, data: undefined }, "data"],
    [{ ...good, data: [] }, "data"],
    [{ ...good, data: { text: "x".repeat(64 * 1024) } }, "data"],
    [{ ...good, data: { text: "é".repeat(32 * 1024) } }, "data"],
    [{ ...good, tenantId: "x" }, "tenantId"],
    [{ ...good, key: "" }, "key"],
    [{ ...good, key: "x".repeat(201) }, "key"],
    [{ ...good, tenantid: by.tenantId }, "tenantid"],
  ];
  for (const [body, field] of bad) {
    const { status, body: refusal } = await by.post(PATH, body);
    assert.deepEqual([status, refusal.code], [400, "VALIDATION_ERROR"], JSON.stringify(body).slice(0, 100));
    assert.deepEqual(Object.keys(refusal.errors), [field]);
  }
  const largest = { text: "x".repeat(64 * 1024 - '{"text":""}'.length) };
  assert.equal((await by.post(PATH, { ...good, data: largest })).status, 201);
  for (
    const [query, field] of [
      ["after=-1", "after"],
      ["after=x", "after"],
      ["after=1e3", "after"],
      ["limit=0", "limit"],
      ["limit=1001", "limit"],
      ["waitSeconds=51", "waitSeconds"],
      ["waitSeconds=-1", "waitSeconds"],
      [`types=${"x".repeat(101)}`, "types.0"],
      ["types=,", "types"],
    ]
  ) {
    const { status, body } = await by.get(`${PATH}?${query}`);
    assert.deepEqual([status, Object.keys(body.errors)], [400, [field]], query);
  }
  const without = await here.actor({ permissions: ["read:users"] });
  assert.equal(await outcome(without.post(PATH, {})), "403 MISSING_PERMISSION");
  assert.equal(await outcome(without.get(PATH)), "403 MISSING_PERMISSION");
  const global = await here.actor({ permissions: ["read:events", "publish:events"], global: true });
  assert.equal(await outcome(global.get(PATH)), "403 FORBIDDEN");
});

Deno.test("own events are delivered by signed webhooks", async () => {
  const by = await publisher();
  const { body: endpoint } = await by.post("/api/v1/webhook-endpoints", {
    url: receiver.url(),
    eventTypes: ["invoice.paid"],
  });
  const other = await publisher();
  await publish(by, { n: 1 }, "invoice.sent");
  await publish(other, { n: 2 });
  await publish(by, { n: 3 });
  const [sent] = await receiver.got(1, ({ body }) => body.type === "invoice.paid");
  sent?.verify(endpoint.secret);
  assert.deepEqual([sent?.body.data, sent?.body.tenantId], [{ n: 3 }, by.tenantId]);
});

Deno.test("endpoints subscribe to own types; a misspelled built-in type is refused", async () => {
  const by = await publisher();
  const save = (eventTypes: unknown) =>
    by.post("/api/v1/webhook-endpoints", { url: receiver.url(), eventTypes });
  assert.equal((await save(["invoice.paid", "user.created"])).status, 201);
  for (const eventTypes of [["user.creatd"], ["invoice"], ["Invoice.Paid"], "invoice"]) {
    const { status, body } = await save(eventTypes);
    assert.deepEqual([status, Object.keys(body.errors)], [400, ["eventTypes"]], `${eventTypes}`);
  }
});
