import assert from "node:assert/strict";
import { until } from "../../support/until.ts";
import { done } from "../user_data/support.ts";
import { add, newDomain, path, read, setupSenders, verify } from "./senders.ts";

const { t, names, mail, mailFor, manager, verified, checkNow, send, stop } = await setupSenders();
Deno.test.afterAll(stop);
const { sql } = t.steward.platform;

/** A header of a mail, its lines joined. */
const headerOf = (raw: string, name: string) =>
  new RegExp(`^${name}: (.*(?:\\r\\n[ \\t].*)*)`, "im").exec(raw)?.[1]?.replaceAll(/\r\n\s*/g, " ");

Deno.test("a sender is pending until its TXT record is found; then the tenant's mails come from it", async () => {
  const by = await manager();
  const domain = newDomain();
  const created = await by.post(path, { address: `Orders@${domain}`, name: "Northwind" });
  assert.equal(created.status, 201);
  assert.equal(created.headers.get("location"), new URL(`${path}/${created.body.id}`, t.url).pathname);
  const { dnsRecord, ...rest } = created.body;
  assert.equal(rest.status, "Pending");
  assert.equal(rest.method, "Dns");
  assert.equal(dnsRecord.name, `_steward.${domain}`);
  assert.match(dnsRecord.value, /^steward-verification=[\w-]{24}$/);
  const missing = await verify(by, created.body);
  assert.equal(missing.body.status, "Pending");
  assert.match(
    missing.body.lastError,
    /_steward\.tenant\d+\.example with the value steward-verification=.* was not found/,
  );
  assert.equal(names.queries.at(-1), dnsRecord.name);
  assert.equal((await send(by, "before@example.test")).from, "service@steward.test");

  names.records.set(dnsRecord.name, ["something else", dnsRecord.value]);
  const { body } = await verify(by, created.body);
  assert.equal(body.status, "Verified");
  assert.ok(body.isDefault, "the first verified sender becomes the default");
  assert.equal(body.lastError, null);
  assert.ok(body.verifiedAt);
  const { from, raw } = await send(by, "after@example.test");
  assert.equal(headerOf(raw, "From"), `Northwind <Orders@${domain}>`);
  assert.equal(headerOf(raw, "Sender"), "Steward <service@steward.test>");
  assert.equal(from, "service@steward.test", "bounces come to the service");
  const { body: { effective } } = await by.get("/api/v1/tenant-looks");
  assert.equal(effective.senderAddress, `Orders@${domain}`);
  assert.equal(effective.senderName, "Northwind");
});

Deno.test("mails without a verified sender come from MAIL_FROM with the tenant's product name", async () => {
  const by = await manager();
  await by.put("/api/v1/tenant-looks", { productName: "Wind & Co" });
  const { raw } = await send(by, "named@example.test");
  assert.equal(headerOf(raw, "From"), `"Wind & Co" <service@steward.test>`);
  assert.equal(headerOf(raw, "Sender"), undefined);
});

Deno.test("answers go to the tenant's reply-to address, or to that of the message", async () => {
  const by = await manager();
  await by.put("/api/v1/tenant-looks", { replyTo: "help@northwind.example" });
  const { raw } = await send(by, "answers@example.test");
  assert.equal(headerOf(raw, "Reply-To"), "help@northwind.example");
  await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "own@example.test" }],
    subject: "Hello",
    textBody: "Hello",
    replyTo: "clerk@northwind.example",
  });
  assert.equal(headerOf((await mailFor("own@example.test"))!.raw, "Reply-To"), "clerk@northwind.example");
});

