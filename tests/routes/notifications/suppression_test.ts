import assert from "node:assert/strict";
import { has, invalid, pluck } from "../../support/answers.ts";
import type { Actor } from "../../support/setup.ts";
import { delivered, email, path, refused, sent, settledDetail, to } from "./notifications.ts";
import { made } from "./own_templates.ts";
import { answers, asked, header, mailTo, setupProviders } from "./providers.ts";

const t = await setupProviders();
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
  refused(await ann.delete(`${list}/${id}`), 404, "NOTIFICATION_SUPPRESSION_NOT_FOUND");
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
  await ann.post(list, { channel: "Email", address: "Domain@Exämple.test" });
  assert.equal((await suppressed("domain@xn--exmple-cua.test")).length, 1);
  const answer = await ann.post(`${path}/email`, { to: ["blocked@x.test"], subject: "S", htmlBody: "H" });
  refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
  assert.match(answer.body.detail, /suppressed \(Complaint\)/);
  assert.equal(timesAsked("blocked@x.test"), 0);
});

Deno.test("all spellings of an address are equal, including those of its domain, and one that is invalid for its channel is rejected", async () => {
  await ann.post(list, { channel: "Email", address: "Jose@müller.test" });
  const again = await ann.post(list, { channel: "Email", address: "jose@XN--MLLER-KVA.test" });
  refused(again, 409, "NOTIFICATION_SUPPRESSION_ALREADY_EXISTS");
  const detail = await delivered(t, ann, mail("JOSE@MÜLLER.test", "jose2@x.test"));
  assert.equal(detail.recipients[0].reason, "Suppressed");
  invalid(await ann.post(list, { channel: "Sms", address: "12" }), "address");
  invalid(await ann.post(list, { channel: "Push", address: "token" }), "channel");
});

const p = t.platform;
const reader = () => t.actor({ tenantId: ann.tenantId ?? "" });
const unsubscribe = `${path}/unsubscribe`;
const link = (token: string) => `${unsubscribe}?token=${encodeURIComponent(token)}`;
const sign = (userId: string, category = "news", now = new Date()) =>
  p.unsubscribeTokens.sign({ userId, category, tenantId: null }, now);
const toUser = (userId: string, change: Record<string, unknown> = {}) =>
  email({ recipients: undefined, userIds: [userId], category: "news", ...change });
const isWanted = async (user: Actor, category = "news") => {
  const { body } = await user.get(`/api/v1/user-notifications/preferences?userId=${user.userId}`);
  const said = body.categories.find((entry: { category: string }) => entry.category === category);
  return said?.channels.email ?? true;
};
const unsubscribeOf = (address: string) => header(mailTo(address)[0]?.raw, "List-Unsubscribe");

Deno.test("mail of a category to a user has a link that works with one POST without a sign-in", async () => {
  const bob = await reader();
  await delivered(t, ann, toUser(bob.userId));
  assert.equal(header(mailTo(bob.email)[0]?.raw, "List-Unsubscribe-Post"), "List-Unsubscribe=One-Click");
  const url = new URL(/^<(.*)>$/.exec(unsubscribeOf(bob.email) ?? "")?.[1] ?? "");
  assert.equal(url.origin + url.pathname, t.url + unsubscribe);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await fetch(url, { method: "POST", headers, body: "List-Unsubscribe=One-Click" });
  assert.equal(answer.status, 200);
  await answer.body?.cancel();
  assert.equal(await isWanted(bob), false);
  const next = await delivered(t, ann, toUser(bob.userId));
  has(next, { status: "Cancelled", recipients: [{ reason: "OptedOut" }] });
  assert.equal(mailTo(bob.email).length, 1);
});

Deno.test("only mail of a category to a user has such a link, also if the user is addressed by email", async () => {
  const [bob, cid] = [await reader(), await reader()];
  await delivered(t, ann, toUser(bob.userId, { category: undefined }));
  await delivered(t, ann, email({ category: "news", ...to(cid.email, "stranger@x.test") }));
  assert.deepEqual([bob.email, "stranger@x.test"].map(unsubscribeOf), [null, null]);
  assert.ok(unsubscribeOf(cid.email), "in a mail of their own");
});

