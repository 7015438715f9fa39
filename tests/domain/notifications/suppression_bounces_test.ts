import assert from "node:assert/strict";
import type { HeldNotification, HeldRecipient } from "../../../domain/notifications/delivery_ledger.ts";
import { bounceReason, suppressBounced } from "../../../domain/notifications/suppression_bounces.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());

const atRecipient = (errorMessage: string) =>
  bounceReason("Email", { status: "Refused", errorMessage, isRecipientError: true });
const DEAD = `
  550 5.1.1 <x@y.test>: Recipient address rejected: User unknown in virtual mailbox table
  550-5.1.1 The email account that you tried to reach does not exist.
  553 5.1.2 We weren't able to find the recipient domain
  553 5.1.3 The recipient address is not a valid RFC-5321 address.
  551 5.1.6 Mailbox has moved
  556 5.1.10 Recipient not found
  554 5.1.1 unknown
  550 No such user here
  551 User not local
  553 mailbox name not allowed`;
const ALIVE = `
  550 5.7.1 Message rejected due to policy
  552 5.2.2 Mailbox full
  550 5.2.1 Mailbox disabled, not accepting messages
  552 Requested mail action aborted: exceeded storage allocation
  554 Transaction failed
  554 5.7.26 Unauthenticated mail is prohibited
  550 5.1.8 Sender address rejected
  550 5.1.7 Bad sender's mailbox address syntax
  550 5.4.1 Recipient address rejected: Access denied
  550 5.1.11 unheard of
  451 4.1.1 not now
  the mail server could not be reached (ECONNECTION) 550 5.1.1`;

Deno.test("a rejection that reports a dead address suppresses it", () => {
  for (const answer of DEAD.trim().split(/\n */)) assert.equal(atRecipient(answer), "HardBounce", answer);
});

Deno.test("a temporary rejection, or one because of the message or its sender, suppresses nothing", () => {
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
  const { sql, log } = t.steward.platform;
  const warnings: string[] = [];
  const warned = { ...log, warn: (message: string) => void warnings.push(message) };
  const held = { id: "no id", tenantId: null, channel: "Email", isConfidential: false } as HeldNotification;
  const outcome = { recipientId: "1", status: "Refused" as const, errorMessage: "550 5.1.1 unknown" };
  const recipients = [{ id: "1", address: "gone@x.test" } as HeldRecipient];
  await suppressBounced({ sql, log: warned }, held, recipients, [{ ...outcome, isRecipientError: true }]);
  assert.deepEqual(warnings, ["a dead address could not be suppressed"]);
});
