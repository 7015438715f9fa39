import assert from "node:assert/strict";
import { createSign, generateKeyPairSync } from "node:crypto";
import type { FeedbackRequest } from "../../../domain/notifications/feedback/feedback.ts";
import { mailgun } from "../../../domain/notifications/feedback/mailgun.ts";
import { sendgrid } from "../../../domain/notifications/feedback/sendgrid.ts";
import { ses } from "../../../domain/notifications/feedback/ses.ts";
import { standardWebhooks } from "../../../domain/notifications/feedback/standard_webhooks.ts";
import { twilio, twilioSignature } from "../../../domain/notifications/feedback/twilio.ts";
import type { OutboundRequest } from "../../../infra/http_out/http_out.ts";

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
const isRefused = { code: "NOTIFICATION_FEEDBACK_UNAUTHORIZED" };
const attempt = (read: () => unknown) => Promise.resolve().then(read);

Deno.test("Twilio's published signatures are computed, also of repeated parameters", () => {
  const url = "https://mycompany.com/myapp.php?foo=1&bar=2";
  const call = new URLSearchParams({
    Digits: "1234",
    CallSid: "CA1234567890ABCDE",
    To: "+18005551212",
    Caller: "+14158675309",
    From: "+14158675309",
  });
  assert.equal(twilioSignature("12345", url, call), "RSOYDt4T1cUTdK1PDd93/VVr8B8=");
  const repeated = new URLSearchParams([
    ["Sid", "CA123"],
    ["SidAccount", "AC123"],
    ["Digits", "5678"],
    ["Digits", "1234"],
    ["Digits", "1234"],
  ]);
  assert.equal(twilioSignature("12345", url, repeated), "IK+Dwps556ElfBT0I3Rgjkr1wJU=");
});

Deno.test("a changed parameter, URL or token of Twilio is refused", async () => {
  const url = "https://mycompany.com/feedback?recipient=1";
  const form = new URLSearchParams({ MessageSid: "SM1", MessageStatus: "delivered", To: "+15550100" });
  const signed = { "x-twilio-signature": twilioSignature("12345", url, form) };
  assert.deepEqual(await twilio.read(request(`${form}`, signed, { url }), "12345"), { reports: [] });
  for (
    const read of [
      () => twilio.read(request(`${form}`.replace("delivered", "failed"), signed, { url }), "12345"),
      () => twilio.read(request(`${form}`, signed, { url: `${url}2` }), "12345"),
      () => twilio.read(request(`${form}`, signed, { url }), "12346"),
      () => twilio.read(request(`${form}`, {}, { url }), "12345"),
    ]
  ) await assert.rejects(attempt(read), isRefused);
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
  const headers = {
    "x-twilio-email-event-webhook-timestamp": "1600112502",
    "x-twilio-email-event-webhook-signature":
      "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=",
  };
  assert.deepEqual(
    await sendgrid.read(request(body, headers), key),
    { reports: [] },
    "not one of our messages",
  );
  for (
    const given of [
      request(body.trim(), headers),
      request(body, { ...headers, "x-twilio-email-event-webhook-timestamp": "1600112503" }),
      request(body, { ...headers, "x-twilio-email-event-webhook-signature": "not base64!" }),
      request(body),
    ]
  ) await assert.rejects(attempt(() => sendgrid.read(given, key)), isRefused);
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
  await assert.rejects(attempt(() => standardWebhooks.read(request(body, headers, at(299)), secret)), {
    code: "VALIDATION_ERROR",
  });
  for (
    const given of [
      request(body, headers, at(301)),
      request(`${body} `, headers, at(0)),
      request(body, {}, at(0)),
    ]
  ) {
    await assert.rejects(attempt(() => standardWebhooks.read(given, secret)), isRefused);
  }
});

