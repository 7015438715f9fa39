import assert from "node:assert/strict";
import { SmsRefused } from "../../../infra/sms/sms.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { setup } from "../../support/setup.ts";
import { email, path, refused, sent, settledDetail } from "./notifications.ts";

/** The mail server's answer by address; default: accepted. */
const answers = new Map<string, string>();
const asked: string[] = [];
const receiver = await startReceiver({
  onRcptTo({ address }, _session, callback) {
    asked.push(address);
    const [, code, text] = /^(\d{3}) (.*)$/.exec(answers.get(address) ?? "") ?? [];
    callback(code ? Object.assign(new Error(text), { responseCode: Number(code) }) : null);
  },
});
const t = await setup({ SMTP_URL: receiver.url, MAIL_FROM: "Steward <service@steward.test>" }, {
  inThisProcess: true,
});
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver[Symbol.asyncDispose]();
});
const ann = await t.actor({ permissions: ["send:notifications", "read:users"] });
const list = "/api/v1/notification-suppressions";
const to = (...addresses: string[]) => email({ recipients: addresses.map((address) => ({ address })) });
const timesAsked = (address: string) => asked.filter((other) => other === address).length;
const suppressed = async (search: string) =>
  (await ann.get(`${list}?search=${encodeURIComponent(search)}`)).body.items;

Deno.test("an address that the server reports as dead gets no mail until its suppression is removed", async () => {
  answers.set("gone@x.test", "550 5.1.1 User unknown");
  const first = await sent(ann, to("gone@x.test", "fine@x.test"));
  assert.equal((await settledDetail(t, ann, first)).status, "Sent");
  const [row] = await suppressed("gone@");
  const { id, createdAt, ...fields } = row;
  assert.ok(createdAt);
  assert.deepEqual(fields, {
    channel: "Email",
    address: "gone@x.test",
    reason: "HardBounce",
    detail: "550 5.1.1 User unknown",
    notificationId: first,
    createdBy: null,
  });

  const second = await sent(ann, to("Gone@X.test", "fine@x.test"));
  const detail = await settledDetail(t, ann, second);
  assert.deepEqual([detail.status, detail.recipients[0].status, detail.recipients[0].reason], [
    ...["Sent", "Skipped", "Suppressed"],
  ]);
  assert.match(detail.recipients[0].errorMessage, /HardBounce/);
  const { since, ...suppression } = detail.recipients[0].suppression;
  assert.equal(since, createdAt);
  assert.deepEqual(suppression, {
    id,
    reason: "HardBounce",
    detail: "550 5.1.1 User unknown",
    applies: true,
  });
  assert.equal(detail.recipients[1].suppression, null);
  const cause = (await ann.get(`${path}/${first}`)).body;
  assert.equal(
    cause.recipients[0].suppression.applies,
    false,
    "sent again, the first message tries the address",
  );
  assert.equal(timesAsked("gone@x.test"), 1);
  const alone = await settledDetail(t, ann, await sent(ann, to("gone@x.test")), ["Succeeded"]);
  assert.deepEqual([alone.status, alone.retryCount, alone.deliveryAttempts.length], ["Cancelled", 0, 0]);

  answers.delete("gone@x.test");
  assert.equal((await ann.delete(`${list}/${id}`)).status, 204);
  const third = await settledDetail(t, ann, await sent(ann, to("gone@x.test")));
  assert.equal(third.status, "Sent");
});

Deno.test("rejections for other reasons suppress nothing", async () => {
  const harmless = { "full@x.test": "552 5.2.2 Mailbox full", "policy@x.test": "550 5.7.1 Not today" };
  for (const [address, answer] of Object.entries(harmless)) {
    answers.set(address, answer);
    const detail = await settledDetail(t, ann, await sent(ann, to(address)));
    assert.deepEqual([detail.status, (await suppressed(address)).length], ["DeadLettered", 0], address);
  }
});

Deno.test("the message that found a dead address can be retried; other tenants are not affected", async () => {
  answers.set("back@x.test", "550 5.1.1 User unknown");
  const id = await sent(ann, to("back@x.test"));
  await settledDetail(t, ann, id);
  assert.equal((await suppressed("back@")).length, 1);
  answers.delete("back@x.test");
  await ann.post(`${path}/${id}/retry`);
  assert.equal((await settledDetail(t, ann, id)).status, "Sent");
  const other = await t.actor({ permissions: ["send:notifications"] });
  assert.equal((await other.get(list)).body.totalCount, 0);
  assert.equal((await settledDetail(t, other, await sent(other, to("back@x.test")))).status, "Sent");
});

Deno.test("a direct email to a suppressed address is rejected without a request to the server", async () => {
  await ann.post(list, { channel: "Email", address: "direct@x.test", reason: "Complaint" });
  const answer = await ann.post(`${path}/email`, { to: ["direct@x.test"], subject: "S", htmlBody: "H" });
  refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(answer.body.detail, /suppressed \(Complaint\)/);
  assert.equal(timesAsked("direct@x.test"), 0);
});