Deno.test("an address is proved by a mailed link, which works once and asks before it confirms", async () => {
  const by = await manager();
  const sender = await add(by, { address: "clerk@mailed.example", method: "Mail" });
  assert.equal(sender.dnsRecord, null);
  const { raw } = (await mailFor("clerk@mailed.example"))!;
  const text = raw.replaceAll("=\r\n", "").replaceAll("=3D", "=");
  assert.match(
    text,
    new RegExp(`${by.email.replaceAll(".", "\\.")} asks to send mail from clerk@mailed.example`),
  );
  const token = /\/senders\/confirm#token=([\w-]+)/.exec(text)?.[1];
  const page = await t.nobody.get("/senders/confirm", { "accept-language": "pt" });
  assert.match(page.body, /<h1>Confirme o endereço de remetente<\/h1>/);
  assert.equal((await read(by, sender)).status, "Pending", "a visit confirms nothing");
  const answers = await Promise.all([1, 2, 3].map(() => t.nobody.post("/senders/confirm", { token })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 400, 400]);
  assert.equal(answers.find(({ status }) => status === 400)?.body.code, "NOTIFICATION_SENDER_TOKEN_INVALID");
  const confirmed = await read(by, sender);
  assert.equal(confirmed.status, "Verified");
  assert.equal((await verify(by, sender)).body.status, "Verified", "there is nothing left to prove");
  const stored =
    await sql`select * from notification_senders where token_hash is not null and id = ${sender.id}`;
  assert.deepEqual([...stored], []);
});

Deno.test("a tenant's own template of the mail with the link is not used: it could send the token elsewhere", async () => {
  const by = await manager();
  const own = await by.post("/api/v1/notification-templates", {
    slug: "sender-confirmation",
    name: "Own",
    subjectTemplate: "Own",
    htmlBodyTemplate: '<img src="https://elsewhere.example/?{{ confirmUrl }}">',
  });
  assert.equal(own.status, 201);
  await by.put("/api/v1/tenant-looks", { productName: "Northwind" });
  await by.put("/api/v1/notification-settings", { defaultLocale: "pt" });
  await add(by, { address: "victim@mailed.example", method: "Mail" });
  const { raw } = (await mailFor("victim@mailed.example"))!;
  assert.doesNotMatch(raw, /elsewhere\.example/);
  assert.match(raw, /Confirme victim@mailed\.example como remetente/, "in the language of the tenant");
  assert.match(raw, /Northwind/, "in the looks of the tenant");
  assert.deepEqual((await by.get("/api/v1/notifications")).body.items, [], "no message of the tenant");
});

Deno.test("a mailed link ends after 24 hours and when a newer one is mailed", async () => {
  const by = await manager();
  const sender = await add(by, { address: "late@mailed.example", method: "Mail" });
  const tokenOf = (raw: string) =>
    /#token=([\w-]+)/.exec(raw.replaceAll("=\r\n", "").replaceAll("=3D", "="))?.[1];
  const first = tokenOf((await mailFor("late@mailed.example"))!.raw);
  await verify(by, sender);
  const mails = await until(
    () => mail.received.filter(({ to }) => to.includes("late@mailed.example")),
    ({ length }) => length === 2,
  );
  const second = mails.map(({ raw }) => tokenOf(raw)).find((token) => token !== first);
  const confirm = async (token?: string) => (await t.nobody.post("/senders/confirm", { token })).body.code;
  assert.equal(await confirm(first), "NOTIFICATION_SENDER_TOKEN_INVALID");
  await sql`update notification_senders set proof_ends_at = now() where id = ${sender.id}`;
  assert.equal(await confirm(second), "NOTIFICATION_SENDER_TOKEN_INVALID");
  await checkNow(sender);
  const failed = await read(by, sender);
  assert.equal(failed.status, "Failed");
  assert.equal(failed.lastError, "The mailed link was not used within 24 hours.");
});

