import assert from "node:assert/strict";
import { createHmac, createSign, generateKeyPairSync } from "node:crypto";
import { twilioSignature } from "../../../domain/notifications/feedback/twilio.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { signatureHeaders } from "../../../infra/http_out/webhook_signature.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { startSmsGateway } from "../../support/sms_gateway.ts";
import { email, path, sent, settledDetail } from "./notifications.ts";

const token = "twilio-auth-token-0123456789";
const signingKey = "mailgun-key-0123456789";
// published as an example, not a secret
const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const receiver = await startReceiver();
const gateway = startSmsGateway();
const t = await setup({
  SMTP_URL: receiver.url,
  SMS_URL: gateway.smsUrl,
  NOTIFICATION_FEEDBACK_TWILIO: token,
  NOTIFICATION_FEEDBACK_SENDGRID: keys.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
  NOTIFICATION_FEEDBACK_MAILGUN: signingKey,
  NOTIFICATION_FEEDBACK_POSTMARK: "steward:a-long-password-0",
  NOTIFICATION_FEEDBACK_STANDARD_WEBHOOKS: secret,
});
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});
const { sql, baseUrl } = t.steward.platform;
const ann = await t.actor({ permissions: ["send:notifications", "read:events"] });

async function post(provider: string, body: string, headers: Record<string, string> = {}) {
  const [name = "", query = ""] = provider.split("?");
  const url = `${t.url}/api/v1/notification-feedback/${name}${query && `?${query}`}`;
  const response = await fetch(url, { method: "POST", body, headers });
  const text = await response.text();
  return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
}

/** Reports in the format of Standard Webhooks. */
function report(events: Record<string, unknown>[], id: string = crypto.randomUUID()) {
  const body = JSON.stringify({ events });
  return post("standard-webhooks", body, signatureHeaders([secret], id, new Date(), body));
}

function twilio(form: Record<string, string>, query = "") {
  const url = `${baseUrl()}/api/v1/notification-feedback/twilio${query}`;
  const parameters = new URLSearchParams(form);
  return post(`twilio${query}`, `${parameters}`, {
    "content-type": "application/x-www-form-urlencoded",
    "x-twilio-signature": twilioSignature(token, url, parameters),
  });
}

async function mailTo(actor: Actor, ...addresses: string[]): Promise<string> {
  const id = await sent(actor, email({ recipients: addresses.map((address) => ({ address })) }));
  await settledDetail(t, actor, id);
  return id;
}
const messageId = (id: string) => `<${id}@localhost>`;
const states = async (id: string, actor = ann) => {
  const { deliveryState, recipients } = (await actor.get(`${path}/${id}`)).body;
  return [deliveryState, ...recipients.map((r: { deliveryState: string | null }) => r.deliveryState)];
};
const suppressed = async (actor: Actor): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await actor.get("/api/v1/notification-suppressions?pageSize=100")).body.items
      .map((each: { address: string; reason: string }) => [each.address, each.reason]),
  );
const eventsOf = async (id: string) => {
  const rows = await sql<{ type: string; data: { address: string } }[]>`
    select type, data from events where data::jsonb ->> 'notificationId' = ${id} order by id`;
  return rows.map(({ type, data }) =>
    `${type} ${(typeof data === "string" ? JSON.parse(data) : data).address}`
  );
};