Deno.test("templates have the reader's own link as unsubscribeUrl, and it cannot be read back", async () => {
  const [bob, cid] = [await reader(), await reader()];
  const htmlBodyTemplate = `<a href="{{unsubscribeUrl}}">stop</a>`;
  const texts = { subjectTemplate: "News", htmlBodyTemplate, requiredVariables: "unsubscribeUrl" };
  await made(ann, { slug: "with-link", ...texts });
  const template = { subject: undefined, htmlBody: undefined, templateSlug: "with-link" };
  const userIds = [bob.userId, cid.userId];
  const detail = await delivered(t, ann, toUser(bob.userId, { ...template, userIds }));
  assert.equal(detail.status, "Sent", detail.lastError);
  assert.ok(!JSON.stringify(detail).includes("token="));
  const links = [bob, cid].map(({ email: address }) => {
    const text = (mailTo(address)[0]?.raw ?? "").replaceAll("=\r\n", "").replaceAll("=3D", "=");
    return /href="[^"]*token=([\w.-]+)"/.exec(text)?.[1] ?? "";
  });
  assert.equal(new Set(links).size, 2);
  assert.equal((await t.nobody.post(link(links[0] ?? ""))).status, 200);
  assert.deepEqual([await isWanted(bob), await isWanted(cid)], [false, true]);
  const bare = await ann.post(`${path}/send`, email({ ...template, category: "news" }));
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
  const shown = /<html lang="pt">[^]*Não quer mais receber[^]*“Notícias &lt;b&gt;”[^]*<form method="post">/;
  assert.match(page.body, shown);
  assert.equal((await fetch(t.url + at, { method: "HEAD" })).status, 200);
  assert.equal(await isWanted(bob, "notícias <b>"), true);
  const done = await t.nobody.post(at, undefined, { "accept-language": "en-GB" });
  assert.match(done.body, /<html lang="en">[^]*Done\./);
  assert.equal(await isWanted(bob, "notícias <b>"), false);
});

Deno.test("a link that is forged, changed, expired or of another kind does nothing", async () => {
  const [bob, cid] = [await reader(), await reader()];
  const token = await sign(bob.userId);
  const [payload = "", signature = ""] = token.split(".");
  const forCid = Buffer.from(JSON.stringify([cid.userId, "news", 4_000_000_000])).toString("base64url");
  const old = await sign(bob.userId, "news", new Date(Date.now() - 366 * 86_400_000));
  const cut = `${payload}.${signature.slice(0, -2)}`;
  for (const wrong of ["é.é", `${payload}.`, `${token}A`, cut, `${forCid}.${signature}`, old]) {
    refused(await t.nobody.post(link(wrong)), 400, "NOTIFICATION_UNSUBSCRIBE_INVALID");
    const page = await t.nobody.get(link(wrong));
    assert.deepEqual([page.status, /<form/.test(page.body)], [200, false], wrong);
  }
  for (const wrong of [unsubscribe, link("x".repeat(1_001)), link("x\0")]) {
    invalid(await t.nobody.post(wrong), "token");
  }
  assert.deepEqual([await isWanted(bob), await isWanted(cid)], [true, true]);
  assert.equal((await t.nobody.post(link(token))).status, 200, "and the true one still works");
});

Deno.test("simultaneous uses of a link make one change and affect nothing else", async () => {
  const bob = await reader();
  const preferences = `/api/v1/user-notifications/preferences?userId=${bob.userId}`;
  const rest = { timeZoneId: "Asia/Tokyo", quietHours: { from: "22:00", to: "07:00" } };
  await bob.put(preferences, { ...rest, categories: [{ category: "news", channels: { push: false } }] });
  const at = link(await sign(bob.userId, "NEWS"));
  const answers = await Promise.all(Array.from({ length: 3 }, () => t.nobody.post(at)));
  assert.deepEqual(pluck(answers, "status"), [200, 200, 200]);
  const { body, headers } = await bob.get(preferences);
  assert.equal(headers.get("etag"), '"2"');
  const channels = { email: false, push: false, inApp: true, sms: true };
  has(body, { ...rest, categories: [{ category: "news", channels }] });
});
