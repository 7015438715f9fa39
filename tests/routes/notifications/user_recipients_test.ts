import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { email, path, refused, sent, settledDetail } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const bob = await t.actor({ tenantId: ann.tenantId ?? "" });
const outsider = await t.actor();
const toUsers = (userIds: unknown, change: Record<string, unknown> = {}) =>
  email({ recipients: undefined, userIds, ...change });

Deno.test("a message to users is sent over each channel to their address for it", async () => {
  await t.steward.platform.sql`update users set phone_number = '+351912345000' where id = ${bob.userId}`;
  await bob.post(`/api/v1/user-notifications/devices?userId=${bob.userId}`, { token: "bobs-device" });
  const expected = { Email: bob.email, Sms: "+351912345000", Push: "bobs-device", InApp: bob.userId };
  for (const [channel, address] of Object.entries(expected)) {
    const id = await sent(ann, toUsers([bob.userId], { channel, textBody: "Hi" }));
    const detail = await settledDetail(t, ann, id);
    assert.equal(detail.status, "Sent", `${channel}: ${detail.lastError}`);
    assert.deepEqual(detail.recipients.length, 1);
    const { userId, displayName, status, reason, deliverAfter, address: found } = detail.recipients[0];
    assert.deepEqual({ userId, displayName, status, reason, deliverAfter, address: found }, {
      userId: bob.userId,
      displayName: "Test Actor",
      status: "Sent",
      reason: null,
      deliverAfter: null,
      address,
    });
  }
  const inbox = await bob.get(`/api/v1/user-notifications?userId=${bob.userId}`);
  assert.equal(inbox.body.totalCount, 1);
});

Deno.test("users and addresses can be combined, and each person gets one message", async () => {
  const id = await sent(
    ann,
    toUsers([bob.userId, bob.userId.toUpperCase()], {
      recipients: [{ address: "stranger@x.test" }, { address: bob.email.toUpperCase() }],
    }),
  );
  const { recipients } = await settledDetail(t, ann, id);
  assert.deepEqual(recipients.map((r: { address: string }) => r.address), [
    "stranger@x.test",
    bob.email.toUpperCase(),
  ]);
});

Deno.test("users who get the same mail do not see each other", async () => {
  const id = await sent(ann, toUsers([ann.userId, bob.userId]));
  await settledDetail(t, ann, id);
  const mails = (await t.steward.platform.outbox?.list() ?? []).filter((mail) => mail.subject === "Hello");
  assert.ok(mails.some((mail) => mail.to.join() === ann.email));
  assert.ok(mails.every((mail) => !(mail.to.includes(ann.email) && mail.to.includes(bob.email))));
});

Deno.test("unknown users and users of another tenant are rejected alike, by id", async () => {
  const unknown = crypto.randomUUID();
  const answer = await ann.post(`${path}/send`, toUsers([bob.userId, outsider.userId, unknown]));
  refused(answer, 400, "VALIDATION_ERROR");
  assert.deepEqual(answer.body.errors, {
    "userIds.1": [`"${outsider.userId}" is not an active user of this tenant`],
    "userIds.2": [`"${unknown}" is not an active user of this tenant`],
  });
  const scheduled = await ann.post(`${path}/schedule`, {
    notification: toUsers([unknown]),
    scheduledAt: "2999-01-01T00:00:00Z",
  });
  assert.deepEqual(Object.keys(scheduled.body.errors), ["notification.userIds.0"]);
});

Deno.test("a message needs a recipient or a user, and user ids must be ids", async () => {
  const wrong = async (body: Record<string, unknown>, field: string) => {
    const answer = await ann.post(`${path}/send`, body);
    refused(answer, 400, "VALIDATION_ERROR");
    assert.ok(field in answer.body.errors, JSON.stringify(answer.body.errors));
  };
  await wrong(toUsers([]), "recipients");
  await wrong(email({ recipients: [] }), "recipients");
  await wrong(email({ recipients: undefined }), "recipients");
  await wrong(toUsers(["bob"]), "userIds.0");
  await wrong(toUsers("bob"), "userIds");
  await wrong(toUsers(Array.from({ length: 1_001 }, () => crypto.randomUUID())), "userIds");
});

Deno.test("a scheduled message shows the present address, and is sent to the one at its time", async () => {
  const { userId, email: before } = await t.actor({ tenantId: ann.tenantId ?? "" });
  const { body } = await ann.post(`${path}/schedule`, {
    notification: toUsers([userId]),
    scheduledAt: new Date(Date.now() + 1_000).toISOString(),
  });
  const scheduled = (await ann.get(`${path}/${body.notificationId}`)).body;
  assert.deepEqual([scheduled.status, scheduled.recipients[0].address], ["Scheduled", before]);
  await t.steward.platform.sql`update users set email = ${`new-${before}`} where id = ${userId}`;
  const detail = await settledDetail(t, ann, body.notificationId, ["Succeeded"]);
  assert.deepEqual([detail.status, detail.recipients[0].address], ["Sent", `new-${before}`]);
});
