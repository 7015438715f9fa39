import assert from "node:assert/strict";
import { createSign, generateKeyPairSync } from "node:crypto";
import type { HeldNotification, HeldRecipient } from "../../../domain/notifications/delivery_ledger.ts";
import type { FeedbackRequest } from "../../../domain/notifications/feedback/feedback.ts";
import { mailgun } from "../../../domain/notifications/feedback/mailgun.ts";
import { sendgrid } from "../../../domain/notifications/feedback/sendgrid.ts";
import { ses } from "../../../domain/notifications/feedback/ses.ts";
import { standardWebhooks } from "../../../domain/notifications/feedback/standard_webhooks.ts";
import { twilioSignature } from "../../../domain/notifications/feedback/twilio.ts";
import { bounceReason, suppressBounced } from "../../../domain/notifications/suppression_bounces.ts";
import type { OutboundRequest } from "../../../infra/http_out/http_out.ts";
import { setupShared } from "../../support/setup.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const noHttp = { send: () => Promise.reject(new Error("no request is expected")) };

const request = (body: string, headers: Record<string, string> = {}, o: Partial<FeedbackRequest> = {}) => ({
  url: "https://steward.test/feedback",
  headers: new Headers(headers),
  body: bytes(body),
  now: new Date("2026-01-02T00:00:00Z"),
  http: noHttp,
  ...o,
});
const attempt = (read: () => unknown) => Promise.resolve().then(read);
const refused = (read: () => unknown, message?: string) =>
  assert.rejects(attempt(read), { code: "NOTIFICATION_FEEDBACK_UNAUTHORIZED" }, message);

Deno.test("Twilio's published signatures are computed, also of repeated parameters", () => {
  const url = "https://mycompany.com/myapp.php?foo=1&bar=2";
  const signatures = {
    "Digits=1234&CallSid=CA1234567890ABCDE&To=%2B18005551212&Caller=%2B14158675309&From=%2B14158675309":
      "RSOYDt4T1cUTdK1PDd93/VVr8B8=",
    "Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234&Digits=1234": "IK+Dwps556ElfBT0I3Rgjkr1wJU=",
  };
  for (const [form, signature] of Object.entries(signatures)) {
    assert.equal(twilioSignature("12345", url, new URLSearchParams(form)), signature);
  }
});

Deno.test("SendGrid's published signature is accepted, and no changed one", async () => {
  const key =
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==";
  const body = `${
    JSON.stringify([{
      email: "hello@world.com",
      event: "dropped",
      reason: "Bounced Address",
      sg_event_id: "ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",
      sg_message_id: "LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",
      "smtp-id": "<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>",
      timestamp: 1600112492,
    }])
  }\r\n`;
  const [time, signature] = ["timestamp", "signature"].map((name) => `x-twilio-email-event-webhook-${name}`);
  const headers = {
    [time ?? ""]: "1600112502",
    [signature ?? ""]:
      "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
  };
  const own = await sendgrid.read(request(body, headers), key);
  assert.deepEqual(own, { reports: [] }, "not one of our messages");
  const cases = [
    request(body.trim(), headers),
    request(body, { ...headers, [time ?? ""]: "1600112503" }),
    request(body, { ...headers, [signature ?? ""]: "not base64!" }),
    request(body),
  ];
  for (const given of cases) await refused(() => sendgrid.read(given, key));
});

Deno.test("the published signature of Standard Webhooks is accepted within five minutes", async () => {
  // published as an example, not a secret
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const at = (seconds: number) => ({ now: new Date((1614265330 + seconds) * 1000) });
  const body = '{"test": 2432232314}';
  // the signature is valid, so that the content is what is refused
  const valid = attempt(() => standardWebhooks.read(request(body, headers, at(299)), secret));
  await assert.rejects(valid, { code: "VALIDATION_ERROR" });
  const late = request(body, headers, at(301));
  const cases = [late, request(`${body} `, headers, at(0)), request(body, {}, at(0))];
  for (const given of cases) await refused(() => standardWebhooks.read(given, secret));
});

