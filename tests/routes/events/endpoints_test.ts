import assert from "node:assert/strict";
import { resumeLost } from "../../../domain/events/upkeep.ts";
import { invalid } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  answering,
  deliveryIs,
  ENDPOINTS as PATH,
  type Hook,
  hookOf,
  ping,
  stopReceivers,
} from "./event_calls.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(stopReceivers);
const { platform, sql } = t;
const manager = () => t.actor({ permissions: ["manage:webhooks", "read:users"] });
const hook = { url: "https://hooks.example.test/", eventTypes: "*" };
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
});

Deno.test("a tenant has at most 100 endpoints, also if several are created at the same time", async () => {
  const by = await manager();
  await sql`insert into webhook_endpoints (id, tenant_id, url, event_types)
    select uuidv7(), ${by.tenantId}, ${hook.url}, '{*}' from generate_series(1, 98)`;
  const answers = await Promise.all(Array.from({ length: 3 }, () => by.post(PATH, hook)));
  const [made, second, refusal] = answers.toSorted((a, b) => a.status - b.status);
  assert.equal(second?.status, 201);
  await refused("409 WEBHOOK_ENDPOINT_LIMIT_CONFLICT", refusal!);
  await accepted(by.delete(`${PATH}/${made?.body.id}`), 204);
  await accepted(by.post(PATH, hook), 201); // a deleted one makes room
  await accepted((await manager()).post(PATH, hook), 201); // tenants are counted apart
});

Deno.test("URLs that are invalid, private or have credentials are rejected at creation", async () => {
  const path = `${PATH}/${(await accepted(by.post(PATH, hook))).id}`;
  const wrong = [
    "http://10.1.2.3/",
    "http://localhost:9999/",
    "https://user:secret@example.test/",
    "not a url",
  ];
  for (const url of wrong) invalid(await by.post(PATH, { ...hook, url }), "url");
  invalid(await by.put(path, { url: "ftp://example.test/" }), "url");
});

