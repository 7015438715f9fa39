import assert from "node:assert/strict";
import { sweepAttachments } from "../../../domain/notifications/attachments.ts";
import { ObjectStoreRefused, ObjectStoreUnavailable } from "../../../infra/objectstore/objectstore.ts";
import { has, invalid, pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { until } from "../../support/until.ts";
import { ALL, Uploading } from "../files/uploading.ts";
import { delivered, email, hurry, nextAttempt, path, settledDetail, to } from "./notifications.ts";
import { mailTo, setupProviders } from "./providers.ts";

const t = await setupProviders();
const { platform } = t;
const ann = await t.actor({ permissions: ["send:notifications", ...ALL] });
const uploading = new Uploading(t);
const file = await uploading.uploadAndScan(ann);
const bytes = new TextEncoder().encode("one,two\r\n");
const text = { bytes, fileName: "list.csv", contentType: "text/csv" };
const list = await uploading.uploadAndScan(ann, text);
const held = async (fileId: string) => (await ann.get(`/api/v1/files/${fileId}`)).body.referenceCount;
const isReleased = () => until(() => held(list.id), (count) => count === 0, { what: "the release" });
const send = (...fileIds: string[]) =>
  ann.post(`${path}/send`, email({ attachments: fileIds.map((fileId) => ({ fileId })) }));
const later = (...fileIds: string[]) =>
  ann.post(`${path}/schedule`, {
    notification: email({ attachments: fileIds.map((fileId) => ({ fileId })) }),
    scheduledAt: "2100-01-01T00:00:00Z",
  });

Deno.test("files of the registry are attached, also inline, and named in the detail", async () => {
  const attachments = [{ fileId: list.id, fileName: "Grüße.csv" }, { fileId: file.id, inline: true }];
  const htmlBody = `<p>See</p><img src="cid:${file.id}">`;
  const detail = await delivered(t, ann, email({ ...to("attached@x.test"), htmlBody, attachments }));
  assert.equal(detail.status, "Sent");
  assert.deepEqual(detail.attachments, [
    { fileId: list.id, fileName: "Grüße.csv", contentType: "text/csv", inline: false },
    { fileId: file.id, fileName: "report.pdf", contentType: "application/pdf", inline: true },
  ]);
  const raw = mailTo("attached@x.test")[0]?.raw ?? "";
  assert.match(raw, /Content-Disposition: attachment;\s+filename\*0\*=utf-8''Gr%C3%BC%C3%9Fe\.csv/);
  assert.match(raw, new RegExp(`Content-Id: <${file.id}>`, "i"));
  assert.match(raw, /Content-Disposition: inline;\s+filename=report\.pdf/);
  assert.ok(raw.includes(bytes.toBase64()), "the content is the uploaded content");
  await isReleased();
});

Deno.test("a direct email has attachments and a reply address", async () => {
  const mail = { to: ["direct@x.test"], cc: ["copy@x.test"], subject: "Direct", textBody: "See the file" };
  const more = { replyTo: "answers@x.test", attachments: [{ fileId: list.id }] };
  const answer = await ann.post(`${path}/email`, { ...mail, ...more });
  assert.deepEqual([answer.status, answer.body.status], [200, "Sent"]);
  const [arrived] = mailTo("direct@x.test");
  assert.deepEqual(arrived?.to, ["direct@x.test", "copy@x.test"]);
  assert.match(arrived?.raw ?? "", /^Reply-To: answers@x\.test\r$/m);
  assert.match(arrived?.raw ?? "", /filename=list\.csv/);
  await isReleased();
});

Deno.test("a file is held while its message may be sent, and cannot be purged", async () => {
  const body = await accepted(later(list.id, list.id), 200);
  assert.equal(await held(list.id), 1);
  const purge = await ann.post(`/api/v1/files/${list.id}/purge`, { reason: "test" });
  assert.equal(purge.status, 409);
  assert.match(JSON.stringify(purge.body), /notifications/);
  assert.equal((await ann.delete(`${path}/schedule/${body.notificationId}`)).status, 200);
  assert.equal(await held(list.id), 0, "cancelling releases the file");
});

Deno.test("the sweep releases the files of messages that ended while their process stopped", async () => {
  const { body } = await later(list.id);
  await sweepAttachments(platform);
  assert.equal(await held(list.id), 1, "the message can still be sent");
  await platform.sql`update notifications set status = 'Sent' where id = ${body.notificationId}`;
  await sweepAttachments(platform);
  assert.equal(await held(list.id), 0);
});

Deno.test("a mail with an attachment waits for the end of an outage of the store, and uses up no retry", async () => {
  let error: Error = new ObjectStoreUnavailable("reading an object: timeout");
  let notificationId = "";
  {
    using _ = t.replace(({ objects }) => objects, { read: () => Promise.reject(error) });
    const message = email({ ...to("outage@x.test"), attachments: [{ fileId: list.id }] });
    ({ body: { notificationId } } = await ann.post(`${path}/send`, message));
    for (let attempt = 1; attempt <= 5; attempt++) {
      const detail = await nextAttempt(t, ann, notificationId, attempt);
      assert.equal(detail.status, "Failed");
      const reason = attempt < 4 ? "does not answer." : "refuses the service (403 AccessDenied).";
      assert.equal(detail.deliveryAttempts.at(-1).errorMessage, `The object store ${reason}`);
      if (attempt === 3) error = new ObjectStoreRefused("no", 403, "AccessDenied");
    }
  }
  await hurry(t, notificationId);
  const detail = await settledDetail(t, ann, notificationId, ["Succeeded"]);
  assert.equal(detail.status, "Sent");
  assert.equal(mailTo("outage@x.test").length, 1);
});

Deno.test("a file that is infected in the meantime is not sent: the message is dead-lettered with the reason", async () => {
  const doomed = await uploading.uploadAndScan(ann);
  const { body: { notificationId } } = await later(doomed.id);
  await platform.sql`update files set status = 'Infected', signature_name = 'X' where id = ${doomed.id}`;
  await hurry(t, notificationId);
  const detail = await settledDetail(t, ann, notificationId, ["DeadLettered"]);
  has(detail, { status: "DeadLettered", deliveryAttempts: [] });
  assert.match(detail.lastError, /infected/);
});

Deno.test("unknown, unreadable and unavailable files are refused by index, and nothing is stored", async () => {
  const other = await t.actor({ permissions: ["send:notifications", ...ALL] });
  const theirs = await uploading.uploadAndScan(other);
  const scanning = await uploading.fileIn("Scanning", { tenantId: ann.tenantId });
  const purged = await uploading.fileIn("Purged", { tenantId: ann.tenantId });
  const unknown = crypto.randomUUID();
  const before = (await ann.get(path)).body.totalCount;
  const refusal = await send(list.id, theirs.id, unknown, scanning, purged);
  invalid(refusal, ...[1, 2, 3, 4].map((index) => `attachments.${index}.fileId`));
  const reasons = [1, 2, 3, 4].map((index) => refusal.body.errors[`attachments.${index}.fileId`][0]);
  assert.equal(reasons[0].replace(theirs.id, unknown), reasons[1]);
  assert.match(reasons[2], /Scanning; expected Available/);
  assert.match(reasons[3], /purged/);
  invalid(await later(unknown), "notification.attachments.0.fileId");
  const sender = await t.actor({ permissions: ["send:notifications"], tenantId: ann.tenantId ?? "" });
  const attachments = [{ fileId: list.id }];
  invalid(await sender.post(`${path}/send`, email({ attachments })), "attachments.0.fileId");
  assert.equal((await ann.get(path)).body.totalCount, before);
  assert.equal(await held(list.id), 0);
});

Deno.test("the total size of attachments is limited", async () => {
  const half = { ...text, bytes: new TextEncoder().encode("a".repeat(2_500)) };
  const big = await uploading.uploadAndScan(ann, half);
  const reason = "the files have 5000 bytes in total; expected at most 4000";
  assert.deepEqual((await send(big.id, big.id)).body.errors, { attachments: [reason] });
});

Deno.test("a message with cc and bcc is one mail that names only to and cc, and suppressions apply to both", async () => {
  const dead = { channel: "Email", address: "dead@x.test", reason: "Manual" };
  await accepted(ann.post("/api/v1/notification-suppressions", dead), 201);
  const message = email({
    recipients: [{ address: "to@x.test", displayName: "Tom" }],
    cc: to("cc@x.test", "code550@x.test").recipients,
    bcc: to("bcc@x.test", "to@x.test", "dead@x.test").recipients,
    userIds: [ann.userId],
    category: "news",
    replyTo: "answers@x.test",
  });
  const detail = await delivered(t, ann, message);
  has(detail, { status: "Sent", replyTo: "answers@x.test" });
  assert.deepEqual(pluck(detail.recipients, "address", "kind", "status").sort(), [
    [ann.email, "to", "Sent"],
    ["bcc@x.test", "bcc", "Sent"],
    ["cc@x.test", "cc", "Sent"],
    ["code550@x.test", "cc", "Refused"],
    ["dead@x.test", "bcc", "Skipped"],
    ["to@x.test", "to", "Sent"],
  ]);
  const [mail, ...more] = mailTo("to@x.test");
  assert.equal(more.length, 0);
  assert.deepEqual(mail?.to.toSorted(), ["bcc@x.test", "cc@x.test", "to@x.test", ann.email].toSorted());
  assert.match(mail?.raw ?? "", /^Cc: cc@x\.test, code550@x\.test\r$/m);
  assert.match(mail?.raw ?? "", /^Reply-To: answers@x\.test\r$/m);
  assert.doesNotMatch(mail?.raw ?? "", /bcc@x\.test|List-Unsubscribe/i);
});

Deno.test("members of mail are refused on other channels, and invalid addresses are named", async () => {
  const copy = to("ann@x.test").recipients;
  const sms = { channel: "Sms", ...to("+351912345678"), textBody: "Hi" };
  const members = { cc: copy, bcc: copy, replyTo: "a@x.test", attachments: [{ fileId: list.id }] };
  invalid(await ann.post(`${path}/send`, { ...sms, ...members }), ...Object.keys(members));
  const wrong = { cc: [...copy, { address: "nobody" }], bcc: [{ address: "none" }], replyTo: "nowhere" };
  const scheduled = { notification: email(wrong), scheduledAt: "2100-01-01T00:00:00Z" };
  const named = ["bcc.0.address", "cc.1.address", "replyTo"].map((name) => `notification.${name}`);
  invalid(await ann.post(`${path}/schedule`, scheduled), ...named);
  const bcc = Array.from({ length: 49 }, (_, n) => ({ address: `b${n}@x.test` }));
  const many = await ann.post(`${path}/send`, email({ cc: copy, bcc }));
  invalid(many, "recipients");
  assert.match(many.body.errors.recipients[0], /at most 50 recipients, found 51/);
});
