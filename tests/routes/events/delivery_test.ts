import { finish } from "../../support/maintenance.ts";
import assert from "node:assert/strict";
import {
  readPendingDelivery,
  RETRY_DELAYS_MS,
  settleAttempt,
} from "../../../domain/events/settle_delivery.ts";
import { resumeLost, upkeepJob } from "../../../domain/events/upkeep.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { Receiver } from "./receiver.ts";
import { until } from "../../support/until.ts";

const t = await setup({ OUTBOUND_ALLOW: "127.0.0.1" });
const receivers: Receiver[] = [];
Deno.test.afterAll(async () => {
  await t.stop();
  await Promise.all(receivers.map((receiver) => receiver.stop()));
});
const { platform } = t.steward;
const { sql } = platform;
const PATH = "/api/v1/webhook-endpoints";

async function cast(more: Record<string, unknown> = {}) {
  const by = await t.actor({ permissions: ["manage:webhooks", "create:users", "read:users"] });
  const receiver = new Receiver();
  receivers.push(receiver);
  const made = await by.post(PATH, { url: receiver.url(), eventTypes: ["user.created"], ...more });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return { by, receiver, endpoint: made.body as { id: string; secret: string; updatedAt: string } };
}

async function createUser(by: Actor, firstName = "Ana"): Promise<string> {
  const email = `${crypto.randomUUID()}@example.test`;
  const { status, body } = await by.post("/api/v1/users", {
    email,
    password: "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q",
    isPasswordEncrypted: true,
    firstName,
    lastName: "Silva",
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

const deliveries = async (by: Actor, id: string, query = "") =>
  (await by.get(`${PATH}/${id}/deliveries?${query}`)).body.items;

/** The endpoint's newest delivery, once it has this status after this number of attempts. */
const delivery = async (by: Actor, id: string, status: string, attemptCount = 1) =>
  (await until(
    () => deliveries(by, id),
    ([newest]) => newest?.status === status && newest.attemptCount === attemptCount,
    { what: `a delivery that is ${status}` },
  ))[0];

/** Makes a delivery that waits for its next attempt due. */
async function hurry(endpointId: string): Promise<void> {
  await sql`update webhook_deliveries set next_attempt_at = now() where endpoint_id = ${endpointId}
    and status = 'Pending'`;
  await sql`update jobs set due_at = now() where job_type_name = 'events.deliver' and status = 'Scheduled'`;
  await t.steward.sweep();
}

Deno.test("an event is signed as in Standard Webhooks, and its delivery is stored", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response("x".repeat(2000), { status: 202 }));
  const userId = await createUser(by);
  const [request] = await receiver.got(1);
  request?.verify(endpoint.secret);
  assert.throws(() => request?.verify("whsec_c3Rld2FyZC1kZXZlbG9wbWVudC13ZWJob29rLWtleQ=="));
  const { type, timestamp, data } = request!.body;
  assert.equal(type, "user.created");
  assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 60_000);
  assert.deepEqual([data.userId, data.firstName], [userId, "Ana"]);
  assert.equal(request?.headers.get("content-type"), "application/json");
  const delivered = await delivery(by, endpoint.id, "Delivered");
  assert.deepEqual([delivered.id, delivered.body, delivered.nextAttemptAt], [
    request?.id,
    request?.text,
    null,
  ]);
  const [attempt] = delivered.attempts;
  assert.deepEqual([attempt.number, attempt.statusCode, attempt.error], [1, 202, null]);
  assert.equal(attempt.answer, "x".repeat(1024));
  assert.ok(attempt.durationMs >= 0 && Date.parse(attempt.attemptedAt) > 0);
});

Deno.test("only active endpoints of the tenant with the event's type get it", async () => {
  const { by, receiver } = await cast();
  const more = { url: receiver.url("/other") };
  await by.post(PATH, { ...more, eventTypes: ["user.deleted"] });
  await by.post(PATH, { ...more, eventTypes: "*", isActive: false });
  const stranger = await cast({ eventTypes: "*" });
  await createUser(by);
  await receiver.got(1);
  const [rows] = await sql<{ count: number }[]>`select count(*)::int as count from webhook_deliveries d
    join webhook_endpoints e on e.id = d.endpoint_id
    where e.tenant_id in (${by.tenantId}, ${stranger.by.tenantId})`;
  assert.equal(rows?.count, 1);
  assert.equal(stranger.receiver.received.length, 0);
});

