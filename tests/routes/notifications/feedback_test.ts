import assert from "node:assert/strict";
import { createHmac, createSign } from "node:crypto";
import { twilioSignature } from "../../../domain/notifications/feedback/twilio.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { signatureHeaders } from "../../../infra/http_out/webhook_signature.ts";
import { has, pluck } from "../../support/answers.ts";
import type { Actor } from "../../support/setup.ts";
import { delivered, email, path, sent, settledDetail, to } from "./notifications.ts";
import { gateways, header, mailTo, secrets, setupProviders } from "./providers.ts";

const t = await setupProviders();
const { sql, baseUrl } = t.platform;
const sender = () => t.actor({ permissions: ["send:notifications", "read:events"] });
const ann = await sender();
const base = "/api/v1/notification-feedback";
const suppressions = "/api/v1/notification-suppressions";

async function post(provider: string, body: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${t.url}${base}/${provider}`, { method: "POST", body, headers });
  const text = await response.text();
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

function report(events: Record<string, unknown>[], id: string = crypto.randomUUID()) {
  const body = JSON.stringify({ events });
  return post("standard-webhooks", body, signatureHeaders([secrets.standardWebhooks], id, new Date(), body));
}
const reported = async (...events: Record<string, unknown>[]) => {
  const { body } = await report(events);
  return [body.applied, body.ignored];
};

function twilio(form: Record<string, string>, query = "") {
  const parameters = new URLSearchParams(form);
  const url = `${baseUrl()}${base}/twilio${query}`;
  return post(`twilio${query}`, `${parameters}`, {
    "content-type": "application/x-www-form-urlencoded",
    "x-twilio-signature": twilioSignature(secrets.twilio, url, parameters),
  });
}

const mailed = async (actor: Actor, ...addresses: string[]): Promise<string> =>
  (await delivered(t, actor, email(to(...addresses)))).id;
const messageId = (id: string) => `<${id}@steward.test>`;
const states = async (id: string, actor = ann) => {
  const { deliveryState, recipients } = (await actor.get(`${path}/${id}`)).body;
  return [deliveryState, ...pluck(recipients, "deliveryState")];
};
const suppressed = async (actor: Actor): Promise<Record<string, string>> =>
  Object.fromEntries(
    pluck((await actor.get(`${suppressions}?pageSize=100`)).body.items, "address", "reason"),
  );
const eventsOf = async (id: string) => {
  const rows = await sql<{ type: string; address: string }[]>`
    select type, data::jsonb ->> 'address' as address from events
    where data::jsonb ->> 'notificationId' = ${id} order by id`;
  return rows.map(({ type, address }) => `${type} ${address}`);
};

Deno.test("a state only becomes stronger, and each change is reported once", async () => {
  const id = await mailed(ann, "one@x.test", "Two@x.test");
  const about = (recipient: string, state: string, rest = {}) => ({
    messageId: messageId(id),
    recipient: `${recipient}@x.test`,
    state,
    ...rest,
  });
  const occurredAt = "2026-01-02T03:04:05Z";
  assert.deepEqual(await reported(about("ONE", "Delivered", { detail: "250 ok", occurredAt })), [1, 0]);
  assert.deepEqual(await states(id), ["Delivered", "Delivered", null]);
  const { recipients: [one], status } = (await ann.get(`${path}/${id}`)).body;
  assert.equal(status, "Sent");
  has(one, { status: "Sent", deliveryDetail: "250 ok", deliveryStateAt: "2026-01-02T03:04:05.000Z" });
  const hard = { isPermanent: true, detail: "550 5.1.1 unknown" };
  const two = [about("two", "Delivered"), about("two", "Bounced", hard)];
  const mixed = [...two, about("one", "Delivered"), about("stranger", "Bounced")];
  assert.deepEqual(await reported(...mixed), [1, 3]);
  assert.deepEqual(await states(id), ["Bounced", "Delivered", "Bounced"]);
  assert.deepEqual(await reported(about("two", "Delivered")), [0, 1]);
  assert.deepEqual(await reported(about("one", "Complained")), [1, 0]);
  assert.deepEqual(await states(id), ["Complained", "Complained", "Bounced"]);
  assert.deepEqual(await suppressed(ann), { "Two@x.test": "HardBounce", "one@x.test": "Complaint" });
  assert.deepEqual(await eventsOf(id), [
    "notification.delivered one@x.test",
    "notification.bounced Two@x.test",
    "notification.complained one@x.test",
  ]);
  assert.deepEqual(pluck((await ann.get(`${path}?deliveryState=Complained`)).body.items, "id"), [id]);
  const { body: stats } = await ann.get(`${path}/stats`);
  has(stats, { deliveredNotifications: 0, bouncedNotifications: 0, complainedNotifications: 1 });
});

Deno.test("a soft bounce suppresses nothing, and a repeated hard bounce, also of a domain in ASCII, does not suppress a lifted address", async () => {
  const bob = await sender();
  const soft = await mailed(bob, "soft@x.test");
  await reported({ messageId: messageId(soft), recipient: "soft@x.test", state: "Bounced" });
  assert.deepEqual(await states(soft, bob), ["Bounced", "Bounced"]);
  assert.deepEqual(await suppressed(bob), {});
  const hard = await mailed(bob, "ida@bücher.test");
  const recipient = "ida@xn--bcher-kva.test";
  const bounce = { messageId: messageId(hard), recipient, state: "Bounced", isPermanent: true };
  await reported(bounce);
  const { items: [entry] } = (await bob.get(suppressions)).body;
  assert.equal(entry.notificationId, hard);
  assert.equal(entry.address, "ida@bücher.test");
  assert.equal((await suppressed(ann))[entry.address], undefined, "of the message's tenant only");
  assert.equal((await bob.delete(`${suppressions}/${entry.id}`)).status, 204);
  assert.deepEqual(await reported(bounce), [0, 1]);
  assert.deepEqual(await suppressed(bob), {});
});

Deno.test("the same request takes effect once, also if it arrives twice at the same time", async () => {
  const id = await mailed(ann, "race@x.test");
  const events = [{ messageId: id, recipient: "race@x.test", state: "Delivered" }];
  const requests = [report(events, "same"), report(events, "same"), report(events)];
  const answers = await Promise.all(requests);
  assert.deepEqual(pluck(answers, "status"), [200, 200, 200]);
  assert.equal(answers.reduce((sum, { body }) => sum + body.applied, 0), 1);
  assert.deepEqual(await eventsOf(id), ["notification.delivered race@x.test"]);
});

Deno.test("mail of a user's own is found by the id of the recipient in its Message-ID", async () => {
  const id = await sent(ann, { channel: "Email", userIds: [ann.userId], subject: "Own", textBody: "x" });
  await settledDetail(t, ann, id);
  const [mail] = mailTo(ann.email);
  const [, own = ""] = /^<([^@]+)@/.exec(header(mail?.raw, "Message-ID") ?? "") ?? [];
  assert.notEqual(own, id);
  assert.equal(header(mail?.raw, "X-PM-Metadata-steward-id"), own);
  const ids = { "steward-id": own };
  assert.deepEqual(JSON.parse(header(mail?.raw, "X-SMTPAPI") ?? ""), { unique_args: ids }, "not encoded");
  assert.deepEqual(JSON.parse(header(mail?.raw, "X-Mailgun-Variables") ?? ""), ids);
  assert.equal(header(mail?.raw, "X-SES-MESSAGE-TAGS"), null);
  const report = { messageId: messageId(own), recipient: "alias@x.test", state: "Delivered" };
  assert.deepEqual(await reported(report), [1, 0]);
  assert.deepEqual(await states(id), ["Delivered", "Delivered"]);
});

Deno.test("SendGrid, Mailgun and Postmark report in their own formats", async () => {
  const names = ["s1", "s2", "m1", "m2", "p1", "p2"];
  const id = await mailed(ann, ...names.map((name) => `${name}@x.test`));
  const timestamp = String(Math.floor(Date.now() / 1000));
  const events = JSON.stringify([
    { event: "processed", email: "s1@x.test", "steward-id": id },
    { event: "delivered", email: "s1@x.test", "steward-id": id, timestamp: 1_767_312_000 },
    { event: "bounce", type: "bounce", email: "s2@x.test", "smtp-id": messageId(id), reason: "550 unknown" },
  ]);
  const signed = createSign("sha256").update(timestamp + events).sign(secrets.sendgrid, "base64");
  const sendgrid = await post("sendgrid", events, {
    "x-twilio-email-event-webhook-timestamp": timestamp,
    "x-twilio-email-event-webhook-signature": signed,
  });
  assert.deepEqual([sendgrid.status, sendgrid.body], [200, { applied: 2, ignored: 0 }]);

  const mailgun = async (event: Record<string, unknown>, token: string) => {
    const signature = createHmac("sha256", secrets.mailgun).update(timestamp + token).digest("hex");
    const body = { signature: { timestamp, token, signature }, "event-data": event };
    const { applied, ignored } = (await post("mailgun", JSON.stringify(body))).body;
    return [applied, ignored];
  };
  const message = { headers: { "message-id": `${id}@steward.test` } };
  const delivered = { event: "delivered", recipient: "m1@x.test", message };
  const failed = {
    event: "failed",
    severity: "permanent",
    reason: "bounce",
    recipient: "m2@x.test",
    "user-variables": { "steward-id": id },
    "delivery-status": { message: "550 gone", code: 550 },
  };
  assert.deepEqual(await mailgun(delivered, "b"), [1, 0]);
  assert.deepEqual(await mailgun(failed, "b"), [0, 1], "a used token carries no other event");
  assert.deepEqual(await mailgun(failed, "c"), [1, 0]);

  const postmark = async (record: Record<string, unknown>, login = secrets.postmark) => {
    const body = JSON.stringify({ ...record, Metadata: { "steward-id": id } });
    const answer = await post("postmark", body, { authorization: `Basic ${btoa(login)}` });
    return answer.status === 200 ? answer.body.applied : answer.status;
  };
  assert.equal(await postmark({ RecordType: "Delivery", Recipient: "p1@x.test" }), 1);
  assert.equal(await postmark({ RecordType: "SpamComplaint", Email: "p2@x.test" }), 1);
  assert.equal(await postmark({ RecordType: "Delivery" }, "steward:wrong-password-00"), 401);
  const own = ["Delivered", "Bounced", "Delivered", "Bounced", "Delivered", "Complained"];
  assert.deepEqual(await states(id), ["Complained", ...own]);
  const all = await suppressed(ann);
  const reasons = names.map((name) => all[`${name}@x.test`]);
  assert.deepEqual(reasons, [undefined, "HardBounce", undefined, "HardBounce", undefined, "Complaint"]);
});

Deno.test("Twilio reports the status of a text message at the URL it was given", async () => {
  const number = "+351910000001";
  const id = await sent(ann, { channel: "Sms", ...to(number), textBody: "Hi" });
  await settledDetail(t, ann, id);
  const [{ callbacks, accepted }] = gateways;
  const callback = callbacks[accepted.findIndex(({ to }) => to === number)] ?? "";
  assert.ok(callback.startsWith(`${baseUrl()}${base}/twilio?recipient=`), callback);
  const status = (MessageStatus: string, more = {}) =>
    twilio({ MessageSid: "SM1", To: number, MessageStatus, ...more }, new URL(callback).search);
  for (const early of ["queued", "sent"]) await status(early);
  assert.deepEqual(await states(id), [null, null]);
  const answer = await status("delivered");
  assert.deepEqual([answer.status, answer.body], [200, "<Response/>"]);
  assert.deepEqual(await states(id), ["Delivered", "Delivered"]);
  await status("undelivered", { ErrorCode: "30005" });
  assert.deepEqual(await states(id), ["Bounced", "Bounced"]);
  assert.equal((await suppressed(ann))[number], "HardBounce");
});

Deno.test("STOP suppresses a number for the tenants that write to it, and START lifts it", async () => {
  const number = "+351910000002";
  const [cat, dan, eve] = [await sender(), await sender(), await sender()];
  const text = { channel: "Sms", ...to(number), textBody: "Hi" };
  for (const actor of [cat, dan]) await delivered(t, actor, text);
  const all = async () => pluck(await Promise.all([cat, dan, eve].map(suppressed)), number);
  const reply = (Body: string, MessageSid: string) =>
    twilio({ Body, MessageSid, From: number, To: "+15550100" });
  await reply("Please stop it", "SM1");
  assert.deepEqual(await all(), [undefined, undefined, undefined]);
  await reply(" stop ", "SM2");
  assert.deepEqual(await all(), ["Unsubscribed", "Unsubscribed", undefined]);
  assert.equal((await delivered(t, cat, text)).recipients[0].reason, "Suppressed");
  await reply("START", "SM3");
  assert.deepEqual(await all(), [undefined, undefined, undefined]);
  await reply("stop", "SM2");
  assert.deepEqual(await all(), [undefined, undefined, undefined], "a repeated request does not stop again");
  await dan.post(suppressions, { channel: "Sms", address: number, reason: "Manual" });
  await reply("START", "SM4");
  assert.deepEqual(await all(), [undefined, "Manual", undefined], "START lifts only what STOP suppressed");
});

Deno.test("providers without a setting are unknown, and unsigned or oversized requests are refused", async () => {
  for (const name of ["ses", "unknown", "Twilio"]) {
    const { status, body } = await post(name, "{}");
    assert.deepEqual([status, body.code], [404, "ROUTE_NOT_FOUND"]);
  }
  for (const name of ["twilio", "sendgrid", "mailgun", "postmark", "standard-webhooks"]) {
    for (const body of ["{}", "\0", "a=b&Body=STOP&From=%2B1"]) {
      const { status } = await post(name, body);
      assert.ok(status === 401 || name === "mailgun" && status === 400, `${name} ${body} ${status}`);
    }
  }
  assert.equal((await post("sendgrid", "x".repeat(1_048_577))).status, 413);
  const event = { messageId: newId(), recipient: "a@x.test", state: "Delivered" };
  assert.equal((await report(Array(1_001).fill(event))).status, 400);
  assert.equal((await report([{ ...event, state: "Opened" }])).status, 400);
  const strange = { messageId: messageId(newId()), recipient: "a\0b@x.test", state: "Bounced", detail: "\0" };
  assert.deepEqual(await reported(strange), [0, 1]);
});

Deno.test("feedback about another tenant's message changes only that tenant", async () => {
  const other = await sender();
  const [theirs, ours] = [await mailed(other, "shared@x.test"), await mailed(ann, "shared@x.test")];
  await reported({ messageId: messageId(theirs), recipient: "shared@x.test", state: "Complained" });
  assert.deepEqual(await states(ours), [null, null]);
  assert.equal((await suppressed(other))["shared@x.test"], "Complaint");
  assert.equal((await suppressed(ann))["shared@x.test"], undefined);
});

Deno.test("reports about many messages, in any order and at the same time, cause no deadlock", async () => {
  const ids = await Promise.all(Array.from({ length: 4 }, (_, n) => mailed(ann, `d${n}@x.test`)));
  const events = ids.map((id, n) => ({ messageId: id, recipient: `d${n}@x.test`, state: "Delivered" }));
  const orders = [events, events.toReversed(), events.slice(2), events];
  const answers = await Promise.all(orders.map((each) => report(each)));
  assert.equal(answers.reduce((sum, { body }) => sum + body.applied, 0), 4);
});
