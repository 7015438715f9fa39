import assert from "node:assert/strict";
import { readPendingDelivery, RETRY_DELAYS_MS, settleAttempt } from "../../../domain/events/deliver.ts";
import { resumeLost, upkeepJob } from "../../../domain/events/upkeep.ts";
import { finish } from "../../support/maintenance.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { answering, createUser, ENDPOINTS, type Hook, hookOf, ping, stopReceivers } from "./event_calls.ts";

const t = await setupShared({ OUTBOUND_ALLOW: "127.0.0.1" });
Deno.test.afterAll(stopReceivers);
const { platform, sql } = t;

const hook = (more: Record<string, unknown> = {}) => hookOf(t, more);
/** An endpoint whose receiver refuses the event that was just sent; its delivery waits for the next attempt. */
async function failing(status = 500) {
  const h = await hook();
  answering(h, status);
  await createUser(h.by);
  return { ...h, waiting: await delivery(h, "Pending") };
}

const endpointOf = ({ by, path }: Hook) => accepted(by.get(path));
const deliveries = async ({ by, path }: Hook, query = "") =>
  (await accepted(by.get(`${path}/deliveries?${query}`))).items;
/** The endpoint's newest delivery, once it has this status after this number of attempts. */
const delivery = async (h: Hook, status: string, attemptCount = 1) =>
  (await until(
    () => deliveries(h),
    ([newest]) => newest?.status === status && newest.attemptCount === attemptCount,
    { what: `a delivery that is ${status}` },
  ))[0];

/** Makes `count` deliveries that wait for their next attempt due. */
async function hurry({ id }: Hook, count = 1): Promise<void> {
  const waiting = () =>
    sql`select d.job_id from webhook_deliveries d join jobs j on j.id = d.job_id
      where d.endpoint_id = ${id} and d.status = 'Pending' and j.status = 'Scheduled'`;
  await until(waiting, ({ length }) => length === count, { what: "jobs of the next attempts" });
  await sql`update webhook_deliveries set next_attempt_at = now() where endpoint_id = ${id} and status = 'Pending'`;
  await sql`update jobs set due_at = now() - interval '1 ms'
    where id in (select job_id from webhook_deliveries where endpoint_id = ${id} and status = 'Pending')`;
  await t.steward.sweep();
}

/** Returns the time in ms that a delivery waits for its next attempt. */
const pauseOf = (
  { nextAttemptAt, attempts }: { nextAttemptAt: string; attempts: { attemptedAt: string }[] },
) => Date.parse(nextAttemptAt) - Date.parse(attempts[0]?.attemptedAt ?? "");
/** The tolerance is for the duration of the attempt on a busy machine. */
const assertPause = (pause: number, expected: number) =>
  assert.ok(pause >= expected && pause < expected + 60_000, `${pause} ms`);

Deno.test("an event is signed as in Standard Webhooks, and its delivery is stored", async () => {
  const h = await hook();
  h.receiver.answers(() => new Response("x".repeat(2000), { status: 202 }));
  const { id: userId } = await createUser(h.by);
  const [request] = await h.receiver.got(1);
  assert.ok(request);
  request.verify(h.secret);
  assert.throws(() => request.verify("whsec_c3Rld2FyZC1kZXZlbG9wbWVudC13ZWJob29rLWtleQ=="));
  const { type, timestamp, data } = request.body;
  assert.deepEqual([type, data.userId, data.firstName], ["user.created", userId, "Ana"]);
  assert.equal(new Date(timestamp).toISOString(), timestamp);
  assert.equal(request.headers.get("content-type"), "application/json");
  const { id, body, nextAttemptAt, attempts: [attempt] } = await delivery(h, "Delivered");
  assert.deepEqual([id, body, nextAttemptAt], [request.id, request.text, null]);
  const { durationMs, attemptedAt, ...rest } = attempt;
  assert.deepEqual(rest, { number: 1, statusCode: 202, error: null, answer: "x".repeat(1024) });
  assert.ok(durationMs >= 0 && Date.parse(attemptedAt) > 0);
});

Deno.test("only active endpoints of the tenant with the event's type get it", async () => {
  const [h, stranger] = [await hook(), await hook({ eventTypes: "*" })];
  const url = h.receiver.url("/other");
  for (const more of [{ eventTypes: ["user.deleted"] }, { eventTypes: "*", isActive: false }]) {
    await accepted(h.by.post(ENDPOINTS, { url, ...more }), 201);
  }
  await createUser(h.by);
  await delivery(h, "Delivered");
  const made = await sql`select from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
    where e.tenant_id in (${h.by.tenantId}, ${stranger.by.tenantId})`;
  assert.equal(made.count, 1);
});

