import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import {
  email,
  hurry,
  jobOf,
  nextAttempt,
  path,
  refused,
  retryOf,
  sent,
  settledDetail,
  to,
} from "./notifications.ts";
import { answers, mailNetwork, mailsOf, receiver, setupProviders } from "./providers.ts";

const t = await setupProviders();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const ann = await t.actor({ permissions: ["send:notifications"] });
const accept = (address: string) => answers.set(address, "250 ok");
const statuses = (detail: { recipients: { address: string; status: string }[] }) =>
  Object.fromEntries(pluck(detail.recipients, "address", "status"));
const direct = (more: Record<string, unknown>) =>
  ann.post(`${path}/email`, { subject: "S", htmlBody: "<p>x</p>", ...more });
/** Lets the outage of a message's server begin earlier. */
const outageSince = (id: string, hours: number) =>
  sql`update jobs set outage_since = now() - make_interval(hours => ${hours})
    where id = (select job_id from notifications where id = ${id})`;
Deno.test("while a mail server is down, attempts repeat with growing delays and without a limit", async () => {
  await mailNetwork.refuse();
  const id = await sent(ann, email(to("patient@x.test")));
  const first = await settledDetail(t, ann, id, ["Failed"]);
  assert.match(first.lastError, /could not be reached/);
  for (let attempts = 2; attempts <= 4; attempts++) await nextAttempt(t, ann, id, attempts);
  const owed = [{ status: "Owed" }];
  has(await nextAttempt(t, ann, id, 5), { status: "Failed", retryCount: 0, recipients: owed });
  await outageSince(id, 20);
  await nextAttempt(t, ann, id, 6);
  await settledDetail(t, ann, id, ["Failed"]);
  const { failures, seconds } = await retryOf(t, id);
  assert.equal(failures, 0);
  assert.ok(seconds > 200 && seconds < 400, `next attempt in ${seconds} s`);
  await mailNetwork.pass();
  await nextAttempt(t, ann, id, 7);
  const detail = await settledDetail(t, ann, id, ["Succeeded"]);
  has(detail, { status: "Sent", retryCount: 0, lastError: null });
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("an unreachable mail server is reported without its address; the log has the address", async () => {
  await mailNetwork.refuse();
  const answer = await direct({ to: ["a@x.test"] });
  await mailNetwork.pass();
  refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(answer.body.detail, /the mail server could not be reached \(ESOCKET\)/);
  const [listed] = (await ann.get(path)).body.items;
  const recorded = JSON.stringify((await ann.get(`${path}/${listed.id}`)).body);
  assert.ok(!recorded.includes("127.0.0.1"), recorded);
  assert.ok(t.logs.some((line) => line.includes(`127.0.0.1:${mailNetwork.port}`)));
});

Deno.test("a temporary rejection is retried for a day, then three times with the same Message-ID, then dead-lettered", async () => {
  const id = await sent(ann, email(to("code451@x.test")));
  await settledDetail(t, ann, id, ["Failed"]);
  assert.equal((await retryOf(t, id)).failures, 0);
  await outageSince(id, 25);
  for (const retryCount of [0, 1, 2]) {
    const detail = await nextAttempt(t, ann, id, retryCount + 2);
    has(detail, { status: "Failed", retryCount });
    assert.match(detail.lastError, /451/);
  }
  await nextAttempt(t, ann, id, 5);
  const detail = await settledDetail(t, ann, id, ["DeadLettered"]);
  has(detail, { status: "DeadLettered", retryCount: 3, maxRetries: 3 });
  const attempts = pluck(detail.deliveryAttempts, "attemptNumber", "isSuccess");
  assert.deepEqual(attempts, [1, 2, 3, 4, 5].map((number) => [number, false]));
  assert.ok(pluck(detail.deliveryAttempts, "errorMessage").every((reason) => reason));

  accept("code451@x.test");
  has(await ann.post(`${path}/${id}/retry`), { status: 200, body: { status: "Queued" } });
  has(await settledDetail(t, ann, id), { status: "Sent", retryCount: 0, lastError: null });
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("a retry asks only for recipients without a final outcome", async () => {
  const id = await sent(ann, email(to("ok1@x.test", "code450@x.test", "code550@x.test", "ok2@x.test")));
  const first = await settledDetail(t, ann, id, ["Failed"]);
  assert.equal(first.status, "Failed");
  const sentTwo = { "ok1@x.test": "Sent", "code550@x.test": "Refused", "ok2@x.test": "Sent" };
  assert.deepEqual(statuses(first), { ...sentTwo, "code450@x.test": "Owed" });
  accept("code450@x.test");
  await hurry(t, id);
  const second = await settledDetail(t, ann, id, ["Succeeded"]);
  assert.equal(second.status, "Sent");
  assert.deepEqual(statuses(second), { ...sentTwo, "code450@x.test": "Sent" });
  assert.match(second.recipients[2].errorMessage, /550/);
  assert.deepEqual(pluck(mailsOf(id), "to"), [["ok1@x.test", "ok2@x.test"], ["code450@x.test"]]);
});

Deno.test("a message whose recipients all rejected it is not retried automatically; of simultaneous manual retries one succeeds", async () => {
  const id = await sent(ann, email(to("code554@x.test")));
  const detail = await settledDetail(t, ann, id);
  has(detail, { status: "DeadLettered", retryCount: 0, deliveryAttempts: [{ isSuccess: false }] });
  accept("code554@x.test");
  const retries = await Promise.all(Array.from({ length: 6 }, () => ann.post(`${path}/${id}/retry`)));
  assert.deepEqual(pluck(retries, "status").sort(), [200, 400, 400, 400, 400, 400]);
  // the first attempt may find the row locked by the others and give up
  assert.equal((await settledDetail(t, ann, id, ["Succeeded"])).status, "Sent");
  assert.equal(mailsOf(id).length, 1);
  refused(await ann.post(`${path}/${id}/retry`), 400, "NOTIFICATION_CANNOT_RETRY");
});

Deno.test("retrying a dead-lettered delivery job asks again only for recipients without the message", async () => {
  const id = await sent(ann, email(to("code556@x.test")));
  assert.equal((await settledDetail(t, ann, id)).status, "DeadLettered");
  accept("code556@x.test");
  const { items } = (await ann.get("/api/v1/dead-letter-jobs?pageSize=100")).body;
  const jobId = await jobOf(t, id);
  const entry = items.find((item: { jobId: string }) => item.jobId === jobId);
  const again = await ann.post(`/api/v1/dead-letter-jobs/${entry.id}/retry`);
  assert.equal(again.status, 200);
  assert.equal(await t.settled(again.body.id), "Succeeded");
  has((await ann.get(`${path}/${id}`)).body, { status: "Sent", recipients: [{ status: "Sent" }] });
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("a direct email returns the mail server's answer, and is stored in every case", async () => {
  const copies = { cc: ["b@x.test"], bcc: ["c@x.test"] };
  const ok = await direct({ to: ["a@x.test"], ...copies, fromAddress: "ann@steward.test", fromName: "Ann" });
  assert.deepEqual([ok.status, ok.body.status], [200, "Sent"]);
  const [mail] = mailsOf(ok.body.notificationId);
  assert.deepEqual(mail?.to, ["a@x.test", "b@x.test", "c@x.test"]);
  assert.match(mail?.raw ?? "", /^From: Ann <ann@steward.test>\r?$/m);
  assert.match(mail?.raw ?? "", /^Cc: b@x.test\r?$/m);
  assert.ok(!mail?.raw.includes("c@x.test"), "blind copies stay blind");
  const recipients = ["to", "cc", "bcc"].map((kind) => ({ kind }));
  const detail = (await ann.get(`${path}/${ok.body.notificationId}`)).body;
  has(detail, { fromAddress: "ann@steward.test", recipients });

  const failed = await direct({ to: ["code552@x.test"] });
  refused(failed, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(failed.body.detail, /552 refused as asked/);
  const [listed] = (await ann.get(`${path}?status=Failed`)).body.items;
  assert.ok(failed.body.detail.includes(listed.id));
  has((await ann.get(`${path}/${listed.id}`)).body, { deliveryAttempts: [{ isSuccess: false }] });
  accept("code552@x.test");
  assert.equal((await ann.post(`${path}/${listed.id}/retry`)).status, 200);
  assert.equal((await settledDetail(t, ann, listed.id)).status, "Sent");
});

Deno.test("a direct email can be sent only from the service's own domain", async () => {
  const before = receiver.received.length;
  const from = (fromAddress: string) => direct({ to: ["a@x.test"], fromAddress });
  const others = "x.test mail.steward.test steward.test.x.test xsteward.test test localhost";
  for (const domain of others.split(" ")) {
    const answer = await from(`ceo@${domain}`);
    invalid(answer, "fromAddress");
    assert.match(answer.body.errors.fromAddress[0], /steward\.test/);
  }
  assert.equal(receiver.received.length, before);
  assert.equal((await from("news@STEWARD.TEST")).status, 200);
});

Deno.test("a job finishes a direct email for recipients that were rejected temporarily", async () => {
  const { status, body } = await direct({ to: ["a@x.test", "code452@x.test"] });
  assert.deepEqual([status, body.status], [200, "Failed"]);
  accept("code452@x.test");
  await hurry(t, body.notificationId);
  assert.equal((await settledDetail(t, ann, body.notificationId)).status, "Sent");
  assert.deepEqual(pluck(mailsOf(body.notificationId), "to"), [["a@x.test"], ["code452@x.test"]]);
});

Deno.test("a direct email needs recipients that are addresses, and a body", async () => {
  const cases: [Record<string, unknown>, ...string[]][] = [
    [{ to: ["a@x.test", "nobody"], cc: ["x y"] }, "to.1", "cc.0"],
    [{ to: [] }, "to"],
    [{ to: ["a@x.test"], subject: undefined, htmlBody: undefined }, "subject"],
    [{ to: ["a@x.test"], fromAddress: "me" }, "fromAddress"],
  ];
  for (const [message, ...members] of cases) invalid(await direct(message), ...members);
});
