import assert from "node:assert/strict";
import { signUnsubscribe } from "../../../domain/notifications/unsubscribe_token.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { email, refused, sent, settledDetail, templates } from "./notifications.ts";

const receiver = await startReceiver();
const t = await setup({ SMTP_URL: receiver.url, MAIL_FROM: "Steward <service@steward.test>" });
Deno.test.afterAll(async () => {
  await t.stop();
  await receiver[Symbol.asyncDispose]();
});
const p = t.steward.platform;
const ann = await t.actor({ permissions: ["send:notifications"] });
const reader = () => t.actor({ tenantId: ann.tenantId ?? "" });
const path = "/api/v1/notifications/unsubscribe";
const link = (token: string) => `${path}?token=${encodeURIComponent(token)}`;
const sign = (userId: string, category = "news", now = new Date(), tenantId: string | null = null) =>
  signUnsubscribe(p.sql, { userId, category, tenantId }, now);
const toUser = (userId: string, change: Record<string, unknown> = {}) =>
  email({ recipients: undefined, userIds: [userId], category: "news", ...change });
const mailTo = (address: string) => receiver.received.filter((mail) => mail.to.includes(address));
const isWanted = async (user: Actor, category = "news") => {
  const { body } = await user.get(`/api/v1/user-notifications/preferences?userId=${user.userId}`);
  const said = body.categories.find((entry: { category: string }) => entry.category === category);
  return said?.channels.email ?? true;
};
/** A header of a raw mail, unfolded. */
const header = (raw: string, name: string) =>
  new RegExp(`^${name}:(.*(?:\r?\n[ \t].*)*)`, "im").exec(raw)?.[1]?.replaceAll(/\r?\n[ \t]+/g, "").trim() ??
    null;

Deno.test("mail of a category to a user has a link that works with one POST without a sign-in", async () => {
  const bob = await reader();
  await settledDetail(t, ann, await sent(ann, toUser(bob.userId)));
  const [mail] = mailTo(bob.email);
  const raw = mail?.raw ?? "";
  assert.equal(header(raw, "List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
  const url = new URL(/^<(.*)>$/.exec(header(raw, "List-Unsubscribe") ?? "")?.[1] ?? "");
  assert.equal(url.origin + url.pathname, t.url + path);
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: "List-Unsubscribe=One-Click",
  });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
  assert.equal(await isWanted(bob), false);
  const next = await settledDetail(t, ann, await sent(ann, toUser(bob.userId)));
  assert.deepEqual([next.status, next.recipients[0].reason], ["Cancelled", "OptedOut"]);
  assert.equal(mailTo(bob.email).length, 1);
  const other = await settledDetail(t, ann, await sent(ann, toUser(bob.userId, { category: "billing" })));
  assert.equal(other.status, "Sent", "another category is another matter");
  const inApp = await sent(ann, toUser(bob.userId, { channel: "InApp" }));
  assert.equal((await settledDetail(t, ann, inApp)).status, "Sent", "and so is another channel");
});

Deno.test("mail without a category, or to an address that is not a user, has no such link", async () => {
  const bob = await reader();
  await settledDetail(t, ann, await sent(ann, toUser(bob.userId, { category: undefined })));
  await settledDetail(t, ann, await sent(ann, email({ category: "news" })));
  for (const address of [bob.email, "ann@example.test"]) {
    assert.equal(header(mailTo(address)[0]?.raw ?? "", "List-Unsubscribe"), null, address);
  }
});

Deno.test("a user addressed by email gets the link too, in a mail of their own", async () => {
  const bob = await reader();
  const recipients = [{ address: bob.email }, { address: "stranger@x.test" }];
  await settledDetail(t, ann, await sent(ann, email({ category: "news", recipients })));
  assert.ok(header(mailTo(bob.email)[0]?.raw ?? "", "List-Unsubscribe"));
  assert.equal(header(mailTo("stranger@x.test")[0]?.raw ?? "", "List-Unsubscribe"), null);
});

Deno.test("templates have the reader's own link as unsubscribeUrl, and it cannot be read back", async () => {
  const [bob, cid] = [await reader(), await reader()];
  await ann.post(templates, {
    slug: "with-link",
    name: "With link",
    locale: "en",
    requiredVariables: "unsubscribeUrl",
    subjectTemplate: "News",
    htmlBodyTemplate: `<a href="{{unsubscribeUrl}}">stop</a>`,
  });
  const template = { subject: undefined, htmlBody: undefined, templateSlug: "with-link" };
  const id = await sent(ann, toUser(bob.userId, { ...template, userIds: [bob.userId, cid.userId] }));
  const detail = await settledDetail(t, ann, id);
  assert.equal(detail.status, "Sent", detail.lastError);
  assert.ok(!JSON.stringify(detail).includes("token="));
  const links = [bob, cid].map(({ email: address }) => {
    const text = (mailTo(address)[0]?.raw ?? "").replaceAll("=\r\n", "").replaceAll("=3D", "=");
    return /href="[^"]*token=([\w.-]+)"/.exec(text)?.[1] ?? "";
  });
  assert.equal(new Set(links).size, 2);
  assert.equal((await t.nobody.post(link(links[0] ?? ""))).status, 200);
  assert.deepEqual([await isWanted(bob), await isWanted(cid)], [false, true]);
  const bare = await ann.post("/api/v1/notifications/send", email({ ...template, category: "news" }));
  refused(bare, 400, "NOTIFICATION_TEMPLATE_VARIABLES_MISSING");
});

