import assert from "node:assert/strict";
import { storeServiceFile } from "../../../domain/files/service_files.ts";
import { sendNotification } from "../../../domain/notifications/send.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";
import { email, path, refused, sent, settledDetail, templates } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor({ permissions: ["send:notifications"] });
const outbox = async (channel: string, to: string) =>
  (await t.steward.platform.outbox?.list() ?? []).filter((m) => m.channel === channel && m.to.includes(to));

Deno.test("an email is queued and delivered, and its detail shows every step", async () => {
  const answer = await ann.post(`${path}/send`, email({ priority: "high", category: "orders" }));
  assert.equal(answer.status, 200);
  const { notificationId, ...rest } = answer.body;
  assert.deepEqual(rest, { status: "Queued", statusDisplay: "Queued" });
  const detail = await settledDetail(t, ann, notificationId);
  const { createdAt, sentAt, recipients, deliveryAttempts, ...fields } = detail;
  assert.deepEqual(fields, {
    id: notificationId,
    channel: "Email",
    channelDisplay: "Email",
    status: "Sent",
    statusDisplay: "Sent",
    priority: "High",
    subject: "Hello",
    htmlBody: "<p>Hello <b>Ann</b></p>",
    textBody: null,
    templateSlug: null,
    templateLocale: null,
    templateVersion: null,
    fromAddress: null,
    fromName: null,
    replyTo: null,
    attachments: [],
    retryCount: 0,
    maxRetries: 3,
    lastError: null,
    category: "orders",
    deliveryState: null,
    bodyExpired: false,
    scheduledAt: null,
  });
  assert.ok(sentAt >= createdAt);
  assert.equal(recipients.length, 1);
  assert.deepEqual([recipients[0].address, recipients[0].displayName, recipients[0].status], [
    "ann@example.test",
    "Ann",
    "Sent",
  ]);
  assert.equal(deliveryAttempts.length, 1);
  assert.deepEqual([
    deliveryAttempts[0].attemptNumber,
    deliveryAttempts[0].providerName,
    deliveryAttempts[0].isSuccess,
  ], [
    1,
    "outbox",
    true,
  ]);
  const [mail] = (await outbox("Email", "ann@example.test")).filter((m) =>
    m.messageId?.startsWith(notificationId)
  );
  assert.equal(mail?.messageId, `${notificationId}@localhost`);
  assert.equal(mail?.textBody, "Hello Ann", "a plain text is made from the HTML");
});

Deno.test("text messages and push messages reach the outbox", async () => {
  const sms = await sent(ann, {
    channel: "sms",
    recipients: [{ address: "+351912345678" }, { address: "+351912345679" }],
    textBody: "Your code is 1",
  });
  assert.equal((await settledDetail(t, ann, sms)).status, "Sent");
  assert.equal((await outbox("Sms", "+351912345679"))[0]?.textBody, "Your code is 1");
  const push = await sent(ann, {
    channel: "Push",
    recipients: [{ address: "device-token-1" }],
    subject: "Ping",
  });
  assert.equal((await settledDetail(t, ann, push)).channelDisplay, "Push");
  assert.equal((await outbox("Push", "device-token-1"))[0]?.subject, "Ping");
});

Deno.test("a message needs a channel, a recipient and content", async () => {
  const wrong = async (body: Record<string, unknown>, field: string) => {
    const answer = await ann.post(`${path}/send`, body);
    refused(answer, 400, "VALIDATION_ERROR");
    assert.ok(field in answer.body.errors, JSON.stringify(answer.body.errors));
  };
  await wrong(email({ channel: undefined }), "channel");
  await wrong(email({ channel: "Fax" }), "channel");
  await wrong(email({ recipients: [] }), "recipients");
  await wrong(email({ recipients: undefined }), "recipients");
  await wrong(email({ recipients: [{ displayName: "x" }] }), "recipients.0.address");
  await wrong(email({ subject: null, htmlBody: null }), "subject");
  await wrong(email({ subject: "\r\n ", htmlBody: null, textBody: "\t" }), "subject");
  await wrong(email({ subject: 7 }), "subject");
  await wrong(email({ priority: "Urgent" }), "priority");
  for (const actionUrl of ["javascript:alert(1)", "//elsewhere.test", "/\\elsewhere.test", "path"]) {
    await wrong(email({ actionUrl }), "actionUrl");
  }
  await wrong(email({ templateSlug: "x", locale: "not a locale" }), "locale");
  await wrong(email({ subject: "a\0b" }), "subject");
});

