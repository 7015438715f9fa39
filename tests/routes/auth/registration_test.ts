import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import { has } from "../../support/answers.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { auditOf } from "../access/answers.ts";
import { insertRole, newEmail } from "../access/users.ts";
import { FormBrowser, shown } from "../oauth/browser.ts";
import { authorizeUrl, makeClient } from "../oauth/flow.ts";
import { mailsTo, subjectsTo, tokenIn, tokenOf, withJobs } from "./mails.ts";
import { PASSWORD, person, setupSignIns, signIn, withToken } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;
const SETTINGS = "/api/v1/registration-settings";
const INVALID = "400 REGISTRATION_TOKEN_INVALID";
const CLOSED = "403 REGISTRATION_CLOSED_FORBIDDEN";

const set = (admin: Actor, settings: object) => accepted(admin.put(SETTINGS, settings));

/** A tenant with these settings, and its administrator. */
async function tenantWith(settings: Record<string, unknown>): Promise<Actor> {
  const admin = await t.actor({ permissions: ["update:tenants", "read:users", "create:users"] });
  await set(admin, settings);
  return admin;
}
const register = (where: object, email: string, ip = "203.0.113.7") =>
  t.nobody.post("/api/v1/auth/register", { ...where, email }, { "x-forwarded-for": ip });
const linkFor = (where: object, email: string, ip?: string) =>
  tokenOf(t, email, () => register(where, email, ip));
/** The token of an open registration, whose mail is not sent. */
async function pending({ tenantId }: Actor, email = newEmail()): Promise<string> {
  const token = newSecret();
  await sql`insert into registrations (id, tenant_id, email, address, token_hash, expires_at)
    values (${newId()}, ${tenantId}, ${email}, '192.0.2.1', ${digest(token)}, now() + interval '10 minutes')`;
  return token;
}
const confirm = (token: string, password = PASSWORD) => {
  const eva = { firstName: "Eva", lastName: "Luz", password };
  return t.nobody.post("/api/v1/auth/register/confirm", { token, ...eva });
};
const modeOf = async (where: string) =>
  (await accepted(t.nobody.get(`/api/v1/auth/registration?${where}`))).mode;

Deno.test("a person registers, proves the email, and signs in with the role of the tenant", async () => {
  const admin = await tenantWith({ mode: "open" });
  const { tenantId } = admin;
  const roleId = await insertRole(t, tenantId, ["read:users"]);
  await accepted(admin.put(SETTINGS, { mode: "open", roleId }));
  const email = newEmail();
  const answer = await withJobs(t, () => register({ tenantId }, email));
  assert.deepEqual([answer.status, answer.body], [202, ""]);
  const [mail] = await mailsTo(t, email);
  const token = tokenIn(mail);
  assert.ok(mail?.textBody.includes(`${t.url}/auth/register#token=${token}`));
  assert.match(mail?.htmlBody ?? "", new RegExp(`Tenant ${tenantId}`));
  const kept = await sql`select from users where email = ${email}
    union all select from jobs where strpos(serialized_args, ${email}) > 0`;
  assert.equal(kept.count, 0, "no user before the proof, and no email in jobs");
  const pending = await accepted(t.nobody.post("/auth/register/read", { token }));
  const tenantName = `Tenant ${tenantId}`;
  has(pending, { email, tenantName, looks: { productName: tenantName } });
  await refused("400 VALIDATION_ERROR", confirm(token, "short"));
  const { userId, ...rest } = await accepted(confirm(token), 200);
  assert.deepEqual(rest, { email, tenantId, tenantName });
  await refused(INVALID, confirm(token), confirm("forged"), t.nobody.post("/auth/register/read", { token }));
  const { accessToken } = await accepted(signIn(t, email));
  const me = await accepted(withToken(t, accessToken).get("/auth/me"));
  assert.deepEqual([me.user.firstName, me.user.lastName, me.permissions], ["Eva", "Luz", ["read:users"]]);
  const [row] = await sql`select email_verified_at is not null as verified, is_mailbox_only from users
    where id = ${userId}`;
  assert.deepEqual({ ...row }, { verified: true, isMailboxOnly: false });
  assert.deepEqual(await auditOf(t, userId), ["user.create", "user.register"]);
  assert.match((await t.nobody.get("/auth/register", { "accept-language": "pt" })).body, /Criar sua conta/);
});

