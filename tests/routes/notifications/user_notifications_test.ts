import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { path, refused, sent, settledDetail } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const tenantId = await t.tenant();
const sender = await t.actor({ tenantId, permissions: ["send:notifications"] });
const own = "/api/v1/user-notifications";
const of = (actor: Actor, rest = "") => `${own}?userId=${actor.userId}${rest}`;
const unread = async (actor: Actor) => (await actor.get(`${own}/unread-count?userId=${actor.userId}`)).body;

/** Sends an in-app message to users and waits until it has arrived. */
async function notify(users: Actor[], change: Record<string, unknown> = {}) {
  const recipients = users.map((user) => ({ address: user.userId }));
  const message = { channel: "InApp", recipients, subject: "Title", textBody: "Body", ...change };
  const detail = await settledDetail(t, sender, await sent(sender, message));
  assert.equal(detail.status, "Sent");
  assert.equal(detail.deliveryAttempts[0].providerName, "database");
}

Deno.test("an in-app message creates one notification for each user, who can read it", async () => {
  const [ann, bob] = [await t.actor({ tenantId }), await t.actor({ tenantId })];
  await notify([ann, bob], {
    category: "billing",
    icon: "wakeUps",
    actionUrl: "/invoices/1",
    priority: "High",
  });
  assert.equal(await unread(ann), 1);
  const { items, totalCount } = (await ann.get(of(ann))).body;
  assert.equal(totalCount, 1);
  const { id, createdAt, ...rest } = items[0];
  assert.ok(createdAt);
  assert.deepEqual(rest, {
    userId: ann.userId,
    title: "Title",
    body: "Body",
    icon: "wakeUps",
    category: "billing",
    actionUrl: "/invoices/1",
    priority: "High",
    isRead: false,
  });
  const read = await ann.put(`${own}/${id}/read?userId=${ann.userId}`);
  assert.deepEqual([read.status, read.body.isRead], [200, true]);
  assert.equal(
    (await ann.put(`${own}/${id}/read?userId=${ann.userId}`)).status,
    200,
    "reading twice is reading once",
  );
  assert.deepEqual([await unread(ann), await unread(bob)], [0, 1]);
  assert.equal((await ann.delete(`${own}/${id}?userId=${ann.userId}`)).status, 200);
  refused(await ann.delete(`${own}/${id}?userId=${ann.userId}`), 404, "NOTIFICATION_INAPP_NOT_FOUND");
  assert.equal((await ann.get(of(ann))).body.totalCount, 0);
});

Deno.test("the list filters by read state and category, and pages newest first", async () => {
  const ann = await t.actor({ tenantId });
  for (let n = 0; n < 5; n++) await notify([ann], { subject: `m${n}`, category: n % 2 ? "odd" : "even" });
  const list = async (rest = "") => (await ann.get(of(ann, rest))).body;
  const all = await list();
  assert.deepEqual(all.items.map((item: { title: string }) => item.title), ["m4", "m3", "m2", "m1", "m0"]);
  await ann.put(`${own}/${all.items[0].id}/read?userId=${ann.userId}`);
  const counts = async (rest: string) => {
    const { items, totalCount } = await list(rest);
    assert.equal(items.length, totalCount);
    return totalCount;
  };
  assert.deepEqual(
    [await counts("&isRead=true"), await counts("&isRead=false"), await counts("&category=even")],
    [1, 4, 3],
  );
  assert.deepEqual([await counts("&category=even&isRead=false"), await counts("&category=none")], [2, 0]);
  await notify([ann], { subject: "m5", category: "Odd" });
  assert.deepEqual([await counts("&category=odd"), await counts("&category=ODD&isRead=true")], [3, 0]);
  const page = await list("&page=2&pageSize=3");
  assert.deepEqual([page.items.length, page.totalCount, page.hasNext], [3, 6, false]);
  const readAll = await ann.put(`${own}/read-all?userId=${ann.userId}`);
  assert.deepEqual([readAll.status, readAll.body, await unread(ann)], [200, { updated: 5 }, 0]);
  refused(await ann.get(of(ann, "&isRead=maybe")), 400, "VALIDATION_ERROR");
  refused(await ann.get(own), 400, "VALIDATION_ERROR");
  refused(await ann.get(`${own}?userId=me`), 400, "VALIDATION_ERROR");
});

