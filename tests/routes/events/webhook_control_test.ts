import assert from "node:assert/strict";
import { resumeLost } from "../../../domain/events/upkeep.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { ENDPOINTS, type Hook, hookOf, ping, stopReceivers } from "./event_calls.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(stopReceivers);
const { platform, sql } = t;

const hook = () => hookOf(t, { eventTypes: ["role.changed"] });
const answering = ({ receiver }: Hook, status: number) =>
  receiver.answers(() => new Response("broken", { status }));
const pause = ({ by, path }: Hook, reason?: string) => accepted(by.post(`${path}/pause`, { reason }), 200);
const resume = ({ by, path }: Hook) => accepted(by.post(`${path}/resume`, {}), 200);
const listed = async ({ by }: Hook, query: string) => (await accepted(by.get(`${ENDPOINTS}?${query}`))).items;

/** Resolves once the delivery has this status, or is held if it is `held`. */
const is = (deliveryId: string, status: string, held = false) =>
  until(
    () => sql`select status, held from webhook_deliveries where id = ${deliveryId}`,
    ([row]) => row?.status === status && row.held === held,
    { what: `a delivery that is ${held ? "held" : status}` },
  );

/** Sends a ping that fails. @returns the id of the delivery, which then waits */
async function failedPing(h: Hook): Promise<string> {
  const id = await ping(h);
  const tried = () => sql`select from webhook_deliveries where id = ${id} and attempt_count = 1`;
  await until(tried, ({ count }) => count === 1, { what: "a failed attempt" });
  return id;
}

Deno.test("deliveries of a paused endpoint wait, with who paused it and why, until it is resumed", async () => {
  const h = await hook();
  const paused = await pause(h, "The receiver moves");
  assert.deepEqual([paused.pausedBy, paused.pauseReason], [h.by.userId, "The receiver moves"]);
  assert.deepEqual(await pause(h, "another"), paused);
  const ids = [await ping(h), await ping(h)];
  for (const id of ids) await is(id, "Pending", true);
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
  const h = await hook();
  answering(h, 500);
  const id = await failedPing(h);
  await pause(h);
  await sql`update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where id = ${id}`;
  await sql`update jobs set due_at = now() where id = (select job_id from webhook_deliveries where id = ${id})`;
  await t.steward.sweep();
  await is(id, "Pending", true);
  assert.equal((await resumeLost(platform)).rows, 0);
  answering(h, 200);
  await resume(h);
  await is(id, "Delivered");
  const [row] = await sql`select round_attempts from webhook_deliveries where id = ${id}`;
  assert.equal(row?.roundAttempts, 2);
});

Deno.test("days of a pause do not count as days of failures", async () => {
  const h = await hook();
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
  const h = await hook();
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
  const h = await hook();
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
  const h = await hook();
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
  const h = await hook();
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