Deno.test("each tenant proves an address for itself", async () => {
  const [one, other] = [await manager(), await manager()];
  const domain = newDomain();
  const address = `shared@${domain}`;
  const first = await verified(one, address);
  const second = await add(other, { address });
  assert.notEqual(second.dnsRecord.value, first.dnsRecord.value);
  assert.equal((await verify(other, second)).body.status, "Pending");
  names.records.set(first.dnsRecord.name, [first.dnsRecord.value, second.dnsRecord.value]);
  assert.equal((await verify(other, second)).body.status, "Verified");
  const same = await add(one, { address: `billing@${domain}` });
  assert.equal(
    same.dnsRecord.value,
    first.dnsRecord.value,
    "senders of a tenant in one domain share the record",
  );
  assert.equal(
    (await one.post(path, { address: address.toUpperCase() })).body.code,
    "NOTIFICATION_SENDER_ALREADY_EXISTS",
  );
  assert.equal((await verify(one, second)).body.code, "NOTIFICATION_SENDER_NOT_FOUND");
});

Deno.test("one verified sender is the default, also if two are chosen at the same time", async () => {
  const by = await manager();
  const [one, two, three] = [await verified(by), await verified(by), await verified(by)];
  assert.deepEqual([one.isDefault, two.isDefault], [true, false]);
  await Promise.all([two, three].map(({ id }) => by.put(`${path}/${id}`, { isDefault: true })));
  const { items } = (await by.get(path)).body;
  assert.equal(items.filter(({ isDefault }: { isDefault: boolean }) => isDefault).length, 1);
  const pending = await add(by, { address: `x@${newDomain()}` });
  const refused = await by.put(`${path}/${pending.id}`, { isDefault: true });
  assert.equal(refused.body.code, "NOTIFICATION_SENDER_NOT_VERIFIED_CONFLICT");
  const renamed = await by.put(`${path}/${two.id}`, { name: "Two" });
  assert.equal(renamed.body.name, "Two");
  const [current] = items.filter(({ isDefault }: { isDefault: boolean }) => isDefault);
  await by.put(`${path}/${current.id}`, { isDefault: false });
  assert.equal((await send(by, "nodefault@example.test")).from, "service@steward.test");
  assert.equal(
    (await by.delete(`${path}/${two.id}`, { "if-match": `"1"` })).body.code,
    "PRECONDITION_FAILED",
  );
  assert.equal((await by.delete(`${path}/${two.id}`)).status, 204);
  assert.equal((await by.get(`${path}/${two.id}`)).body.code, "NOTIFICATION_SENDER_NOT_FOUND");
});

Deno.test("a direct email names a verified sender of its tenant, and of no other", async () => {
  const [by, other] = [await manager(), await manager()];
  const sender = await verified(by, `direct@${newDomain()}`, "Direct");
  const email = {
    to: ["direct@example.test"],
    subject: "Hi",
    htmlBody: "<p>Hi</p>",
    fromAddress: sender.address,
  };
  assert.equal((await by.post("/api/v1/notifications/email", email)).body.status, "Sent");
  const { raw, from } = (await mailFor("direct@example.test"))!;
  assert.equal(headerOf(raw, "From"), `Direct <${sender.address}>`);
  assert.equal(from, "service@steward.test");
  const refused = await other.post("/api/v1/notifications/email", email);
  assert.equal(refused.body.code, "VALIDATION_ERROR");
  assert.match(
    refused.body.errors.fromAddress[0],
    /neither in steward\.test, .* nor a verified sender of the tenant/,
  );
  const pending = await add(by, { address: `pending@${newDomain()}` });
  const early = await by.post("/api/v1/notifications/email", { ...email, fromAddress: pending.address });
  assert.equal(early.body.code, "VALIDATION_ERROR");
});

Deno.test("no mail comes from the address of an erased person, also right after the erasure", async () => {
  const by = await manager();
  const clerk = await t.actor({ tenantId: String(by.tenantId), permissions: ["read:users", "erase:users"] });
  const person = await t.actor({ tenantId: String(by.tenantId) });
  const [user] = await sql<{ email: string }[]>`
    update users set email = ${`person@${newDomain()}`} where id = ${person.userId} returning email`;
  await verified(by, user?.email);
  const senderOf = async (recipient: string) => headerOf((await send(by, recipient)).raw, "From");
  assert.equal(await senderOf("before-erasure@example.test"), user?.email);
  await done(clerk, `/api/v1/users/${person.userId}/erase`, { reason: "asked by letter" });
  assert.equal(await senderOf("after-erasure@example.test"), "Steward <service@steward.test>");
});

