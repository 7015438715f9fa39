import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { delivered, path, refused, sent, to } from "./notifications.ts";
import { openStream } from "./user_stream.ts";

const t = await setupShared();
const { sql, outbox } = t.platform;
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
  assert.equal((await ann.get(of(ann, "&category=BILLING"))).body.totalCount, 1);
  for (let time = 0; time < 2; time++) { // reading twice is reading once
    has(await ann.put(of(ann, "", `/${id}/read`)), { status: 200, body: { isRead: true } });
  }
  assert.deepEqual([await unread(ann), await unread(bob)], [0, 1]);
  assert.equal((await ann.delete(of(ann, "", `/${id}`))).status, 200);
  refused(await ann.delete(of(ann, "", `/${id}`)), 404, "NOTIFICATION_INAPP_NOT_FOUND");
  assert.equal((await ann.get(of(ann))).body.totalCount, 0);
});

Deno.test("only the user and a system administrator have access to a user's notifications and preferences", async () => {
  const [ann, eve] = [await reader(), await reader("Admin")];
  await notify([ann, eve]);
  const [{ id }] = (await ann.get(of(ann))).body.items;
  const none = crypto.randomUUID();
  const attempts = [
    eve.get(of(ann)),
    eve.put(of(ann, "", `/${id}/read`)),
    eve.put(of(eve, "", `/${id}/read`)),
  ];
  for (const answer of await Promise.all(attempts)) refused(answer, 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await eve.put(of(eve, "", `/${none}/read`)), 404, "NOTIFICATION_INAPP_NOT_FOUND");
  assert.equal(await unread(ann), 1, "nothing was touched");
  assert.equal((await t.systemAdmin.put(of(ann, "", `/${id}/read`))).status, 200);
  assert.equal((await t.systemAdmin.get(of(ann))).body.totalCount, 1);
  const change = { timeZoneId: "Asia/Tokyo" };
  has(await t.systemAdmin.put(of(ann, "", "/preferences"), change), { status: 200, body: change });
  refused(await t.systemAdmin.put(preferencesOf(none), change), 404, "USER_NOT_FOUND");
});

Deno.test("counts stay exact during simultaneous reads, deletions and arrivals", async () => {
  const ann = await reader();
  for (let n = 0; n < 5; n++) await notify([ann], { category: n % 2 ? "a" : null });
  const ids = pluck((await ann.get(of(ann))).body.items, "id");
  await Promise.all([
    ...ids.slice(0, 3).flatMap((id) => [1, 2].map(() => ann.put(of(ann, "", `/${id}/read`)))),
    ...ids.slice(2, 4).flatMap((id) => [1, 2].map(() => ann.delete(of(ann, "", `/${id}`)))),
    notify([ann]),
    ann.put(of(ann, "", "/read-all")),
  ]);
  const [row] = await sql<{ all: number; unread: number }[]>`
    select count(*) as all, count(*) filter (where not is_read) as unread from user_notifications
    where user_id = ${ann.userId}`;
  assert.equal(row?.all, 4);
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
    const made = await accepted(maker.post(`/api/v1/${route}`, { name: crypto.randomUUID(), ...body }), 201);
    return t.nobody.with({ authorization: `Bearer ${made.secret ?? made.key}` });
  };
  const accountWith = (permissions: string[]) =>
    programOf("service-accounts", { permissions, tenants: "all" });
  const account = await accountWith(["admin:system"]);
  const ann = await reader();
  await notify([ann]);
  const { status, body } = await account.get(of(ann));
  assert.deepEqual([status, body.totalCount], [200, 1]);
  const [first] = body.items;
  assert.equal((await account.put(of(ann, "", `/${first.id}/read`))).body.isRead, true);
  const others = [
    account.with({ "x-tenant-id": tenantId }), // there, admin:system does not count
    await accountWith(["read:users"]),
    await programOf("api-keys", { permissions: ["admin:system"] }),
  ];
  for (const other of others) {
    for (const user of [ann, maker]) refused(await other.get(of(user)), 403, "FORBIDDEN");
  }
});

const post = ({ userId }: Actor, subject: string) =>
  sent(sender, { channel: "InApp", recipients: [{ address: userId }], subject });

Deno.test("a new in-app notification reaches the user's open streams; a reconnected one continues after its last event", async () => {
  const ann = await t.actor({ tenantId });
  const dropped = await openStream(t, ann); // before its first event
  await dropped.close();
  await post(ann, "zero");
  const stream = await openStream(t, ann, dropped.firstId);
  assert.equal((await stream.next())[1], "zero");
  const other = await openStream(t, ann);
  await post(ann, "one");
  const [lastEventId, title] = await stream.next();
  assert.equal(title, "one");
  assert.equal((await other.next())[1], "one");
  await Promise.all([stream.close(), other.close()]);
  const missed = Array.from({ length: 3 }, (_, n) => `missed ${n}`);
  await Promise.all(missed.map((subject) => post(ann, subject)));
  const again = await openStream(t, ann, lastEventId);
  const got: [string, string][] = [];
  while (got.length < missed.length) got.push(await again.next());
  assert.deepEqual(got.map(([, title]) => title).sort(), missed.toSorted());
  assert.deepEqual(got.map(([id]) => Number(id)), got.map((_, index) => Number(lastEventId) + 1 + index));
  await again.close();
});