Deno.test("only the user and a system administrator have access to a user's notifications", async () => {
  const [ann, eve] = [await t.actor({ tenantId }), await t.actor({ tenantId, role: "Admin" })];
  await notify([ann, eve]);
  const id = (await ann.get(of(ann))).body.items[0].id;
  for (
    const [method, url] of [
      ...[["GET", own], ["GET", `${own}/unread-count`], ["PUT", `${own}/${id}/read`], [
        "PUT",
        `${own}/read-all`,
      ]],
      ...[["DELETE", `${own}/${id}`], ["PUT", `${own}/${crypto.randomUUID()}/read`], [
        "GET",
        `${own}/devices`,
      ]],
    ] as [string, string][]
  ) {
    refused(await eve.send(method, `${url}?userId=${ann.userId}`), 403, "NOTIFICATION_INAPP_FORBIDDEN");
    refused(await t.nobody.send(method, `${url}?userId=${ann.userId}`), 401, "TOKEN_MISSING");
  }
  refused(await eve.put(`${own}/${id}/read?userId=${eve.userId}`), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await eve.delete(`${own}/${id}?userId=${eve.userId}`), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  const none = crypto.randomUUID();
  refused(await eve.put(`${own}/${none}/read?userId=${eve.userId}`), 404, "NOTIFICATION_INAPP_NOT_FOUND");
  refused(await eve.delete(`${own}/${none}?userId=${eve.userId}`), 404, "NOTIFICATION_INAPP_NOT_FOUND");
  assert.equal(await unread(ann), 1, "nothing was touched");
  assert.equal((await t.systemAdmin.put(`${own}/${id}/read?userId=${ann.userId}`)).status, 200);
  assert.equal((await t.systemAdmin.get(of(ann))).body.totalCount, 1);
});

Deno.test("counts stay exact during simultaneous reads, deletions and arrivals", async () => {
  const ann = await t.actor({ tenantId });
  for (let n = 0; n < 8; n++) await notify([ann], { category: n % 2 ? "a" : null });
  const { items } = (await ann.get(of(ann))).body;
  const ids: string[] = items.map((item: { id: string }) => item.id);
  await Promise.all([
    ...ids.slice(0, 4).flatMap((id) => [1, 2].map(() => ann.put(`${own}/${id}/read?userId=${ann.userId}`))),
    ...ids.slice(3, 6).flatMap((id) => [1, 2].map(() => ann.delete(`${own}/${id}?userId=${ann.userId}`))),
    notify([ann]),
    ann.put(`${own}/read-all?userId=${ann.userId}`),
  ]);
  const [row] = await t.steward.platform.sql<{ all: number; unread: number }[]>`
    select count(*) as all, count(*) filter (where not is_read) as unread from user_notifications
    where user_id = ${ann.userId}`;
  assert.equal(row?.all, 6);
  assert.deepEqual([(await ann.get(of(ann))).body.totalCount, await unread(ann)], [row?.all, row?.unread]);
});

Deno.test("a push message is sent to device tokens and to users' devices", async () => {
  const ann = await t.actor({ tenantId });
  const devices = `${own}/devices`;
  const device = await ann.post(`${devices}?userId=${ann.userId}`, { token: "tok:ann", platform: "ios" });
  assert.deepEqual([device.status, device.body.platform], [200, "ios"]);
  const answer = await sender.post(`${path}/push`, {
    title: "Ping",
    body: "Pong",
    deviceTokens: ["tok:1"],
    userIds: [ann.userId],
    data: { a: "1" },
  });
  assert.deepEqual([answer.status, answer.body.status], [200, "Sent"]);
  const [message] = await t.steward.platform.outbox?.list() ?? [];
  assert.deepEqual([message?.channel, message?.to, message?.textBody], [
    "Push",
    ["tok:1", "tok:ann"],
    "Pong",
  ]);
  assert.equal((await ann.get(`${devices}?userId=${ann.userId}`)).body.length, 1);
  assert.equal((await ann.delete(`${devices}/${device.body.id}?userId=${ann.userId}`)).status, 204);
  refused(
    await ann.delete(`${devices}/${device.body.id}?userId=${ann.userId}`),
    404,
    "NOTIFICATION_DEVICE_NOT_FOUND",
  );
  const stranger = await t.actor();
  const ofAnother = await stranger.post(`${devices}?userId=${ann.userId}`, { token: "" });
  refused(ofAnother, 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await ann.post(`${devices}?userId=${ann.userId}`, { token: "" }), 400, "VALIDATION_ERROR");
  await t.steward.platform.sql`insert into user_devices (id, user_id, token)
    select gen_random_uuid(), ${stranger.userId}, 'many:' || n from generate_series(1, 120) n`;
  const [oldest] = (await stranger.get(`${devices}?userId=${stranger.userId}`)).body;
  const ofStranger = await stranger.post(`${devices}?userId=${stranger.userId}`, { token: "tok:new" });
  const kept = (await stranger.get(`${devices}?userId=${stranger.userId}`)).body as { id: string }[];
  assert.ok(kept.length <= 101 && kept.some(({ id }) => id === ofStranger.body.id));
  assert.ok(!kept.some(({ id }) => id === oldest.id), "of too many the oldest are forgotten");
  for (
    const body of [
      { title: "x" },
      { title: "x", userIds: [ann.userId] },
      { title: "x", userIds: [stranger.userId] },
      { title: "x", deviceTokens: ["has blank"] },
      { title: "", deviceTokens: ["tok:1"] },
      { title: "x", deviceTokens: ["tok:1"], data: { a: 1 } },
    ]
  ) refused(await sender.post(`${path}/push`, body), 400, "VALIDATION_ERROR");
});

Deno.test("a service account with admin:system serves the notifications of every user, other programs of none", async () => {
  const maker = await t.actor({
    tenantId: t.platformTenantId,
    permissions: ["admin:system", "read:users", "manage:api-keys"],
  });
  const programOf = async (route: string, body: Record<string, unknown>) => {
    const made = await maker.post(`/api/v1/${route}`, { name: crypto.randomUUID(), ...body });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return t.nobody.with({ authorization: `Bearer ${made.body.secret ?? made.body.key}` });
  };
  const accountWith = (permissions: string[]) =>
    programOf("service-accounts", { permissions, tenants: "all" });
  const account = await accountWith(["admin:system"]);
  const ann = await t.actor({ tenantId });
  await notify([ann]);
  await notify([ann]);
  const { status, body } = await account.get(of(ann));
  assert.deepEqual([status, body.totalCount], [200, 2]);
  assert.equal((await account.get(of(ann).replace("?", "/unread-count?"))).body, 2);
  const [first, second] = body.items;
  assert.equal((await account.put(of(ann).replace("?", `/${first.id}/read?`))).body.isRead, true);
  assert.equal((await account.delete(of(ann).replace("?", `/${second.id}?`))).status, 200);
  assert.equal((await account.put(of(ann).replace("?", "/read-all?"))).status, 200);
  refused(await account.get(own), 400, "VALIDATION_ERROR");
  for (
    const other of [
      account.with({ "x-tenant-id": tenantId }), // there, admin:system does not count
      await accountWith(["read:users"]),
      await programOf("api-keys", { permissions: ["admin:system"] }),
    ]
  ) {
    for (const userId of [ann.userId, maker.userId]) {
      refused(await other.get(`${own}?userId=${userId}`), 403, "FORBIDDEN");
    }
  }
});