Deno.test("a token of Mailgun is refused a day later, or with another signature", async () => {
  const secret = "key-1234567890abcdef";
  // computed with: printf 1767312000token | openssl dgst -sha256 -hmac key-1234567890abcdef
  const signature = "dbf1b9d462a38038226b2cddd4ddec97536bde7bb283e1132d08ac81919e23e0";
  const body = (change: Record<string, string> = {}) =>
    JSON.stringify({ signature: { timestamp: "1767312000", token: "token", signature, ...change } });
  const now = new Date(1767312000_000 + 86_400_000);
  assert.deepEqual(await mailgun.read(request(body(), {}, { now }), secret), {
    reports: [],
    receipt: "token",
  });
  const parent = body({ signature: "0".repeat(64), "parent-signature": signature });
  assert.equal((await mailgun.read(request(parent, {}, { now }), secret)).receipt, "token");
  const late = { now: new Date(now.getTime() + 1_000) };
  for (
    const given of [
      request(body(), {}, late),
      request(body({ token: "another" }), {}, { now }),
      request(body({ timestamp: "1767312001" }), {}, { now }),
      request("{}", {}, { now }),
    ]
  ) await assert.rejects(attempt(() => mailgun.read(given, secret)), isRefused);
});

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const topic = "arn:aws:sns:eu-west-1:123456789012:mail";
const certificateUrl = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem";

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
    ? ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"]
    : ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"];
  const text = names.filter((name) => message[name] !== undefined).map((name) =>
    `${name}\n${message[name]}\n`
  ).join("");
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
  const bounce = JSON.stringify({
    notificationType: "Bounce",
    mail: { commonHeaders: { messageId: `<${id}@steward.test>` } },
    bounce: {
      bounceType: "Permanent",
      timestamp: "2026-01-01T12:00:00.000Z",
      bouncedRecipients: [{ emailAddress: "ann@x.test", diagnosticCode: "smtp; 550 5.1.1" }, {
        emailAddress: "bob@x.test",
      }],
    },
  });
  for (const SignatureVersion of ["1", "2"]) {
    const body = sns({ Message: bounce, Subject: "Amazon SES", SignatureVersion });
    const { reports, receipt } = await ses.read(request(body, {}, { http }), ` other , ${topic}`);
    assert.equal(receipt, "6b4b1ed0-0000-0000-0000-000000000001");
    assert.deepEqual(reports[0], {
      reference: id,
      address: "ann@x.test",
      state: "Bounced",
      suppression: "HardBounce",
      detail: "smtp; 550 5.1.1",
      at: new Date("2026-01-01T12:00:00Z"),
    });
    assert.equal(reports.length, 2);
  }
  const test = sns({ Message: "Successfully validated SNS topic for Amazon SES event publishing." });
  assert.deepEqual((await ses.read(request(test, {}, { http }), topic)).reports, []);
});

Deno.test("messages of SNS are refused if changed, of another topic, or with a foreign certificate", async () => {
  const evil = [
    "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
    "https://sns.eu-west-1.amazonaws.com.evil.test/SimpleNotificationService-1.pem",
    "https://sns.eu-west-1.amazonaws.com/mybucket/SimpleNotificationService-1.pem",
    "https://evil.test/SimpleNotificationService-1.pem",
    "https://user@sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
    "https://sns.eu-west-1.amazonaws.com:444/SimpleNotificationService-1.pem",
    "https://evil.test#sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem",
    "not a url",
  ];
  const bodies = [
    sns({ Message: "{}" }, { Message: '{"a":1}' }),
    sns({ Message: "{}" }, { Subject: "added" }),
    sns({ Message: "{}", TopicArn: `${topic}2` }),
    sns({ Message: "{}" }, { Signature: "AAAA" }),
    sns({ Message: "{}" }, { SignatureVersion: "3" }),
    "{}",
    ...evil.map((SigningCertURL) => sns({ Message: "{}", SigningCertURL })),
  ];
  for (const body of bodies) {
    const { called, http } = snsHost();
    await assert.rejects(attempt(() => ses.read(request(body, {}, { http }), topic)), isRefused, body);
    assert.ok(called.every((url) => url === certificateUrl), `nothing else is called: ${called}`);
  }
});

Deno.test("a certificate that SNS does not know refuses the message; an outage of SNS does not", async () => {
  const read = (status: number, name: string) => {
    const SigningCertURL = `https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-${name}.pem`;
    return attempt(() =>
      ses.read(request(sns({ Message: "{}", SigningCertURL }), {}, snsHost(status)), topic)
    );
  };
  await assert.rejects(read(403, "unknown"), isRefused);
  await assert.rejects(read(404, "unknown"), isRefused);
  await assert.rejects(read(503, "outage"), /answered 503/);
  await read(200, "outage");
});

Deno.test("a subscription of a configured topic is confirmed, on the host of SNS only", async () => {
  const SubscribeURL = "https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=abc";
  const body = (given: Record<string, string> = {}) =>
    sns({
      Type: "SubscriptionConfirmation",
      Message: "You have chosen…",
      Token: "abc",
      SubscribeURL,
      ...given,
    });
  const { called, http } = snsHost();
  assert.deepEqual(await ses.read(request(body(), {}, { http }), topic), { reports: [] });
  assert.equal(called.at(-1), SubscribeURL);
  const changes: Record<string, string>[] = [{ TopicArn: `${topic}x` }, {
    SubscribeURL: "https://evil.test/",
  }];
  for (const given of changes) {
    const other = snsHost();
    await assert.rejects(
      attempt(() => ses.read(request(body(given), {}, { http: other.http }), topic)),
      isRefused,
    );
    assert.deepEqual(other.called.filter((url) => url !== certificateUrl), []);
  }
});
