import assert from "node:assert/strict";
import { has, invalid, nulls, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { delivered, email, path, refused, sent, settledDetail, to } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const outbox = async (channel: string, to: string) =>
  (await t.steward.platform.outbox?.list() ?? []).filter((m) => m.channel === channel && m.to.includes(to));
const send = (body: Record<string, unknown>) => ann.post(`${path}/send`, body);

Deno.test("an email is queued and delivered, and its detail shows every step", async () => {
  const { status, body } = await send(email({ priority: "high", category: "orders" }));
  assert.equal(status, 200);
  const id = body.notificationId;
  assert.deepEqual(body, { notificationId: id, status: "Queued", statusDisplay: "Queued" });
  const { createdAt, sentAt, recipients, deliveryAttempts, ...fields } = await settledDetail(t, ann, id);
  assert.deepEqual(fields, {
    ...nulls("textBody templateSlug templateLocale templateVersion fromAddress fromName replyTo"),
    ...nulls("lastError deliveryState scheduledAt"),
    id,
    channel: "Email",
    channelDisplay: "Email",
    status: "Sent",
    statusDisplay: "Sent",
    priority: "High",
    subject: "Hello",
    htmlBody: "<p>Hello <b>Ann</b></p>",
    attachments: [],
    retryCount: 0,
    maxRetries: 3,
    category: "orders",
    bodyExpired: false,
  });
  assert.ok(sentAt >= createdAt);
  has(recipients, [{ address: "ann@example.test", displayName: "Ann", status: "Sent" }]);
  has(deliveryAttempts, [{ attemptNumber: 1, providerName: "outbox", isSuccess: true }]);
  const mails = await outbox("Email", "ann@example.test");
  const mail = mails.find(({ messageId }) => messageId === `${id}@localhost`);
  assert.equal(mail?.textBody, "Hello Ann", "a plain text is made from the HTML");
});

Deno.test("text messages and push messages reach the outbox", async () => {
  const sms = { channel: "sms", ...to("+351912345678", "+351912345679"), textBody: "Your code is 1" };
  assert.equal((await delivered(t, ann, sms)).status, "Sent");
  assert.equal((await outbox("Sms", "+351912345679"))[0]?.textBody, "Your code is 1");
  const push = { channel: "Push", ...to("device-token-1"), subject: "Ping" };
  assert.equal((await delivered(t, ann, push)).channelDisplay, "Push");
  assert.equal((await outbox("Push", "device-token-1"))[0]?.subject, "Ping");
});

Deno.test("a message needs a channel, a recipient and content", async () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ channel: "Fax" }, "channel"],
    [{ recipients: [] }, "recipients"],
    [{ recipients: undefined }, "recipients"],
    [{ subject: null, htmlBody: null }, "subject"],
    [{ subject: "\r\n ", htmlBody: null, textBody: "\t" }, "subject"],
    [{ priority: "Urgent" }, "priority"],
    [{ templateSlug: "x", locale: "not a locale" }, "locale"],
    ...["javascript:alert(1)", "//elsewhere.test", "/\\elsewhere.test", "path"]
      .map((actionUrl): [Record<string, unknown>, string] => [{ actionUrl }, "actionUrl"]),
  ];
  for (const [change, member] of cases) invalid(await send(email(change)), member);
});

Deno.test("a text message that is too long or empty is rejected", async () => {
  const text = (change: Record<string, unknown>) => ({ channel: "Sms", ...to("+351912000077"), ...change });
  const cases: [Record<string, unknown>, string][] = [
    [{ htmlBody: `<p>${"x".repeat(2_900)}</p>` }, "htmlBody"],
    [{ htmlBody: `<p>${"x ".repeat(20_000)}</p>` }, "htmlBody"],
    [{ htmlBody: "<p>Hi</p>", textBody: "x".repeat(1_601) }, "textBody"],
    [{ htmlBody: "<style>p { color: red }</style><p> </p>" }, "htmlBody"],
  ];
  for (const [words, member] of cases) {
    invalid(await send(text(words)), member);
    const later = { notification: text(words), scheduledAt: "2999-01-01T00:00:00Z" };
    invalid(await ann.post(`${path}/schedule`, later), `notification.${member}`);
  }
  const markup = `<p>${'<span class="word">x</span>'.repeat(500)}</p>`;
  for (const words of [{ htmlBody: markup }, { subject: "Only this", textBody: "" }]) {
    assert.equal((await delivered(t, ann, text(words))).status, "Sent");
  }
  const texts = pluck(await outbox("Sms", "+351912000077"), "textBody");
  assert.deepEqual(texts, ["Only this", "x".repeat(500)]);
});

