import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { refused, sent, settledDetail } from "./notifications.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const ann = await t.actor();
const path = "/api/v1/user-notifications/preferences";
const of = (userId: string) => `${path}?userId=${userId}`;
const all = { email: true, push: true, inApp: true, sms: true };

Deno.test("without preferences a user gets everything at once", async () => {
  const answer = await ann.get(of(ann.userId));
  assert.deepEqual([answer.status, answer.headers.get("etag")], [200, '"0"']);
  assert.deepEqual(answer.body, {
    userId: ann.userId,
    timeZoneId: "UTC",
    quietHours: null,
    categories: [],
    digest: { isEnabled: false, at: "08:00", locale: null },
  });
});

Deno.test("preferences can be changed and read; omitted members stay, and null restores the default", async () => {
  const bob = await t.actor();
  const wanted = {
    timeZoneId: "Europe/Lisbon",
    quietHours: { from: "22:00", to: "07:00" },
    categories: [{ category: "Tips", channels: { email: false } }, {
      category: "news",
      channels: { sms: false },
    }],
    digest: { isEnabled: true, at: "18:30", locale: "pt_br" },
  };
  const put = await bob.put(of(bob.userId), wanted);
  assert.deepEqual([put.status, put.headers.get("etag")], [200, '"1"']);
  assert.deepEqual(put.body, {
    ...wanted,
    userId: bob.userId,
    categories: [
      { category: "news", channels: { ...all, sms: false } },
      { category: "tips", channels: { ...all, email: false } },
    ],
    digest: { isEnabled: true, at: "18:30", locale: "pt-BR" },
  });
  assert.deepEqual((await bob.get(of(bob.userId))).body, put.body);
  const kept = await bob.put(of(bob.userId), { timeZoneId: "UTC" });
  assert.deepEqual(kept.body, { ...put.body, timeZoneId: "UTC" });
  const later = await bob.put(of(bob.userId), { timeZoneId: "UTC", digest: { at: "09:30" } });
  assert.deepEqual(later.body.digest, { isEnabled: true, at: "09:30", locale: "pt-BR" });
  const plain = await bob.put(of(bob.userId), { timeZoneId: "UTC", digest: { locale: null } });
  assert.deepEqual(plain.body.digest, { isEnabled: true, at: "09:30", locale: null });
  const nothing = { quietHours: null, categories: null, digest: null };
  const bare = await bob.put(of(bob.userId), { timeZoneId: "UTC", ...nothing });
  assert.deepEqual(bare.body, {
    userId: bob.userId,
    timeZoneId: "UTC",
    quietHours: null,
    categories: [],
    digest: { isEnabled: false, at: "08:00", locale: null },
  });
});

Deno.test("only the user and a system administrator have access, whatever else the request contains", async () => {
  const [other, admin] = [await t.actor({ tenantId: ann.tenantId ?? "", role: "Admin" }), t.systemAdmin];
  refused(await other.get(of(ann.userId)), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await other.put(of(ann.userId), { timeZoneId: "UTC" }), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await other.put(of(ann.userId), "no JSON"), 403, "NOTIFICATION_INAPP_FORBIDDEN");
  refused(await t.nobody.get(of(ann.userId)), 401, "TOKEN_MISSING");
  refused(await ann.get(path), 400, "VALIDATION_ERROR");
  refused(await ann.get(of("somebody")), 400, "VALIDATION_ERROR");
  assert.equal((await admin.put(of(ann.userId), { timeZoneId: "Asia/Tokyo" })).body.timeZoneId, "Asia/Tokyo");
  refused(await admin.put(of(crypto.randomUUID()), { timeZoneId: "UTC" }), 404, "USER_NOT_FOUND");
});