Deno.test("all spellings of an address are equal, including those of its domain", async () => {
  await ann.post(list, { channel: "Email", address: "José@müller.test" });
  const again = await ann.post(list, { channel: "Email", address: "josé@XN--MLLER-KVA.test" });
  refused(again, 409, "NOTIFICATION_SUPPRESSION_ALREADY_EXISTS");
  for (const address of ["José@müller.test", "JOSÉ@MÜLLER.test", "josé@xn--mller-kva.test"]) {
    const detail = await settledDetail(t, ann, await sent(ann, to(address)), ["Succeeded", "DeadLettered"]);
    assert.equal(detail.recipients[0].reason, "Suppressed", address);
  }
});

Deno.test("a number that sent STOP gets no more text messages", async () => {
  const putBack = t.replace((p) => p.sms, [{
    name: "gateway",
    send: () => {
      const reason = "the gateway answered 400: 21610 Attempt to send to unsubscribed recipient";
      return Promise.reject(new SmsRefused(reason, { permanent: true }));
    },
  }]);
  const text = { channel: "Sms", recipients: [{ address: "+351912000009" }], textBody: "Hi" };
  await settledDetail(t, ann, await sent(ann, text));
  const [row] = await suppressed("+351912000009");
  assert.deepEqual([row.channel, row.reason], ["Sms", "Unsubscribed"]);
  assert.equal((await settledDetail(t, ann, await sent(ann, text))).status, "Cancelled");
  putBack();
});

Deno.test("addresses can be added, listed, filtered and read, and changes are audited", async () => {
  const made = await ann.post(list, { channel: "sms", address: "+351912000001", detail: "asked by letter" });
  assert.equal(made.status, 201);
  assert.deepEqual([made.body.reason, made.body.createdBy], ["Manual", ann.userId]);
  assert.equal(made.headers.get("location"), `${list}/${made.body.id}`);
  assert.deepEqual((await ann.get(`${list}/${made.body.id}`)).body, made.body);
  assert.deepEqual((await ann.get(`${list}?channel=sms&search=0001`)).body.items, [made.body]);
  assert.equal((await ann.get(`${list}?channel=email&search=0001`)).body.totalCount, 0);
  assert.equal((await ann.get(`${list}?search=%25`)).body.totalCount, 0, "a pattern is only text");
  assert.equal((await ann.delete(`${list}/${made.body.id}`)).status, 204);
  refused(await ann.delete(`${list}/${made.body.id}`), 404, "NOTIFICATION_SUPPRESSION_NOT_FOUND");
  refused(await ann.get(`${list}/${made.body.id}`), 404, "NOTIFICATION_SUPPRESSION_NOT_FOUND");
  const audit = await t.steward.platform.sql<{ action: string; tenantId: string }[]>`
    select action, tenant_id from audit_log where target_id = ${made.body.id} order by id`;
  assert.deepEqual(audit.map((entry) => [entry.action, entry.tenantId]), [
    ["notification-suppression.add", ann.tenantId],
    ["notification-suppression.lift", ann.tenantId],
  ]);
});

Deno.test("the list pages newest first, and needs its permission and a tenant", async () => {
  const bob = await t.actor({ permissions: ["send:notifications"] });
  for (const n of [1, 2, 3]) await bob.post(list, { channel: "Email", address: `a${n}@x.test` });
  const page = (await bob.get(`${list}?page=2&pageSize=2`)).body;
  assert.deepEqual([page.totalCount, page.items.map((row: { address: string }) => row.address)], [3, [
    "a1@x.test",
  ]]);
  const visitor = await t.actor({ permissions: ["read:users"] });
  refused(await visitor.get(list), 403, "MISSING_PERMISSION");
  refused(await visitor.post(list, {}), 403, "MISSING_PERMISSION");
  refused(await t.nobody.get(list), 401, "TOKEN_MISSING");
  refused(
    await (await t.actor({ permissions: ["send:notifications"], global: true })).get(list),
    403,
    "FORBIDDEN",
  );
});

Deno.test("an invalid address of its channel is rejected", async () => {
  const wrong = async (body: Record<string, unknown>, field: string) => {
    const answer = await ann.post(list, body);
    refused(answer, 400, "VALIDATION_ERROR");
    assert.ok(field in answer.body.errors, JSON.stringify(answer.body.errors));
  };
  await wrong({ channel: "Email", address: "nobody" }, "address");
  await wrong({ channel: "Sms", address: "12" }, "address");
  await wrong({ channel: "Email", address: "a\u0000@x.test" }, "address");
  await wrong({ channel: "Push", address: "token" }, "channel");
  await wrong({ channel: "Email", address: "a@x.test", reason: "Because" }, "reason");
  await wrong({ channel: "Email", address: "a@x.test", detail: "x".repeat(1_001) }, "detail");
  await wrong({ channel: "Email" }, "address");
});

Deno.test("a repeated addition with its Idempotency-Key gets the first answer", async () => {
  const key = { "idempotency-key": crypto.randomUUID() };
  const add = () => ann.post(list, { channel: "Email", address: "again@example.test" }, key);
  const [first, again] = [await add(), await add()];
  assert.deepEqual([again.status, again.body], [201, first.body]);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
});

Deno.test("of simultaneous additions one succeeds", async () => {
  const body = { channel: "Email", address: "race@x.test" };
  const all = await Promise.all(Array.from({ length: 6 }, () => ann.post(list, body)));
  assert.deepEqual(all.map((answer) => answer.status).sort(), [201, 409, 409, 409, 409, 409]);
});
