import assert from "node:assert/strict";
import { invalid, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { delivered, refused } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor();
const path = "/api/v1/user-notifications/preferences";
const of = (userId: string) => `${path}?userId=${userId}`;
const all = { email: true, push: true, inApp: true, sms: true };
const zone = { timeZoneId: "UTC" };
const digest = { isEnabled: false, at: "08:00", locale: null };
const defaults = { ...zone, quietHours: null, categories: [], digest };

Deno.test("preferences can be changed and read; omitted members stay, and null restores the default", async () => {
  const { userId, ...bob } = await t.actor();
  const before = await bob.get(of(userId));
  assert.deepEqual([before.headers.get("etag"), before.body], ['"0"', { userId, ...defaults }]);
  const wanted = { timeZoneId: "Europe/Lisbon", quietHours: { from: "22:00", to: "07:00" } };
  const tips = { category: "Tips", channels: { email: false } };
  const categories = [tips, { category: "news", channels: { sms: false } }];
  const digest = { isEnabled: true, at: "18:30", locale: "pt_br" };
  const put = await bob.put(of(userId), { ...wanted, categories, digest });
  assert.deepEqual([put.status, put.headers.get("etag")], [200, '"1"']);
  assert.deepEqual(put.body, {
    ...wanted,
    userId,
    categories: [
      { category: "news", channels: { ...all, sms: false } },
      { category: "tips", channels: { ...all, email: false } },
    ],
    digest: { isEnabled: true, at: "18:30", locale: "pt-BR" },
  });
  assert.deepEqual((await bob.get(of(userId))).body, put.body);
  const changed = async (change: Record<string, unknown>) =>
    (await bob.put(of(userId), { ...zone, ...change })).body;
  assert.deepEqual(await changed({}), { ...put.body, ...zone });
  const later = await changed({ digest: { at: "09:30" } });
  assert.deepEqual(later.digest, { isEnabled: true, at: "09:30", locale: "pt-BR" });
  const plain = await changed({ digest: { locale: null } });
  assert.deepEqual(plain.digest, { isEnabled: true, at: "09:30", locale: null });
  const none = { quietHours: null, categories: null, digest: null };
  assert.deepEqual(await changed(none), { userId, ...defaults });
});

Deno.test("only the user and a system administrator have access, whatever else the request contains", async () => {
  const other = await t.actor({ tenantId: ann.tenantId ?? "", role: "Admin" });
  refused(await other.get(of(ann.userId)), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  for (const body of [zone, "no JSON"]) {
    refused(await other.put(of(ann.userId), body), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  }
  for (const wrong of [path, of("somebody")]) invalid(await ann.get(wrong), "userId");
  const change = { timeZoneId: "Asia/Tokyo" };
  assert.equal((await t.systemAdmin.put(of(ann.userId), change)).body.timeZoneId, "Asia/Tokyo");
  refused(await t.systemAdmin.put(of(crypto.randomUUID()), zone), 404, "USER_NOT_FOUND");
});

Deno.test("every error is named by field", async () => {
  const category = (name: string, channels = {}) => ({ category: name, channels });
  const many = Array.from({ length: 201 }, (_, n) => category(`c${n}`));
  const cases: [Record<string, unknown>, ...string[]][] = [
    ...["Europe/Lisboa", "+01:00", "UTC\u0000", "../etc", "x".repeat(101), 3]
      .map((timeZoneId): [Record<string, unknown>, string] => [{ timeZoneId }, "timeZoneId"]),
    [{ timeZoneId: undefined }, "timeZoneId"],
    [{ quietHours: { from: "25:00", to: "7:00" } }, "quietHours.from", "quietHours.to"],
    [{ quietHours: { from: "07:00", to: "07:00" } }, "quietHours.to"],
    [{ quietHours: { from: "07:00" } }, "quietHours.to"],
    [{ digest: { isEnabled: true, at: "noon" } }, "digest.at"],
    [{ digest: { isEnabled: true, locale: "not a tag!" } }, "digest.locale"],
    [{ categories: [category(" ")] }, "categories.0.category"],
    [{ categories: [category("a", { email: "no" })] }, "categories.0.channels.email"],
    [{ categories: [category("News"), category("news")] }, "categories.1.category"],
    [{ categories: many }, "categories"],
  ];
  for (const [change, ...members] of cases) {
    invalid(await ann.put(of(ann.userId), { ...zone, ...change }), ...members);
  }
});

Deno.test("an opt-out applies to a category with any name, which is only data, with the letter case of the name", async () => {
  const sender = await t.actor({ permissions: ["send:notifications"] });
  const { userId, ...bob } = await t.actor({ tenantId: sender.tenantId ?? "" });
  const hostile = ["__proto__", "constructor", "'; drop table users; --", "ção %_ 日本", '{"a":1}'];
  const names = [...hostile, "İndirim", "ŞUBAT", "ΟΔΟΣ", "Straße", "K"];
  const categories = names.map((category) => ({ category, channels: { inApp: false } }));
  const put = await bob.put(of(userId), { ...zone, categories });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  const message = { channel: "InApp", recipients: [{ address: userId }], subject: "S" };
  const details = await Promise.all(names.map((category) => delivered(t, sender, { ...message, category })));
  const outcomes = details.map(({ category, recipients: [recipient] }) => [category, recipient.reason]);
  assert.deepEqual(outcomes, names.map((name) => [name, "OptedOut"]));
});

Deno.test("of simultaneous changes of one version one succeeds; first changes create one set of preferences", async () => {
  const { userId, ...bob } = await t.actor();
  const change = (n: number, headers = {}) =>
    bob.put(of(userId), { ...zone, categories: [{ category: `c${n}`, channels: {} }] }, headers);
  const six = [1, 2, 3, 4, 5, 6];
  const first = await Promise.all(six.map((n) => change(n)));
  assert.deepEqual(pluck(first, "status"), six.map(() => 200));
  const { body, headers } = await bob.get(of(userId));
  assert.deepEqual([body.categories.length, headers.get("etag")], [1, '"6"']);
  refused(await change(1, { "if-match": '"5"' }), 412, "PRECONDITION_FAILED");
  const bound = await Promise.all(six.map((n) => change(n + 6, { "if-match": '"6"' })));
  assert.deepEqual(pluck(bound, "status").sort(), [200, 412, 412, 412, 412, 412]);
});
