import assert from "node:assert/strict";
import { sweepAttachments } from "../../../domain/notifications/attachments.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { ALL, Uploading } from "../files/uploading.ts";
import { email, hurry, path, refused, sent, settledDetail } from "./notifications.ts";

const receiver = await startReceiver();
const t = await setup({ SMTP_URL: receiver.url, NOTIFICATION_ATTACHMENTS_MAX_BYTES: "4000" });
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver[Symbol.asyncDispose]();
});
const ann = await t.actor({ permissions: ["send:notifications", ...ALL] });
const uploading = new Uploading(t);
const file = await uploading.uploadAndScan(ann);
const text = {
  bytes: new TextEncoder().encode("one,two\r\n"),
  fileName: "list.csv",
  contentType: "text/csv",
};
const list = await uploading.uploadAndScan(ann, text);
const held = async (fileId: string): Promise<number> =>
  (await ann.get(`/api/v1/files/${fileId}`)).body.referenceCount;
const later = (notification: Record<string, unknown>) =>
  ann.post(`${path}/schedule`, { notification, scheduledAt: "2100-01-01T00:00:00Z" });

Deno.test("files of the registry are attached, also inline, and named in the detail", async () => {
  const attachments = [{ fileId: list.id, fileName: "Grüße.csv" }, { fileId: file.id, inline: true }];
  const htmlBody = `<p>See</p><img src="cid:${file.id}">`;
  const id = await sent(ann, email({ recipients: [{ address: "attached@x.test" }], htmlBody, attachments }));
  const detail = await settledDetail(t, ann, id);
  assert.equal(detail.status, "Sent");
  assert.deepEqual(detail.attachments, [
    { fileId: list.id, fileName: "Grüße.csv", contentType: "text/csv", inline: false },
    { fileId: file.id, fileName: "report.pdf", contentType: "application/pdf", inline: true },
  ]);
  const raw = receiver.received.find(({ to }) => to.includes("attached@x.test"))?.raw ?? "";
  assert.match(raw, /Content-Disposition: attachment;\s+filename\*0\*=utf-8''Gr%C3%BC%C3%9Fe\.csv/);
  assert.match(raw, new RegExp(`Content-Id: <${file.id}>`, "i"));
  assert.match(raw, /Content-Disposition: inline;\s+filename=report\.pdf/);
  assert.ok(raw.includes(new Uint8Array(text.bytes).toBase64()), "the content is the uploaded content");
  await until(() => held(list.id), (count) => count === 0, { what: "the release after the mail was sent" });
});

Deno.test("a direct email has attachments and a reply address", async () => {
  const answer = await ann.post(`${path}/email`, {
    to: ["direct@x.test"],
    cc: ["copy@x.test"],
    subject: "Direct",
    textBody: "See the file",
    replyTo: "answers@x.test",
    attachments: [{ fileId: list.id }],
  });
  assert.deepEqual([answer.status, answer.body.status], [200, "Sent"]);
  const mail = receiver.received.find(({ to }) => to.includes("direct@x.test"));
  assert.deepEqual(mail?.to, ["direct@x.test", "copy@x.test"]);
  assert.match(mail?.raw ?? "", /^Reply-To: answers@x\.test\r$/m);
  assert.match(mail?.raw ?? "", /filename=list\.csv/);
  await until(() => held(list.id), (count) => count === 0, { what: "the release after the mail was sent" });
});

Deno.test("a file is held while its message may be sent, and cannot be purged", async () => {
  const { status, body } = await later(email({ attachments: [{ fileId: list.id }, { fileId: list.id }] }));
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(await held(list.id), 1);
  const purge = await ann.post(`/api/v1/files/${list.id}/purge`, { reason: "test" });
  assert.equal(purge.status, 409);
  assert.match(JSON.stringify(purge.body), /notifications/);
  assert.equal((await ann.delete(`${path}/schedule/${body.notificationId}`)).status, 200);
  assert.equal(await held(list.id), 0, "cancelling releases the file");
});

