import assert from "node:assert/strict";
import { REFUSED, SERVER_FAILURE } from "../../support/name_server.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { done } from "../user_data/support.ts";
import { add, newDomain, path, read, setupSenders, statusAfterCheck, verify } from "./senders.ts";
import { PASSWORD, signedIn } from "../auth/people.ts";
import { tenantWithLooks } from "./hosted.ts";
import mails from "../../../infra/postgres/mails/mails.json" with { type: "json" };

const { t, names, mail, mailFor, manager, verified, checkNow, send } = await setupSenders();
const { sql } = t.steward.platform;
const LOOKS = "/api/v1/tenant-looks";
const BAD_TOKEN = "400 NOTIFICATION_SENDER_TOKEN_INVALID";
const SERVICE = "service@steward.test";

interface Mail {
  raw: string;
}

/** A header of a mail, its lines joined. */
const headerOf = ({ raw }: Mail, name: string) =>
  new RegExp(`^${name}: (.*(?:\\r\\n[ \\t].*)*)`, "im").exec(raw)?.[1]?.replaceAll(/\r\n\s*/g, " ");
/** The text of a mail, its soft line ends removed. */
const textOf = ({ raw }: Mail) => raw.replaceAll("=\r\n", "").replaceAll("=3D", "=");
const tokenOf = (mail: Mail) => /\/senders\/confirm#token=([\w-]+)/.exec(textOf(mail))?.[1];
const confirm = (token?: string) => t.nobody.post("/senders/confirm", { token });

Deno.test("a sender is pending until its TXT record is found; then the tenant's mails come from it", async () => {
  const by = await manager();
  const domain = newDomain();
  const address = `Orders@${domain}`;
  const created = await by.post(path, { address, name: "Northwind" });
  const sender = await accepted(created, 201);
  assert.equal(created.headers.get("location"), new URL(`${path}/${sender.id}`, t.url).pathname);
  const { dnsRecord, status, method } = sender;
  assert.deepEqual([status, method, dnsRecord.name], ["Pending", "Dns", `_steward.${domain}`]);
  assert.match(dnsRecord.value, /^steward-verification=[\w-]{24}$/);
  const missing = await accepted(verify(by, sender));
  assert.equal(missing.status, "Pending");
  assert.match(missing.lastError, /_steward\.tenant\d+\.example with the value .*=.* was not found/);
  assert.equal(names.queries.at(-1), dnsRecord.name);
  assert.equal((await send(by, "before@example.test")).from, SERVICE);

  names.records.set(dnsRecord.name, ["something else", dnsRecord.value]);
  const { isDefault, lastError, verifiedAt, ...found } = await accepted(verify(by, sender));
  assert.deepEqual([found.status, isDefault, lastError], ["Verified", true, null]);
  assert.ok(verifiedAt);
  const sent = await send(by, "after@example.test");
  assert.equal(headerOf(sent, "From"), `Northwind <${address}>`);
  assert.equal(headerOf(sent, "Sender"), `Northwind <${SERVICE}>`);
  assert.equal(sent.from, SERVICE, "bounces come to the service");
  const { effective } = await accepted(by.get(LOOKS));
  assert.deepEqual([effective.senderAddress, effective.senderName], [address, "Northwind"]);
});

Deno.test("mails without a verified sender come from MAIL_FROM with the tenant's product name and reply-to address", async () => {
  const by = await manager();
  const tenants = "help@northwind.example";
  await accepted(by.put(LOOKS, { productName: "Wind & Co", replyTo: tenants }));
  const sent = await send(by, "named@example.test");
  const headers = ["From", "Sender", "Reply-To"].map((name) => headerOf(sent, name));
  assert.deepEqual(headers, [`"Wind & Co" <${SERVICE}>`, undefined, tenants]);
  const replyTo = "clerk@northwind.example";
  assert.equal(headerOf(await send(by, "own@example.test", { replyTo }), "Reply-To"), replyTo);
});