Deno.test("a token of Mailgun is refused a day later, or with another signature", async () => {
  const secret = "key-1234567890abcdef";
  // computed with: printf 1767312000token | openssl dgst -sha256 -hmac key-1234567890abcdef
  const signature = "dbf1b9d462a38038226b2cddd4ddec97536bde7bb283e1132d08ac81919e23e0";
  const body = (change: Record<string, string> = {}) =>
    JSON.stringify({ signature: { timestamp: "1767312000", token: "token", signature, ...change } });
  const now = new Date(1767312000_000 + 86_400_000);
  const read = (body: string, o = { now }) => mailgun.read(request(body, {}, o), secret);
  assert.deepEqual(await read(body()), { reports: [], receipt: "token" });
  const parent = body({ signature: "0".repeat(64), "parent-signature": signature });
  assert.equal((await read(parent)).receipt, "token");
  await refused(() => read(body(), { now: new Date(now.getTime() + 1_000) }));
  for (const changed of [body({ token: "another" }), body({ timestamp: "1767312001" }), "{}"]) {
    await refused(() => read(changed));
  }
});

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const topic = "arn:aws:sns:eu-west-1:123456789012:mail";
const SNS = "https://sns.eu-west-1.amazonaws.com";
const certificateUrl = `${SNS}/SimpleNotificationService-0123456789abcdef.pem`;

/** A message as SNS signs it; `change` is applied after the signature. */
function sns(given: Record<string, string>, change: Record<string, unknown> = {}): string {
  const message: Record<string, string> = {
    Type: "Notification",
    MessageId: "6b4b1ed0-0000-0000-0000-000000000001",
    TopicArn: topic,
    Timestamp: "2026-01-02T00:00:00.000Z",
    SignatureVersion: "2",
    SigningCertURL: certificateUrl,
    ...given,
  };
  const names = message.Type === "Notification"
    ? "Message MessageId Subject Timestamp TopicArn Type"
    : "Message MessageId SubscribeURL Timestamp Token TopicArn Type";
  const present = names.split(" ").filter((name) => message[name] !== undefined);
  const text = present.map((name) => `${name}\n${message[name]}\n`).join("");
  const sign = createSign(message.SignatureVersion === "1" ? "sha1" : "sha256").update(text);
  return JSON.stringify({ ...message, Signature: sign.sign(privateKey, "base64"), ...change });
}

/** SNS itself: it serves the certificate and counts confirmations. */
function snsHost(status = 200) {
  const called: string[] = [];
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const send = ({ url }: OutboundRequest) => {
    called.push(url);
    return Promise.resolve({ status, headers: {}, body: bytes(pem), isTruncated: false });
  };
  return { called, http: { send } };
}

Deno.test("messages of SNS are accepted with both signature versions", async () => {
  const { http } = snsHost();
  const id = "01990000-0000-7000-8000-000000000007";
  const ann = { emailAddress: "ann@x.test", diagnosticCode: "smtp; 550 5.1.1" };
  const bob = { emailAddress: "bob@x.test" };
  const timestamp = "2026-01-01T12:00:00.000Z";
  const bounce = JSON.stringify({
    notificationType: "Bounce",
    mail: { commonHeaders: { messageId: `<${id}@steward.test>` } },
    bounce: { bounceType: "Permanent", timestamp, bouncedRecipients: [ann, bob] },
  });
  for (const SignatureVersion of ["1", "2"]) {
    const body = sns({ Message: bounce, Subject: "Amazon SES", SignatureVersion });
    const { reports, receipt } = await ses.read(request(body, {}, { http }), ` other , ${topic}`);
    assert.equal(receipt, "6b4b1ed0-0000-0000-0000-000000000001");
    const hard = { state: "Bounced", suppression: "HardBounce", detail: "smtp; 550 5.1.1" };
    assert.deepEqual(reports[0], { ...hard, reference: id, address: "ann@x.test", at: new Date(timestamp) });
    assert.equal(reports.length, 2);
  }
  const test = sns({ Message: "Successfully validated SNS topic for Amazon SES event publishing." });
  assert.deepEqual((await ses.read(request(test, {}, { http }), topic)).reports, []);
});

Deno.test("messages of SNS are refused if changed, of another topic, or with a foreign certificate", async () => {
  const certificate = "SimpleNotificationService-1.pem";
  const evil = [
    `http://sns.eu-west-1.amazonaws.com/${certificate}`,
    `${SNS}.evil.test/${certificate}`,
    `${SNS}/mybucket/${certificate}`,
    `https://evil.test/${certificate}`,
    `https://user@sns.eu-west-1.amazonaws.com/${certificate}`,
    `${SNS}:444/${certificate}`,
    `https://evil.test#sns.eu-west-1.amazonaws.com/${certificate}`,
    "not a url",
  ];
  const others = [{ Signature: "AAAA" }, { SignatureVersion: "3" }];
  const changes = [{ Message: '{"a":1}' }, { Subject: "added" }, ...others];
  const bodies = [
    ...changes.map((change) => sns({ Message: "{}" }, change)),
    sns({ Message: "{}", TopicArn: `${topic}2` }),
    "{}",
    ...evil.map((SigningCertURL) => sns({ Message: "{}", SigningCertURL })),
  ];
  for (const body of bodies) {
    const { called, http } = snsHost();
    await refused(() => ses.read(request(body, {}, { http }), topic), body);
    assert.ok(called.every((url) => url === certificateUrl), `nothing else is called: ${called}`);
  }
});