Deno.test("the sweep releases the files of messages that ended while their process stopped", async () => {
  const { body } = await later(email({ attachments: [{ fileId: list.id }] }));
  const { sql } = t.steward.platform;
  await sweepAttachments(t.steward.platform);
  assert.equal(await held(list.id), 1, "the message can still be sent");
  await sql`update notifications set status = 'Sent' where id = ${body.notificationId}`;
  await sweepAttachments(t.steward.platform);
  assert.equal(await held(list.id), 0);
});

Deno.test("a file that is infected in the meantime is not sent: the message is dead-lettered with the reason", async () => {
  const doomed = await uploading.uploadAndScan(ann);
  const { body } = await later(email({ attachments: [{ fileId: doomed.id }] }));
  await t.steward.platform
    .sql`update files set status = 'Infected', signature_name = 'X' where id = ${doomed.id}`;
  await hurry(t, body.notificationId);
  const detail = await settledDetail(t, ann, body.notificationId, ["DeadLettered"]);
  assert.deepEqual([detail.status, detail.deliveryAttempts], ["DeadLettered", []]);
  assert.match(detail.lastError, /infected/);
});

Deno.test("unknown, unreadable and unavailable files are refused by index, and nothing is stored", async () => {
  const other = await t.actor({ permissions: ["send:notifications", ...ALL] });
  const theirs = await uploading.uploadAndScan(other);
  const scanning = await uploading.fileIn("Scanning", { tenantId: ann.tenantId });
  const purged = await uploading.fileIn("Purged", { tenantId: ann.tenantId });
  const unknown = crypto.randomUUID();
  const before = (await ann.get(path)).body.totalCount;
  const fileIds = [list.id, theirs.id, unknown, scanning, purged];
  const refusal = await ann.post(
    `${path}/send`,
    email({ attachments: fileIds.map((fileId) => ({ fileId })) }),
  );
  refused(refusal, 400, "VALIDATION_ERROR");
  const { errors } = refusal.body;
  assert.deepEqual(Object.keys(errors), [1, 2, 3, 4].map((index) => `attachments.${index}.fileId`));
  assert.equal(
    errors["attachments.1.fileId"][0].replace(theirs.id, unknown),
    errors["attachments.2.fileId"][0],
  );
  assert.match(errors["attachments.3.fileId"][0], /Scanning; expected Available/);
  assert.match(errors["attachments.4.fileId"][0], /purged/);
  const scheduled = await later(email({ attachments: [{ fileId: unknown }] }));
  assert.deepEqual(Object.keys(scheduled.body.errors), ["notification.attachments.0.fileId"]);
  const sender = await t.actor({ permissions: ["send:notifications"], tenantId: ann.tenantId ?? "" });
  refused(
    await sender.post(`${path}/send`, email({ attachments: [{ fileId: list.id }] })),
    400,
    "VALIDATION_ERROR",
  );
  assert.equal((await ann.get(path)).body.totalCount, before);
  assert.equal(await held(list.id), 0);
});

Deno.test("the number and the total size of attachments are limited", async () => {
  const many = await ann.post(
    `${path}/send`,
    email({ attachments: Array.from({ length: 21 }, () => ({ fileId: list.id })) }),
  );
  refused(many, 400, "VALIDATION_ERROR");
  const big = await uploading.uploadAndScan(ann, {
    ...text,
    bytes: new TextEncoder().encode("a".repeat(2_500)),
  });
  const large = await ann.post(
    `${path}/send`,
    email({ attachments: [{ fileId: big.id }, { fileId: big.id }] }),
  );
  refused(large, 400, "VALIDATION_ERROR");
  assert.deepEqual(large.body.errors, {
    attachments: ["the files have 5000 bytes in total; expected at most 4000"],
  });
});