Deno.test("types are built-in or own types, each once, or all of them", async () => {
  for (const eventTypes of [[], "user.created", ["user.creatd"], ["webhook.ping"]]) {
    const { errors } = (await by.post(PATH, { ...hook, eventTypes })).body;
    assert.match(Object.keys(errors).join(), /^eventTypes(\.0)?$/, `${eventTypes}`);
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

const roleHook = () => hookOf(t, { eventTypes: ["role.changed"] });
const pause = ({ by, path }: Hook, reason?: string) => accepted(by.post(`${path}/pause`, { reason }), 200);
const resume = ({ by, path }: Hook) => accepted(by.post(`${path}/resume`, {}), 200);
const listed = async ({ by }: Hook, query: string) => (await accepted(by.get(`${PATH}?${query}`))).items;

const is = (deliveryId: string, status: string, o = {}) => deliveryIs(t, deliveryId, status, o);

/** Sends a ping that fails. @returns the id of the delivery, which then waits */
async function failedPing(h: Hook): Promise<string> {
  const id = await ping(h);
  await is(id, "Pending", { attempts: 1 });
  return id;
}

Deno.test("deliveries of a paused endpoint wait, with who paused it and why, until it is resumed", async () => {
  const h = await roleHook();
  const paused = await pause(h, "The receiver moves");
  assert.deepEqual([paused.pausedBy, paused.pauseReason], [h.by.userId, "The receiver moves"]);
  assert.deepEqual(await pause(h, "another"), paused);
  const ids = [await ping(h), await ping(h)];
  for (const id of ids) await is(id, "Pending", { held: true });
  assert.equal(h.receiver.received.length, 0);
  const counts = [(await listed(h, "isPaused=true")).length, (await listed(h, "isPaused=false")).length];
  assert.deepEqual(counts, [1, 0]);
  const { pausedAt, pausedBy, pauseReason } = await resume(h);
  assert.deepEqual([pausedAt, pausedBy, pauseReason], [null, null, null]);
  const got = await h.receiver.got(2);
  assert.deepEqual(got.map(({ id }) => id).sort(), ids.sort());
  await is(ids[0] ?? "", "Delivered");
  await resume(h);
  const { items } = await accepted(h.by.get("/api/v1/audit-log?action=webhookEndpoint.pause"));
  assert.deepEqual(items.map(({ actorId }: { actorId: string }) => actorId), [h.by.userId]);
});

Deno.test("a delivery that a pause keeps waiting is not taken for a lost one, and keeps its schedule", async () => {
  const h = await roleHook();
  answering(h, 500);
  const id = await failedPing(h);
  await pause(h);
  await sql`update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where id = ${id}`;
  await sql`update jobs set due_at = now() - interval '1 ms' where id = (select job_id from webhook_deliveries where id = ${id})`;
  await t.steward.sweep();
  await is(id, "Pending", { held: true });
  assert.equal((await resumeLost(platform)).rows, 0);
  answering(h, 200);
  await resume(h);
  await is(id, "Delivered");
  const [row] = await sql`select round_attempts from webhook_deliveries where id = ${id}`;
  assert.equal(row?.roundAttempts, 2);
});

Deno.test("days of a pause do not count as days of failures", async () => {
  const h = await roleHook();
  answering(h, 500);
  await failedPing(h);
  assert.notEqual((await accepted(h.by.get(h.path))).failingSince, null);
  await pause(h);
  await sql`update webhook_endpoints set failing_since = now() - interval '6 days', paused_at = now() - interval '6 days'
    where id = ${h.id}`;
  assert.equal((await resume(h)).failingSince, null);
  await failedPing(h);
  const { isActive, disabledReason, failingSince } = await accepted(h.by.get(h.path));
  assert.deepEqual([isActive, disabledReason], [true, null]);
  assert.ok(Date.parse(failingSince) > Date.now() - 3_600_000);
});

Deno.test("pausing and resuming while deliveries are made loses none of them", async () => {
  const h = await roleHook();
  const ids: string[] = [];
  const toggle = async () => {
    for (let n = 0; n < 6; n++) await (n % 2 ? resume(h) : pause(h));
  };
  const send = async () => {
    for (let n = 0; n < 5; n++) ids.push(await ping(h));
  };
  await Promise.all([toggle(), send(), send()]);
  await resume(h);
  await Promise.all(ids.map((id) => is(id, "Delivered")));
  assert.deepEqual(new Set(h.receiver.received.map(({ id }) => id)), new Set(ids));
});

Deno.test("an endpoint shows its success rate and its last error", async () => {
  const h = await roleHook();
  await is(await ping(h), "Delivered");
  answering(h, 503);
  await ping(h);
  const shown = await until(
    () => accepted(h.by.get(h.path)),
    ({ lastDay }) => lastDay.failed === 1,
    { what: "a counted failure" },
  );
  assert.deepEqual(shown.lastDay, { delivered: 1, failed: 1, successRate: 0.5 });
  assert.equal(shown.lastError, "The receiver answered 503.");
  assert.ok(Date.parse(shown.lastErrorAt) > 0);
  const failing = await listed(h, "isFailing=true");
  assert.deepEqual(failing.map(({ lastDay }: { lastDay: unknown }) => lastDay), [shown.lastDay]);
  assert.deepEqual(await listed(h, "isFailing=false"), []);
});

/** Inserts deliveries that have failed. */
const insertFailed = ({ id }: Hook, count: number) =>
  sql`insert into webhook_deliveries (id, endpoint_id, event_type, body, job_id, status, next_attempt_at, completed_at)
    select gen_random_uuid(), ${id}, 'webhook.ping', '{"type":"webhook.ping"}', gen_random_uuid(), 'Failed', null,
      now() - interval '1 minute' from generate_series(1, ${count})`;
const redeliver = ({ by, path }: Hook, more = {}) => by.post(`${path}/redeliver-failed`, more);

Deno.test("all failed deliveries are counted first, and sent again", async () => {
  const h = await roleHook();
  await insertFailed(h, 3);
  const counted = await accepted(redeliver(h, { dryRun: true }));
  assert.deepEqual(counted, { matched: 3, redelivered: 0, jobId: null });
  assert.equal(h.receiver.received.length, 0);
  assert.deepEqual(await accepted(redeliver(h)), { matched: 3, redelivered: 3, jobId: null });
  await h.receiver.got(3);
  assert.equal((await accepted(redeliver(h))).matched, 0);
  await accepted(h.by.put(h.path, { isActive: false }));
  await insertFailed(h, 1);
  await refused("409 WEBHOOK_ENDPOINT_INACTIVE_CONFLICT", redeliver(h));
});

Deno.test("many failed deliveries are sent again by a job, each once", async () => {
  const h = await roleHook();
  await insertFailed(h, 501);
  await pause(h); // so that the receiver gets none of them
  const { matched, redelivered, jobId } = await accepted(redeliver(h));
  assert.deepEqual([matched, redelivered], [501, 0]);
  assert.equal(await t.settled(jobId), "Succeeded");
  const [row] = await sql`
    select count(*) filter (where status = 'Pending')::int as pending, count(distinct job_id)::int as requeued
    from webhook_deliveries where endpoint_id = ${h.id}`;
  assert.deepEqual(row, { pending: 501, requeued: 501 });
  await accepted(h.by.delete(h.path));
});
