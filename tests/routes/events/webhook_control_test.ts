import assert from "node:assert/strict";
import { resumeLost } from "../../../domain/events/upkeep.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { Receiver } from "./receiver.ts";

const t = await setup({ OUTBOUND_ALLOW: "127.0.0.1" });
const receivers: Receiver[] = [];
Deno.test.afterAll(async () => {
  await t.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});
const { platform } = t.steward;
const { sql } = platform;
const PATH = "/api/v1/webhook-endpoints";

async function cast() {
  const by = await t.actor({ permissions: ["manage:webhooks", "read:users"] });
  const receiver = new Receiver();
  receivers.push(receiver);
  const made = await by.post(PATH, { url: receiver.url(), eventTypes: ["role.changed"] });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  const here = `${PATH}/${made.body.id}`;
  return { by, receiver, id: made.body.id as string, here };
}

async function ping(by: Actor, here: string): Promise<string> {
  const { status, body } = await by.post(`${here}/test`, {});
  assert.equal(status, 202, JSON.stringify(body));
  return body.id;
}

/** Resolves once the delivery has this status, or is held if it is `held`. */
const is = (deliveryId: string, status: string, held = false) =>
  until(
    () =>
      sql<
        { status: string; held: boolean }[]
      >`select status, held from webhook_deliveries where id = ${deliveryId}`,
    ([row]) => row?.status === status && row.held === held,
    { what: `a delivery that is ${held ? "held" : status}` },
  );

Deno.test("deliveries of a paused endpoint wait, with who paused it and why, until it is resumed", async () => {
  const { by, receiver, here } = await cast();
  const paused = await by.post(`${here}/pause`, { reason: "The receiver moves" });
  assert.equal(paused.status, 200, JSON.stringify(paused.body));
  assert.deepEqual([paused.body.pausedBy, paused.body.pauseReason], [by.userId, "The receiver moves"]);
  const again = await by.post(`${here}/pause`, { reason: "another" });
  assert.deepEqual(again.body, paused.body);

  const first = await ping(by, here);
  const second = await ping(by, here);
  await is(first, "Pending", true);
  await is(second, "Pending", true);
  assert.equal(receiver.received.length, 0);
  assert.equal((await by.get(`${PATH}?isPaused=true`)).body.items.length, 1);
  assert.equal((await by.get(`${PATH}?isPaused=false`)).body.items.length, 0);

  const resumed = await by.post(`${here}/resume`, {});
  assert.deepEqual([resumed.body.pausedAt, resumed.body.pausedBy, resumed.body.pauseReason], [
    null,
    null,
    null,
  ]);
  const got = await receiver.got(2);
  assert.deepEqual(new Set(got.map(({ id }) => id)), new Set([first, second]));
  await is(first, "Delivered");
  assert.equal((await by.post(`${here}/resume`, {})).status, 200);
  const audit = (await by.get("/api/v1/audit-log?action=webhookEndpoint.pause")).body.items;
  assert.deepEqual(audit.map(({ actorId }: { actorId: string }) => actorId), [by.userId]);
});

Deno.test("a delivery that a pause keeps waiting is not taken for a lost one, and keeps its schedule", async () => {
  const { by, receiver, here } = await cast();
  receiver.answers(() => new Response("broken", { status: 500 }));
  const id = await ping(by, here);
  await receiver.got(1);
  await until(
    () => sql`select from webhook_deliveries where id = ${id} and attempt_count = 1`,
    (rows) => rows.length === 1,
    { what: "the first attempt" },
  );
  await by.post(`${here}/pause`, {});
  await sql`update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where id = ${id}`;
  await sql`update jobs set due_at = now() where job_type_name = 'events.deliver' and status = 'Scheduled'`;
  await t.steward.sweep();
  await is(id, "Pending", true);
  assert.equal((await resumeLost(platform)).rows, 0);
  receiver.answers(() => new Response("thanks"));
  await by.post(`${here}/resume`, {});
  await is(id, "Delivered");
  const [row] = await sql<{ roundAttempts: number }[]>`
    select round_attempts from webhook_deliveries where id = ${id}`;
  assert.equal(row?.roundAttempts, 2);
});