Deno.test("an address is proved by a mailed link, which works once and asks before it confirms", async () => {
  const by = await manager();
  const address = "clerk@mailed.example";
  const sender = await add(by, { address, method: "Mail" });
  assert.equal(sender.dnsRecord, null);
  const mailed = await mailFor(address);
  assert.ok(textOf(mailed).includes(`${by.email} asks to send mail from ${address}`));
  const page = await t.nobody.get("/senders/confirm", { "accept-language": "pt" });
  assert.match(page.body, /<h1>Confirme o endereço de remetente<\/h1>/);
  assert.equal((await read(by, sender)).status, "Pending", "a visit confirms nothing");
  const answers = await Promise.all([1, 2, 3].map(() => outcome(confirm(tokenOf(mailed)))));
  assert.deepEqual(answers.sort(), ["204", BAD_TOKEN, BAD_TOKEN]);
  assert.equal((await read(by, sender)).status, "Verified");
  assert.equal(await statusAfterCheck(by, sender), "Verified", "there is nothing left to prove");
  const stored =
    await sql`select from notification_senders where token_hash is not null and id = ${sender.id}`;
  assert.equal(stored.count, 0);
});

Deno.test("a tenant's own template of the mail with the link is not used: it could send the token elsewhere", async () => {
  const by = await manager();
  const htmlBodyTemplate = '<img src="https://elsewhere.example/?{{ confirmUrl }}">';
  const own = { slug: "sender-confirmation", name: "Own", subjectTemplate: "Own", htmlBodyTemplate };
  await accepted(by.post("/api/v1/notification-templates", own), 201);
  await accepted(by.put(LOOKS, { productName: "Northwind" }));
  await accepted(by.put("/api/v1/notification-settings", { defaultLocale: "pt" }));
  await add(by, { address: "victim@mailed.example", method: "Mail" });
  const { raw } = await mailFor("victim@mailed.example");
  assert.doesNotMatch(raw, /elsewhere\.example/);
  assert.match(raw, /Confirme victim@mailed\.example como remetente/, "in the language of the tenant");
  assert.match(raw, /Northwind/, "in the looks of the tenant");
  assert.deepEqual((await accepted(by.get("/api/v1/notifications"))).items, [], "no message of the tenant");
});

Deno.test("a mailed link ends after 24 hours and when a newer one is mailed", async () => {
  const by = await manager();
  const address = "late@mailed.example";
  const sender = await add(by, { address, method: "Mail" });
  const first = tokenOf(await mailFor(address));
  await verify(by, sender);
  const mails = await until(
    () => mail.received.filter(({ to }) => to.includes(address)),
    ({ length }) => length === 2,
  );
  const second = mails.map(tokenOf).find((token) => token !== first);
  await refused(BAD_TOKEN, confirm(first));
  const [row] =
    await sql`update notification_senders set proof_ends_at = now() where id = ${sender.id} returning id`;
  assert.ok(row);
  await refused(BAD_TOKEN, confirm(second));
  await checkNow(sender);
  const { status, lastError } = await read(by, sender);
  assert.deepEqual([status, lastError], ["Failed", "The mailed link was not used within 24 hours."]);
});

Deno.test("each tenant proves an address for itself", async () => {
  const [one, other] = [await manager(), await manager()];
  const domain = newDomain();
  const address = `shared@${domain}`;
  const { dnsRecord } = await verified(one, address);
  const second = await add(other, { address });
  assert.notEqual(second.dnsRecord.value, dnsRecord.value);
  assert.equal(await statusAfterCheck(other, second), "Pending");
  names.records.set(dnsRecord.name, [dnsRecord.value, second.dnsRecord.value]);
  assert.equal(await statusAfterCheck(other, second), "Verified");
  const same = await add(one, { address: `billing@${domain}` });
  assert.equal(same.dnsRecord.value, dnsRecord.value, "senders of a tenant in one domain share the record");
  await refused("409 NOTIFICATION_SENDER_ALREADY_EXISTS", one.post(path, { address: address.toUpperCase() }));
  await refused("404 NOTIFICATION_SENDER_NOT_FOUND", verify(one, second));
});