Deno.test("wrong addresses are refused, and proofs are limited per tenant", async () => {
  const by = await manager();
  const wrong = [
    "x",
    "a@localhost",
    "a@127.0.0.1",
    "a@[127.0.0.1]",
    "a@b.example\r\nBcc: c@d.example",
    "a@-x.example",
  ];
  for (const address of wrong) {
    const { body } = await by.post(path, { address });
    assert.equal(body.code, "VALIDATION_ERROR", address);
    assert.ok(body.errors.address, address);
  }
  const sender = await add(by, { address: `a@${newDomain()}` });
  const before = names.queries.length;
  const answers = [];
  for (let proof = 0; proof < 31; proof++) answers.push(await verify(by, sender));
  assert.equal(answers.at(-2)?.status, 200);
  assert.equal(answers.at(-1)?.body.code, "RATE_LIMITED");
  assert.ok(Number(answers.at(-1)?.headers.get("retry-after")) > 3_000);
  // an answer without records is followed by the query for its response code
  assert.equal(names.queries.length, before + 2 * 30);
  assert.equal(
    (await by.post(path, { address: "x@strangers.example", method: "Mail" })).body.code,
    "RATE_LIMITED",
  );
  await sql`update tenant_looks set proofs_since = now() - interval '61 minutes' where tenant_id = ${by.tenantId}`;
  assert.equal((await verify(by, sender)).status, 200);
});

Deno.test("a tenant has at most 100 senders, and only manage:settings changes them", async () => {
  const by = await manager();
  await sql`
    insert into notification_senders (id, tenant_id, address, address_key, method, proof_ends_at)
    select gen_random_uuid(), ${by.tenantId}, n || '@many.example', n || '@many.example', 'Mail', now()
    from generate_series(1, 99) n`;
  const both = await Promise.all(
    ["y", "z"].map((local) => by.post(path, { address: `${local}@many.example` })),
  );
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
  assert.equal(both.find(({ status }) => status === 409)?.body.code, "NOTIFICATION_SENDERS_LIMIT_CONFLICT");
  const reader = await t.actor({ tenantId: by.tenantId ?? "", permissions: ["send:notifications"] });
  assert.equal((await reader.get(path)).body.totalCount, 100);
  for (
    const { body } of [
      await reader.post(path, { address: "a@b.example" }),
      await reader.delete(`${path}/${crypto.randomUUID()}`),
    ]
  ) {
    assert.equal(body.code, "MISSING_PERMISSION");
  }
  const member = await t.actor({ tenantId: by.tenantId ?? "", permissions: ["read:users"] });
  assert.equal((await member.get(path)).body.code, "MISSING_PERMISSION");
});

Deno.test("every decision about a sender is audited; those of the job have no actor", async () => {
  const by = await manager();
  const sender = await add(by, { address: `a@${newDomain()}` });
  names.records.set(sender.dnsRecord.name, [sender.dnsRecord.value]);
  await checkNow(sender);
  await by.put(`${path}/${sender.id}`, { name: "A" });
  await by.delete(`${path}/${sender.id}`);
  const rows = await sql`
    select action, actor_id, tenant_id from audit_log where target_id = ${sender.id} order by id`;
  assert.deepEqual(rows.map(({ action, actorId }) => [action, actorId]), [
    ["notification-sender.add", by.userId],
    ["notification-sender.verify", null],
    ["notification-sender.update", by.userId],
    ["notification-sender.remove", by.userId],
  ]);
  assert.ok(rows.every(({ tenantId }) => tenantId === by.tenantId));
});