Deno.test("a text message that is too long or empty is rejected", async () => {
  const text = (change: Record<string, unknown>) => ({
    channel: "Sms",
    recipients: [{ address: "+351912000077" }],
    ...change,
  });
  const cases: [Record<string, unknown>, string][] = [
    [{ htmlBody: `<p>${"x".repeat(2_900)}</p>` }, "htmlBody"],
    [{ htmlBody: `<p>${"x ".repeat(20_000)}</p>` }, "htmlBody"],
    [{ htmlBody: "<p>Hi</p>", textBody: "x".repeat(1_601) }, "textBody"],
    [{ htmlBody: "<style>p { color: red }</style><p> </p>" }, "htmlBody"],
  ];
  for (const [words, member] of cases) {
    const answer = await ann.post(`${path}/send`, text(words));
    refused(answer, 400, "VALIDATION_ERROR");
    assert.deepEqual(Object.keys(answer.body.errors), [member]);
    const later = { notification: text(words), scheduledAt: "2999-01-01T00:00:00Z" };
    const scheduled = await ann.post(`${path}/schedule`, later);
    assert.deepEqual(Object.keys(scheduled.body.errors), [`notification.${member}`]);
  }
  const markup = `<p>${'<span class="word">x</span>'.repeat(500)}</p>`;
  for (const words of [{ htmlBody: markup }, { subject: "Only this", textBody: "" }]) {
    const id = await sent(ann, text(words));
    assert.equal((await settledDetail(t, ann, id)).status, "Sent");
  }
  const [last, first] = await outbox("Sms", "+351912000077");
  assert.deepEqual([first?.textBody, last?.textBody], ["x".repeat(500), "Only this"]);
});

