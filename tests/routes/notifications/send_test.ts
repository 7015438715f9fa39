import assert from "node:assert/strict";
import { fillTenantKeys, settleCancelledEarly } from "../../../domain/notifications/delivery/sweep.ts";
import { has, invalid, nulls, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { delivered, email, hurry, jobOf, path, refused, sent, settledDetail, to } from "./notifications.ts";
import { accepted } from "../../support/outcomes.ts";
import { made } from "./own_templates.ts";

const t = await setupShared();
const ann = await t.actor({ permissions: ["send:notifications"] });
const outbox = async (channel: string, to: string) =>
  (await t.platform.outbox?.list() ?? []).filter((m) => m.channel === channel && m.to.includes(to));
const send = (body: Record<string, unknown>) => ann.post(`${path}/send`, body);

Deno.test("an email is queued and delivered, and its detail shows every step", async () => {
  const { status, body } = await send(email({ priority: "high", category: "orders" }));
  assert.equal(status, 200);
  const id = body.notificationId;
  assert.deepEqual(body, { notificationId: id, status: "Queued", statusDisplay: "Queued" });
  const detail = await settledDetail(t, ann, id);
  has(detail, {
    ...nulls("textBody templateSlug lastError scheduledAt"),
    channelDisplay: "Email",
    statusDisplay: "Sent",
    priority: "High",
    htmlBody: "<p>Hello <b>Ann</b></p>",
    maxRetries: 3,
    category: "orders",
    recipients: [{ address: "ann@example.test", displayName: "Ann", status: "Sent" }],
    deliveryAttempts: [{ attemptNumber: 1, providerName: "outbox", isSuccess: true }],
  });
  assert.ok(detail.sentAt >= detail.createdAt);
  const mails = await outbox("Email", "ann@example.test");
  const mail = mails.find(({ messageId }) => messageId === `${id}@localhost`);
  assert.equal(mail?.textBody, "Hello Ann", "a plain text is made from the HTML");
});

Deno.test("a message needs content, and its action is a path or an https URL", async () => {
  const cases: [Record<string, unknown>, string][] = [
    [{ subject: null, htmlBody: null }, "subject"],
    [{ subject: "\r\n ", htmlBody: null, textBody: "\t" }, "subject"],
    [{ subject: "\u200b", htmlBody: null, textBody: "\u2060" }, "subject"],
    ...["javascript:alert(1)", "/\\elsewhere.test"]
      .map((actionUrl): [Record<string, unknown>, string] => [{ actionUrl }, "actionUrl"]),
  ];
  for (const [change, member] of cases) invalid(await send(email(change)), member);
});

Deno.test("a text message that is too long or empty is rejected", async () => {
  const text = (change: Record<string, unknown>) => ({
    channel: "Sms",
    ...to("+351 912 000-077"),
    ...change,
  });
  const cases: [Record<string, unknown>, string][] = [
    [{ htmlBody: `<p>${"x".repeat(2_900)}</p>` }, "htmlBody"],
    [{ htmlBody: "<p>Hi</p>", textBody: "x".repeat(1_601) }, "textBody"],
    [{ htmlBody: "<style>p { color: red }</style><p> </p>" }, "htmlBody"],
  ];
  for (const [words, member] of cases) invalid(await send(text(words)), member);
  const markup = `<p>${'<span class="word">x</span>'.repeat(500)}</p>`;
  for (const words of [{ htmlBody: markup }, { subject: "Only this", textBody: "" }]) {
    assert.equal((await delivered(t, ann, text(words))).status, "Sent");
  }
  const texts = pluck(await outbox("Sms", "+351912000077"), "textBody");
  assert.deepEqual(texts, ["Only this", "x".repeat(500)]);
});

Deno.test("every address that is invalid for its channel is named", async () => {
  const cases: Record<string, string[]> = {
    Email: ["nobody", "x@y.test\r\nBcc: z@y.test"],
    Sms: ["912345678", "+0123"],
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

const FAR = "2190-01-01T00:00:00.000Z";
const schedule = (notification: unknown = email(), scheduledAt: unknown = FAR) =>
  ann.post(`${path}/schedule`, { notification, scheduledAt });
const scheduled = async (scheduledAt = FAR): Promise<string> =>
  (await schedule(email(), scheduledAt)).body.notificationId;
const read = async (id: string) => (await ann.get(`${path}/${id}`)).body;
const cancel = (id: string) => ann.delete(`${path}/schedule/${id}`);

Deno.test("a scheduled message is checked at once, waits for its time and is then sent; a past time is due at once", async () => {
  const { status, body } = await schedule();
  assert.equal(status, 200);
  has(body, { status: "Scheduled", statusDisplay: "Scheduled" });
  const id = body.notificationId;
  has(await read(id), { status: "Scheduled", scheduledAt: FAR, sentAt: null });
  assert.equal((await ann.get(`${path}/stats`)).body.scheduledNotifications, 1);
  await hurry(t, id);
  assert.equal((await settledDetail(t, ann, id)).status, "Sent");
  refused(await cancel(id), 400, "NOTIFICATION_CANNOT_CANCEL");
  const due = await scheduled("2020-01-01T00:00:00Z");
  assert.equal((await settledDetail(t, ann, due)).status, "Sent");
  invalid(await schedule(email(to("nobody"))), "notification.recipients.0.address");
  refused(await schedule(email({ templateSlug: "none" })), 404, "NOTIFICATION_TEMPLATE_NOT_FOUND");
});

Deno.test("a cancelled message is never sent, and of simultaneous cancellations one succeeds", async () => {
  const id = await scheduled();
  const answers = await Promise.all(Array.from({ length: 2 }, () => cancel(id)));
  const [done, ...others] = answers.toSorted((a, b) => a.status - b.status);
  const body = { notificationId: id, status: "Cancelled", statusDisplay: "Cancelled" };
  has(done, { status: 200, body });
  for (const answer of others) refused(answer, 400, "NOTIFICATION_ALREADY_CANCELLED");
  refused(await ann.post(`${path}/${id}/retry`), 400, "NOTIFICATION_CANNOT_RETRY");
  const [job] = await t.sql`select status from jobs where id = ${await jobOf(t, id)}`;
  assert.equal(job?.status, "Cancelled");
});

Deno.test("the sweep cancels a message whose job was cancelled long before its time", async () => {
  const [id, kept] = [await scheduled(), await scheduled()];
  assert.equal((await ann.post(`/api/v1/jobs/${await jobOf(t, id)}/cancel`)).status, 200);
  assert.equal((await settleCancelledEarly(t.platform)).rows, 1);
  assert.deepEqual(pluck([await read(id), await read(kept)], "status"), ["Cancelled", "Scheduled"]);
  refused(await cancel(id), 400, "NOTIFICATION_ALREADY_CANCELLED");
  assert.equal((await settleCancelledEarly(t.platform)).rows, 0);
});

Deno.test("a message cancelled at its due time is either cancelled or sent, never both", async () => {
  const id = await scheduled();
  const [, answer] = await Promise.all([hurry(t, id), cancel(id)]);
  if (answer.status === 200) has(await read(id), { status: "Cancelled", deliveryAttempts: [] });
  else {
    refused(answer, 400, "NOTIFICATION_CANNOT_CANCEL");
    has(await settledDetail(t, ann, id), { status: "Sent", deliveryAttempts: [{ isSuccess: true }] });
  }
});

const { sql } = t;
const bob = await t.actor({ tenantId: ann.tenantId ?? "" });
const toUsers = (userIds: unknown, change: Record<string, unknown> = {}) =>
  email({ recipients: undefined, userIds, ...change });

Deno.test("a message to users is sent over each channel to their address for it", async () => {
  await sql`update users set phone_number = '+351912345000' where id = ${bob.userId}`;
  await bob.post(`/api/v1/user-notifications/devices?userId=${bob.userId}`, { token: "bobs-device" });
  const expected = { Email: bob.email, Sms: "+351912345000", Push: "bobs-device", InApp: bob.userId };
  for (const [channel, address] of Object.entries(expected)) {
    const detail = await delivered(t, ann, toUsers([bob.userId], { channel, textBody: "Hi" }));
    const recipient = { address, userId: bob.userId, displayName: "Test Actor", status: "Sent" };
    has(detail, { status: "Sent", recipients: [{ ...recipient, ...nulls("reason deliverAfter") }] }, channel);
  }
  const inbox = await bob.get(`/api/v1/user-notifications?userId=${bob.userId}`);
  assert.equal(inbox.body.totalCount, 1);
});

Deno.test("users and addresses can be combined; each person gets one message, and users do not see each other", async () => {
  const addresses = ["stranger@x.test", bob.email.toUpperCase()];
  const userIds = [bob.userId, bob.userId.toUpperCase(), ann.userId];
  const message = toUsers(userIds, { ...to(...addresses), subject: "Apart" });
  const { recipients } = await delivered(t, ann, message);
  assert.deepEqual(pluck(recipients, "address"), [...addresses, ann.email]);
  const mails = (await t.platform.outbox?.list() ?? []).filter(({ subject }) => subject === "Apart");
  assert.ok(mails.every(({ to }) => !(to.includes(ann.email) && to.length > 1)), JSON.stringify(mails));
  assert.ok(mails.some(({ to }) => to.includes(ann.email)));
});

Deno.test("unknown users and users of another tenant are rejected alike, by id", async () => {
  const { userId } = await t.actor();
  const unknown = crypto.randomUUID();
  const answer = await ann.post(`${path}/send`, toUsers([bob.userId, userId, unknown]));
  invalid(answer, "userIds.1", "userIds.2");
  const [one, two] = Object.values(answer.body.errors).flat();
  assert.equal(String(one).replace(userId, unknown), two);
});

const carl = await t.actor({ permissions: ["send:notifications"] });
const found = async (query: string, actor = carl): Promise<string[]> => {
  const body = await accepted(actor.get(`${path}?pageSize=100&${query}`), 200);
  assert.equal(body.totalCount, body.items.length);
  return pluck(body.items, "id");
};

Deno.test("messages are found by the address of any recipient or its beginning, in any letter case", async () => {
  const one = await sent(carl, email(to("Ana.Silva@x.test")));
  const cc = to("ana.silva@y.test").recipients;
  const two = await sent(carl, email({ ...to("bob@x.test", "ana.santos@x.test"), cc }));
  const sms = await sent(carl, { channel: "Sms", ...to("+351911111111"), textBody: "Hi" });
  const unicode = await sent(carl, email(to("ida@bücher.test")));
  const cases: [query: string, ...ids: string[]][] = [
    ["ana.silva@x.test", one],
    ["Ida@BÜCHER.test", unicode],
    ["ida@xn--bcher-kva.test", unicode],
    ["ANA.S", two, one],
    ["ana.silva@", two, one],
    ["silva"], // not the middle of an address
    ["%25"], // no wildcard
    [encodeURIComponent("+351"), sms],
    ["ana.s&channel=Sms"],
    ["ana.s&fromDate=2000-01-01&channel=Email", two, one],
  ];
  for (const [query, ...ids] of cases) assert.deepEqual(await found(`recipient=${query}`), ids, query);
  const { items } = (await carl.get(`${path}?recipient=ana.silva@x`)).body;
  assert.deepEqual(pluck(items, "recipient", "recipientCount"), [["Ana.Silva@x.test", 1]]);
});

Deno.test("a list has its messages of every status in the order of time, also on deep pages", async () => {
  const reader = await t.actor({ permissions: ["send:notifications"] });
  await sql`
    insert into notifications (id, tenant_id, channel, status, recipient_count, created_at)
    select uuidv7(-age), ${reader.tenantId}, 'Email', (enum_range(null::notification_status))[1 + n % 8], 1, now() - age
    from generate_series(1, 1050) n, make_interval(secs => n / 2) age`;
  await sql`insert into notification_recipients (id, notification_id, tenant_key, address, status, sent_at)
    select gen_random_uuid(), id, tenant_id, 'user@x.test', 'Sent', now() from notifications
    where tenant_id = ${reader.tenantId}`;
  await sent(reader, { channel: "InApp", userIds: [reader.userId], subject: "Hello", category: "Orders" });
  const all = await sql`select id, channel from notifications where tenant_id = ${reader.tenantId}
    order by created_at desc, id desc`;
  const mails = all.filter(({ channel }) => channel === "Email");
  for (const [query, rows] of [["channel=Email", mails], ["recipient=USER", mails], ["", all]] as const) {
    for (const page of [1, 2, 51, 53]) {
      const { items } = (await reader.get(`${path}?pageSize=20&page=${page}&${query}`)).body;
      const expected = rows.slice((page - 1) * 20, page * 20);
      assert.deepEqual(pluck(items, "id"), pluck(expected, "id"), `${query} page ${page}`);
    }
  }
});

Deno.test("messages are found by user, template, category and delivery state", async () => {
  const slug = "order-shipped";
  await made(carl, { slug, requiredVariables: "", subjectTemplate: "Shipped" });
  const template = email({ subject: undefined, htmlBody: undefined, templateSlug: slug });
  const { id: byTemplate } = await delivered(t, carl, template);
  const inApp = { channel: "InApp", userIds: [carl.userId], subject: "Hello", category: "Orders" };
  const byUser = await sent(carl, inApp);
  await sql`update notifications set delivery_state = 'Bounced' where id = ${byTemplate}`;
  const cases: [query: string, ...ids: string[]][] = [
    [`userId=${carl.userId}`, byUser],
    [`userId=${crypto.randomUUID()}`],
    [`templateSlug=${slug}`, byTemplate],
    ["category=oRDERS", byUser],
    [`userId=${carl.userId}&category=orders&templateSlug=${slug}`],
    ["deliveryState=bounced", byTemplate],
    ["deliveryState=delivered"],
  ];
  for (const [query, ...ids] of cases) assert.deepEqual(await found(query), ids, query);
  assert.equal((await carl.get(`${path}/${byTemplate}`)).body.deliveryState, "Bounced");
});

Deno.test("recipients that the previous version inserted are found after the sweep", async () => {
  const id = await sent(carl, email(to("old@x.test")));
  await settledDetail(t, carl, id); // the sweep skips rows that a delivery has locked
  await sql`update notification_recipients set tenant_key = null where notification_id = ${id}`;
  assert.deepEqual(await found("recipient=old@x.test"), []);
  await fillTenantKeys(sql);
  assert.deepEqual(await found("recipient=old@x.test"), [id]);
});