Deno.test("one verified sender is the default, also if two are chosen at the same time", async () => {
  const by = await manager();
  const [one, two, three] = [await verified(by), await verified(by), await verified(by)];
  assert.deepEqual([one.isDefault, two.isDefault], [true, false]);
  const put = ({ id }: { id: string }, change: object) => by.put(`${path}/${id}`, change);
  await Promise.all([two, three].map((sender) => put(sender, { isDefault: true })));
  const { items } = await accepted(by.get(path));
  const [current, ...more] = items.filter(({ isDefault }: { isDefault: boolean }) => isDefault);
  assert.deepEqual(more, []);
  const pending = await add(by, { address: `x@${newDomain()}` });
  await refused("409 NOTIFICATION_SENDER_NOT_VERIFIED_CONFLICT", put(pending, { isDefault: true }));
  assert.equal((await accepted(put(two, { name: "Two" }))).name, "Two");
  await accepted(put(current, { isDefault: false }));
  assert.equal((await send(by, "nodefault@example.test")).from, SERVICE);
  await accepted(by.delete(`${path}/${two.id}`), 204);
  await refused("404 NOTIFICATION_SENDER_NOT_FOUND", by.get(`${path}/${two.id}`));
});

Deno.test("a direct email names a verified sender of its tenant, and of no other", async () => {
  const [by, other] = [await manager(), await manager()];
  const sender = await verified(by, `direct@${newDomain()}`, "Direct");
  const pending = await add(by, { address: `pending@${newDomain()}` });
  const message = { to: ["direct@example.test"], subject: "Hi", htmlBody: "<p>Hi</p>" };
  const direct = (by: typeof other, { address: fromAddress }: { address: string }) =>
    by.post("/api/v1/notifications/email", { ...message, fromAddress });
  assert.equal((await accepted(direct(by, sender))).status, "Sent");
  const sent = await mailFor("direct@example.test");
  assert.deepEqual([headerOf(sent, "From"), sent.from], [`Direct <${sender.address}>`, SERVICE]);
  for (const answer of [await direct(other, sender), await direct(by, pending)]) {
    await refused("400 VALIDATION_ERROR", answer);
    const [mistake] = answer.body.errors.fromAddress;
    assert.match(mistake, /neither in steward\.test, .* nor a verified sender of the tenant/);
  }
});

Deno.test("no mail comes from the address of an erased person, also right after the erasure", async () => {
  const by = await manager();
  const tenantId = String(by.tenantId);
  const clerk = await t.actor({ tenantId, permissions: ["read:users", "erase:users"] });
  const { userId } = await t.actor({ tenantId });
  const email = `person@${newDomain()}`;
  await sql`update users set email = ${email} where id = ${userId}`;
  await verified(by, email);
  assert.equal(headerOf(await send(by, "before-erasure@example.test"), "From"), email);
  await done(clerk, `/api/v1/users/${userId}/erase`, { reason: "asked by letter" });
  assert.equal(headerOf(await send(by, "after-erasure@example.test"), "From"), `Steward <${SERVICE}>`);
});

Deno.test("proofs are limited per tenant", async () => {
  const by = await manager();
  const sender = await add(by, { address: `a@${newDomain()}` });
  await verify(by, sender);
  const used = (count: number) =>
    sql`update tenant_looks set proofs = ${count} where tenant_id = ${by.tenantId} returning proofs_since`;
  assert.equal((await used(29)).count, 1);
  await accepted(verify(by, sender));
  const queries = names.queries.length;
  const answer = await verify(by, sender);
  const byMail = by.post(path, { address: "x@strangers.example", method: "Mail" });
  await refused("429 RATE_LIMITED", answer, byMail);
  const seconds = Number(answer.headers.get("retry-after"));
  assert.ok(seconds > 3_000 && seconds <= 3_600, `${seconds}`);
  assert.equal(names.queries.length, queries);
  await sql`update tenant_looks set proofs_since = now() - interval '61 minutes' where tenant_id = ${by.tenantId}`;
  await accepted(verify(by, sender));
});

