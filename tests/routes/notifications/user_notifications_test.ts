import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { delivered, path, refused, to } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql, outbox } = t.steward.platform;
const tenantId = await t.tenant();
const sender = await t.actor({ tenantId, permissions: ["send:notifications"] });
const own = "/api/v1/user-notifications";
const of = ({ userId }: Actor, rest = "", at = "") => `${own}${at}?userId=${userId}${rest}`;
const unread = async (actor: Actor) => (await actor.get(of(actor, "", "/unread-count"))).body;
const reader = (role?: "Admin") => t.actor({ tenantId, ...(role ? { role } : {}) });

/** Sends an in-app message to users and waits until it has arrived. */
async function notify(users: Actor[], change: Record<string, unknown> = {}) {
  const recipients = to(...pluck(users, "userId"));
  const message = { channel: "InApp", ...recipients, subject: "Title", textBody: "Body", ...change };
  const detail = await delivered(t, sender, message);
  has(detail, { status: "Sent", deliveryAttempts: [{ providerName: "database" }] });
}

Deno.test("an in-app message creates one notification for each user, who can read it", async () => {
  const [ann, bob] = [await reader(), await reader()];
  const members = { category: "billing", icon: "wakeUps", actionUrl: "/invoices/1", priority: "High" };
  await notify([ann, bob], members);
  assert.equal(await unread(ann), 1);
  const { items, totalCount } = (await ann.get(of(ann))).body;
  assert.equal(totalCount, 1);
  const { id, createdAt, ...rest } = items[0];
  assert.ok(createdAt);
  assert.deepEqual(rest, { userId: ann.userId, title: "Title", body: "Body", isRead: false, ...members });
  for (let time = 0; time < 2; time++) { // reading twice is reading once
    has(await ann.put(of(ann, "", `/${id}/read`)), { status: 200, body: { isRead: true } });
  }
  assert.deepEqual([await unread(ann), await unread(bob)], [0, 1]);
  assert.equal((await ann.delete(of(ann, "", `/${id}`))).status, 200);
  refused(await ann.delete(of(ann, "", `/${id}`)), 404, "NOTIFICATION_INAPP_NOT_FOUND");
  assert.equal((await ann.get(of(ann))).body.totalCount, 0);
});

Deno.test("the list filters by read state and category, and pages newest first", async () => {
  const ann = await reader();
  for (let n = 0; n < 5; n++) await notify([ann], { subject: `m${n}`, category: n % 2 ? "odd" : "even" });
  const list = async (rest = "") => (await ann.get(of(ann, rest))).body;
  const { items } = await list();
  assert.deepEqual(pluck(items, "title"), ["m4", "m3", "m2", "m1", "m0"]);
  await ann.put(of(ann, "", `/${items[0].id}/read`));
  await notify([ann], { subject: "m5", category: "Odd" });
  const counts = {
    "isRead=true": 1,
    "isRead=false": 5,
    "category=even": 3,
    "category=even&isRead=false": 2,
    "category=none": 0,
    "category=odd": 3,
    "category=ODD&isRead=true": 0,
  };
  for (const [query, count] of Object.entries(counts)) {
    const page = await list(`&${query}`);
    assert.deepEqual([page.totalCount, page.items.length], [count, count], query);
  }
  has(await list("&page=2&pageSize=4"), { totalCount: 6, hasNext: false, items: [{}, { title: "m0" }] });
  has(await ann.put(of(ann, "", "/read-all")), { status: 200, body: { updated: 5 } });
  assert.equal(await unread(ann), 0);
});

