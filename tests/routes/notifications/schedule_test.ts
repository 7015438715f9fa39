import assert from "node:assert/strict";
import { settleCancelledEarly } from "../../../domain/notifications/sweep.ts";
import { setupShared } from "../../support/setup.ts";
import { email, hurry, jobOf, path, refused, settledDetail, templates } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const schedule = (scheduledAt: unknown, notification: unknown = email()) =>
  ann.post(`${path}/schedule`, { notification, scheduledAt });
const stats = async () => (await ann.get(`${path}/stats`)).body;

Deno.test("a scheduled message waits for its time and is then sent", async () => {
  const scheduledAt = inAnHour();
  const answer = await schedule(scheduledAt);
  assert.equal(answer.status, 200);
  assert.deepEqual([answer.body.status, answer.body.statusDisplay], ["Scheduled", "Scheduled"]);
  const id = answer.body.notificationId;
  const waiting = (await ann.get(`${path}/${id}`)).body;
  assert.deepEqual([waiting.status, waiting.scheduledAt, waiting.sentAt], ["Scheduled", scheduledAt, null]);
  assert.equal((await stats()).scheduledNotifications, 1);
  await hurry(t, id);
  assert.equal((await settledDetail(t, ann, id)).status, "Sent");
  refused(await ann.delete(`${path}/schedule/${id}`), 400, "NOTIFICATION_CANNOT_CANCEL");
});

Deno.test("a past time is due at once, a distant one is stored", async () => {
  const past = (await schedule("2020-01-01T00:00:00Z")).body;
  assert.equal(past.status, "Scheduled");
  assert.equal((await settledDetail(t, ann, past.notificationId)).status, "Sent");
  const far = (await schedule("2199-12-31T23:59:59+01:00")).body.notificationId;
  assert.equal((await ann.get(`${path}/${far}`)).body.scheduledAt, "2199-12-31T22:59:59.000Z");
});

Deno.test("a cancelled message is never sent, and can be cancelled only once", async () => {
  const id = (await schedule(inAnHour())).body.notificationId;
  const cancelled = await ann.delete(`${path}/schedule/${id}`);
  assert.equal(cancelled.status, 200);
  assert.deepEqual(cancelled.body, { notificationId: id, status: "Cancelled", statusDisplay: "Cancelled" });
  refused(await ann.delete(`${path}/schedule/${id}`), 400, "NOTIFICATION_ALREADY_CANCELLED");
  refused(await ann.post(`${path}/${id}/retry`), 400, "NOTIFICATION_CANNOT_RETRY");
  const [job] = await t.steward.platform.sql`select status from jobs where id = ${await jobOf(t, id)}`;
  assert.equal(job?.status, "Cancelled");
});

Deno.test("the sweep cancels a message whose job was cancelled long before its time", async () => {
  const { platform } = t.steward;
  const [id, kept] = [(await schedule(inAnHour())).body.notificationId, (await schedule(inAnHour())).body];
  assert.equal((await ann.post(`/api/v1/jobs/${await jobOf(t, id)}/cancel`)).status, 200);
  assert.equal((await settleCancelledEarly(platform)).rows, 1);
  assert.equal((await ann.get(`${path}/${id}`)).body.status, "Cancelled");
  assert.equal((await ann.get(`${path}/${kept.notificationId}`)).body.status, "Scheduled");
  refused(await ann.delete(`${path}/schedule/${id}`), 400, "NOTIFICATION_ALREADY_CANCELLED");
  assert.equal((await settleCancelledEarly(platform)).rows, 0);
});

Deno.test("If-Match binds a cancellation to the version that was read", async () => {
  const id = (await schedule(inAnHour())).body.notificationId;
  const etag = async () => (await ann.get(`${path}/${id}`)).headers.get("etag") ?? assert.fail("no ETag");
  const seen = await etag();
  assert.equal(await etag(), seen, "it stays while nothing changes");
  const cancel = (tag: string, which = id) => ann.delete(`${path}/schedule/${which}`, { "if-match": tag });
  refused(await cancel('"another"'), 412, "PRECONDITION_FAILED");
  refused(await cancel(seen, crypto.randomUUID()), 404, "NOTIFICATION_NOT_FOUND");
  assert.equal((await ann.get(`${path}/${id}`)).body.status, "Scheduled");
  const both = await Promise.all([cancel(seen), cancel(seen)]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412]);
  assert.notEqual(await etag(), seen);
});