Deno.test("a message with cc and bcc is one mail that names only to and cc", async () => {
  const id = await sent(
    ann,
    email({
      recipients: [{ address: "to@x.test", displayName: "Tom" }],
      cc: [{ address: "cc@x.test" }, { address: "code550@x.test" }],
      bcc: [{ address: "bcc@x.test" }, { address: "to@x.test" }],
      userIds: [ann.userId],
      category: "news",
      replyTo: "answers@x.test",
    }),
  );
  const detail = await settledDetail(t, ann, id);
  assert.equal(detail.status, "Sent");
  assert.equal(detail.replyTo, "answers@x.test");
  const outcomes = Object.fromEntries(
    detail.recipients.map((
      r: { address: string; kind: string; status: string },
    ) => [r.address, [r.kind, r.status]]),
  );
  assert.deepEqual(outcomes, {
    "to@x.test": ["to", "Sent"],
    [ann.email]: ["to", "Sent"],
    "cc@x.test": ["cc", "Sent"],
    "code550@x.test": ["cc", "Refused"],
    "bcc@x.test": ["bcc", "Sent"],
  });
  const mails = receiver.received.filter(({ to }) => to.includes("to@x.test"));
  assert.equal(mails.length, 1);
  assert.deepEqual(mails[0]?.to.toSorted(), ["bcc@x.test", "cc@x.test", "to@x.test", ann.email].toSorted());
  const raw = mails[0]?.raw ?? "";
  assert.match(raw, /^Cc: cc@x\.test, code550@x\.test\r$/m);
  assert.match(raw, /^Reply-To: answers@x\.test\r$/m);
  assert.doesNotMatch(raw, /bcc@x\.test/);
  assert.doesNotMatch(raw, /List-Unsubscribe/i);
});

Deno.test("suppressions apply to cc and bcc", async () => {
  const suppressed = { channel: "Email", address: "dead@x.test", reason: "Manual" };
  assert.equal((await ann.post("/api/v1/notification-suppressions", suppressed)).status, 201);
  const copies = { cc: [{ address: "alive@x.test" }], bcc: [{ address: "dead@x.test" }] };
  const id = await sent(ann, email({ recipients: [{ address: "first@x.test" }], ...copies }));
  const { recipients } = await settledDetail(t, ann, id);
  assert.deepEqual(recipients.map((r: { status: string }) => r.status), ["Sent", "Sent", "Skipped"]);
  assert.deepEqual(receiver.received.find(({ to }) => to.includes("first@x.test"))?.to, [
    "first@x.test",
    "alive@x.test",
  ]);
});

Deno.test("members of mail are refused on other channels, and invalid addresses are named", async () => {
  const copy = [{ address: "ann@x.test" }];
  const sms = { channel: "Sms", recipients: [{ address: "+351912345678" }], textBody: "Hi" };
  const answer = await ann.post(`${path}/send`, {
    ...sms,
    cc: copy,
    bcc: copy,
    replyTo: "a@x.test",
    attachments: [{ fileId: list.id }],
  });
  refused(answer, 400, "VALIDATION_ERROR");
  assert.deepEqual(Object.keys(answer.body.errors), ["cc", "bcc", "replyTo", "attachments"]);
  const wrong = await later(
    email({ cc: [...copy, { address: "nobody" }], bcc: [{ address: "none" }], replyTo: "nowhere" }),
  );
  refused(wrong, 400, "VALIDATION_ERROR");
  assert.deepEqual(Object.keys(wrong.body.errors).toSorted(), [
    "notification.bcc.0.address",
    "notification.cc.1.address",
    "notification.replyTo",
  ]);
  const many = await ann.post(
    `${path}/send`,
    email({ cc: copy, bcc: Array.from({ length: 49 }, (_, n) => ({ address: `b${n}@x.test` })) }),
  );
  refused(many, 400, "VALIDATION_ERROR");
  assert.match(many.body.errors.recipients[0], /at most 50 recipients, found 51/);
});