Deno.test("a failing receiver is retried on the schedule with the same id until the schedule ends", async () => {
  const minutes = RETRY_DELAYS_MS.map((ms) => ms / 60_000);
  assert.deepEqual(minutes, [5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440]);
  const { waiting, ...h } = await failing();
  const redeliver = (id: string) => h.by.post(`${h.path}/deliveries/${id}/redeliver`);
  await refused("409 WEBHOOK_DELIVERY_PENDING_CONFLICT", redeliver(waiting.id));
  for (const [attempt, minute] of [[1, minutes[0]], [2, minutes[1]], [3, minutes[8]]] as const) {
    assertPause(pauseOf(await delivery(h, "Pending", attempt)), (minute ?? NaN) * 60_000);
    if (attempt === 2) await sql`update webhook_deliveries set round_attempts = 8 where id = ${waiting.id}`;
    await hurry(h);
  }
  const { id, attempts } = await delivery(h, "Failed", 4);
  assert.equal(new Set(h.receiver.received.map(({ id }) => id)).size, 1);
  assert.deepEqual([attempts.length, attempts[0].error], [4, "The receiver answered 500."]);
  const dead = await sql`select from dead_letter_jobs where tenant_id = ${h.by.tenantId}`;
  assert.equal(dead.count, 0, "what a receiver does fails no job");
  assert.ok((await endpointOf(h)).failingSince);
  answering(h, 204);
  const again = await accepted(redeliver(id), 202);
  assert.deepEqual([again.id, again.status], [id, "Pending"]);
  await delivery(h, "Delivered", 5);
  assert.equal((await endpointOf(h)).failingSince, null, "a success forgets failures");
});

Deno.test("a receiver that refuses connections is retried on the schedule", async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  const h = await hook({ url: `http://127.0.0.1:${port}/hook` });
  await createUser(h.by);
  const waiting = await delivery(h, "Pending");
  assert.equal(waiting.attempts[0].statusCode, null);
  assert.match(waiting.attempts[0].error, /^The receiver could not be reached: /);
  assertPause(pauseOf(waiting), RETRY_DELAYS_MS[0] ?? 0);
});

Deno.test("410 Gone deactivates the endpoint at once and notifies its creator", async () => {
  const h = await hook();
  const { updatedAt } = await endpointOf(h);
  answering(h, 410);
  await createUser(h.by);
  await delivery(h, "Failed");
  const endpoint = await endpointOf(h);
  assert.deepEqual([endpoint.isActive, endpoint.disabledReason], [false, "Gone"]);
  assert.ok(endpoint.updatedAt > updatedAt, "it has changed");
  const [message] = await until(
    async () => (await accepted(h.by.get(`/api/v1/user-notifications?userId=${h.by.userId}`))).items,
    ({ length }) => length > 0,
  );
  assert.equal(message.category, "webhooks");
  assert.ok(message.body.includes(h.receiver.url()));
  const audit = await accepted(h.by.get("/api/v1/audit-log?action=webhookEndpoint.disable"));
  assert.equal(audit.items[0].targetId, h.id);
  await createUser(h.by);
  assert.equal((await deliveries(h)).length, 1, "no further delivery");
  const { isActive, disabledReason } = await accepted(h.by.put(h.path, { isActive: true }));
  assert.deepEqual([isActive, disabledReason], [true, null]);
});

Deno.test("an attempt at a former URL of an endpoint neither deactivates it nor counts as its failure", async () => {
  const h = await failing();
  assert.ok((await endpointOf(h)).failingSince);
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()];
  h.receiver.answers(() => {
    asked.resolve();
    return answer.promise;
  });
  await hurry(h);
  await asked.promise;
  const moved = await accepted(h.by.put(h.path, { url: h.receiver.url("/moved") }));
  assert.equal(moved.failingSince, null, "a series of failures begins again");
  answer.resolve(new Response(null, { status: 410 }));
  await delivery(h, "Failed", 2);
  const { isActive, disabledReason, failingSince } = await endpointOf(h);
  assert.deepEqual([isActive, disabledReason, failingSince], [true, null, null]);
});

async function attempt(deliveryId: string, statusCode: number) {
  const owed = await readPendingDelivery(sql, deliveryId);
  assert.ok(owed);
  const error = statusCode < 300 ? null : `The receiver answered ${statusCode}.`;
  const tried = { attemptedAt: new Date(), durationMs: 1, statusCode, error, answer: "", isFinal: false };
  return () => settleAttempt(platform, owed, tried);
}

Deno.test("an endpoint that has failed for five days is deactivated, and its waiting deliveries fail", async () => {
  const { waiting: _, ...h } = await failing();
  await createUser(h.by);
  await delivery(h, "Pending");
  await sql`update webhook_endpoints set failing_since = now() - interval '121 hours' where id = ${h.id}`;
  const [, older] = await deliveries(h);
  await (await attempt(older.id, 500))();
  const { isActive, disabledReason } = await endpointOf(h);
  assert.deepEqual([isActive, disabledReason], [false, "Failing"]);
  await hurry(h, 2);
  const ended = await until(() => deliveries(h, "status=Failed"), ({ length }) => length === 2);
  const errors = ended.map(({ attempts: [last] }: { attempts: { error: string }[] }) => last?.error);
  assert.deepEqual(errors, Array(2).fill("The endpoint is not active."));
});

