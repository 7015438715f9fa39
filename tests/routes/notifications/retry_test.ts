import assert from "node:assert/strict";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { setup } from "../../support/setup.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { email, hurry, jobOf, path, refused, sent, settledDetail } from "./notifications.ts";

const refusing = new Set<string>();
const receiver = await startReceiver({
  onRcptTo({ address }, _session, callback) {
    const code = /^code(\d{3})@/.exec(address)?.[1];
    callback(
      code && !refusing.has(`let ${address}`)
        ? Object.assign(new Error("refused as asked"), { responseCode: Number(code) })
        : null,
    );
  },
});
const network = await TcpProxy.start({ hostname: "127.0.0.1", port: receiver.port });
const t = await setup({
  SMTP_URL: `smtp://127.0.0.1:${network.port}`,
  MAIL_FROM: "Steward <service@steward.test>",
});
Deno.test.afterAll(async () => {
  await t.stop();
  await network[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});
const ann = await t.actor({ permissions: ["send:notifications"] });
const to = (...addresses: string[]) => ({ recipients: addresses.map((address) => ({ address })) });
const statuses = (detail: { recipients: { address: string; status: string }[] }) =>
  Object.fromEntries(detail.recipients.map((recipient) => [recipient.address, recipient.status]));
const mailsOf = (id: string) =>
  receiver.received.filter((mail) => mail.raw.includes(`Message-ID: <${id}@steward.test>`));

/** Runs the next attempt now and waits for its outcome. All attempts settle the same job, so wait for the row. */
async function nextAttempt(id: string, attempts: number): Promise<void> {
  await hurry(t, id);
  for (;;) {
    const { status, deliveryAttempts } = (await ann.get(`${path}/${id}`)).body;
    if (deliveryAttempts.length === attempts && status !== "Sending") return;
  }
}
const jobRow = async (id: string) => {
  const [row] = await t.steward.platform.sql<{ failures: number; seconds: number }[]>`
    select failures, extract(epoch from due_at - now())::float8 as seconds
    from jobs where id = (select job_id from notifications where id = ${id})`;
  return row ?? assert.fail("no job");
};

Deno.test("while a mail server is down, attempts repeat with growing delays and without a limit", async () => {
  await network.refuse();
  const id = await sent(ann, email(to("patient@x.test")));
  const first = await settledDetail(t, ann, id, ["Failed"]);
  assert.match(first.lastError, /could not be reached/);
  for (let attempts = 2; attempts <= 5; attempts++) await nextAttempt(id, attempts);
  const waiting = (await ann.get(`${path}/${id}`)).body;
  assert.deepEqual([waiting.status, waiting.retryCount, waiting.recipients[0].status], ["Failed", 0, "Owed"]);
  await t.steward.platform.sql`update jobs set outage_since = now() - interval '20 hours'
    where id = (select job_id from notifications where id = ${id})`;
  await nextAttempt(id, 6);
  const { failures, seconds } = await jobRow(id);
  assert.equal(failures, 0);
  assert.ok(seconds > 200 && seconds < 400, `next attempt in ${seconds} s`);
  await network.pass();
  await nextAttempt(id, 7);
  const detail = await settledDetail(t, ann, id, ["Succeeded"]);
  assert.deepEqual([detail.status, detail.retryCount, detail.lastError], ["Sent", 0, null]);
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("a temporary rejection is retried for a day, then three times with the same Message-ID, then dead-lettered", async () => {
  const id = await sent(ann, email(to("code451@x.test")));
  await settledDetail(t, ann, id, ["Failed"]);
  assert.equal((await jobRow(id)).failures, 0);
  await t.steward.platform.sql`update jobs set outage_since = now() - interval '25 hours'
    where id = (select job_id from notifications where id = ${id})`;
  await nextAttempt(id, 2);
  for (const retryCount of [0, 1, 2]) {
    const detail = await settledDetail(t, ann, id, ["Failed"]);
    assert.deepEqual([detail.status, detail.retryCount], ["Failed", retryCount]);
    assert.match(detail.lastError, /451/);
    await nextAttempt(id, retryCount + 3);
  }
  const detail = await settledDetail(t, ann, id, ["DeadLettered"]);
  assert.deepEqual([detail.status, detail.retryCount, detail.maxRetries], ["DeadLettered", 3, 3]);
  assert.deepEqual(detail.deliveryAttempts.map((a: { attemptNumber: number }) => a.attemptNumber), [
    1,
    2,
    3,
    4,
    5,
  ]);
  assert.ok(
    detail.deliveryAttempts.every((a: { isSuccess: boolean; errorMessage: string }) =>
      !a.isSuccess && a.errorMessage
    ),
  );

  refusing.add("let code451@x.test");
  const again = await ann.post(`${path}/${id}/retry`);
  assert.deepEqual([again.status, again.body.status], [200, "Queued"]);
  const done = await settledDetail(t, ann, id);
  assert.deepEqual([done.status, done.retryCount, done.lastError], ["Sent", 0, null]);
  assert.equal(mailsOf(id).length, 1);
  refused(await ann.post(`${path}/${id}/retry`), 400, "NOTIFICATION_CANNOT_RETRY");
});

Deno.test("a retry asks only for recipients without a final outcome", async () => {
  const addresses = ["ok1@x.test", "code450@x.test", "code550@x.test", "ok2@x.test"];
  const id = await sent(ann, email(to(...addresses)));
  const first = await settledDetail(t, ann, id, ["Failed"]);
  assert.equal(first.status, "Failed");
  assert.deepEqual(statuses(first), {
    "ok1@x.test": "Sent",
    "code450@x.test": "Owed",
    "code550@x.test": "Refused",
    "ok2@x.test": "Sent",
  });
  refusing.add("let code450@x.test");
  await hurry(t, id);
  const second = await settledDetail(t, ann, id, ["Succeeded"]);
  assert.equal(second.status, "Sent");
  assert.deepEqual(statuses(second), { ...statuses(first), "code450@x.test": "Sent" });
  assert.match(second.recipients.find((r: { status: string }) => r.status === "Refused").errorMessage, /550/);
  assert.deepEqual(mailsOf(id).map((mail) => mail.to), [["ok1@x.test", "ok2@x.test"], ["code450@x.test"]]);
});

Deno.test("if every recipient is rejected permanently nothing is retried automatically, and a manual retry asks them again", async () => {
  const id = await sent(ann, email(to("code553@x.test")));
  const detail = await settledDetail(t, ann, id);
  assert.deepEqual([detail.status, detail.retryCount, detail.deliveryAttempts.length], [
    "DeadLettered",
    0,
    1,
  ]);
  refusing.add("let code553@x.test");
  assert.equal((await ann.post(`${path}/${id}/retry`)).status, 200);
  assert.equal((await settledDetail(t, ann, id)).status, "Sent");
});

Deno.test("retrying a dead-lettered delivery job asks again only for recipients without the message", async () => {
  const id = await sent(ann, email(to("ok3@x.test", "code555@x.test")));
  const first = await settledDetail(t, ann, id);
  assert.deepEqual(statuses(first), { "ok3@x.test": "Sent", "code555@x.test": "Refused" });

  const lost = await sent(ann, email(to("code556@x.test")));
  assert.equal((await settledDetail(t, ann, lost)).status, "DeadLettered");
  refusing.add("let code556@x.test");
  const { items } = (await ann.get("/api/v1/dead-letter-jobs?pageSize=100")).body;
  const jobId = await jobOf(t, lost);
  const entry = items.find((item: { jobId: string }) => item.jobId === jobId);
  const again = await ann.post(`/api/v1/dead-letter-jobs/${entry.id}/retry`);
  assert.equal(again.status, 200);
  assert.equal(await t.settled(again.body.id), "Succeeded");
  const detail = (await ann.get(`${path}/${lost}`)).body;
  assert.deepEqual([detail.status, statuses(detail)], ["Sent", { "code556@x.test": "Sent" }]);
  assert.equal(mailsOf(lost).length, 1);
});

Deno.test("of simultaneous retries one succeeds, and one mail is sent", async () => {
  const id = await sent(ann, email(to("code554@x.test")));
  await settledDetail(t, ann, id);
  refusing.add("let code554@x.test");
  const answers = await Promise.all(Array.from({ length: 6 }, () => ann.post(`${path}/${id}/retry`)));
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 400, 400, 400, 400, 400]);
  // the first attempt may find the row locked by the others and give up
  assert.equal((await settledDetail(t, ann, id, ["Succeeded"])).status, "Sent");
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("queued, sent and unknown messages cannot be retried", async () => {
  const id = await sent(ann, email());
  await settledDetail(t, ann, id);
  refused(await ann.post(`${path}/${id}/retry`), 400, "NOTIFICATION_CANNOT_RETRY");
  refused(await ann.post(`${path}/${crypto.randomUUID()}/retry`), 404, "NOTIFICATION_NOT_FOUND");
});

Deno.test("a direct email returns the mail server's answer, and is stored in every case", async () => {
  const ok = await ann.post(`${path}/email`, {
    to: ["a@x.test"],
    cc: ["b@x.test"],
    bcc: ["c@x.test"],
    subject: "S",
    htmlBody: "<p>x</p>",
    fromAddress: "ann@steward.test",
    fromName: "Ann",
  });
  assert.deepEqual([ok.status, ok.body.status], [200, "Sent"]);
  const [mail] = mailsOf(ok.body.notificationId);
  assert.deepEqual(mail?.to, ["a@x.test", "b@x.test", "c@x.test"]);
  assert.match(mail?.raw ?? "", /^From: Ann <ann@steward.test>\r?$/m);
  assert.match(mail?.raw ?? "", /^Cc: b@x.test\r?$/m);
  assert.ok(!mail?.raw.includes("c@x.test"), "blind copies stay blind");
  const detail = (await ann.get(`${path}/${ok.body.notificationId}`)).body;
  assert.deepEqual([detail.fromAddress, detail.recipients.map((r: { kind: string }) => r.kind)], [
    "ann@steward.test",
    ["to", "cc", "bcc"],
  ]);

  const failed = await ann.post(`${path}/email`, { to: ["code552@x.test"], subject: "S", htmlBody: "x" });
  refused(failed, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(failed.body.detail, /552 refused as asked/);
  const [listed] = (await ann.get(`${path}?status=Failed`)).body.items;
  assert.ok(failed.body.detail.includes(listed.id));
  const recorded = (await ann.get(`${path}/${listed.id}`)).body;
  assert.deepEqual([recorded.deliveryAttempts.length, recorded.deliveryAttempts[0].isSuccess], [1, false]);
  refusing.add("let code552@x.test");
  assert.equal((await ann.post(`${path}/${listed.id}/retry`)).status, 200);
  assert.equal((await settledDetail(t, ann, listed.id)).status, "Sent");
});

Deno.test("a direct email can be sent only from the service's own domain", async () => {
  const before = receiver.received.length;
  const from = (fromAddress: string) =>
    ann.post(`${path}/email`, { to: ["a@x.test"], subject: "S", htmlBody: "x", fromAddress });
  for (
    const domain of [
      "x.test",
      "mail.steward.test",
      "steward.test.x.test",
      "xsteward.test",
      "test",
      "localhost",
    ]
  ) {
    const answer = await from(`ceo@${domain}`);
    refused(answer, 400, "VALIDATION_ERROR");
    assert.deepEqual(Object.keys(answer.body.errors), ["fromAddress"]);
    assert.match(answer.body.errors.fromAddress[0], /steward\.test/);
  }
  assert.equal(receiver.received.length, before);
  assert.equal((await from("news@STEWARD.TEST")).status, 200);
});

Deno.test("a job finishes a direct email for recipients that were rejected temporarily", async () => {
  const answer = await ann.post(`${path}/email`, {
    to: ["a@x.test", "code452@x.test"],
    subject: "S",
    htmlBody: "x",
  });
  assert.deepEqual([answer.status, answer.body.status], [200, "Failed"]);
  refusing.add("let code452@x.test");
  await hurry(t, answer.body.notificationId);
  const detail = await settledDetail(t, ann, answer.body.notificationId);
  assert.equal(detail.status, "Sent");
  assert.deepEqual(mailsOf(detail.id).map((mail) => mail.to), [["a@x.test"], ["code452@x.test"]]);
});

Deno.test("recipients of a direct email must be addresses", async () => {
  const answer = await ann.post(`${path}/email`, {
    to: ["a@x.test", "nobody"],
    cc: ["x y"],
    subject: "S",
    htmlBody: "x",
    fromAddress: "me",
  });
  refused(answer, 400, "VALIDATION_ERROR");
  assert.deepEqual(Object.keys(answer.body.errors), ["to.1", "cc.0"]);
  refused(await ann.post(`${path}/email`, { to: [], subject: "S", htmlBody: "x" }), 400, "VALIDATION_ERROR");
  refused(await ann.post(`${path}/email`, { to: ["a@x.test"] }), 400, "VALIDATION_ERROR");
  refused(
    await ann.post(`${path}/email`, { to: ["a@x.test"], subject: "S", fromAddress: "me" }),
    400,
    "VALIDATION_ERROR",
  );
});
