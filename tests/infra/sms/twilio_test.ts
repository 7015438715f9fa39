import assert from "node:assert/strict";
import { readRetryAfter } from "../../../infra/http_out/provider_http.ts";
import { parseSmsUrl, SmsRefused } from "../../../infra/sms/sms.ts";
import { createTwilio } from "../../../infra/sms/twilio.ts";
import { startSmsGateway } from "../../support/sms_gateway.ts";

async function refusal(sending: Promise<unknown>): Promise<SmsRefused> {
  const error = await sending.then(() => null, (error: unknown) => error);
  assert(error instanceof SmsRefused, `expected SmsRefused, found ${error}`);
  return error;
}

const serve = (handle: () => Response) =>
  Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, handle);
const at = (port: number) => `http://AC1:token@127.0.0.1:${port}?from=Steward`;

Deno.test("a text arrives with its number, sender and every character", async () => {
  await using gateway = startSmsGateway();
  const text = "Olá & 100% = 1+1 \n👋";
  const sms = createTwilio(gateway.smsUrl);
  await sms.send({ to: "+351912345678", text });
  await sms.send({ to: "+351912345679", text: "x".repeat(1_600) });
  assert.deepEqual(gateway.accepted[0], { to: "+351912345678", sender: "+15550100", text });
  assert.equal(gateway.connections.size, 1, "the connection is used again");
});

Deno.test("a rejection is permanent or temporary, and may stop the batch", async () => {
  await using gateway = startSmsGateway();
  const sms = createTwilio(gateway.smsUrl);
  gateway.retryAfter = "12";
  const rejections: [to: string, permanent: boolean, stopsBatch: boolean, reason: string][] = [
    ["+3519121211", true, false, "400: 21211 Invalid 'To' Phone Number"],
    ["+3519121610", true, false, "400: 21610 Attempt to send to unsubscribed recipient"],
    ["+3519121614", true, false, "400: 21614 'To' number is not a valid mobile number"],
    ["+3519121408", false, false, "400: 21408 Permission to send an SMS has not been enabled for the region"],
    ["+351912429", false, true, "429: 20429 Too Many Requests"],
    ["+351912500", false, true, "500: 20500 Internal Server Error"],
  ];
  for (const [to, permanent, stopsBatch, reason] of rejections) {
    const error = await refusal(sms.send({ to, text: "x" }));
    assert.deepEqual([error.permanent, error.stopsBatch], [permanent, stopsBatch], to);
    assert.equal(error.isUnreachable, /429|500/.test(to), "an outage");
    assert.equal(error.retryAfterMs, to.endsWith("429") ? 12_000 : null);
    assert.equal(error.message, `the gateway answered ${reason}`);
  }
});

Deno.test("wrong credentials, an HTML answer and an unreachable host are not the number's failure", async () => {
  await using gateway = startSmsGateway();
  await using other = serve(() => new Response("<html>Bad Gateway</html>", { status: 502 }));
  const failures = [
    [gateway.smsUrl.replace("t0ken", "wr0ng"), "the gateway answered 401: 20003 Authenticate"],
    [at(other.addr.port), "the gateway answered 502"],
    [at(1), "the provider could not be reached"],
  ] as const;
  for (const [url, message] of failures) {
    const error = await refusal(createTwilio(url).send({ to: "+351912345678", text: "x" }));
    assert.deepEqual([error.message, error.permanent, error.stopsBatch], [message, false, true]);
    assert.ok(error.isUnreachable, "waiting for its end uses up no retry");
  }
});

Deno.test("credentials are not sent to a redirect target", async () => {
  let isReached = false;
  await using elsewhere = serve(() => {
    isReached = true;
    return new Response("", { status: 201 });
  });
  await using gateway = serve(() => Response.redirect(`http://127.0.0.1:${elsewhere.addr.port}/`, 307));
  await refusal(createTwilio(at(gateway.addr.port)).send({ to: "+351912345678", text: "x" }));
  assert.equal(isReached, false);
});

Deno.test("SMS_URL may contain plus signs and special characters, and its errors do not show it", () => {
  assert.deepEqual(parseSmsUrl("https://SK1:a%2Fb@api.twilio.com?from=+15550100&account=AC9"), {
    endpoint: "https://api.twilio.com/2010-04-01/Accounts/AC9/Messages.json",
    user: "SK1",
    password: "a/b",
    sender: { From: "+15550100" },
  });
  const wrong: [url: string, mistake: RegExp][] = [
    ["nonsense", /expected https:/],
    ["http://AC1:secret@sms.example.com?from=1", /expected https:/],
    ["https://sms.example.com?from=1", /account and its token/],
    ["https://AC1:secret@sms.example.com", /either `from` or/],
    ["https://AC1:secret@sms.example.com?from=1&messagingService=2", /either `from` or/],
    ["https://AC1:secret@sms.example.com?form=1", /`form` is unknown/],
  ];
  for (const [url, mistake] of wrong) {
    const isRight = (error: Error) => mistake.test(error.message) && !error.message.includes("secret");
    assert.throws(() => parseSmsUrl(url), isRight);
  }
});

Deno.test("Retry-After is a number of seconds or a date, limited to an hour", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  assert.equal(readRetryAfter("120", now), 120_000);
  assert.equal(readRetryAfter("Thu, 01 Jan 2026 00:00:30 GMT", now), 30_000);
  assert.equal(readRetryAfter("Wed, 31 Dec 2025 00:00:00 GMT", now), 0);
  assert.equal(readRetryAfter("999999", now), 3_600_000);
  for (const text of ["soon", "", null]) assert.equal(readRetryAfter(text, now), null);
});
