import assert from "node:assert/strict";
import { has, invalid, nulls, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { delivered, email, hurry, path, settledDetail, to } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const ann = await t.actor({ permissions: ["send:notifications"] });
const bob = await t.actor({ tenantId: ann.tenantId ?? "" });
const toUsers = (userIds: unknown, change: Record<string, unknown> = {}) =>
  email({ recipients: undefined, userIds, ...change });

Deno.test("a message to users is sent over each channel to their address for it", async () => {
  await sql`update users set phone_number = '+351912345000' where id = ${bob.userId}`;
  await bob.post(`/api/v1/user-notifications/devices?userId=${bob.userId}`, { token: "bobs-device" });
  const expected = { Email: bob.email, Sms: "+351912345000", Push: "bobs-device", InApp: bob.userId };
  for (const [channel, address] of Object.entries(expected)) {
    const detail = await delivered(t, ann, toUsers([bob.userId], { channel, textBody: "Hi" }));
    const recipient = { address, userId: bob.userId, displayName: "Test Actor", status: "Sent" };
    has(detail, { status: "Sent", recipients: [{ ...recipient, ...nulls("reason deliverAfter") }] }, channel);
  }
  const inbox = await bob.get(`/api/v1/user-notifications?userId=${bob.userId}`);
  assert.equal(inbox.body.totalCount, 1);
});

Deno.test("users and addresses can be combined, and each person gets one message", async () => {
  const addresses = ["stranger@x.test", bob.email.toUpperCase()];
  const userIds = [bob.userId, bob.userId.toUpperCase()];
  const { recipients } = await delivered(t, ann, toUsers(userIds, to(...addresses)));
  assert.deepEqual(pluck(recipients, "address"), addresses);
});

Deno.test("users who get the same mail do not see each other", async () => {
  await delivered(t, ann, toUsers([ann.userId, bob.userId], { subject: "Apart" }));
  const mails = (await t.steward.platform.outbox?.list() ?? []).filter(({ subject }) => subject === "Apart");
  assert.deepEqual(pluck(mails, "to").sort(), [[ann.email], [bob.email]].sort());
});

Deno.test("unknown users and users of another tenant are rejected alike, by id", async () => {
  const { userId } = await t.actor();
  const unknown = crypto.randomUUID();
  const answer = await ann.post(`${path}/send`, toUsers([bob.userId, userId, unknown]));
  invalid(answer, "userIds.1", "userIds.2");
  assert.deepEqual(answer.body.errors, {
    "userIds.1": [`"${userId}" is not an active user of this tenant`],
    "userIds.2": [`"${unknown}" is not an active user of this tenant`],
  });
  const later = { notification: toUsers([unknown]), scheduledAt: "2999-01-01T00:00:00Z" };
  invalid(await ann.post(`${path}/schedule`, later), "notification.userIds.0");
});

Deno.test("a message needs a recipient or a user, and user ids must be ids", async () => {
  const many = Array.from({ length: 1_001 }, () => crypto.randomUUID());
  const cases = [[[], "recipients"], [["bob"], "userIds.0"], [many, "userIds"]] as const;
  for (const [ids, member] of cases) invalid(await ann.post(`${path}/send`, toUsers(ids)), member);
});

Deno.test("a scheduled message shows the present address, and is sent to the one at its time", async () => {
  const { userId, email: before } = await t.actor({ tenantId: ann.tenantId ?? "" });
  const later = { notification: toUsers([userId]), scheduledAt: "2190-01-01T00:00:00Z" };
  const { notificationId } = (await ann.post(`${path}/schedule`, later)).body;
  const scheduled = (await ann.get(`${path}/${notificationId}`)).body;
  has(scheduled, { status: "Scheduled", recipients: [{ address: before }] });
  await sql`update users set email = ${`new-${before}`} where id = ${userId}`;
  await hurry(t, notificationId);
  const detail = await settledDetail(t, ann, notificationId, ["Succeeded"]);
  has(detail, { status: "Sent", recipients: [{ address: `new-${before}` }] });
});