Deno.test("every address that is invalid for its channel is named", async () => {
  const cases: [string, string[]][] = [
    ["Email", [
      "nobody",
      "a@b@c",
      "a b@c.test",
      "a@",
      "@b.test",
      "a@b..c",
      "x@y.test\r\nBcc: z@y.test",
      "<a@b.test>",
    ]],
    ["Sms", ["912345678", "+0123", "+351 912", "+1234567890123456"]],
    ["Push", ["two words", "é"]],
    ["InApp", ["ann", crypto.randomUUID(), (await t.actor()).userId]],
  ];
  for (const [channel, addresses] of cases) {
    const body = { channel, subject: "x", recipients: addresses.map((address) => ({ address })) };
    const answer = await ann.post(`${path}/send`, body);
    refused(answer, 400, "VALIDATION_ERROR");
    const named = Object.keys(answer.body.errors);
    if (channel !== "InApp") {
      assert.deepEqual(
        named,
        addresses.map((_, index) => `recipients.${index}.address`),
      );
    } else {assert.deepEqual(
        named,
        ["recipients.0.address"],
        "what is no UUID is refused before users are looked up",
      );}
    for (const name of named) {
      const index = Number(name.split(".")[1]);
      assert.ok(answer.body.errors[name][0].includes(JSON.stringify(addresses[index]).slice(1, 8)), name);
    }
  }
  const strangers = {
    channel: "InApp",
    subject: "x",
    recipients: cases[3]?.[1].slice(1).map((address) => ({ address })),
  };
  const answer = await ann.post(`${path}/send`, strangers);
  refused(answer, 400, "VALIDATION_ERROR");
  assert.deepEqual(
    Object.values(answer.body.errors).map((messages) => String(messages).replace(/"[^"]+"/, "?")),
    Array(2).fill("? is not an active user of this tenant"),
    "an unknown user and another tenant's look the same",
  );
});

Deno.test("a recipient named twice gets one message", async () => {
  const recipients = ["Bob@Example.test", "bob@example.TEST"].map((address) => ({ address }));
  const detail = await settledDetail(t, ann, await sent(ann, email({ recipients })));
  assert.deepEqual(detail.recipients.map((r: { address: string }) => r.address), ["Bob@Example.test"]);
});

Deno.test("a line break in a subject becomes a space, and display names cannot add headers", async () => {
  const recipients = [{ address: "crlf@example.test", displayName: "Eve\r\nBcc: all@example.test <b>" }];
  const detail = await settledDetail(
    t,
    ann,
    await sent(ann, email({ subject: "One\r\nBcc: two", recipients })),
  );
  assert.equal(detail.subject, "One Bcc: two");
  assert.deepEqual((await outbox("Email", "crlf@example.test"))[0]?.to, ["crlf@example.test"]);
});

Deno.test("a file of the registry can be attached", async () => {
  const p = t.steward.platform;
  const file = {
    tenantId: ann.tenantId,
    profile: "report",
    fileName: "r.csv",
    contentType: "text/csv",
  };
  const creator = { createdBy: ann.userId, owner: { scope: "reports", id: "1" } };
  const stored = await storeServiceFile(p, { ...file, ...creator }, new Blob(["a,b\r\n1,2\r\n"]).stream());
  const [scan] = await p.sql<{ id: string }[]>`
    select id from jobs where serialized_args like ${`%${stored.fileId}%`}`;
  await t.settled(scan?.id ?? "");
  const { notificationId } = await transact(
    p.sql,
    (tx) =>
      sendNotification(p, tx, { tenantId: ann.tenantId, userId: ann.userId, traceId: null }, {
        channel: "Email",
        recipients: [{ address: "file@example.test" }],
        subject: "Your report",
        attachments: [{ fileId: stored.fileId, fileName: "report.csv", contentType: "text/csv" }],
      }),
  );
  assert.equal((await settledDetail(t, ann, notificationId)).status, "Sent");
  const [mail] = await outbox("Email", "file@example.test");
  assert.deepEqual(mail?.attachments, [{ fileName: "report.csv", contentType: "text/csv", sizeBytes: 10 }]);
});

Deno.test("other tenants cannot see, retry or cancel a message", async () => {
  const id = await sent(ann, email());
  await settledDetail(t, ann, id);
  const other = await t.actor({ permissions: ["send:notifications"] });
  for (
    const answer of [
      await other.get(`${path}/${id}`),
      await other.post(`${path}/${id}/retry`),
      await other.delete(`${path}/schedule/${id}`),
      await ann.get(`${path}/${crypto.randomUUID()}`),
    ]
  ) refused(answer, 404, "NOTIFICATION_NOT_FOUND");
  assert.equal((await other.get(path)).body.totalCount, 0);
  assert.equal((await other.get(`${path}/stats`)).body.totalNotifications, 0);
});

Deno.test("nothing is sent without a token, a permission or a tenant", async () => {
  refused(await t.nobody.post(`${path}/send`, email()), 401, "TOKEN_MISSING");
  const visitor = await t.actor({ role: "Visitor" });
  for (
    const [method, url] of [
      ...[["POST", `${path}/send`], ["POST", `${path}/email`], ["POST", `${path}/push`], [
        "POST",
        `${path}/schedule`,
      ]],
      ...[["DELETE", `${path}/schedule/x`], ["POST", `${path}/x/retry`], ["GET", `${path}/x`], ["GET", path]],
      ...[["GET", `${path}/stats`], ["POST", templates], ["PUT", `${templates}/x`], [
        "DELETE",
        `${templates}/x`,
      ]],
      ...[["GET", templates], ["POST", `${templates}/render`]],
    ] as [string, string][]
  ) refused(await visitor.send(method, url, method === "GET" ? undefined : {}), 403, "MISSING_PERMISSION");
  const global = await t.actor({ permissions: ["send:notifications"], global: true });
  refused(await global.post(`${path}/send`, email()), 403, "FORBIDDEN");
  assert.equal(
    (await global.with({ "x-tenant-id": global.tenantId ?? "" }).post(`${path}/send`, email())).status,
    200,
  );
  refused(await ann.get(`${path}/not-a-uuid`), 400, "VALIDATION_ERROR");
});

Deno.test("a global administrator sends as the service, separate from every tenant", async () => {
  const root = await t.actor({ role: "SystemAdmin", global: true });
  const id = await sent(root, email());
  assert.equal((await settledDetail(t, root, id)).status, "Sent");
  refused(await t.systemAdmin.get(`${path}/${id}`), 404, "NOTIFICATION_NOT_FOUND");
  const listed = (await root.get(path)).body;
  assert.ok(listed.items.some((item: { id: string }) => item.id === id));
});

Deno.test("the list filters by channel, status and time, newest first, and counts matching messages", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) ids.push(await sent(actor, email({ subject: `m${index}` })));
  ids.push(await sent(actor, { channel: "Sms", recipients: [{ address: "+351912345678" }], textBody: "x" }));
  for (const id of ids) await settledDetail(t, actor, id);
  const list = async (query = "") => (await actor.get(`${path}?${query}`)).body;
  const all = await list();
  assert.deepEqual(all.items.map((item: { id: string }) => item.id), ids.toReversed());
  const { createdAt, ...summary } = all.items[0];
  assert.deepEqual(summary, {
    id: ids[5],
    channel: "Sms",
    channelDisplay: "SMS",
    status: "Sent",
    statusDisplay: "Sent",
    priority: "Normal",
    subject: null,
    recipientCount: 1,
    retryCount: 0,
    scheduledAt: null,
    sentAt: summary.sentAt,
    recipient: "+351912345678",
    templateSlug: null,
    category: null,
    deliveryState: null,
  });
  assert.equal((await list("channel=sms")).totalCount, 1);
  assert.equal((await list("channel=Email&status=Sent")).totalCount, 5);
  assert.equal((await list("status=DeadLettered")).totalCount, 0);
  const page = await list("page=2&pageSize=4");
  assert.deepEqual([page.items.length, page.totalCount, page.totalPages, page.hasNext, page.hasPrevious], [
    2,
    6,
    2,
    false,
    true,
  ]);
  const from = encodeURIComponent(createdAt);
  assert.ok((await list(`fromDate=${from}`)).totalCount >= 1);
  assert.equal((await list(`fromDate=${new Date(Date.now() + 60_000).toISOString()}`)).totalCount, 0);
  assert.equal((await list(`toDate=2020-01-01`)).totalCount, 0);
  assert.equal((await list(`fromDate=2020-01-01&toDate=2199-01-01`)).totalCount, 6);
  for (const query of ["page=0", "pageSize=101", "channel=Fax", "status=Gone", "fromDate=yesterday"]) {
    refused(await actor.get(`${path}?${query}`), 400, "VALIDATION_ERROR");
  }
  assert.deepEqual((await actor.get(`${path}/stats`)).body, {
    totalNotifications: 6,
    pendingNotifications: 0,
    sentNotifications: 6,
    failedNotifications: 0,
    deadLetteredNotifications: 0,
    scheduledNotifications: 0,
    queuedNotifications: 0,
    deliveredNotifications: 0,
    bouncedNotifications: 0,
    complainedNotifications: 0,
  });
  assert.equal((await actor.get(`${path}/stats?toDate=2020-01-01`)).body.totalNotifications, 0);
});