Deno.test("a state only becomes stronger, and each change is reported once", async () => {
  const id = await mailTo(ann, "one@x.test", "Two@x.test");
  const about = (recipient: string, state: string, rest = {}) => ({
    messageId: messageId(id),
    recipient,
    state,
    ...rest,
  });
  const first = await report([
    about("ONE@x.test", "Delivered", { detail: "250 ok", occurredAt: "2026-01-02T03:04:05Z" }),
  ]);
  assert.deepEqual([first.status, first.body], [200, { applied: 1, ignored: 0 }]);
  assert.deepEqual(await states(id), ["Delivered", "Delivered", null]);
  const { recipients: [one], status } = (await ann.get(`${path}/${id}`)).body;
  assert.deepEqual([status, one.status, one.deliveryDetail, one.deliveryStateAt], [
    "Sent",
    "Sent",
    "250 ok",
    "2026-01-02T03:04:05.000Z",
  ]);
  const mixed = [
    about("two@x.test", "Delivered"),
    about("two@x.test", "Bounced", { isPermanent: true, detail: "550 5.1.1 unknown" }),
    about("one@x.test", "Delivered"),
    about("stranger@x.test", "Bounced"),
  ];
  assert.deepEqual((await report(mixed)).body, { applied: 1, ignored: 3 });
  assert.deepEqual(await states(id), ["Bounced", "Delivered", "Bounced"]);
  assert.deepEqual((await report([about("two@x.test", "Delivered")])).body, { applied: 0, ignored: 1 });
  assert.deepEqual((await report([about("one@x.test", "Complained")])).body, { applied: 1, ignored: 0 });
  assert.deepEqual(await states(id), ["Complained", "Complained", "Bounced"]);
  assert.deepEqual(await suppressed(ann), { "Two@x.test": "HardBounce", "one@x.test": "Complaint" });
  assert.deepEqual(await eventsOf(id), [
    "notification.delivered one@x.test",
    "notification.bounced Two@x.test",
    "notification.complained one@x.test",
  ]);
  assert.deepEqual(
    (await ann.get(`${path}?deliveryState=Complained`)).body.items.map((m: { id: string }) => m.id),
    [id],
  );
  const stats = (await ann.get(`${path}/stats`)).body;
  assert.deepEqual(
    [stats.deliveredNotifications, stats.bouncedNotifications, stats.complainedNotifications],
    [0, 0, 1],
  );
});

Deno.test("a soft bounce suppresses nothing, and a repeated hard bounce does not suppress a lifted address", async () => {
  const bob = await t.actor({ permissions: ["send:notifications"] });
  const soft = await mailTo(bob, "soft@x.test");
  await report([{ messageId: messageId(soft), recipient: "soft@x.test", state: "Bounced" }]);
  assert.deepEqual(await states(soft, bob), ["Bounced", "Bounced"]);
  assert.deepEqual(await suppressed(bob), {});
  const hard = await mailTo(bob, "hard@x.test");
  const bounce = [{
    messageId: messageId(hard),
    recipient: "hard@x.test",
    state: "Bounced",
    isPermanent: true,
  }];
  await report(bounce);
  const { items: [entry] } = (await bob.get("/api/v1/notification-suppressions")).body;
  assert.equal(entry.notificationId, hard);
  assert.equal((await bob.delete(`/api/v1/notification-suppressions/${entry.id}`)).status, 204);
  assert.deepEqual((await report(bounce)).body, { applied: 0, ignored: 1 });
  assert.deepEqual(await suppressed(bob), {});
});

Deno.test("the same request takes effect once, also if it arrives twice at the same time", async () => {
  const id = await mailTo(ann, "race@x.test");
  const events = [{ messageId: id, recipient: "race@x.test", state: "Delivered" }];
  const answers = await Promise.all([
    report(events, "same"),
    report(events, "same"),
    ...Array.from({ length: 6 }, () => report(events)),
  ]);
  assert.deepEqual(answers.map(({ status }) => status), Array(8).fill(200));
  assert.equal(answers.reduce((sum, { body }) => sum + body.applied, 0), 1);
  assert.deepEqual(await eventsOf(id), ["notification.delivered race@x.test"]);
});

Deno.test("reports about many messages, in any order and at the same time, cause no deadlock", async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => mailTo(ann, `d${n}@x.test`)));
  const events = ids.map((id, n) => ({ messageId: id, recipient: `d${n}@x.test`, state: "Delivered" }));
  const answers = await Promise.all(
    [events, events.toReversed(), events.slice(6), events].map((each) => report(each)),
  );
  assert.equal(answers.reduce((sum, { body }) => sum + body.applied, 0), 12);
});

Deno.test("mail of a user's own is found by the id of the recipient in its Message-ID", async () => {
  const id = await sent(ann, { channel: "Email", userIds: [ann.userId], subject: "Own", textBody: "x" });
  await settledDetail(t, ann, id);
  const raw = receiver.received.find(({ to }) => to.includes(ann.email))?.raw ?? "";
  const [, own = ""] = /^Message-ID: <([^@]+)@/im.exec(raw) ?? [];
  assert.notEqual(own, id);
  assert.equal(new RegExp(`^X-PM-Metadata-steward-id: ${own}\r$`, "im").test(raw), true);
  const jsonOf = (header: string) => JSON.parse(new RegExp(`^${header}: (.*)\r$`, "m").exec(raw)?.[1] ?? "");
  assert.deepEqual(jsonOf("X-SMTPAPI"), { unique_args: { "steward-id": own } }, "not encoded");
  assert.deepEqual(jsonOf("X-Mailgun-Variables"), { "steward-id": own });
  assert.doesNotMatch(raw, /X-SES-MESSAGE-TAGS/);
  const answer = await report([{
    messageId: `<${own}@localhost>`,
    recipient: "alias@x.test",
    state: "Delivered",
  }]);
  assert.deepEqual(answer.body, { applied: 1, ignored: 0 });
  assert.deepEqual(await states(id), ["Delivered", "Delivered"]);
});