Deno.test("only the user and a system administrator have access to a user's notifications", async () => {
  const [ann, eve] = [await reader(), await reader("Admin")];
  await notify([ann, eve]);
  const [{ id }] = (await ann.get(of(ann))).body.items;
  const none = crypto.randomUUID();
  const gets = ["", "/unread-count", "/devices"].map((at) => ["GET", at] as const);
  const puts = [`/${id}/read`, "/read-all", `/${none}/read`].map((at) => ["PUT", at] as const);
  for (const [method, at] of [...gets, ...puts, ["DELETE", `/${id}`] as const]) {
    refused(await eve.send(method, of(ann, "", at)), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  }
  refused(await eve.put(of(eve, "", `/${id}/read`)), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await eve.delete(of(eve, "", `/${id}`)), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await eve.put(of(eve, "", `/${none}/read`)), 404, "NOTIFICATION_INAPP_NOT_FOUND");
  assert.equal(await unread(ann), 1, "nothing was touched");
  assert.equal((await t.systemAdmin.put(of(ann, "", `/${id}/read`))).status, 200);
  assert.equal((await t.systemAdmin.get(of(ann))).body.totalCount, 1);
});

Deno.test("counts stay exact during simultaneous reads, deletions and arrivals", async () => {
  const ann = await reader();
  for (let n = 0; n < 8; n++) await notify([ann], { category: n % 2 ? "a" : null });
  const ids = pluck((await ann.get(of(ann))).body.items, "id");
  await Promise.all([
    ...ids.slice(0, 4).flatMap((id) => [1, 2].map(() => ann.put(of(ann, "", `/${id}/read`)))),
    ...ids.slice(3, 6).flatMap((id) => [1, 2].map(() => ann.delete(of(ann, "", `/${id}`)))),
    notify([ann]),
    ann.put(of(ann, "", "/read-all")),
  ]);
  const [row] = await sql<{ all: number; unread: number }[]>`
    select count(*) as all, count(*) filter (where not is_read) as unread from user_notifications
    where user_id = ${ann.userId}`;
  assert.equal(row?.all, 6);
  assert.deepEqual([(await ann.get(of(ann))).body.totalCount, await unread(ann)], [row?.all, row?.unread]);
});

Deno.test("a push message is sent to device tokens and to users' devices", async () => {
  const ann = await reader();
  const device = await ann.post(of(ann, "", "/devices"), { token: "tok:ann", platform: "ios" });
  has(device, { status: 200, body: { platform: "ios" } });
  const content = { title: "Ping", body: "Pong", data: { a: "1" } };
  const push = { ...content, deviceTokens: ["tok:1"], userIds: [ann.userId] };
  has(await sender.post(`${path}/push`, push), { status: 200, body: { status: "Sent" } });
  const [message] = await outbox?.list() ?? [];
  has(message, { channel: "Push", to: ["tok:1", "tok:ann"], textBody: "Pong" });
  assert.equal((await ann.get(of(ann, "", "/devices"))).body.length, 1);
  const one = of(ann, "", `/devices/${device.body.id}`);
  assert.equal((await ann.delete(one)).status, 204);
  refused(await ann.delete(one), 404, "NOTIFICATION_DEVICE_NOT_FOUND");
  const stranger = await t.actor();
  refused(await stranger.post(of(ann, "", "/devices"), { token: "" }), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  const cases: [Record<string, unknown>, string][] = [
    [{}, "deviceTokens"],
    [{ userIds: [ann.userId] }, "deviceTokens"],
    [{ userIds: [stranger.userId] }, "userIds.0"],
    [{ deviceTokens: ["has blank"] }, "deviceTokens.0"],
    [{ deviceTokens: ["tok:1"], data: { a: 1 } }, "data.a"],
  ];
  for (const [body, member] of cases) {
    invalid(await sender.post(`${path}/push`, { title: "x", ...body }), member);
  }
});

Deno.test("of too many devices of a user the oldest are forgotten", async () => {
  const { userId } = sender;
  await sql`insert into user_devices (id, user_id, token)
    select gen_random_uuid(), ${userId}, 'many:' || n from generate_series(1, 120) n`;
  const devices = of(sender, "", "/devices");
  const [oldest] = (await sender.get(devices)).body;
  const added = await sender.post(devices, { token: "tok:new" });
  const kept = pluck((await sender.get(devices)).body, "id");
  assert.ok(kept.length <= 101 && kept.includes(added.body.id) && !kept.includes(oldest.id));
});

Deno.test("a service account with admin:system serves the notifications of every user, other programs of none", async () => {
  const permissions = ["admin:system", "read:users", "manage:api-keys"];
  const maker = await t.actor({ tenantId: t.platformTenantId, permissions });
  const programOf = async (route: string, body: Record<string, unknown>) => {
    const made = await maker.post(`/api/v1/${route}`, { name: crypto.randomUUID(), ...body });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return t.nobody.with({ authorization: `Bearer ${made.body.secret ?? made.body.key}` });
  };
  const accountWith = (permissions: string[]) =>
    programOf("service-accounts", { permissions, tenants: "all" });
  const account = await accountWith(["admin:system"]);
  const ann = await reader();
  await notify([ann]);
  await notify([ann]);
  const { status, body } = await account.get(of(ann));
  assert.deepEqual([status, body.totalCount], [200, 2]);
  assert.equal((await account.get(of(ann, "", "/unread-count"))).body, 2);
  const [first, second] = body.items;
  assert.equal((await account.put(of(ann, "", `/${first.id}/read`))).body.isRead, true);
  assert.equal((await account.delete(of(ann, "", `/${second.id}`))).status, 200);
  assert.equal((await account.put(of(ann, "", "/read-all"))).status, 200);
  invalid(await account.get(own), "userId");
  const others = [
    account.with({ "x-tenant-id": tenantId }), // there, admin:system does not count
    await accountWith(["read:users"]),
    await programOf("api-keys", { permissions: ["admin:system"] }),
  ];
  for (const other of others) {
    for (const user of [ann, maker]) refused(await other.get(of(user)), 403, "FORBIDDEN");
  }
});