Deno.test("every address that is invalid for its channel is named", async () => {
  const cases: Record<string, string[]> = {
    Email: "nobody|a@b@c|a b@c.test|a@|@b.test|a@b..c|x@y.test\r\nBcc: z@y.test|<a@b.test>".split("|"),
    Sms: ["912345678", "+0123", "+351 912", "+1234567890123456"],
    Push: ["two words", "é"],
    InApp: ["ann"], // users are looked up only if all addresses are ids
  };
  for (const [channel, addresses] of Object.entries(cases)) {
    const answer = await send({ channel, subject: "x", ...to(...addresses) });
    const names = addresses.map((_, index) => `recipients.${index}.address`);
    invalid(answer, ...names);
    for (const [index, address] of addresses.entries()) {
      const [message] = answer.body.errors[names[index] ?? ""];
      assert.ok(message.includes(JSON.stringify(address).slice(1, 8)), message);
    }
  }
  const strangers = to(crypto.randomUUID(), (await t.actor()).userId);
  const answer = await send({ channel: "InApp", subject: "x", ...strangers });
  invalid(answer, "recipients.0.address", "recipients.1.address");
  const reasons = Object.values(answer.body.errors).map((text) => String(text).replace(/"[^"]+"/, "?"));
  assert.deepEqual(reasons, Array(2).fill("? is not an active user of this tenant"));
});

Deno.test("a recipient named twice gets one message", async () => {
  const detail = await delivered(t, ann, email(to("Bob@Example.test", "bob@example.TEST")));
  assert.deepEqual(pluck(detail.recipients, "address"), ["Bob@Example.test"]);
});

Deno.test("a line break in a subject becomes a space, and display names cannot add headers", async () => {
  const recipients = [{ address: "crlf@example.test", displayName: "Eve\r\nBcc: all@example.test <b>" }];
  const detail = await delivered(t, ann, email({ subject: "One\r\nBcc: two", recipients }));
  assert.equal(detail.subject, "One Bcc: two");
  assert.deepEqual((await outbox("Email", "crlf@example.test"))[0]?.to, ["crlf@example.test"]);
});

Deno.test("a global administrator sends as the service, separate from every tenant; others need a tenant", async () => {
  const root = await t.actor({ role: "SystemAdmin", global: true });
  const { id, status } = await delivered(t, root, email());
  assert.equal(status, "Sent");
  refused(await t.systemAdmin.get(`${path}/${id}`), 404, "NOTIFICATION_NOT_FOUND");
  assert.ok(pluck((await root.get(path)).body.items, "id").includes(id));
  const global = await t.actor({ permissions: ["send:notifications"], global: true });
  refused(await global.post(`${path}/send`, email()), 403, "FORBIDDEN");
  const inTenant = global.with({ "x-tenant-id": global.tenantId ?? "" });
  assert.equal((await inTenant.post(`${path}/send`, email())).status, 200);
});

Deno.test("the list filters by channel, status and time, newest first, and counts matching messages", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const ids: string[] = [];
  for (let index = 0; index < 3; index++) ids.push(await sent(actor, email({ subject: `m${index}` })));
  ids.push(await sent(actor, { channel: "Sms", ...to("+351912345678"), textBody: "x" }));
  for (const id of ids) await settledDetail(t, actor, id);
  const list = async (query = "") => (await actor.get(`${path}?${query}`)).body;
  const { items } = await list();
  assert.deepEqual(pluck(items, "id"), ids.toReversed());
  const { createdAt, sentAt, ...summary } = items[0];
  assert.deepEqual(summary, {
    ...nulls("subject scheduledAt templateSlug category deliveryState"),
    id: ids[3],
    channel: "Sms",
    channelDisplay: "SMS",
    status: "Sent",
    statusDisplay: "Sent",
    priority: "Normal",
    recipientCount: 1,
    recipient: "+351912345678",
    retryCount: 0,
  });
  assert.ok(sentAt >= createdAt);
  const [from, second] = [items[1].createdAt, items[2].createdAt].map(encodeURIComponent);
  const counts = {
    "channel=sms": 1,
    "channel=Email&status=Sent": 3,
    "status=DeadLettered": 0,
    [`fromDate=${from}`]: 2,
    [`toDate=${second}`]: 2,
    "toDate=2020-01-01": 0,
    "fromDate=2020-01-01&toDate=2199-01-01": 4,
  };
  for (const [query, count] of Object.entries(counts)) {
    assert.equal((await list(query)).totalCount, count, query);
  }
  const last = await list("page=2&pageSize=3");
  has(last, { totalCount: 4, totalPages: 2, hasNext: false, items: [{ id: ids[0] }] });
  for (const query of ["channel=Fax", "status=Gone", "fromDate=yesterday"]) {
    invalid(await actor.get(`${path}?${query}`), query.split("=")[0] ?? "");
  }
  const stats = Object.entries((await actor.get(`${path}/stats`)).body);
  assert.equal(stats.length, 10);
  const counted = stats.filter(([, count]) => count !== 0);
  assert.deepEqual(counted, [["totalNotifications", 4], ["sentNotifications", 4]]);
  assert.equal((await actor.get(`${path}/stats?toDate=2020-01-01`)).body.totalNotifications, 0);
  const other = await t.actor({ permissions: ["send:notifications"] });
  assert.equal((await other.get(path)).body.totalCount, 0);
  assert.equal((await other.get(`${path}/stats`)).body.totalNotifications, 0);
});