Deno.test("SendGrid, Mailgun and Postmark report in their own formats", async () => {
  const id = await mailTo(ann, "s1@x.test", "s2@x.test", "m1@x.test", "m2@x.test", "p1@x.test", "p2@x.test");
  const events = JSON.stringify([
    { event: "processed", email: "s1@x.test", "steward-id": id },
    { event: "delivered", email: "s1@x.test", "steward-id": id, timestamp: 1_767_312_000 },
    { event: "bounce", type: "bounce", email: "s2@x.test", "smtp-id": messageId(id), reason: "550 unknown" },
    "noise",
  ]);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signed = createSign("sha256").update(timestamp + events).sign(keys.privateKey, "base64");
  const sendgrid = await post("sendgrid", events, {
    "x-twilio-email-event-webhook-timestamp": timestamp,
    "x-twilio-email-event-webhook-signature": signed,
  });
  assert.deepEqual([sendgrid.status, sendgrid.body], [200, { applied: 2, ignored: 0 }]);
  const mailgun = (event: Record<string, unknown>, token: string) =>
    post(
      "mailgun",
      JSON.stringify({
        signature: {
          timestamp,
          token,
          signature: createHmac("sha256", signingKey).update(timestamp + token).digest("hex"),
        },
        "event-data": event,
      }),
    );
  const delivered = {
    event: "delivered",
    recipient: "m1@x.test",
    message: { headers: { "message-id": `${id}@localhost` } },
  };
  const failed = {
    event: "failed",
    severity: "permanent",
    reason: "bounce",
    recipient: "m2@x.test",
    "user-variables": { "steward-id": id },
    "delivery-status": { message: "550 gone", code: 550 },
  };
  assert.deepEqual((await mailgun({ ...failed, severity: "temporary" }, "a")).body, {
    applied: 0,
    ignored: 0,
  });
  assert.deepEqual((await mailgun(delivered, "b")).body, { applied: 1, ignored: 0 });
  assert.deepEqual(
    (await mailgun(failed, "b")).body,
    { applied: 0, ignored: 1 },
    "a used token carries no other event",
  );
  assert.deepEqual((await mailgun(failed, "c")).body, { applied: 1, ignored: 0 });
  const postmark = (record: Record<string, unknown>, password = "a-long-password-0") =>
    post("postmark", JSON.stringify({ ...record, Metadata: { "steward-id": id } }), {
      authorization: `Basic ${btoa(`steward:${password}`)}`,
    });
  assert.deepEqual((await postmark({ RecordType: "Delivery", Recipient: "p1@x.test" })).body.applied, 1);
  assert.deepEqual((await postmark({ RecordType: "Open", Recipient: "p1@x.test" })).body.applied, 0);
  assert.deepEqual(
    (await postmark({ RecordType: "Bounce", Type: "Transient", Email: "p2@x.test" })).body.applied,
    0,
  );
  assert.deepEqual((await postmark({ RecordType: "SpamComplaint", Email: "p2@x.test" })).body.applied, 1);
  assert.equal((await postmark({ RecordType: "Delivery" }, "wrong-password-00")).status, 401);
  assert.deepEqual(await states(id), [
    "Complained",
    "Delivered",
    "Bounced",
    "Delivered",
    "Bounced",
    "Delivered",
    "Complained",
  ]);
  const all = await suppressed(ann);
  assert.deepEqual(["s2", "m2", "p2", "s1"].map((name) => all[`${name}@x.test`]), [
    "HardBounce",
    "HardBounce",
    "Complaint",
    undefined,
  ]);
});