Deno.test("an event of a transaction that rolls back is not sent", async () => {
  const { by, endpoint } = await cast();
  const { email } = by;
  const taken = await by.post("/api/v1/users", { email, password: "correct horse battery", firstName: "A" });
  assert.equal(taken.body.code, "USER_ALREADY_EXISTS");
  assert.deepEqual(await deliveries(by, endpoint.id), []);
});

Deno.test("a failing receiver is retried on the schedule with the same id until the schedule ends", async () => {
  assert.deepEqual(
    RETRY_DELAYS_MS.map((ms) => ms / 60_000),
    [5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440],
  );
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response("broken", { status: 500 }));
  await createUser(by);
  for (const [index, delay] of RETRY_DELAYS_MS.entries()) {
    const waiting = await delivery(by, endpoint.id, "Pending", index + 1);
    const [{ attemptedAt }] = waiting.attempts;
    const wait = Date.parse(waiting.nextAttemptAt) - Date.parse(attemptedAt);
    assert.ok(wait >= delay && wait < delay + 4_000, `${wait} after attempt ${index + 1}`);
    await until(async () => {
      const [job] = await sql`select from jobs j join webhook_deliveries d on d.job_id = j.id
        where d.id = ${waiting.id} and j.status = 'Scheduled'`;
      return job;
    });
    await hurry(endpoint.id);
  }
  const given = await delivery(by, endpoint.id, "Failed", 10);
  assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1);
  assert.equal(given.attempts.length, 10);
  assert.deepEqual(given.attempts[0].error, "The receiver answered 500.");
  const [dead] = await sql<{ count: number }[]>`select count(*)::int as count from dead_letter_jobs`;
  assert.equal(dead?.count, 0, "what a receiver does fails no job");
  assert.ok((await by.get(`${PATH}/${endpoint.id}`)).body.failingSince);
  receiver.answers(() => new Response(null, { status: 204 }));
  const again = await by.post(`${PATH}/${endpoint.id}/deliveries/${given.id}/redeliver`);
  assert.equal(again.status, 202);
  assert.deepEqual([again.body.id, again.body.status], [given.id, "Pending"]);
  await delivery(by, endpoint.id, "Delivered", 11);
  assert.equal(
    (await by.get(`${PATH}/${endpoint.id}`)).body.failingSince,
    null,
    "a success forgets failures",
  );
});

Deno.test("a receiver that refuses connections is retried on the schedule, and gets the event once it is back", async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  const { by, endpoint } = await cast({ url: `http://127.0.0.1:${port}/hook` });
  await createUser(by);
  const waiting = await delivery(by, endpoint.id, "Pending");
  assert.equal(waiting.attempts[0].statusCode, null);
  assert.match(waiting.attempts[0].error, /^The receiver could not be reached: /);
  const pauseMs = Date.parse(waiting.nextAttemptAt) - Date.parse(waiting.attempts[0].attemptedAt);
  assert.ok(Math.abs(pauseMs - (RETRY_DELAYS_MS[0] ?? 0)) < 2_000, `${pauseMs} ms`);
  await hurry(endpoint.id);
  const again = await delivery(by, endpoint.id, "Pending", 2);
  assert.ok(
    Date.parse(again.nextAttemptAt) - Date.now() > 4 * 60_000,
    "an outage is waited out with growing pauses",
  );
  const back = Deno.serve(
    { port, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response(null, { status: 204 }),
  );
  await hurry(endpoint.id);
  await delivery(by, endpoint.id, "Delivered", 3);
  await back.shutdown();
});

Deno.test("a running delivery cannot be sent again by hand", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response(null, { status: 503 }));
  await createUser(by);
  const { id } = await delivery(by, endpoint.id, "Pending");
  const refused = await by.post(`${PATH}/${endpoint.id}/deliveries/${id}/redeliver`);
  assert.deepEqual([refused.status, refused.body.code], [409, "WEBHOOK_DELIVERY_PENDING_CONFLICT"]);
  assert.deepEqual((await deliveries(by, endpoint.id, "status=failed")).length, 0);
  assert.deepEqual((await deliveries(by, endpoint.id, "status=Pending")).length, 1);
});

