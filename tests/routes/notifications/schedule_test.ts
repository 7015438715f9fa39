import assert from "node:assert/strict";
import { settleCancelledEarly } from "../../../domain/notifications/sweep.ts";
import { has, invalid, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { delivered, email, hurry, jobOf, path, refused, settledDetail, to } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const ann = await t.actor({ permissions: ["send:notifications"] });
const FAR = "2190-01-01T00:00:00.000Z";
const schedule = (notification: unknown = email(), scheduledAt: unknown = FAR) =>
  ann.post(`${path}/schedule`, { notification, scheduledAt });
const scheduled = async (scheduledAt = FAR): Promise<string> =>
  (await schedule(email(), scheduledAt)).body.notificationId;
const read = async (id: string) => (await ann.get(`${path}/${id}`)).body;
const cancel = (id: string, headers = {}) => ann.delete(`${path}/schedule/${id}`, headers);

Deno.test("a scheduled message waits for its time and is then sent", async () => {
  const { status, body } = await schedule();
  assert.equal(status, 200);
  has(body, { status: "Scheduled", statusDisplay: "Scheduled" });
  const id = body.notificationId;
  has(await read(id), { status: "Scheduled", scheduledAt: FAR, sentAt: null });
  assert.equal((await ann.get(`${path}/stats`)).body.scheduledNotifications, 1);
  await hurry(t, id);
  assert.equal((await settledDetail(t, ann, id)).status, "Sent");
  refused(await cancel(id), 400, "NOTIFICATION_CANNOT_CANCEL");
  const { id: unscheduled } = await delivered(t, ann, email());
  refused(await cancel(unscheduled), 400, "NOTIFICATION_CANNOT_CANCEL");
});

Deno.test("a past time is due at once, a distant one is stored", async () => {
  assert.equal((await settledDetail(t, ann, await scheduled("2020-01-01T00:00:00Z"))).status, "Sent");
  const far = await scheduled("2199-12-31T23:59:59+01:00");
  assert.equal((await read(far)).scheduledAt, "2199-12-31T22:59:59.000Z");
});

Deno.test("a cancelled message is never sent, and of simultaneous cancellations one succeeds", async () => {
  const id = await scheduled();
  const answers = await Promise.all(Array.from({ length: 8 }, () => cancel(id)));
  const [done, ...others] = answers.toSorted((a, b) => a.status - b.status);
  const body = { notificationId: id, status: "Cancelled", statusDisplay: "Cancelled" };
  has(done, { status: 200, body });
  for (const answer of others) refused(answer, 400, "NOTIFICATION_ALREADY_CANCELLED");
  refused(await ann.post(`${path}/${id}/retry`), 400, "NOTIFICATION_CANNOT_RETRY");
  const [job] = await platform.sql`select status from jobs where id = ${await jobOf(t, id)}`;
  assert.equal(job?.status, "Cancelled");
});

Deno.test("the sweep cancels a message whose job was cancelled long before its time", async () => {
  const [id, kept] = [await scheduled(), await scheduled()];
  assert.equal((await ann.post(`/api/v1/jobs/${await jobOf(t, id)}/cancel`)).status, 200);
  assert.equal((await settleCancelledEarly(platform)).rows, 1);
  assert.deepEqual(pluck([await read(id), await read(kept)], "status"), ["Cancelled", "Scheduled"]);
  refused(await cancel(id), 400, "NOTIFICATION_ALREADY_CANCELLED");
  assert.equal((await settleCancelledEarly(platform)).rows, 0);
});

Deno.test("If-Match binds a cancellation to the version that was read", async () => {
  const id = await scheduled();
  const seen = (await ann.get(`${path}/${id}`)).headers.get("etag") ?? assert.fail("no ETag");
  refused(await cancel(id, { "if-match": '"another"' }), 412, "PRECONDITION_FAILED");
  assert.equal((await read(id)).status, "Scheduled");
  const both = await Promise.all([1, 2].map(() => cancel(id, { "if-match": seen })));
  assert.deepEqual(pluck(both, "status").sort(), [200, 412]);
  assert.notEqual((await ann.get(`${path}/${id}`)).headers.get("etag"), seen);
});

Deno.test("a message cancelled at its due time is either cancelled or sent, never both", async () => {
  for (let round = 0; round < 5; round++) {
    const id = await scheduled();
    const [, answer] = await Promise.all([hurry(t, id), cancel(id)]);
    if (answer.status === 200) has(await read(id), { status: "Cancelled", deliveryAttempts: [] });
    else {
      refused(answer, 400, "NOTIFICATION_CANNOT_CANCEL");
      has(await settledDetail(t, ann, id), { status: "Sent", deliveryAttempts: [{ isSuccess: true }] });
    }
  }
});

Deno.test("schedule rejects what send rejects, and an invalid time", async () => {
  for (const time of ["soon", null]) invalid(await schedule(email(), time), "scheduledAt");
  invalid(await schedule(email(to("nobody"))), "notification.recipients.0.address");
  invalid(await schedule(email({ templateSlug: "none", locale: "!!" })), "notification.locale");
  refused(await schedule(email({ templateSlug: "none" })), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});
