import assert from "node:assert/strict";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { accountOf, numbers, PATH, poll, publish, publisherOf } from "./event_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const publisher = () => publisherOf(t);
const event = { type: "invoice.paid", data: { n: 1 } };

Deno.test("a service account publishes for a tenant that it names in the header or in the body", async () => {
  const by = await publisher();
  const { tenantId } = by;
  const inTenant = { "x-tenant-id": tenantId ?? "" };
  const { client } = await accountOf(t, { tenants: [tenantId] });
  await refused("400 VALIDATION_ERROR", client.post(PATH, event));
  await accepted(client.post(PATH, { ...event, tenantId }), 201);
  await accepted(client.post(PATH, event, inTenant), 201);
  const elsewhere = { ...event, tenantId: await t.tenant() };
  await refused("403 TENANT_FORBIDDEN", client.post(PATH, elsewhere));
  await refused(
    "403 CROSS_TENANT_FORBIDDEN",
    client.post(PATH, elsewhere, inTenant),
    by.post(PATH, elsewhere),
  );
  assert.deepEqual(numbers(await poll(by)), [1, 1]);
  const { client: reader } = await accountOf(t, { tenants: [tenantId], permissions: ["read:events"] });
  await refused("403 MISSING_PERMISSION", reader.post(PATH, { ...event, tenantId }));
});

Deno.test("the same type and key within a day is the same event, also of concurrent requests", async () => {
  const [by, other] = [await publisher(), await publisher()];
  const keyed = { ...event, key: "invoice 7" };
  const answers = await Promise.all([1, 2, 3].map((n) => by.post(PATH, { ...keyed, data: { n } })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 201]);
  const [first] = answers;
  for (const { status, body, headers } of answers) {
    assert.deepEqual(body, first?.body);
    assert.equal(headers.get("steward-duplicate"), status === 200 ? "true" : null);
  }
  assert.equal((await poll(by)).items.length, 1);
  await accepted(by.post(PATH, { ...keyed, key: "invoice 8" }), 201);
  await accepted(by.post(PATH, { ...keyed, type: "invoice.sent" }), 201);
  await accepted(other.post(PATH, keyed), 201);
  await sql`update event_keys set created_at = now() - interval '24 hours' where tenant_id = ${by.tenantId}`;
  assert.notEqual((await accepted(by.post(PATH, keyed), 201)).id, first?.body.id);
});

Deno.test("types of own events have another form than those of the service; data has at most 64 KiB", async () => {
  const by = await publisher();
  const wrong: [member: string, value: unknown][] = [
    ...["Invoice.Paid", `a.${"b".repeat(99)}`, "user.created"]
      .map((type): [string, unknown] => ["type", type]),
    ...["x".repeat(64 * 1024), "é".repeat(32 * 1024)].map((text): [string, unknown] => ["data", { text }]),
  ];
  for (const [member, value] of wrong) {
    const { errors } = (await by.post(PATH, { ...event, [member]: value })).body;
    assert.deepEqual(Object.keys(errors), [member], JSON.stringify(value).slice(0, 100));
  }
  const text = "x".repeat(64 * 1024 - '{"text":""}'.length);
  await publish(by, { text });
});

Deno.test("the data of an event keeps every member and digit, or is refused with the path of the number", async () => {
  const by = await publisher();
  const withData = (data: string) => by.post(PATH, `{"type":"invoice.paid","data":${data}}`);
  const kept = '{"__proto__":{"a":1},"constructor":"x","n":0.1234567890123457,"large":9007199254740991}';
  assert.equal(JSON.stringify((await accepted(withData(kept), 201)).data), kept);
  assert.equal(JSON.stringify((await poll(by)).items[0]?.data), kept);
  for (const lost of ["9007199254740993", "0.1234567890123456789"]) {
    const { status, body } = await withData(`{"orders":[{"id":${lost}}]}`);
    assert.deepEqual([status, Object.keys(body.errors)], [400, ["data.orders.0.id"]]);
  }
});