Deno.test("a tenant has at most 100 senders", async () => {
  const by = await manager();
  await sql`
    insert into notification_senders (id, tenant_id, address, address_key, method, proof_ends_at)
    select gen_random_uuid(), ${by.tenantId}, n || '@many.example', n || '@many.example', 'Mail', now()
    from generate_series(1, 99) n`;
  const addresses = ["y", "z"].map((local) => `${local}@many.example`);
  const answers = await Promise.all(addresses.map((address) => outcome(by.post(path, { address }))));
  assert.deepEqual(answers.sort(), ["201", "409 NOTIFICATION_SENDERS_LIMIT_CONFLICT"]);
  const reader = await t.actor({ tenantId: by.tenantId ?? "", permissions: ["send:notifications"] });
  assert.equal((await accepted(reader.get(path))).totalCount, 100);
});

/** When the next check is due, in minutes from now and as text, and how many checks found nothing. */
async function schedule({ id }: { id: string }) {
  const [row] = await sql`
    select round(extract(epoch from next_check_at - now()) / 60)::int as minutes, next_check_at::text as at, misses
    from notification_senders where id = ${id}`;
  return { minutes: row?.minutes, at: row?.at, misses: row?.misses };
}

/** Checks a sender while the name server does not answer. */
async function checkInSilence(sender: { id: string }): Promise<void> {
  names.isSilent = true;
  await checkNow(sender);
  names.isSilent = false;
}

Deno.test("the job searches a pending record at growing intervals and gives up after seven days", async () => {
  const by = await manager();
  const sender = await add(by, { address: `a@${newDomain()}` });
  const intervals = [(await schedule(sender)).minutes];
  for (let check = 0; check < 8; check++) {
    await checkNow(sender);
    intervals.push((await schedule(sender)).minutes);
  }
  assert.deepEqual(intervals, [1, 1, 2, 4, 8, 16, 32, 60, 60]);
  const silent = await add(by, { address: `a@${newDomain()}` });
  await checkInSilence(silent);
  const { minutes, misses } = await schedule(silent);
  assert.ok(minutes >= 29 && misses === 0, "a silent name server delays the checks of others");
  await sql`update notification_senders set proof_ends_at = now() where id = ${sender.id}`;
  await checkNow(sender);
  assert.equal((await read(by, sender)).status, "Failed");
  assert.equal((await schedule(sender)).at, null);
  names.records.set(sender.dnsRecord.name, [sender.dnsRecord.value]);
  assert.equal(await statusAfterCheck(by, sender), "Verified", "a failed sender can be verified later");
});

Deno.test("a verified sender fails after three daily checks without its record, and administrators are notified", async () => {
  const by = await manager();
  const tenantId = by.tenantId ?? "";
  const visitor = await t.actor({ tenantId, role: "Visitor" });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const sender = await verified(by);
  names.records.delete(sender.dnsRecord.name);
  await checkNow(sender);
  await checkInSilence(sender); // proves nothing
  await checkNow(sender);
  assert.equal((await read(by, sender)).status, "Verified");
  await checkNow(sender);
  const { status, isDefault } = await read(by, sender);
  assert.deepEqual([status, isDefault], ["Failed", true], "it is the default again when its record is back");
  assert.equal(headerOf(await send(by, "lost@example.test"), "From"), `Steward <${SERVICE}>`);
  const inbox = async (user: Actor) =>
    (await accepted(user.get(`/api/v1/user-notifications?userId=${user.userId}&category=senders`))).items;
  for (const user of [by, admin]) {
    const [message] = await until(() => inbox(user), ({ length }) => length === 1);
    assert.equal(message.title, `Mail is no longer sent from ${sender.address}`);
  }
  assert.deepEqual(await inbox(visitor), []);
  names.records.set(sender.dnsRecord.name, [sender.dnsRecord.value]);
  await statusAfterCheck(by, sender);
  assert.equal(headerOf(await send(by, "back@example.test"), "From"), sender.address);
});

Deno.test("a record that is back in time, and a name server that fails or refuses, keep a sender as it is", async () => {
  const by = await manager();
  const sender = await verified(by);
  for (const isThere of [false, false, true, false, false, true]) {
    names.records.set(sender.dnsRecord.name, isThere ? [sender.dnsRecord.value] : []);
    await checkNow(sender);
    assert.equal((await read(by, sender)).status, "Verified");
  }
  names.records.delete(sender.dnsRecord.name);
  for (const failure of [SERVER_FAILURE, REFUSED, SERVER_FAILURE]) {
    names.failure = failure;
    await checkNow(sender);
  }
  names.failure = null;
  const { status, lastError } = await read(by, sender);
  assert.equal(status, "Verified");
  assert.match(lastError, /^The name server did not answer for _steward\./);
  assert.equal((await schedule(sender)).misses, 0);
});