Deno.test("every error is named by field", async () => {
  const wrong = async (body: unknown, ...fields: string[]) => {
    const answer = await ann.put(of(ann.userId), body);
    refused(answer, 400, "VALIDATION_ERROR");
    assert.deepEqual(
      Object.keys(answer.body.errors).sort(),
      fields.sort(),
      JSON.stringify(answer.body.errors),
    );
  };
  const zone = { timeZoneId: "UTC" };
  await wrong({}, "timeZoneId");
  for (const timeZoneId of ["Europe/Lisboa", "+01:00", "UTC\u0000", "../etc", "x".repeat(101), 3]) {
    await wrong({ timeZoneId }, "timeZoneId");
  }
  await wrong({ ...zone, quietHours: { from: "25:00", to: "7:00" } }, "quietHours.from", "quietHours.to");
  await wrong({ ...zone, quietHours: { from: "07:00", to: "07:00" } }, "quietHours.to");
  await wrong({ ...zone, quietHours: { from: "07:00" } }, "quietHours.to");
  await wrong({ ...zone, digest: { isEnabled: true, at: "noon" } }, "digest.at");
  await wrong({ ...zone, digest: { isEnabled: true, locale: "not a tag!" } }, "digest.locale");
  await wrong({ ...zone, categories: [{ category: " ", channels: {} }] }, "categories.0.category");
  await wrong(
    { ...zone, categories: [{ category: "a", channels: { email: "no" } }] },
    "categories.0.channels.email",
  );
  await wrong(
    { ...zone, categories: [{ category: "News", channels: {} }, { category: "news", channels: {} }] },
    "categories.1.category",
  );
  const many = Array.from({ length: 201 }, (_, n) => ({ category: `c${n}`, channels: {} }));
  await wrong({ ...zone, categories: many }, "categories");
});

Deno.test("category names are only data, whatever they look like", async () => {
  const bob = await t.actor();
  const names = ["__proto__", "constructor", "'; drop table users; --", "ção %_ 日本", '{"a":1}', "a.b,c"];
  const put = await bob.put(of(bob.userId), {
    timeZoneId: "UTC",
    categories: names.map((category) => ({ category, channels: { email: false } })),
  });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  const kept = put.body.categories.map((entry: { category: string }) => entry.category);
  assert.deepEqual(kept.sort(), names.map((name) => name.toLowerCase()).sort());
});

Deno.test("an opt-out applies to a category in any alphabet, with the letter case of its name", async () => {
  const sender = await t.actor({ permissions: ["send:notifications"] });
  const bob = await t.actor({ tenantId: sender.tenantId ?? "" });
  const names = ["İndirim", "ŞUBAT", "ΟΔΟΣ", "Straße", "K"];
  const put = await bob.put(of(bob.userId), {
    timeZoneId: "UTC",
    categories: names.map((category) => ({ category, channels: { inApp: false } })),
  });
  assert.equal(put.status, 200, JSON.stringify(put.body));
  const ids = await Promise.all(names.map((category) =>
    sent(sender, {
      channel: "InApp",
      recipients: [{ address: bob.userId }],
      subject: "S",
      category,
    })
  ));
  const details = await Promise.all(ids.map((id) => settledDetail(t, sender, id)));
  assert.deepEqual(
    details.map(({ category, recipients: [recipient] }) => [category, recipient.reason]),
    names.map((name) => [name, "OptedOut"]),
  );
});

Deno.test("If-Match binds a change to the version that was read", async () => {
  const bob = await t.actor();
  const first = await bob.put(of(bob.userId), { timeZoneId: "UTC" }, { "if-match": '"0"' });
  assert.equal(first.status, 200);
  refused(
    await bob.put(of(bob.userId), { timeZoneId: "UTC" }, { "if-match": '"0"' }),
    412,
    "PRECONDITION_FAILED",
  );
  const answers = await Promise.all(
    ["Europe/Lisbon", "Europe/Madrid", "Europe/Paris", "Europe/Rome", "Europe/Vienna", "Europe/Athens"].map(
      (timeZoneId) => bob.put(of(bob.userId), { timeZoneId }, { "if-match": '"1"' }),
    ),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 412, 412, 412, 412, 412]);
});

Deno.test("simultaneous first changes of a user create one set of preferences", async () => {
  const bob = await t.actor();
  const answers = await Promise.all(
    Array.from(
      { length: 6 },
      (_, n) =>
        bob.put(of(bob.userId), { timeZoneId: "UTC", categories: [{ category: `c${n}`, channels: {} }] }),
    ),
  );
  assert.ok(answers.every((answer) => answer.status === 200));
  const { body, headers } = await bob.get(of(bob.userId));
  assert.deepEqual([body.categories.length, headers.get("etag")], [1, '"6"']);
});
