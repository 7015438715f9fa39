import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import { delivered, nextAttempt, retryOf, sent, settledDetail, templates, to } from "./notifications.ts";
import { gateways, setupProviders } from "./providers.ts";

const [first, second] = gateways;
const t = await setupProviders();
Deno.test.afterAll(() => t.stop());
const sender = await t.actor({ permissions: ["send:notifications"] });
const text = (...numbers: string[]) => ({ channel: "Sms", ...to(...numbers), textBody: "Hello" });
const clear = () => gateways.forEach((each) => (each.requested.length = 0, each.accepted.length = 0));
type Fault = (typeof first)["fault"];
/** Sends a text message while the gateways answer with these faults. */
async function sentDuring(faults: [Fault, Fault], ...numbers: string[]) {
  clear();
  [first.fault, second.fault] = faults;
  try {
    return await delivered(t, sender, text(...numbers));
  } finally {
    first.fault = second.fault = null;
  }
}

Deno.test("if the first gateway is down, the second takes the message, and both attempts are stored", async () => {
  const down = { status: 503, message: "Service Unavailable" };
  const detail = await sentDuring([down, null], "+351912345601", "+351912345602");
  assert.equal(detail.status, "Sent");
  const attempts = pluck(detail.deliveryAttempts, "providerName", "isSuccess");
  assert.deepEqual(attempts, [["sms", false], ["sms-2", true]]);
  const accepted = [["+351912345601", "MG2"], ["+351912345602", "MG2"]];
  assert.deepEqual(pluck(second.accepted, "to", "sender"), accepted);
});

Deno.test("a retry asks only for unsettled numbers, and a permanently rejected number goes to no other gateway", async () => {
  clear();
  [first.retryAfter, second.retryAfter] = ["20", "45"];
  const numbers = ["+351912345611", "+3519121211", "+3519121610", "+351912345429"];
  const id = await sent(sender, text(...numbers));
  const detail = await settledDetail(t, sender, id, ["Scheduled"]);
  assert.equal(detail.status, "Failed");
  assert.deepEqual(pluck(detail.recipients, "status"), ["Sent", "Refused", "Refused", "Owed"]);
  assert.deepEqual(first.requested.toSorted(), numbers.toSorted());
  assert.deepEqual(second.requested, ["+351912345429"]);
  const { seconds } = await retryOf(t, id);
  assert.ok(seconds > 44, `due in ${seconds} s, as the last gateway requested`);
  clear();
  await nextAttempt(t, sender, id, 4);
  assert.deepEqual([first.requested, second.requested], [["+351912345429"], ["+351912345429"]]);
  first.retryAfter = second.retryAfter = null;
});

Deno.test("no further number is sent to a gateway that asked for a delay", async () => {
  const numbers = Array.from({ length: 60 }, (_, n) => `+35191000${String(n).padStart(4, "0")}`);
  const detail = await sentDuring([{ status: 429, code: 20429, message: "Too Many" }, null], ...numbers);
  assert.equal(detail.status, "Sent");
  assert.ok(first.requested.length <= 5, `${first.requested.length} requests`);
  assert.deepEqual(pluck(second.accepted, "to").sort(), numbers);
  assert.ok(second.maxConcurrent <= 5);
});

Deno.test("a text of more than 1,600 characters is rejected after rendering", async () => {
  const template = { slug: "long-text", name: "Long text", textBodyTemplate: "{{ words }}" };
  assert.equal((await sender.post(templates, template)).status, 201);
  const templateData = { words: "x".repeat(1_700) };
  const made = { ...text("+351912345678"), textBody: undefined, templateSlug: "long-text", templateData };
  const detail = await delivered(t, sender, made);
  assert.equal(detail.status, "DeadLettered");
  assert.match(detail.deliveryAttempts[0].errorMessage, /a text message holds at most 1600/);
});

Deno.test("answers and attempts contain neither the gateway's address nor the credentials", async () => {
  const fault = { status: 401, code: 20003, message: "Authenticate" };
  const detail = JSON.stringify(await sentDuring([fault, fault], "+351912345641"));
  assert.ok(!/127\.0\.0\.1|t0ken|AC0000/.test(detail), detail);
  assert.ok(!t.logs.some((line) => line.includes("t0ken")));
});
