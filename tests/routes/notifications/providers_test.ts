import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import {
  delivered,
  email,
  hurry,
  nextAttempt,
  path,
  refused,
  retryOf,
  sent,
  settledDetail,
  templates,
  to,
} from "./notifications.ts";
import { answers, fcm, gateways, mailNetwork, mailsOf, receiver, setupProviders } from "./providers.ts";

const t = await setupProviders();
const { sql } = t;
const ann = await t.actor({ permissions: ["send:notifications"] });
const accept = (address: string) => answers.set(address, "250 ok");
const statuses = (detail: { recipients: { address: string; status: string }[] }) =>
  Object.fromEntries(pluck(detail.recipients, "address", "status"));
const direct = (more: Record<string, unknown>) =>
  ann.post(`${path}/email`, { subject: "S", htmlBody: "<p>x</p>", ...more });
/** Lets the outage of a message's server begin earlier. */
const outageSince = (id: string, hours: number) =>
  sql`update jobs set outage_since = now() - make_interval(hours => ${hours})
    where id = (select job_id from notifications where id = ${id})`;
Deno.test("while a mail server is down, attempts repeat with growing delays and without a limit", async () => {
  await mailNetwork.refuse();
  const id = await sent(ann, email(to("patient@x.test")));
  const first = await settledDetail(t, ann, id, ["Failed"]);
  assert.match(first.lastError, /could not be reached/);
  await outageSince(id, 20);
  const owed = [{ status: "Owed" }];
  has(await nextAttempt(t, ann, id, 2), { status: "Failed", retryCount: 1, recipients: owed });
  await settledDetail(t, ann, id, ["Failed"]);
  const { failures, minutes } = await retryOf(t, id);
  assert.equal(failures, 0);
  assert.ok(minutes >= 4 && minutes <= 6, `next attempt in ${minutes} min`);
  await mailNetwork.pass();
  await nextAttempt(t, ann, id, 3);
  const detail = await settledDetail(t, ann, id, ["Succeeded"]);
  has(detail, { status: "Sent", retryCount: 2, lastError: null });
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("an unreachable mail server is reported without its address; the log has the address", async () => {
  await mailNetwork.refuse();
  const answer = await direct({ to: ["a@x.test"] });
  await mailNetwork.pass();
  refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(answer.body.detail, /the mail server could not be reached \(ESOCKET\)/);
  const [listed] = (await ann.get(path)).body.items;
  const recorded = JSON.stringify((await ann.get(`${path}/${listed.id}`)).body);
  assert.ok(!recorded.includes("127.0.0.1"), recorded);
  assert.ok(t.logs.some((line) => line.includes(`127.0.0.1:${mailNetwork.port}`)));
});

Deno.test("a temporary rejection is retried for a day, then three times with the same Message-ID, then dead-lettered", async () => {
  const id = await sent(ann, email(to("code451@x.test")));
  await settledDetail(t, ann, id, ["Failed"]);
  assert.equal((await retryOf(t, id)).failures, 0);
  await outageSince(id, 25);
  for (const retryCount of [1, 2, 3]) {
    const detail = await nextAttempt(t, ann, id, retryCount + 1);
    has(detail, { status: "Failed", retryCount });
    assert.match(detail.lastError, /451/);
  }
  await nextAttempt(t, ann, id, 5);
  const detail = await settledDetail(t, ann, id, ["DeadLettered"]);
  has(detail, { status: "DeadLettered", retryCount: 4, maxRetries: 3 });
  const attempts = pluck(detail.deliveryAttempts, "attemptNumber", "isSuccess");
  assert.deepEqual(attempts, [1, 2, 3, 4, 5].map((number) => [number, false]));
  assert.ok(pluck(detail.deliveryAttempts, "errorMessage").every((reason) => reason));

  accept("code451@x.test");
  has(await ann.post(`${path}/${id}/retry`), { status: 200, body: { status: "Queued" } });
  has(await settledDetail(t, ann, id), { status: "Sent", retryCount: 5, lastError: null });
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("a retry asks only for recipients without a final outcome", async () => {
  const id = await sent(ann, email(to("ok1@x.test", "code450@x.test", "code550@x.test", "ok2@x.test")));
  const first = await settledDetail(t, ann, id, ["Failed"]);
  assert.equal(first.status, "Failed");
  const sentTwo = { "ok1@x.test": "Sent", "code550@x.test": "Refused", "ok2@x.test": "Sent" };
  assert.deepEqual(statuses(first), { ...sentTwo, "code450@x.test": "Owed" });
  accept("code450@x.test");
  await hurry(t, id);
  const second = await settledDetail(t, ann, id, ["Succeeded"]);
  assert.equal(second.status, "Sent");
  assert.deepEqual(statuses(second), { ...sentTwo, "code450@x.test": "Sent" });
  assert.match(second.recipients[2].errorMessage, /550/);
  assert.deepEqual(pluck(mailsOf(id), "to"), [["ok1@x.test", "ok2@x.test"], ["code450@x.test"]]);
});

Deno.test("a message whose recipients all rejected it is not retried automatically; of simultaneous manual retries one succeeds", async () => {
  const id = await sent(ann, email(to("code554@x.test")));
  const detail = await settledDetail(t, ann, id);
  has(detail, { status: "DeadLettered", retryCount: 0, deliveryAttempts: [{ isSuccess: false }] });
  accept("code554@x.test");
  const retries = await Promise.all(Array.from({ length: 3 }, () => ann.post(`${path}/${id}/retry`)));
  assert.deepEqual(pluck(retries, "status").sort(), [200, 400, 400]);
  // the first attempt may find the row locked by the others and give up
  assert.equal((await nextAttempt(t, ann, id, 2)).status, "Sent");
  assert.equal(mailsOf(id).length, 1);
  refused(await ann.post(`${path}/${id}/retry`), 400, "NOTIFICATION_CANNOT_RETRY");
});

Deno.test("a direct email returns the mail server's answer, and is stored in every case", async () => {
  const copies = { cc: ["b@x.test"], bcc: ["c@x.test"] };
  const ok = await direct({ to: ["a@x.test"], ...copies, fromAddress: "ann@steward.test", fromName: "Ann" });
  assert.deepEqual([ok.status, ok.body.status], [200, "Sent"]);
  const [mail] = mailsOf(ok.body.notificationId);
  assert.deepEqual(mail?.to, ["a@x.test", "b@x.test", "c@x.test"]);
  assert.match(mail?.raw ?? "", /^From: Ann <ann@steward.test>\r?$/m);
  assert.match(mail?.raw ?? "", /^Cc: b@x.test\r?$/m);
  assert.ok(!mail?.raw.includes("c@x.test"), "blind copies stay blind");
  const recipients = ["to", "cc", "bcc"].map((kind) => ({ kind }));
  const detail = (await ann.get(`${path}/${ok.body.notificationId}`)).body;
  has(detail, { fromAddress: "ann@steward.test", recipients });

  const failed = await direct({ to: ["code552@x.test"] });
  refused(failed, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(failed.body.detail, /552 refused as asked/);
  const [listed] = (await ann.get(`${path}?status=Failed`)).body.items;
  assert.ok(failed.body.detail.includes(listed.id));
  has((await ann.get(`${path}/${listed.id}`)).body, { deliveryAttempts: [{ isSuccess: false }] });
  accept("code552@x.test");
  assert.equal((await ann.post(`${path}/${listed.id}/retry`)).status, 200);
  assert.equal((await settledDetail(t, ann, listed.id)).status, "Sent");
});

Deno.test("a direct email can be sent only from the service's own domain", async () => {
  const before = receiver.received.length;
  const from = (fromAddress: string) => direct({ to: ["a@x.test"], fromAddress });
  for (const domain of ["mail.steward.test", "xsteward.test"]) {
    const answer = await from(`ceo@${domain}`);
    invalid(answer, "fromAddress");
    assert.match(answer.body.errors.fromAddress[0], /steward\.test/);
  }
  assert.equal(receiver.received.length, before);
  assert.equal((await from("news@STEWARD.TEST")).status, 200);
});

const push = (...tokens: string[]) => ({ channel: "Push", ...to(...tokens), subject: "Hi", textBody: "Yes" });
const register = (...tokens: string[]) =>
  sql`insert into user_devices (id, user_id, token) select gen_random_uuid(), ${ann.userId}, token
    from unnest(${tokens}::text[]) as token`;
const registered = async () =>
  pluck(await sql`select token from user_devices where user_id = ${ann.userId} order by token`, "token");
const pushed = (token: string) => fcm.requested.filter((each) => each === token).length;

Deno.test("a retry asks only for unsettled devices, after the requested delay, and a dead device is deleted", async () => {
  await register("gone-1", "ok-1", "busy-1");
  Object.assign(fcm, { busyFor: 1, retryAfter: "1800" });
  const id = await sent(ann, push("ok-1", "gone-1", "busy-1"));
  const first = await settledDetail(t, ann, id, ["Scheduled"]);
  assert.equal(first.status, "Failed");
  assert.deepEqual(statuses(first), { "ok-1": "Sent", "gone-1": "Refused", "busy-1": "Owed" });
  assert.deepEqual(await registered(), ["busy-1", "ok-1"]);
  assert.deepEqual(await retryOf(t, id), { failures: 0, minutes: 30 }, "waiting as asked uses up no retry");

  await hurry(t, id);
  const second = await settledDetail(t, ann, id, ["Succeeded"]);
  assert.equal(second.status, "Sent");
  assert.deepEqual(statuses(second), { "ok-1": "Sent", "gone-1": "Refused", "busy-1": "Sent" });
  assert.deepEqual(["ok-1", "gone-1", "busy-1"].map(pushed), [1, 1, 2]);
  const attempts = pluck(second.deliveryAttempts, "providerName", "isSuccess");
  assert.deepEqual(attempts, [["fcm", true], ["fcm", true]]);
});

Deno.test("a device of another project and an invalid message fail permanently, and no device is deleted", async () => {
  await register("foreign-2");
  for (const message of [push("foreign-2"), { ...push("ok-2"), textBody: "x".repeat(5_000) }]) {
    const detail = await delivered(t, ann, message);
    has(detail, { status: "DeadLettered", recipients: [{ status: "Refused" }] });
  }
  assert.ok((await registered()).includes("foreign-2"));
});

Deno.test("a direct push returns FCM's answer, or a job finishes the devices that failed temporarily", async () => {
  const direct = (...deviceTokens: string[]) =>
    ann.post(`${path}/push`, { title: "T", deviceTokens, data: { a: "b" } });
  refused(await direct("gone-4"), 400, "NOTIFICATION_DELIVERY_FAILED");
  Object.assign(fcm, { busyFor: 1, retryAfter: "0" });
  const { status, body: { notificationId: id, status: state } } = await direct("ok-4", "busy-4");
  assert.deepEqual([status, state], [200, "Failed"]);
  const [retry] = await sql`select failures, scheduled_at > created_at as is_delayed
    from jobs where id = (select job_id from notifications where id = ${id})`;
  assert.deepEqual({ ...retry }, { failures: 0, isDelayed: true }, "a delay of 0 s is that of an outage");
  await hurry(t, id);
  assert.equal((await settledDetail(t, ann, id, ["Succeeded"])).status, "Sent");
  assert.deepEqual([pushed("ok-4"), pushed("busy-4")], [1, 2]);
  assert.deepEqual(fcm.accepted.at(-1)?.data, { a: "b" });
});

Deno.test("without a provider a channel is rejected at once; the outbox is not used instead", async () => {
  using _without = t.replace((platform) => platform, { push: [], sms: [] });
  const text = { channel: "Sms", ...to("+351912345678"), textBody: "x" };
  const asks: [route: string, body: Record<string, unknown>][] = [
    ["send", push("ok-5")],
    ["send", text],
    ["schedule", { notification: text, scheduledAt: "2100-01-01T00:00:00Z" }],
    ["push", { title: "T", deviceTokens: ["ok-5"] }],
  ];
  for (const [route, body] of asks) {
    refused(await ann.post(`${path}/${route}`, body), 400, "NOTIFICATION_CHANNEL_NOT_CONFIGURED");
  }
});

const text = (...numbers: string[]) => ({ channel: "Sms", ...to(...numbers), textBody: "Hello" });

Deno.test("a text of more than 1,600 characters is rejected after rendering", async () => {
  const template = { slug: "long-text", name: "Long text", textBodyTemplate: "{{ words }}" };
  assert.equal((await ann.post(templates, template)).status, 201);
  const templateData = { words: "x".repeat(1_700) };
  const made = { ...text("+351912345678"), textBody: undefined, templateSlug: "long-text", templateData };
  const detail = await delivered(t, ann, made);
  assert.equal(detail.status, "DeadLettered");
  assert.match(detail.deliveryAttempts[0].errorMessage, /a text message holds at most 1600/);
});

Deno.test("answers and attempts contain neither the gateway's address nor the credentials", async () => {
  const fault = { status: 401, code: 20003, message: "Authenticate" };
  for (const gateway of gateways) gateway.fault = fault;
  const sending = delivered(t, ann, text("+351912345641"));
  const detail = JSON.stringify(await sending.finally(() => gateways.forEach((each) => each.fault = null)));
  assert.ok(!/127\.0\.0\.1|t0ken|AC0000/.test(detail), detail);
  assert.ok(!t.logs.some((line) => line.includes("t0ken")));
});