Deno.test("410 Gone deactivates the endpoint at once and notifies its creator", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response(null, { status: 410 }));
  await createUser(by);
  await delivery(by, endpoint.id, "Failed");
  const { body } = await by.get(`${PATH}/${endpoint.id}`);
  assert.deepEqual([body.isActive, body.disabledReason], [false, "Gone"]);
  assert.ok(Date.parse(body.updatedAt) > Date.parse(endpoint.updatedAt), "it has changed");
  const { items } = await until(
    async () => (await by.get(`/api/v1/user-notifications?userId=${by.userId}`)).body,
    ({ items }) => items.length > 0,
  );
  assert.equal(items[0].category, "webhooks");
  assert.ok(items[0].body.includes(receiver.url()));
  const audit = (await by.get("/api/v1/audit-log?action=webhookEndpoint.disable")).body.items;
  assert.equal(audit[0].targetId, endpoint.id);
  await createUser(by);
  assert.equal((await deliveries(by, endpoint.id)).length, 1, "no further delivery");
  const active = await by.put(`${PATH}/${endpoint.id}`, { isActive: true });
  assert.deepEqual([active.body.isActive, active.body.disabledReason], [true, null]);
});

Deno.test("an endpoint that has failed for five days is deactivated, and its waiting deliveries fail", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response(null, { status: 500 }));
  await createUser(by);
  await createUser(by);
  await until(
    () => deliveries(by, endpoint.id),
    (all) => all.length === 2 && all.every((d: { attemptCount: number }) => d.attemptCount === 1),
  );
  await sql`update webhook_endpoints set failing_since = now() - interval '121 hours' where id = ${endpoint.id}`;
  const [older] = (await deliveries(by, endpoint.id)).toReversed();
  const owed = await readPendingDelivery(sql, older.id);
  assert.ok(owed);
  const tried = { attemptedAt: new Date(), durationMs: 1, statusCode: 500, answer: "", isFinal: false };
  await settleAttempt(platform, owed, { ...tried, error: "The receiver answered 500." });
  const { body } = await by.get(`${PATH}/${endpoint.id}`);
  assert.deepEqual([body.isActive, body.disabledReason], [false, "Failing"]);
  await hurry(endpoint.id);
  const ended = await until(
    () => deliveries(by, endpoint.id, "status=Failed"),
    (all) => all.length === 2,
  );
  assert.ok(
    ended.every((d: { attempts: { error: string }[] }) =>
      d.attempts[0]?.error === "The endpoint is not active."
    ),
  );
});

Deno.test("after a change of the secret both secrets sign for a day", async () => {
  const { by, receiver, endpoint } = await cast();
  const { secret, oldSecretHours } = (await by.post(`${PATH}/${endpoint.id}/rotate-secret`)).body;
  assert.equal(oldSecretHours, 24);
  await by.post(`${PATH}/${endpoint.id}/test`);
  const [both] = await receiver.got(1);
  assert.equal(both?.headers.get("webhook-signature")?.split(" ").length, 2);
  both?.verify(secret);
  both?.verify(endpoint.secret);
  await sql`update webhook_secrets set valid_until = now() - interval '1 second'
    where endpoint_id = ${endpoint.id} and valid_until is not null`;
  await by.post(`${PATH}/${endpoint.id}/test`);
  const [, one] = await receiver.got(2);
  one?.verify(secret);
  assert.throws(() => one?.verify(endpoint.secret));
});

Deno.test("a ping is sent to its endpoint, whatever types that has", async () => {
  const { by, receiver, endpoint } = await cast();
  const { status, body } = await by.post(`${PATH}/${endpoint.id}/test`);
  assert.deepEqual([status, body.status, body.eventType], [202, "Pending", "webhook.ping"]);
  const [ping] = await receiver.got(1);
  ping?.verify(endpoint.secret);
  assert.deepEqual(ping?.body.data, { tenantId: by.tenantId, endpointId: endpoint.id });
  assert.equal(ping?.body.tenantId, by.tenantId);
});

Deno.test("a redirect counts as a failure and is not followed", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => Response.redirect(receiver.url("/elsewhere"), 302));
  await createUser(by);
  const { attempts: [attempt] } = await delivery(by, endpoint.id, "Pending");
  assert.deepEqual([attempt.statusCode, receiver.received.length], [302, 1]);
});

Deno.test("a name that resolves to a private address is rejected at delivery", async () => {
  const { by, receiver, endpoint } = await cast();
  const url = receiver.url().replace("127.0.0.1", "localhost");
  await sql`update webhook_endpoints set url = ${url} where id = ${endpoint.id}`;
  await createUser(by);
  const { attempts: [attempt] } = await delivery(by, endpoint.id, "Failed");
  assert.match(attempt.error, /^Refused: .*private/);
  assert.equal(receiver.received.length, 0);
});