Deno.test("only the modes domain and open let strangers in; closed refuses invitations too", async () => {
  const admin = await tenantWith({ mode: "closed" });
  const { tenantId } = admin;
  const invite = () => admin.post("/api/v1/users/invite", { email: newEmail(), roleIds: [admin.roleId] });
  await refused(CLOSED, register({ tenantId }, newEmail()), invite());
  assert.equal(await modeOf(`tenantId=${tenantId}`), "closed");
  assert.deepEqual(await set(admin, { mode: "invitation" }), {
    mode: "invitation",
    domains: [],
    roleId: null,
  });
  await accepted(invite(), 201);
  const unknown = crypto.randomUUID();
  await refused(CLOSED, register({ tenantId }, newEmail()), register({ tenantId: unknown }, newEmail()));
  assert.equal(await modeOf(`tenantId=${unknown}`), "invitation");
  await set(admin, { mode: "domain", domains: [" Exämple.test", "b.test", "b.test"] });
  assert.deepEqual((await accepted(admin.get(SETTINGS))).domains, ["xn--exmple-cua.test", "b.test"]);
  const [allowed, foreign, below] = [`${unknown}@EXÄMPLE.test`, newEmail(), `${unknown}@a.b.test`];
  for (const email of [foreign, below]) assert.equal(await linkFor({ tenantId }, email), "");
  const token = await linkFor({ tenantId }, allowed);
  await set(admin, { mode: "domain", domains: ["b.test"] });
  await refused(CLOSED, confirm(token));
  await set(admin, { mode: "open" });
  await accepted(confirm(token));
  await sql`update tenants set is_active = false where id = ${tenantId}`;
  assert.equal(await modeOf(`tenantId=${tenantId}`), "invitation");
  await refused(CLOSED, register({ tenantId }, newEmail()));
});

Deno.test("a change of the settings leaves absent members as they are, and null clears them", async () => {
  const admin = await tenantWith({ mode: "domain", domains: ["a.test"] });
  await set(admin, { mode: "closed", roleId: admin.roleId });
  const closed = { mode: "domain", domains: ["a.test"], roleId: admin.roleId };
  assert.deepEqual(await set(admin, { mode: "domain" }), closed);
  await refused("400 VALIDATION_ERROR", admin.put(SETTINGS, { mode: "domain", domains: null }));
  const cleared = await set(admin, { mode: "open", domains: null, roleId: null });
  assert.deepEqual(cleared, { mode: "open", domains: [], roleId: null });
});

Deno.test("the settings refuse roles of other tenants, roles that the caller may not give, and platform reach", async () => {
  const admin = await tenantWith({ mode: "open" });
  const other = await insertRole(t, await t.tenant(), []);
  const strong = await insertRole(t, admin.tenantId, ["delete:users"]);
  const put = (roleId: string | null, by = admin) => by.put(SETTINGS, { mode: "open", roleId });
  await refused("404 ROLE_NOT_FOUND", put(other));
  const beyond = [put(strong), put(t.systemAdmin.roleId, t.systemAdmin)];
  await refused("403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED", ...beyond);
  const wrong = [{ mode: "domain" }, { mode: "domain", domains: ["a@b.test"] }];
  await refused("400 VALIDATION_ERROR", ...wrong.map((settings) => admin.put(SETTINGS, settings)));
  const reader = await t.actor({ permissions: ["read:tenants"] });
  await accepted(reader.get(SETTINGS));
  await refused("403 MISSING_PERMISSION", put(null, reader));
  await accepted(put(admin.roleId));
  assert.deepEqual((await auditOf(t, admin.tenantId ?? "")).slice(-1), ["tenant.set-registration"]);
  const token = await pending(admin);
  await sql`insert into role_permissions (role_id, permission_id)
    select ${admin.roleId}, id from permissions where code = 'manage:all-users'`;
  assert.equal(await modeOf(`tenantId=${admin.tenantId}`), "invitation");
  await refused(CLOSED, confirm(token));
});