Deno.test("of simultaneous cancellations one succeeds", async () => {
  const id = (await schedule(inAnHour())).body.notificationId;
  const answers = await Promise.all(Array.from({ length: 8 }, () => ann.delete(`${path}/schedule/${id}`)));
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
  for (const answer of answers.filter((answer) => answer.status !== 200)) {
    refused(answer, 400, "NOTIFICATION_ALREADY_CANCELLED");
  }
});

Deno.test("a message cancelled at its due time is either cancelled or sent, never both", async () => {
  for (let round = 0; round < 20; round++) {
    const id = (await schedule(inAnHour())).body.notificationId;
    const [, answer] = await Promise.all([hurry(t, id), ann.delete(`${path}/schedule/${id}`)]);
    if (answer.status !== 200) await t.settled(await jobOf(t, id));
    const { status, deliveryAttempts } = (await ann.get(`${path}/${id}`)).body;
    if (answer.status === 200) assert.deepEqual([status, deliveryAttempts.length], ["Cancelled", 0]);
    else {
      refused(answer, 400, "NOTIFICATION_CANNOT_CANCEL");
      assert.deepEqual([status, deliveryAttempts.length], ["Sent", 1]);
    }
  }
});

Deno.test("unscheduled messages cannot be cancelled, unknown ones are not found", async () => {
  const { notificationId } = (await ann.post(`${path}/send`, email())).body;
  await settledDetail(t, ann, notificationId);
  refused(await ann.delete(`${path}/schedule/${notificationId}`), 400, "NOTIFICATION_CANNOT_CANCEL");
  refused(await ann.delete(`${path}/schedule/${crypto.randomUUID()}`), 404, "NOTIFICATION_NOT_FOUND");
  refused(await ann.delete(`${path}/schedule/none`), 400, "VALIDATION_ERROR");
});

Deno.test("schedule rejects what send rejects, and an invalid time", async () => {
  refused(await schedule("soon"), 400, "VALIDATION_ERROR");
  refused(await schedule(undefined), 400, "VALIDATION_ERROR");
  const answer = await schedule(inAnHour(), email({ recipients: [{ address: "nobody" }] }));
  refused(answer, 400, "VALIDATION_ERROR");
  assert.deepEqual(Object.keys(answer.body.errors), ["notification.recipients.0.address"]);
  const inNoLanguage = await schedule(inAnHour(), email({ templateSlug: "none", locale: "!!" }));
  assert.deepEqual(Object.keys(inNoLanguage.body.errors), ["notification.locale"]);
  refused(
    await schedule(inAnHour(), email({ templateSlug: "none" })),
    404,
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
  );
});

Deno.test("a message has the content of its template at acceptance, even if the template changes or is deleted", async () => {
  const of = (word: string) => ({ subjectTemplate: `${word} {{ name }}`, requiredVariables: "name" });
  const made = await ann.post(templates, { slug: "kept", name: "Kept", locale: "pt", ...of("First") });
  const template = `${templates}/${made.body.id}`;
  const body = {
    subject: null,
    htmlBody: null,
    templateSlug: "kept",
    locale: "pt",
    templateData: { name: "Ann" },
  };
  const accepted = async () => (await schedule(inAnHour(), email(body))).body.notificationId;
  const first = await accepted();
  const waiting = (await ann.get(`${path}/${first}`)).body;
  assert.deepEqual([waiting.templateVersion, waiting.templateLocale, waiting.subject], [1, "pt", null]);
  const change = { templateId: made.body.id, ...of("Second"), requiredVariables: "name,age" };
  assert.equal((await ann.put(template, change)).status, 200);
  refused(await schedule(inAnHour(), email(body)), 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
  body.templateData = { name: "Ann", age: 9 } as typeof body.templateData;
  const second = await accepted();
  await ann.delete(template);
  await ann.post(templates, { slug: "kept", name: "Other", locale: "pt", ...of("Third") });
  const third = await accepted();
  const said = await Promise.all([first, second, third].map(async (id) => {
    await hurry(t, id);
    const { status, subject, templateVersion, templateLocale } = await settledDetail(t, ann, id);
    return [status, subject, templateVersion, templateLocale];
  }));
  assert.deepEqual(said, [
    ["Sent", "First Ann", 1, "pt"],
    ["Sent", "Second Ann", 2, "pt"],
    ["Sent", "Third Ann", 1, "pt"],
  ]);
});