Deno.test("after a change of the secret both secrets sign for a day", async () => {
  const h = await hook();
  const { secret, oldSecretHours } = await accepted(h.by.post(`${h.path}/rotate-secret`));
  assert.equal(oldSecretHours, 24);
  await ping(h);
  const [both] = await h.receiver.got(1);
  const { tenantId } = h.by;
  assert.deepEqual([both?.body.tenantId, both?.body.data], [tenantId, { tenantId, endpointId: h.id }]);
  assert.equal(both?.headers.get("webhook-signature")?.split(" ").length, 2);
  for (const each of [secret, h.secret]) both?.verify(each);
  await sql`update webhook_secrets set valid_until = now() - interval '1 second'
    where endpoint_id = ${h.id} and valid_until is not null`;
  await ping(h);
  const [, one] = await h.receiver.got(2);
  one?.verify(secret);
  assert.throws(() => one?.verify(h.secret));
});

Deno.test("a redirect counts as a failure and is not followed", async () => {
  const h = await hook();
  h.receiver.answers(() => Response.redirect(h.receiver.url("/elsewhere"), 302));
  await createUser(h.by);
  const { attempts: [attempt] } = await delivery(h, "Pending");
  assert.deepEqual([attempt.statusCode, h.receiver.received.length], [302, 1]);
});

Deno.test("a name that resolves to a private address is rejected at delivery", async () => {
  const h = await hook();
  const url = h.receiver.url().replace("127.0.0.1", "localhost");
  await sql`update webhook_endpoints set url = ${url} where id = ${h.id}`;
  await createUser(h.by);
  const { attempts: [attempt] } = await delivery(h, "Failed");
  assert.match(attempt.error, /^Refused: .*private/);
  assert.equal(h.receiver.received.length, 0);
});

Deno.test("deleting an endpoint deletes its waiting deliveries", async () => {
  const { waiting: { id }, ...h } = await failing();
  const [{ jobId } = { jobId: "" }] = await sql<{ jobId: string }[]>`
    select job_id from webhook_deliveries where id = ${id}`;
  await accepted(h.by.delete(h.path), 204);
  await sql`update jobs set due_at = now() - interval '1 ms' where id = ${jobId} and status = 'Scheduled'`;
  await t.steward.sweep();
  assert.equal(await t.settled(jobId), "Succeeded");
  assert.equal(h.receiver.received.length, 1);
  await finish(upkeepJob, platform);
  assert.equal((await sql`select from webhook_attempts where delivery_id = ${id}`).count, 0);
});

Deno.test("an endpoint with many deliveries is deleted at once, and its deliveries in batches", async () => {
  const { by, id, path } = await hook();
  await sql`insert into webhook_deliveries (id, endpoint_id, event_type, body, job_id, status, next_attempt_at,
      completed_at)
    select uuidv7(), ${id}, 'user.created', '{}', uuidv7(), 'Delivered', null, now() from generate_series(1, 2500)`;
  const left = async () => (await sql`select from webhook_deliveries where endpoint_id = ${id}`).count;
  await accepted(by.delete(path), 204);
  assert.equal(await left(), 2500, "the request does not wait for them");
  const attempts = [by.get(path), by.get(`${path}/deliveries`), by.put(path, { isActive: true })];
  await refused("404 WEBHOOK_ENDPOINT_NOT_FOUND", ...attempts, by.delete(path));
  for (const query of ["", "?includeDeleted=true"]) {
    assert.deepEqual((await accepted(by.get(ENDPOINTS + query))).items, [], query);
  }
  assert.equal((await sql`select from webhook_secrets where endpoint_id = ${id}`).count, 0);
  await createUser(by);
  assert.equal(await left(), 2500, "it gets nothing more");
  assert.ok((await finish(upkeepJob, platform)).removed! >= 2500);
  assert.equal((await sql`select from webhook_endpoints where id = ${id}`).count, 0);
});

Deno.test("two attempts with the same number count once", async () => {
  const { waiting: { id }, ...h } = await failing();
  const settle = await attempt(id, 200);
  const ends = await Promise.all([1, 2, 3].map(() => settle()));
  assert.deepEqual(ends.map(({ status }) => status).sort(), ["Delivered", "Superseded", "Superseded"]);
  assert.equal((await delivery(h, "Delivered", 2)).attempts.length, 2);
});

Deno.test("a delivery whose job was lost gets a new one", async () => {
  const { waiting: { id }, ...h } = await failing();
  await sql`update jobs set status = 'Cancelled', worker_id = null, completed_at = now()
    where id = (select job_id from webhook_deliveries where id = ${id})`;
  answering(h, 200);
  await resumeLost(platform);
  await delivery(h, "Pending"); // it is not overdue
  await sql`update webhook_deliveries set next_attempt_at = now() - interval '16 minutes' where id = ${id}`;
  await resumeLost(platform);
  await delivery(h, "Delivered", 2);
});

Deno.test("deliveries are deleted 30 days after their creation, unless they are waiting", async () => {
  const { waiting, ...h } = await failing();
  answering(h, 200);
  await ping(h);
  await delivery(h, "Delivered");
  await sql`update webhook_deliveries set created_at = now() - interval '31 days' where endpoint_id = ${h.id}`;
  await finish(upkeepJob, platform);
  assert.deepEqual((await deliveries(h)).map(({ id }: { id: string }) => id), [waiting.id]);
});
