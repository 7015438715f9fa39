import assert from "node:assert/strict";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { ENDPOINTS as PATH } from "./event_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const manager = () => t.actor({ permissions: ["manage:webhooks", "read:users"] });
const hook = { url: "https://hooks.example.test/", eventTypes: "*" };
const wrongMembers = async (answer: ReturnType<typeof t.nobody.post>) =>
  Object.keys((await answer).body.errors ?? {});
const by = await manager();

Deno.test("an endpoint's secret is only in the answer that creates it", async () => {
  const by = await manager();
  const { id, secret, eventTypes } = await accepted(by.post(PATH, hook));
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(eventTypes, ["*"]);
  const rotated = await accepted(by.post(`${PATH}/${id}/rotate-secret`), 200);
  assert.notEqual(rotated.secret, secret);
  await accepted(by.put(`${PATH}/${id}`, { description: "Changed" }));
  const paths = [PATH, `${PATH}/${id}`, `${PATH}/${id}/deliveries`, "/api/v1/audit-log?pageSize=100"];
  for (const path of paths) assert.ok(!JSON.stringify(await accepted(by.get(path))).includes("whsec_"));
  assert.ok(t.logs.every((line) => !line.includes(secret) && !line.includes(rotated.secret)));
  const list = await accepted(by.get(`${PATH}?search=HOOKS.example`));
  assert.deepEqual(list.items.map((item: { id: string }) => item.id), [id]);
  assert.equal((await accepted(by.get(`${PATH}?search=other`))).totalCount, 0);
});

Deno.test("a tenant has at most 100 endpoints, also if several are created at the same time", async () => {
  const by = await manager();
  await sql`insert into webhook_endpoints (id, tenant_id, url, event_types)
    select uuidv7(), ${by.tenantId}, ${hook.url}, '{*}' from generate_series(1, 98)`;
  const answers = await Promise.all(Array.from({ length: 3 }, () => by.post(PATH, hook)));
  const outcomes = await Promise.all(answers.map((answer) => outcome(answer)));
  const limit = "409 WEBHOOK_ENDPOINT_LIMIT_CONFLICT";
  assert.deepEqual(outcomes.sort(), ["201", "201", limit]);
  const made = answers.find(({ status }) => status === 201);
  await accepted(by.delete(`${PATH}/${made?.body.id}`), 204);
  await accepted(by.post(PATH, hook), 201); // a deleted one makes room
  await accepted((await manager()).post(PATH, hook), 201); // tenants are counted apart
});

Deno.test("URLs that are invalid, private or have credentials are rejected at creation", async () => {
  const path = `${PATH}/${(await accepted(by.post(PATH, hook))).id}`;
  const wrong = [
    "http://127.0.0.1/",
    "http://localhost:9999/",
    "https://user:secret@example.test/",
    "not a url",
  ];
  for (const url of wrong) {
    assert.deepEqual(await wrongMembers(by.post(PATH, { ...hook, url })), ["url"], url);
  }
  assert.deepEqual(await wrongMembers(by.put(path, { url: "ftp://example.test/" })), ["url"]);
});

Deno.test("types are built-in or own types, each once, or all of them", async () => {
  const wrong = ["user.creatd", "webhook.ping"].map((type) => [type]);
  for (const eventTypes of [[], "user.created", ...wrong]) {
    const members = await wrongMembers(by.post(PATH, { ...hook, eventTypes }));
    assert.deepEqual(members.map((member) => member.split(".")[0]), ["eventTypes"], `${eventTypes}`);
  }
  const eventTypes = ["user.created", "file.available", "invoice.paid", "user.created"];
  const made = await accepted(by.post(PATH, { ...hook, eventTypes }));
  assert.deepEqual(made.eventTypes, eventTypes.slice(0, 3));
  const all = await accepted(by.put(`${PATH}/${made.id}`, { eventTypes: ["*", "user.created"] }));
  assert.deepEqual([all.eventTypes, all.url], [["*"], hook.url]);
});

Deno.test("an inactive endpoint is sent nothing", async () => {
  const path = `${PATH}/${(await accepted(by.post(PATH, { ...hook, isActive: false }))).id}`;
  const redeliver = () => by.post(`${path}/deliveries/${crypto.randomUUID()}/redeliver`);
  await refused("409 WEBHOOK_ENDPOINT_INACTIVE_CONFLICT", by.post(`${path}/test`), redeliver());
  await accepted(by.put(path, { isActive: true }));
  await refused("404 WEBHOOK_DELIVERY_NOT_FOUND", redeliver());
});