Deno.test("checks that somebody asks for do not count against a verified sender, nor postpone the daily one", async () => {
  const by = await manager();
  const sender = await verified(by);
  names.records.delete(sender.dnsRecord.name);
  const { at, misses } = await schedule(sender);
  for (let time = 0; time < 4; time++) assert.equal(await statusAfterCheck(by, sender), "Verified");
  const after = await schedule(sender);
  assert.deepEqual([after.at, after.misses], [at, misses]);
  assert.match((await read(by, sender)).lastError, /was not found/);
});

const address = (name: string) => `${name}-${crypto.randomUUID()}@own-name.example`;
const fromBase64 = (text = "") => new TextDecoder().decode(Uint8Array.fromBase64(text.replaceAll(/\s/g, "")));

/** A mail with its encoded parts and headers decoded. ASCII letters are themselves in quoted-printable. */
const decoded = (raw: string): string =>
  raw.replaceAll("=\r\n", "")
    .replaceAll(/(encoding: base64\r\n(?:\S.*\r\n)*\r\n)([\w+/=\r\n]+)/gi, (_, head, body) =>
      head + fromBase64(body))
    .replaceAll(/=\?utf-8\?b\?([\w+/=]+)\?=/gi, (_, word) =>
      fromBase64(word));

Deno.test("the mails that a tenant's people get have the tenant's name, and nowhere that of the service", async () => {
  const { by, tenantId, looks } = await tenantWithLooks(t, { productName: "Northwind" });
  const admin = await t.actor({ tenantId, permissions: ["create:users", "update:tenants"] });
  const { me, email } = await signedIn(t, { links: [tenantId] });
  await accepted(admin.put("/api/v1/registration-settings", { mode: "open" }));
  const send = async (templateSlug: string, templateData: object) => {
    const recipients = [{ address: address(templateSlug) }];
    const message = { channel: "Email", recipients, templateSlug, templateData };
    await accepted(by.post("/api/v1/notifications/send", message));
    return recipients.map((recipient) => recipient.address);
  };
  const [invited, registered, confirmed, newEmail] = ["i", "r", "c", "n"].map(address);
  await accepted(admin.post("/api/v1/users/invite", { email: invited, roleIds: [admin.roleId] }), 201);
  await accepted(t.nobody.post("/api/v1/auth/register", { tenantId, email: registered }), 202);
  await add(by, { address: confirmed, method: "Mail" });
  await accepted(t.nobody.post("/api/v1/auth/forgot-password", { email }));
  await accepted(me.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }));
  const items = [{ subject: "A", text: "B", html: "C", unsubscribeUrl: t.url }];
  const addresses = [
    ...[invited, registered, confirmed, newEmail].map(String),
    ...await send("report-ready", { reportName: "R", downloadUrl: t.url }),
    ...await send("notification-digest", { items, count: 1, isSingle: true }),
  ];
  for (const each of addresses) await mailFor(each);
  // A reset link and the news of the change.
  await until(() => mail.received.filter(({ to }) => to.includes(email)), ({ length }) => length === 2);
  const sent = mail.received.filter(({ to }) => to.some((each) => [...addresses, email].includes(each)));
  for (const { raw } of sent) {
    const shown = decoded(raw);
    assert.doesNotMatch(shown, /Steward/);
    assert.match(shown, /^From: Northwind </m);
    assert.ok(shown.includes(looks.primaryColour) && shown.includes('alt=3D"Northwind"'), shown);
  }
  const slugs = await sql<{ slug: string }[]>`
    select distinct template_slug as slug from notifications where template_slug is not null`;
  const built = new Set(mails.map(({ slug }) => slug));
  assert.deepEqual(
    built.difference(new Set(slugs.map(({ slug }) => slug))),
    new Set(),
    "every built-in mail was sent",
  );
});