Deno.test("only the user can open the stream, and it ends with the session", async () => {
  const [ann, eve] = [await t.actor({ tenantId }), await t.actor({ tenantId })];
  const url = `/api/v1/user-notifications/stream?userId=${ann.userId}`;
  refused(await eve.get(url), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  invalid(await ann.get(url, { "last-event-id": "x" }), "Last-Event-ID");
  const stream = await openStream(t, ann);
  await ann.post("/auth/logout");
  await post(ann, "too late");
  await assert.rejects(stream.next(), /the stream ended/);
});

const ann = await t.actor();
const preferencesOf = (userId: string) => `${own}/preferences?userId=${userId}`;
const all = { email: true, push: true, inApp: true, sms: true };
const zone = { timeZoneId: "UTC" };
const digest = { isEnabled: false, at: "08:00", locale: null };
const defaults = { ...zone, quietHours: null, categories: [], digest };

Deno.test("preferences have defaults; omitted members stay, and null restores the default", async () => {
  const { userId, ...bob } = await t.actor();
  const before = await bob.get(preferencesOf(userId));
  assert.deepEqual([before.headers.get("etag"), before.body], ['"0"', { userId, ...defaults }]);
  const wanted = { timeZoneId: "Europe/Lisbon", quietHours: { from: "22:00", to: "07:00" } };
  const tips = { category: "Tips", channels: { email: false } };
  const categories = [tips, { category: "news", channels: { sms: false } }];
  const put = async (change: Record<string, unknown>) =>
    (await bob.put(preferencesOf(userId), { ...zone, ...change })).body;
  const digest = { isEnabled: true, at: "18:30", locale: "pt_br" };
  const made = await put({ ...wanted, categories, digest });
  const [news, late] = [{ ...all, sms: false }, { ...all, email: false }];
  const kept = [{ category: "news", channels: news }, { category: "tips", channels: late }];
  assert.deepEqual(made, { ...wanted, userId, categories: kept, digest: { ...digest, locale: "pt-BR" } });
  assert.deepEqual(await put({}), { ...made, ...zone });
  assert.deepEqual((await put({ digest: { at: "09:30" } })).digest, { ...made.digest, at: "09:30" });
  const plain = await put({ digest: { locale: null } });
  assert.deepEqual(plain.digest, { isEnabled: true, at: "09:30", locale: null });
  assert.deepEqual(await put({ quietHours: null, categories: null, digest: null }), { userId, ...defaults });
});

Deno.test("every error is named by field", async () => {
  const category = (name: string, channels = {}) => ({ category: name, channels });
  const cases: [Record<string, unknown>, ...string[]][] = [
    ...["Europe/Lisboa", "+01:00"]
      .map((timeZoneId): [Record<string, unknown>, string] => [{ timeZoneId }, "timeZoneId"]),
    [{ quietHours: { from: "25:00", to: "7:00" } }, "quietHours.from", "quietHours.to"],
    [{ quietHours: { from: "07:00", to: "07:00" } }, "quietHours.to"],
    [{ digest: { isEnabled: true, at: "noon" } }, "digest.at"],
    [{ digest: { isEnabled: true, locale: "not a tag!" } }, "digest.locale"],
    [{ categories: [category(" ")] }, "categories.0.category"],
    [{ categories: [category("News"), category("news")] }, "categories.1.category"],
  ];
  for (const [change, ...members] of cases) {
    invalid(await ann.put(preferencesOf(ann.userId), { ...zone, ...change }), ...members);
  }
});

Deno.test("an opt-out applies to a category with any name, which is only data, with the letter case and Unicode form of the name", async () => {
  const sender = await t.actor({ permissions: ["send:notifications"] });
  const { userId, ...bob } = await t.actor({ tenantId: sender.tenantId ?? "" });
  const names = ["__proto__", "ção %_ 日本", "İndirim", "ΟΔΟΣ"];
  const categories = names.map((category) => ({ category, channels: { inApp: false } }));
  await accepted(bob.put(preferencesOf(userId), { ...zone, categories }), 200);
  const message = { channel: "InApp", recipients: [{ address: userId }], subject: "S" };
  const details = await Promise.all(
    names.map((category) => delivered(t, sender, { ...message, category: category.normalize("NFD") })),
  );
  const outcomes = details.map(({ category, recipients: [recipient] }) => [category, recipient.reason]);
  assert.deepEqual(outcomes, names.map((name) => [name.normalize("NFC"), "OptedOut"]));
});

Deno.test("of simultaneous changes of one version one succeeds; first changes create one set of preferences", async () => {
  const { userId, ...bob } = await t.actor();
  const change = (n: number, headers = {}) =>
    bob.put(preferencesOf(userId), { ...zone, categories: [{ category: `c${n}`, channels: {} }] }, headers);
  const three = [1, 2, 3];
  const first = await Promise.all(three.map((n) => change(n)));
  assert.deepEqual(pluck(first, "status"), [200, 200, 200]);
  const { body, headers } = await bob.get(preferencesOf(userId));
  assert.deepEqual([body.categories.length, headers.get("etag")], [1, '"3"']);
  refused(await change(1, { "if-match": '"2"' }), 412, "PRECONDITION_FAILED");
  const bound = await Promise.all(three.map((n) => change(n + 3, { "if-match": '"3"' })));
  assert.deepEqual(pluck(bound, "status").sort(), [200, 412, 412]);
});