Deno.test("Twilio reports the status of a text message at the URL it was given", async () => {
  const number = "+351910000001";
  const id = await sent(ann, { channel: "Sms", recipients: [{ address: number }], textBody: "Hi" });
  await settledDetail(t, ann, id);
  const callback = gateway.callbacks[gateway.accepted.findIndex(({ to }) => to === number)] ?? "";
  assert.ok(callback.startsWith(`${baseUrl()}/api/v1/notification-feedback/twilio?recipient=`), callback);
  const query = new URL(callback).search;
  const status = { MessageSid: "SM1", To: number };
  for (const MessageStatus of ["queued", "sent"]) await twilio({ ...status, MessageStatus }, query);
  assert.deepEqual(await states(id), [null, null]);
  const answer = await twilio({ ...status, MessageStatus: "delivered" }, query);
  assert.deepEqual([answer.status, answer.body], [200, "<Response/>"]);
  assert.deepEqual(await states(id), ["Delivered", "Delivered"]);
  await twilio({ ...status, MessageStatus: "undelivered", ErrorCode: "30005" }, query);
  assert.deepEqual(await states(id), ["Bounced", "Bounced"]);
  assert.equal((await suppressed(ann))[number], "HardBounce");
});

Deno.test("STOP suppresses a number for the tenants that write to it, and START lifts it", async () => {
  const number = "+351910000002";
  const tenant = () => t.actor({ permissions: ["send:notifications"] });
  const [cat, dan, eve] = [await tenant(), await tenant(), await tenant()];
  const text = { channel: "Sms", recipients: [{ address: number }], textBody: "Hi" };
  for (const actor of [cat, dan]) await settledDetail(t, actor, await sent(actor, text));
  const all = async () =>
    (await Promise.all([cat, dan, eve].map(suppressed)))
      .map((list) => list[number]);
  const reply = (Body: string, MessageSid: string) =>
    twilio({ Body, MessageSid, From: number, To: "+15550100" });
  await reply("Please stop it", "SM1");
  assert.deepEqual(await all(), [undefined, undefined, undefined]);
  await reply(" stop ", "SM2");
  assert.deepEqual(await all(), ["Unsubscribed", "Unsubscribed", undefined]);
  const skipped = await sent(cat, text);
  assert.equal((await settledDetail(t, cat, skipped)).recipients[0].reason, "Suppressed");
  await reply("START", "SM3");
  assert.deepEqual(await all(), [undefined, undefined, undefined]);
  await reply("stop", "SM2");
  assert.deepEqual(await all(), [undefined, undefined, undefined], "a repeated request does not stop again");
  const manual = { channel: "Sms", address: number, reason: "Manual" };
  await dan.post("/api/v1/notification-suppressions", manual);
  await reply("START", "SM4");
  assert.deepEqual(await all(), [undefined, "Manual", undefined], "START lifts only what STOP suppressed");
});

Deno.test("providers without a setting are unknown, and unsigned or oversized requests are refused", async () => {
  for (const name of ["ses", "unknown", "Twilio"]) {
    const { status, body } = await post(name, "{}");
    assert.deepEqual([status, body.code], [404, "ROUTE_NOT_FOUND"]);
  }
  const providers = ["twilio", "sendgrid", "mailgun", "postmark", "standard-webhooks"];
  for (const name of providers) {
    for (const body of ["{}", "", "null", "[]", "\0", '{"signature":{}}', "a=b&Body=STOP&From=%2B1"]) {
      const { status } = await post(name, body);
      assert.ok(status === 401 || name === "mailgun" && status === 400, `${name} ${body} ${status}`);
    }
    assert.equal((await post(name, "x".repeat(1_048_577))).status, 413);
  }
  const huge = Array.from(
    { length: 1_001 },
    () => ({ messageId: newId(), recipient: "a@x.test", state: "Delivered" }),
  );
  assert.equal((await report(huge)).status, 400);
  assert.equal((await report([{ messageId: "x", recipient: "a@x.test", state: "Opened" }])).status, 400);
  const strange = {
    messageId: messageId(crypto.randomUUID()),
    recipient: "a\0b@x.test",
    state: "Bounced",
    detail: "\0",
  };
  assert.deepEqual((await report([strange])).body, { applied: 0, ignored: 1 });
});

Deno.test("feedback about another tenant's message changes only that tenant", async () => {
  const other = await t.actor({ permissions: ["send:notifications"] });
  const theirs = await mailTo(other, "shared@x.test");
  const ours = await mailTo(ann, "shared@x.test");
  await report([{ messageId: messageId(theirs), recipient: "shared@x.test", state: "Complained" }]);
  assert.deepEqual(await states(ours), [null, null]);
  assert.equal((await suppressed(other))["shared@x.test"], "Complaint");
  assert.equal((await suppressed(ann))["shared@x.test"], undefined);
});
