import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import {
  delivered,
  hurry,
  nextAttempt,
  path,
  refused,
  retryOf,
  sent,
  settledDetail,
  to,
} from "./notifications.ts";
import { fcm, setupProviders } from "./providers.ts";

const t = await setupProviders();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const sender = await t.actor({ permissions: ["send:notifications"] });
const push = (...tokens: string[]) => ({ channel: "Push", ...to(...tokens), subject: "Hi", textBody: "Yes" });
const register = (...tokens: string[]) =>
  sql`insert into user_devices (id, user_id, token) select gen_random_uuid(), ${sender.userId}, token
    from unnest(${tokens}::text[]) as token`;
const registered = async () =>
  pluck(await sql`select token from user_devices where user_id = ${sender.userId} order by token`, "token");
const asked = (token: string) => fcm.requested.filter((each) => each === token).length;
const outcomes = (detail: { recipients: unknown[] }) =>
  Object.fromEntries(pluck(detail.recipients, "address", "status"));

Deno.test("a retry asks only for unsettled devices, after the requested delay, and a dead device is deleted", async () => {
  await register("gone-1", "ok-1", "busy-1");
  Object.assign(fcm, { busyFor: 1, retryAfter: "40" });
  const id = await sent(sender, push("ok-1", "gone-1", "busy-1"));
  const first = await settledDetail(t, sender, id, ["Scheduled"]);
  assert.equal(first.status, "Failed");
  assert.deepEqual(outcomes(first), { "ok-1": "Sent", "gone-1": "Refused", "busy-1": "Owed" });
  assert.deepEqual(await registered(), ["busy-1", "ok-1"]);
  const { seconds, failures } = await retryOf(t, id);
  assert.ok(seconds > 39, `due in ${seconds} s`);
  assert.equal(failures, 0, "waiting as asked uses up no retry");

  await hurry(t, id);
  const second = await settledDetail(t, sender, id, ["Succeeded"]);
  assert.equal(second.status, "Sent");
  assert.deepEqual(outcomes(second), { "ok-1": "Sent", "gone-1": "Refused", "busy-1": "Sent" });
  assert.deepEqual(["ok-1", "gone-1", "busy-1"].map(asked), [1, 1, 2]);
  const attempts = pluck(second.deliveryAttempts, "providerName", "isSuccess");
  assert.deepEqual(attempts, [["fcm", true], ["fcm", true]]);
});

Deno.test("an explicitly named device of an addressed user gets the message once", async () => {
  await register("ok-twice");
  const detail = await delivered(t, sender, { ...push("ok-twice"), userIds: [sender.userId] });
  assert.equal(detail.status, "Sent");
  assert.ok(!pluck(detail.recipients, "status").includes("Owed"));
  assert.equal(asked("ok-twice"), 1);
});

Deno.test("if the service is away and requests a delay of 0 s, the delay of an outage applies and no retry is used", async () => {
  Object.assign(fcm, { busyFor: 1, retryAfter: "0" });
  const { id, status } = await delivered(t, sender, push("busy-zero"));
  assert.equal(status, "Failed");
  const { seconds, failures } = await retryOf(t, id);
  assert.ok(seconds > 1, `due in ${seconds} s`);
  assert.equal(failures, 0);
});

Deno.test("a device of another project and an invalid message fail permanently, and no device is deleted", async () => {
  await register("foreign-2");
  for (const message of [push("foreign-2"), { ...push("ok-2"), textBody: "x".repeat(5_000) }]) {
    const detail = await delivered(t, sender, message);
    has(detail, { status: "DeadLettered", recipients: [{ status: "Refused" }] });
  }
  assert.ok((await registered()).includes("foreign-2"));
});

Deno.test("a temporary failure uses up the retries and is dead-lettered with the service's message", async () => {
  const { id } = await delivered(t, sender, push("broken-3"));
  for (let attempts = 2; attempts <= 4; attempts++) await nextAttempt(t, sender, id, attempts);
  const detail = await settledDetail(t, sender, id, ["DeadLettered"]);
  assert.equal(detail.status, "DeadLettered");
  assert.match(detail.recipients[0].errorMessage, /500 INTERNAL/);
});

Deno.test("a direct push returns FCM's answer, or a job finishes the devices that failed temporarily", async () => {
  const direct = (...deviceTokens: string[]) =>
    sender.post(`${path}/push`, { title: "T", deviceTokens, data: { a: "b" } });
  refused(await direct("gone-4"), 400, "NOTIFICATION_DELIVERY_FAILED");
  Object.assign(fcm, { busyFor: 1, retryAfter: "90" });
  const { status, body: { notificationId: id, status: state } } = await direct("ok-4", "busy-4");
  assert.deepEqual([status, state], [200, "Failed"]);
  const { seconds } = await retryOf(t, id);
  assert.ok(seconds > 80, `due in ${seconds} s`);
  await hurry(t, id);
  assert.equal((await settledDetail(t, sender, id, ["Succeeded"])).status, "Sent");
  assert.deepEqual([asked("ok-4"), asked("busy-4")], [1, 2]);
  assert.deepEqual(fcm.accepted.at(-1)?.data, { a: "b" });
});

Deno.test("without a provider a channel is rejected at once; the outbox is not used instead", async () => {
  const restore = t.replace((platform) => platform, { push: [], sms: [] });
  try {
    const text = { channel: "Sms", ...to("+351912345678"), textBody: "x" };
    const later = { notification: text, scheduledAt: "2100-01-01T00:00:00Z" };
    const code = "NOTIFICATION_CHANNEL_NOT_CONFIGURED";
    refused(await sender.post(`${path}/send`, push("ok-5")), 400, code);
    refused(await sender.post(`${path}/send`, text), 400, code);
    refused(await sender.post(`${path}/schedule`, later), 400, code);
    refused(await sender.post(`${path}/push`, { title: "T", deviceTokens: ["ok-5"] }), 400, code);
  } finally {
    restore();
  }
});
