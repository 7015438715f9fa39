import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import { delivered, email, path, refused, sent, settledDetail, to } from "./notifications.ts";
import { answers, asked, setupProviders } from "./providers.ts";

const t = await setupProviders();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications", "read:users"] });
const list = "/api/v1/notification-suppressions";
const mail = (...addresses: string[]) => email(to(...addresses));
const timesAsked = (address: string) => asked.filter((other) => other === address).length;
const suppressed = async (search: string) =>
  (await ann.get(`${list}?search=${encodeURIComponent(search)}`)).body.items;

Deno.test("an address that the server reports as dead gets no mail until its suppression is removed", async () => {
  const detail = "550 5.1.1 User unknown";
  answers.set("gone@x.test", detail);
  const first = await delivered(t, ann, mail("gone@x.test", "fine@x.test"));
  assert.equal(first.status, "Sent");
  const [{ id, createdAt, ...fields }] = await suppressed("gone@");
  assert.ok(createdAt);
  const reason = "HardBounce";
  const cause = { reason, detail, notificationId: first.id, createdBy: null };
  assert.deepEqual(fields, { channel: "Email", address: "gone@x.test", ...cause });

  const second = await delivered(t, ann, mail("Gone@X.test", "fine@x.test"));
  const skipped = { status: "Skipped", reason: "Suppressed" };
  has(second, { status: "Sent", recipients: [skipped, { suppression: null }] });
  assert.match(second.recipients[0].errorMessage, /HardBounce/);
  const { since, ...suppression } = second.recipients[0].suppression;
  assert.equal(since, createdAt);
  assert.deepEqual(suppression, { id, reason, detail, applies: true });
  const { recipients } = (await ann.get(`${path}/${first.id}`)).body;
  assert.equal(recipients[0].suppression.applies, false, "sent again, the first message tries the address");
  assert.equal(timesAsked("gone@x.test"), 1);
  const alone = await settledDetail(t, ann, await sent(ann, mail("gone@x.test")), ["Succeeded"]);
  has(alone, { status: "Cancelled", retryCount: 0, deliveryAttempts: [] });

  answers.delete("gone@x.test");
  assert.equal((await ann.delete(`${list}/${id}`)).status, 204);
  assert.equal((await delivered(t, ann, mail("gone@x.test"))).status, "Sent");
});

Deno.test("the message that found a dead address can be retried; other tenants are not affected", async () => {
  answers.set("back@x.test", "550 5.1.1 User unknown");
  const { id } = await delivered(t, ann, mail("back@x.test"));
  assert.equal((await suppressed("back@")).length, 1);
  answers.delete("back@x.test");
  await ann.post(`${path}/${id}/retry`);
  assert.equal((await settledDetail(t, ann, id)).status, "Sent");
  const other = await t.actor({ permissions: ["send:notifications"] });
  assert.equal((await other.get(list)).body.totalCount, 0);
  assert.equal((await delivered(t, other, mail("back@x.test"))).status, "Sent");
});

Deno.test("a direct email to a suppressed address is rejected without a request to the server", async () => {
  await ann.post(list, { channel: "Email", address: "blocked@x.test", reason: "Complaint" });
  const answer = await ann.post(`${path}/email`, { to: ["blocked@x.test"], subject: "S", htmlBody: "H" });
  refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(answer.body.detail, /suppressed \(Complaint\)/);
  assert.equal(timesAsked("blocked@x.test"), 0);
});

Deno.test("all spellings of an address are equal, including those of its domain", async () => {
  await ann.post(list, { channel: "Email", address: "José@müller.test" });
  const again = await ann.post(list, { channel: "Email", address: "josé@XN--MLLER-KVA.test" });
  refused(again, 409, "NOTIFICATION_SUPPRESSION_ALREADY_EXISTS");
  for (const address of ["José@müller.test", "JOSÉ@MÜLLER.test", "josé@xn--mller-kva.test"]) {
    const detail = await settledDetail(t, ann, await sent(ann, mail(address)), ["Succeeded", "DeadLettered"]);
    assert.equal(detail.recipients[0].reason, "Suppressed", address);
  }
});

Deno.test("a number that sent STOP gets no more text messages", async () => {
  const number = "+35191221610"; // the gateway reports that it sent STOP
  const text = { channel: "Sms", ...to(number), textBody: "Hi" };
  await delivered(t, ann, text);
  has(await suppressed(number), [{ channel: "Sms", reason: "Unsubscribed" }]);
  assert.equal((await delivered(t, ann, text)).status, "Cancelled");
});

Deno.test("addresses can be added, listed, filtered and read, and changes are audited", async () => {
  const made = await ann.post(list, { channel: "sms", address: "+351912000001", detail: "asked by letter" });
  has(made, { status: 201, body: { reason: "Manual", createdBy: ann.userId } });
  const one = `${list}/${made.body.id}`;
  assert.equal(made.headers.get("location"), one);
  assert.deepEqual((await ann.get(one)).body, made.body);
  assert.deepEqual((await ann.get(`${list}?channel=sms&search=0001`)).body.items, [made.body]);
  assert.equal((await ann.get(`${list}?channel=email&search=0001`)).body.totalCount, 0);
  assert.equal((await ann.get(`${list}?search=%25`)).body.totalCount, 0, "a pattern is only text");
  assert.equal((await ann.delete(one)).status, 204);
  refused(await ann.delete(one), 404, "NOTIFICATION_SUPPRESSION_NOT_FOUND");
  const audit = await t.steward.platform.sql`
    select action, tenant_id from audit_log where target_id = ${made.body.id} order by id`;
  assert.deepEqual(pluck(audit, "action", "tenantId"), [
    ["notification-suppression.add", ann.tenantId],
    ["notification-suppression.lift", ann.tenantId],
  ]);
});

Deno.test("an invalid address of its channel is rejected", async () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ channel: "Email", address: "nobody" }, "address"],
    [{ channel: "Sms", address: "12" }, "address"],
    [{ channel: "Push", address: "token" }, "channel"],
    [{ channel: "Email", address: "a@x.test", reason: "Because" }, "reason"],
  ];
  for (const [body, member] of cases) invalid(await ann.post(list, body), member);
});

Deno.test("of simultaneous additions one succeeds", async () => {
  const body = { channel: "Email", address: "race@x.test" };
  const all = await Promise.all(Array.from({ length: 6 }, () => ann.post(list, body)));
  assert.deepEqual(pluck(all, "status").sort(), [201, 409, 409, 409, 409, 409]);
});