Deno.test("days of a pause do not count as days of failures", async () => {
  const { by, receiver, id, here } = await cast();
  receiver.answers(() => new Response("broken", { status: 500 }));
  const failedAttempt = async () => {
    const delivery = await ping(by, here);
    await until(
      () => sql`select from webhook_deliveries where id = ${delivery} and attempt_count = 1`,
      (rows) => rows.length === 1,
      { what: "a failed attempt" },
    );
  };
  await failedAttempt();
  assert.notEqual((await by.get(here)).body.failingSince, null);
  await by.post(`${here}/pause`, {});
  await sql`update webhook_endpoints set failing_since = now() - interval '6 days', paused_at = now() - interval '6 days'
    where id = ${id}`;
  assert.equal((await by.post(`${here}/resume`, {})).body.failingSince, null);
  await failedAttempt();
  const { isActive, disabledReason, failingSince } = (await by.get(here)).body;
  assert.deepEqual([isActive, disabledReason], [true, null]);
  assert.ok(Date.parse(failingSince) > Date.now() - 3_600_000);
});

Deno.test("pausing and resuming while deliveries are made loses none of them", async () => {
  const { by, receiver, here } = await cast();
  const ids: string[] = [];
  const toggle = async () => {
    for (let n = 0; n < 6; n++) await by.post(`${here}/${n % 2 ? "resume" : "pause"}`, {});
  };
  const send = async () => {
    for (let n = 0; n < 15; n++) ids.push(await ping(by, here));
  };
  await Promise.all([toggle(), send(), send()]);
  await by.post(`${here}/resume`, {});
  await Promise.all(ids.map((id) => is(id, "Delivered")));
  assert.deepEqual(new Set(receiver.received.map(({ id }) => id)), new Set(ids));
});

Deno.test("an endpoint shows its success rate and its last error", async () => {
  const { by, receiver, here } = await cast();
  await is(await ping(by, here), "Delivered");
  receiver.answers(() => new Response("broken", { status: 503 }));
  await ping(by, here);
  const { body } = await until(
    () => by.get(here),
    ({ body }) => body.lastDay.failed === 1,
    { what: "a counted failure" },
  );
  assert.deepEqual(body.lastDay, { delivered: 1, failed: 1, successRate: 0.5 });
  assert.equal(body.lastError, "The receiver answered 503.");
  assert.ok(Date.parse(body.lastErrorAt) > 0);
  const failing = (await by.get(`${PATH}?isFailing=true`)).body.items;
  assert.deepEqual(failing.map(({ lastDay }: { lastDay: unknown }) => lastDay), [body.lastDay]);
  assert.equal((await by.get(`${PATH}?isFailing=false`)).body.items.length, 0);
});

/** Inserts deliveries that have failed. */
const insertFailed = (endpointId: string, count: number) =>
  sql`insert into webhook_deliveries (id, endpoint_id, event_type, body, job_id, status, next_attempt_at, completed_at)
    select gen_random_uuid(), ${endpointId}, 'webhook.ping', '{"type":"webhook.ping"}', gen_random_uuid(), 'Failed', null,
      now() - interval '1 minute' from generate_series(1, ${count})`;

Deno.test("all failed deliveries are counted first, and sent again", async () => {
  const { by, receiver, id, here } = await cast();
  await insertFailed(id, 3);
  const counted = await by.post(`${here}/redeliver-failed`, { dryRun: true });
  assert.deepEqual(counted.body, { matched: 3, redelivered: 0, jobId: null });
  assert.equal(receiver.received.length, 0);
  const sent = await by.post(`${here}/redeliver-failed`, {});
  assert.deepEqual(sent.body, { matched: 3, redelivered: 3, jobId: null });
  await receiver.got(3);
  assert.deepEqual((await by.post(`${here}/redeliver-failed`, {})).body.matched, 0);

  await by.put(here, { isActive: false });
  await insertFailed(id, 1);
  const refused = await by.post(`${here}/redeliver-failed`, {});
  assert.equal(refused.body.code, "WEBHOOK_ENDPOINT_INACTIVE_CONFLICT");
  const stranger = await t.actor({ permissions: ["manage:webhooks"] });
  for (const action of ["redeliver-failed", "pause", "resume"]) {
    assert.equal((await stranger.post(`${here}/${action}`, {})).body.code, "WEBHOOK_ENDPOINT_NOT_FOUND");
  }
});

Deno.test("many failed deliveries are sent again by a job, each once", async () => {
  const { by, receiver, id, here } = await cast();
  receiver.answers(() => new Response("gone wrong", { status: 500 }));
  await insertFailed(id, 1_100);
  const { body } = await by.post(`${here}/redeliver-failed`, {});
  assert.deepEqual([body.matched, body.redelivered], [1_100, 0]);
  assert.equal(await t.settled(body.jobId), "Succeeded");
  const [row] = await sql<{ pending: number; requeued: number }[]>`
    select count(*) filter (where status = 'Pending')::int as pending, count(distinct job_id)::int as requeued
    from webhook_deliveries where endpoint_id = ${id}`;
  assert.deepEqual(row, { pending: 1_100, requeued: 1_100 });
  await by.delete(here);
});