Deno.test("an email with an account gets the same answer, and a mail that says so", async () => {
  const { tenantId } = await tenantWith({ mode: "open" });
  const { email } = await person(t);
  const known = await withJobs(t, () => register({ tenantId }, email.toUpperCase()));
  const unknown = await register({ tenantId }, newEmail());
  assert.deepEqual([known.status, known.body], [unknown.status, unknown.body]);
  assert.deepEqual(await subjectsTo(t, email), ["You already have an account"]);
  await accepted(signIn(t, email));
});

Deno.test("a step may be repeated: each link works until one of the email is used; concurrent ones create one user", async () => {
  const admin = await tenantWith({ mode: "open" });
  const email = newEmail();
  const links = [await pending(admin, email), await pending(admin, email)];
  const answers = await Promise.all([...links, ...links].map((token) => outcome(confirm(token))));
  assert.deepEqual(answers.filter((answer) => answer === "200").length, 1);
  assert.ok(answers.every((answer) => ["200", INVALID, "409 USER_ALREADY_EXISTS"].includes(answer)));
  assert.equal((await sql`select from users where email = ${email}`).count, 1);
  const late = newEmail();
  const expired = await pending(admin, late);
  await sql`update registrations set expires_at = now() - interval '1 ms' where email = ${late}`;
  await refused(INVALID, confirm(expired));
});

Deno.test("a full tenant admits nobody until it has room", async () => {
  const admin = await tenantWith({ mode: "open" });
  const { tenantId } = admin;
  const token = await pending(admin);
  await sql`update tenants set max_users = user_count where id = ${tenantId}`;
  await refused("400 TENANT_CAPACITY_REACHED", confirm(token));
  await sql`update tenants set max_users = user_count + 1 where id = ${tenantId}`;
  await accepted(confirm(token));
});

Deno.test("an email gets five links of an address and twenty of all; an address asks thirty times", async () => {
  const { tenantId } = await tenantWith({ mode: "open" });
  const email = newEmail();
  const insert = (count: number, from: string, to = email) =>
    sql`insert into registrations (id, tenant_id, email, address, token_hash, expires_at)
      select gen_random_uuid(), ${tenantId}, ${to}, ${from}, uuid_send(gen_random_uuid()), now() + interval '1 minute'
      from generate_series(1, ${count})`;
  let mails = 0;
  const isMailed = async (ip: string) => {
    await withJobs(t, () => accepted(register({ tenantId }, email, ip), 202));
    const { length } = await mailsTo(t, email);
    return length > mails && (mails = length);
  };
  await insert(4, "198.51.100.1");
  assert.ok(await isMailed("198.51.100.1"));
  assert.ok(!await isMailed("198.51.100.1"), "five of one address");
  await insert(14, "198.51.100.2");
  assert.ok(await isMailed("198.51.100.3"));
  assert.ok(!await isMailed("198.51.100.4"), "twenty of all addresses");
  await insert(29, "198.51.100.5", "others@example.test");
  await accepted(register({ tenantId }, newEmail(), "198.51.100.5"));
  const over = await register({ tenantId }, newEmail(), "198.51.100.5");
  await refused("429 RATE_LIMITED", over);
  assert.ok(Number(over.headers.get("retry-after")) > 0);
});

Deno.test("an OAuth client of the tenant names it; a client of all tenants names none", async () => {
  const { tenantId } = await tenantWith({ mode: "open" });
  const permissions = ["manage:oauth-clients", "update:tenants"];
  const maker = await t.actor({ tenantId: tenantId ?? "", permissions });
  const client = await makeClient(maker, { firstParty: false });
  const [own, shared] = [client.clientId, (await makeClient(t.systemAdmin)).clientId];
  assert.equal(await modeOf(`clientId=${own}`), "open");
  assert.equal(await modeOf(`clientId=${shared}`), "invitation");
  assert.notEqual(await linkFor({ clientId: own }, newEmail()), "");
  await refused(CLOSED, register({ clientId: shared }, newEmail()), register({}, newEmail()));
  const browser = new FormBrowser(t.url);
  const page = await browser.show(authorizeUrl(t, client));
  const email = newEmail();
  await withJobs(t, async () => shown(await browser.submit(page, "register", { email })));
  assert.deepEqual(await subjectsTo(t, email), [`Create your account at Tenant ${tenantId}`]);
  await accepted(maker.put(SETTINGS, { mode: "invitation" }));
  assert.doesNotMatch((await browser.show(authorizeUrl(t, client))).html, /Create an account/);
});