Deno.test("opening the page changes nothing; its button does, in the reader's language", async () => {
  const bob = await reader();
  const at = link(await sign(bob.userId, "Notícias <b>"));
  const page = await t.nobody.get(at, { "accept-language": "pt-BR,pt;q=0.9,en;q=0.8" });
  assert.equal(page.status, 200);
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'.*form-action 'self'/);
  assert.equal(page.headers.get("referrer-policy"), "no-referrer");
  assert.match(
    page.body,
    /<html lang="pt">[\s\S]*Já não quer[\s\S]*“Notícias &lt;b&gt;”[\s\S]*<form method="post">/,
  );
  assert.equal(await isWanted(bob, "notícias <b>"), true);
  const head = await fetch(t.url + at, { method: "HEAD" });
  assert.equal(head.status, 200);
  const done = await t.nobody.post(at, undefined, { "accept-language": "en-GB" });
  assert.match(done.body, /<html lang="en">[\s\S]*Done\./);
  assert.equal(await isWanted(bob, "notícias <b>"), false);
  for (const language of ["", "de", "*", "pt;q=0.1, en", ",;,"]) {
    assert.match(
      (await t.nobody.get(at, { "accept-language": language })).body,
      /<html lang="en">/,
      language,
    );
  }
});

Deno.test("a link that is forged, changed, expired or of another kind does nothing", async () => {
  const [bob, cid] = [await reader(), await reader()];
  const token = await sign(bob.userId);
  const [payload = "", signature = ""] = token.split(".");
  const forCid = Buffer.from(JSON.stringify([cid.userId, "news", 4_000_000_000])).toString("base64url");
  const old = await sign(bob.userId, "news", new Date(Date.now() - 366 * 86_400_000));
  const forged = [
    ...["x", ".", "..", `${payload}.`, `.${signature}`, `${payload}.${signature}.`, `${token}A`],
    ...[`${forCid}.${signature}`, `${payload}.${signature.slice(0, -2)}`, `${payload}.${payload}`],
    ...[old, ann.token ?? "", "é.é", `${payload} .${signature}`],
  ];
  for (const wrong of forged) {
    refused(await t.nobody.post(link(wrong)), 400, "NOTIFICATION_UNSUBSCRIBE_INVALID");
    const page = await t.nobody.get(link(wrong));
    assert.deepEqual([page.status, /<form/.test(page.body)], [200, false], wrong);
  }
  refused(await t.nobody.post(path), 400, "VALIDATION_ERROR");
  refused(await t.nobody.post(link("x".repeat(1_001))), 400, "VALIDATION_ERROR");
  refused(await t.nobody.post(link("x\0")), 400, "VALIDATION_ERROR");
  assert.deepEqual([await isWanted(bob), await isWanted(cid)], [true, true]);
  assert.equal((await t.nobody.post(link(token))).status, 200, "and the true one still works");
});

Deno.test("simultaneous uses of a link make one change and affect nothing else", async () => {
  const bob = await reader();
  const preferences = `/api/v1/user-notifications/preferences?userId=${bob.userId}`;
  await bob.put(preferences, {
    timeZoneId: "Asia/Tokyo",
    quietHours: { from: "22:00", to: "07:00" },
    categories: [{ category: "news", channels: { push: false } }],
  });
  const at = link(await sign(bob.userId, "NEWS"));
  const answers = await Promise.all(Array.from({ length: 6 }, () => t.nobody.post(at)));
  assert.ok(answers.every((answer) => answer.status === 200));
  const { body, headers } = await bob.get(preferences);
  assert.equal(headers.get("etag"), '"2"');
  assert.deepEqual([body.timeZoneId, body.quietHours, body.categories], [
    "Asia/Tokyo",
    { from: "22:00", to: "07:00" },
    [{ category: "news", channels: { email: false, push: false, inApp: true, sms: true } }],
  ]);
});

Deno.test("a token signed by one instance is valid on another", async () => {
  const bob = await reader();
  const second = await setup({ DATABASE_URL: p.config.DATABASE_URL ?? "", JOB_CONCURRENCY: "0" });
  try {
    assert.equal((await second.nobody.post(link(await sign(bob.userId)))).status, 200);
  } finally {
    await second.stop();
  }
  assert.equal(await isWanted(bob), false);
});