Deno.test("a certificate that SNS does not know refuses the message; an outage of SNS does not", async () => {
  const read = (status: number, name: string) => {
    const body = sns({ Message: "{}", SigningCertURL: `${SNS}/SimpleNotificationService-${name}.pem` });
    return attempt(() => ses.read(request(body, {}, snsHost(status)), topic));
  };
  for (const status of [403, 404]) await refused(() => read(status, "unknown"));
  await assert.rejects(read(503, "outage"), /answered 503/);
  await read(200, "outage");
});

Deno.test("a subscription of a configured topic is confirmed, on the host of SNS only", async () => {
  const SubscribeURL = `${SNS}/?Action=ConfirmSubscription&Token=abc`;
  const Type = "SubscriptionConfirmation";
  const body = (given: Record<string, string> = {}) =>
    sns({ Type, Message: "You have chosen…", Token: "abc", SubscribeURL, ...given });
  const { called, http } = snsHost();
  assert.deepEqual(await ses.read(request(body(), {}, { http }), topic), { reports: [] });
  assert.equal(called.at(-1), SubscribeURL);
  const foreign = { TopicArn: `${topic}x` };
  for (const given of [foreign, { SubscribeURL: "https://evil.test/" }] as Record<string, string>[]) {
    const other = snsHost();
    await refused(() => ses.read(request(body(given), {}, other), topic));
    assert.deepEqual(other.called.filter((url) => url !== certificateUrl), []);
  }
});

const t = await setupShared({ JOB_CONCURRENCY: "0" });

const atRecipient = (errorMessage: string) =>
  bounceReason("Email", { status: "Refused", errorMessage, isRecipientError: true });
const DEAD = `
  550 5.1.1 <x@y.test>: Recipient address rejected: User unknown in virtual mailbox table
  553 5.1.2 We weren't able to find the recipient domain
  553 5.1.3 The recipient address is not a valid RFC-5321 address.
  551 5.1.6 Mailbox has moved
  556 5.1.10 Recipient not found
  554 5.1.1 unknown
  550 No such user here
  551 User not local`;
const ALIVE = `
  550 5.7.1 Message rejected due to policy
  552 5.2.2 Mailbox full
  552 Requested mail action aborted: exceeded storage allocation
  554 Transaction failed
  550 5.1.8 Sender address rejected
  550 5.1.7 Bad sender's mailbox address syntax
  550 5.4.1 Recipient address rejected: Access denied
  550 5.1.11 unheard of
  451 4.1.1 not now
  the mail server could not be reached (ECONNECTION) 550 5.1.1`;

Deno.test("only a rejection that reports a dead address suppresses it", () => {
  for (const answer of DEAD.trim().split(/\n */)) assert.equal(atRecipient(answer), "HardBounce", answer);
  for (const answer of ["", ...ALIVE.trim().split(/\n */)]) assert.equal(atRecipient(answer), null, answer);
  const errorMessage = "550 5.1.1 User unknown";
  const isRecipientError = true;
  assert.equal(bounceReason("Email", { status: "Refused", errorMessage }), null, "of the whole message");
  assert.equal(bounceReason("Email", { status: "Owed", errorMessage, isRecipientError }), null);
  assert.equal(bounceReason("Email", { status: "Refused", errorMessage: null, isRecipientError }), null);
});

Deno.test("a number that sent STOP is suppressed; other rejections of a gateway suppress nothing", () => {
  const sms = (reason: string) =>
    bounceReason("Sms", { status: "Refused", errorMessage: `the gateway answered 400: ${reason}` });
  assert.equal(sms("21610 Attempt to send to unsubscribed recipient"), "Unsubscribed");
  assert.equal(sms("21211 The 'To' number +121610 is not valid"), null);
  assert.equal(sms("21614 not a mobile number"), null);
});

Deno.test("a failure to write a suppression does not undo deliveries", async () => {
  const { sql, log } = t.platform;
  const warnings: string[] = [];
  const warned = { ...log, warn: (message: string) => void warnings.push(message) };
  const held = { id: "no id", tenantId: null, channel: "Email", isConfidential: false } as HeldNotification;
  const outcome = { recipientId: "1", status: "Refused" as const, errorMessage: "550 5.1.1 unknown" };
  const recipients = [{ id: "1", address: "gone@x.test" } as HeldRecipient];
  await suppressBounced({ sql, log: warned }, held, recipients, [{ ...outcome, isRecipientError: true }]);
  assert.deepEqual(warnings, ["a dead address could not be suppressed"]);
});