Deno.test("deleting an endpoint deletes its waiting deliveries", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response(null, { status: 500 }));
  await createUser(by);
  const { id } = await delivery(by, endpoint.id, "Pending");
  const [job] = await sql<{ jobId: string }[]>`select job_id from webhook_deliveries where id = ${id}`;
  assert.equal((await by.delete(`${PATH}/${endpoint.id}`)).status, 204);
  await sql`update jobs set due_at = now() where id = ${job?.jobId ?? ""} and status = 'Scheduled'`;
  await t.steward.sweep();
  assert.equal(await t.settled(job?.jobId ?? ""), "Succeeded");
  assert.equal(receiver.received.length, 1);
  await finish(upkeepJob, platform);
  const [left] = await sql<{ count: number }[]>`select count(*)::int as count from webhook_attempts
    where delivery_id = ${id}`;
  assert.equal(left?.count, 0);
});

Deno.test("an endpoint with many deliveries is deleted at once, and its deliveries in batches", async () => {
  const { by, endpoint } = await cast();
  const path = `${PATH}/${endpoint.id}`;
  await sql`insert into webhook_deliveries (id, endpoint_id, event_type, body, job_id, status, next_attempt_at,
      completed_at)
    select uuidv7(), ${endpoint.id}, 'user.created', '{}', uuidv7(), 'Delivered', null, now()
    from generate_series(1, 2500)`;
  const count = async (table: string, column: string) =>
    (await sql`select from ${sql(table)} where ${sql(column)} = ${endpoint.id}`).count;
  assert.equal((await by.delete(path)).status, 204);
  assert.equal(await count("webhook_deliveries", "endpoint_id"), 2500, "the request does not wait for them");
  assert.equal((await by.get(path)).body.code, "WEBHOOK_ENDPOINT_NOT_FOUND");
  assert.equal((await by.get(`${path}/deliveries`)).body.code, "WEBHOOK_ENDPOINT_NOT_FOUND");
  assert.equal((await by.put(path, { isActive: true })).body.code, "WEBHOOK_ENDPOINT_NOT_FOUND");
  assert.equal((await by.delete(path)).body.code, "WEBHOOK_ENDPOINT_NOT_FOUND");
  for (const query of ["", "?includeDeleted=true"]) {
    assert.deepEqual((await by.get(PATH + query)).body.items, [], query);
  }
  assert.equal(await count("webhook_secrets", "endpoint_id"), 0);
  await createUser(by);
  assert.equal(await count("webhook_deliveries", "endpoint_id"), 2500, "it gets nothing more");
  assert.equal((await finish(upkeepJob, platform)).removed, 2500);
  assert.equal(await count("webhook_endpoints", "id"), 0);
});

Deno.test("two attempts with the same number count once", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response(null, { status: 500 }));
  await createUser(by);
  const { id } = await delivery(by, endpoint.id, "Pending");
  const owed = await readPendingDelivery(sql, id);
  assert.ok(owed);
  const tried = {
    attemptedAt: new Date(),
    durationMs: 1,
    statusCode: 200,
    error: null,
    answer: "",
    isFinal: false,
  };
  const ends = await Promise.all([1, 2, 3].map(() => settleAttempt(platform, owed, tried)));
  assert.deepEqual(ends.map(({ status }) => status).sort(), ["Delivered", "Superseded", "Superseded"]);
  assert.equal((await delivery(by, endpoint.id, "Delivered", 2)).attempts.length, 2);
});

Deno.test("a delivery whose job was lost gets a new one", async () => {
  const { by, receiver, endpoint } = await cast();
  receiver.answers(() => new Response(null, { status: 500 }));
  await createUser(by);
  const { id } = await delivery(by, endpoint.id, "Pending");
  await sql`update jobs set status = 'Cancelled', worker_id = null, completed_at = now()
    where id = (select job_id from webhook_deliveries where id = ${id})`;
  assert.equal((await resumeLost(platform)).rows, 0, "it is not overdue");
  await sql`update webhook_deliveries set next_attempt_at = now() - interval '16 minutes' where id = ${id}`;
  receiver.answers(() => new Response(null, { status: 200 }));
  assert.equal((await resumeLost(platform)).rows, 1);
  await delivery(by, endpoint.id, "Delivered", 2);
});

Deno.test("deliveries are deleted 30 days after their creation, unless they are waiting", async () => {
  const { by, receiver, endpoint } = await cast();
  await createUser(by);
  await delivery(by, endpoint.id, "Delivered");
  receiver.answers(() => new Response(null, { status: 500 }));
  await createUser(by);
  await delivery(by, endpoint.id, "Pending");
  await sql`update webhook_deliveries set created_at = now() - interval '31 days'
    where endpoint_id = ${endpoint.id}`;
  assert.equal((await finish(upkeepJob, platform)).pruned, 1);
  assert.equal((await deliveries(by, endpoint.id)).length, 1);
});
