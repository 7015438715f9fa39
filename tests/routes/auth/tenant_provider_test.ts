// Tenants sign in by their own OpenID provider.
import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { pluck } from "../../support/answers.ts";
import { type Account, type Browser, CLIENT_SECRET, startOidcProvider } from "../../support/oidc.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { insertRole } from "../access/users.ts";
import { addApp } from "./factors.ts";
import { OpenIdTest, PUBLIC_URL } from "./openid.ts";
import { failSignIns, person, signedIn, signIn, withToken } from "./people.ts";

const { t, newBrowser, begin, back, comeBack, finish } = await OpenIdTest.start();
const { sql } = t.steward.platform;

/** A new tenant with an administrator, a verified domain, and a provider, which is a client of the server below. */
async function newCompany() {
  const admin = await t.actor({ permissions: ["manage:sign-in", "read:users", "read:roles"] });
  const given = { kind: "Oidc", name: "Id", issuer: "https://id.example.com", clientId: "basic" };
  const { id: providerId } = await accepted(admin.post("/api/v1/sign-in-providers", given), 201);
  const domain = `${newId()}.example.com`;
  await verify(admin, domain);
  return { admin, tenantId: admin.tenantId ?? "", domain, providerId: providerId as string };
}

async function verify(admin: Actor, name: string): Promise<void> {
  const { id } = await accepted(admin.post("/api/v1/sign-in-domains", { name }), 201);
  await sql`update sign_in_domains set status = 'Verified' where id = ${id}`;
}

const [company, other] = [await newCompany(), await newCompany()];
const provider = await startOidcProvider({
  redirectUris: [company, other].map(({ providerId }) =>
    `${PUBLIC_URL}/api/v1/auth/oidc/${providerId}/callback`
  ),
});
Deno.test.afterAll(() => provider.stop());
for (const { admin, providerId } of [company, other]) {
  const at = `/api/v1/sign-in-providers/${providerId}`;
  await accepted(admin.put(at, { issuer: provider.issuer, clientSecret: CLIENT_SECRET }));
  await accepted(admin.post(`${at}/enable`));
}
const { admin, tenantId, domain, providerId } = company;
const at = `/api/v1/sign-in-providers/${providerId}`;
const UNKNOWN = "403 OIDC_USER_UNKNOWN_FORBIDDEN";
const STATE = "400 OIDC_STATE_INVALID";

/** A new account of the server. @returns its login */
function account(domain: string, claims: Account = {}): string {
  const login = `account-${newId()}`;
  provider.accounts.set(login, { email: `${login}@${domain}`, ...claims });
  return login;
}

/** The browser in which an account signed in at the server, which does not ask for the login again. */
const browsers = new Map<string, Browser>();

/** A whole sign-in. */
const run = async (login: string, providerId: string, query = {}) =>
  await finish(await begin(providerId, query, browsers.getOrInsertComputed(login, newBrowser)), login);

const rolesOf = async (userId: string): Promise<string[]> => {
  const rows = await sql`select r.name from user_tenant_roles h join roles r on r.id = h.role_id
    where h.user_id = ${userId} and h.tenant_id = ${tenantId} order by r.name`;
  return pluck([...rows], "name");
};

const role = (name: string, permission = "read:users") => insertRole(t, tenantId, [permission], name);

/** The administrator with all roles of the tenant, and a new session. */
async function strongAdmin() {
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${admin.userId}, ${tenantId}, id from roles where tenant_id = ${tenantId} and is_system on conflict do nothing`;
  return await t.signedIn(admin);
}

const countUsers = async () => (await sql`select from users`).count;

Deno.test("a person of a verified domain becomes a user with the provider's role, once, and without a password", async () => {
  const roleId = await role("Member");
  await accepted(admin.put(at, { createsUsers: true, roleId }));
  const login = account(domain, { given_name: "Ana", family_name: "Souza" });
  const { user, tenant, accessToken } = await accepted(run(login, providerId), 200);
  assert.deepEqual([user.firstName, user.lastName, tenant.id], ["Ana", "Souza", tenantId]);
  assert.deepEqual(await rolesOf(user.id), ["Member"]);
  const [row] = await sql`select u.password_hash, s.provider_id, s.only_tenant_id, s.amr from users u
    join sessions s on s.user_id = u.id where u.id = ${user.id}`;
  const expected = { passwordHash: null, providerId, onlyTenantId: tenantId, amr: ["fed", "mfa"] };
  assert.deepEqual({ ...row }, expected);
  await accepted(withToken(t, accessToken).get("/api/v1/users"));
  provider.accounts.set(login, { email: "renamed@elsewhere.example.com" });
  assert.equal((await accepted(run(login, providerId))).user.id, user.id);
  const { lastSignInAt } = await accepted(admin.get(at));
  assert.ok(lastSignInAt);
});

Deno.test("concurrent first sign-ins of a person are one user's", async () => {
  await accepted(admin.put(at, { createsUsers: true }));
  const login = account(domain);
  const flows = await Promise.all([1, 2, 3].map(() => begin(providerId)));
  const callbacks = await Promise.all(flows.map((flow) => back(flow, login)));
  const ids = await Promise.all(
    flows.map(async (flow, n) => (await accepted(comeBack(flow, callbacks[n] ?? ""))).user.id),
  );
  assert.equal(new Set(ids).size, 1);
});

Deno.test("an existing user of the tenant is found by the email, whatever the provider may create", async () => {
  await accepted(admin.put(at, { createsUsers: false }));
  const email = `${crypto.randomUUID()}@${domain}`;
  const user = await person(t, { email, links: [tenantId], role: "Visitor" });
  const login = account(domain, { email: user.email.toUpperCase() });
  assert.equal((await accepted(run(login, providerId))).user.id, user.id);
  await refused("409 OIDC_IDENTITY_CONFLICT", run(account(domain, { email: user.email }), providerId));
  await refused(UNKNOWN, run(account(domain), providerId));
});

Deno.test("a user of elsewhere gets a link that is not the default; nothing else of theirs changes", async () => {
  await accepted(admin.put(at, { createsUsers: true }));
  const user = await person(t, { email: `${crypto.randomUUID()}@${domain}` });
  const signedIn = await accepted(run(account(domain, { email: user.email }), providerId));
  assert.deepEqual([signedIn.user.id, signedIn.tenant.id], [user.id, tenantId]);
  const links =
    await sql`select tenant_id, is_default from user_tenants where user_id = ${user.id} order by is_default`;
  assert.deepEqual(links.map((l) => [l.tenantId, l.isDefault]), [[tenantId, false], [user.tenantId, true]]);
  const [row] =
    await sql`select email_verified_at, password_hash is null as has_none from users where id = ${user.id}`;
  assert.deepEqual({ ...row }, { emailVerifiedAt: null, hasNone: false });
});

Deno.test("a user's own second factor completes the sign-in; the count of wrong passwords stays, and keeps nobody out", async () => {
  await accepted(admin.put(at, { satisfiesSecondFactor: false }));
  const email = `${crypto.randomUUID()}@${domain}`;
  const user = await signedIn(t, { email, links: [tenantId], role: "Visitor" });
  const { recoveryCodes } = await addApp(user.me, { now: Date.now, step: 0 });
  await failSignIns(t, email, 4);
  const half = await run(account(domain, { email }), providerId);
  await refused("401 SECOND_FACTOR_REQUIRED_UNAUTHORIZED", half);
  const proof = { factorToken: half.body.factorToken, recoveryCode: recoveryCodes[0] };
  const done = await accepted(t.nobody.post("/api/v1/auth/login/factor", proof));
  assert.equal(done.deviceToken, undefined);
  const [session] = await sql`select provider_id, only_tenant_id from sessions
    where user_id = ${user.id} and provider_id is not null`;
  assert.deepEqual({ ...session }, { providerId, onlyTenantId: tenantId });
  await failSignIns(t, email, 1);
  await refused("401 ACCOUNT_LOCKED_UNAUTHORIZED", signIn(t, email));
  await accepted(admin.put(at, { satisfiesSecondFactor: true }));
  await sql`delete from sign_in_subjects where user_id = ${user.id}`;
  await accepted(run(account(domain, { email }), providerId));
});

Deno.test("emails of foreign domains, unverified ones and none sign nobody in and leave nothing", async () => {
  const before = await countUsers();
  const FOREIGN = "403 SIGN_IN_DOMAIN_FORBIDDEN";
  const UNVERIFIED = "403 OIDC_EMAIL_UNVERIFIED_FORBIDDEN";
  const login = account(domain);
  const cases: [refusal: string, claims: Account][] = [
    [FOREIGN, { email: `x@${other.domain}` }],
    [FOREIGN, { email: `x@sub.${domain}` }],
    [UNVERIFIED, { email: `x@${domain}`, email_verified: false }],
    [UNVERIFIED, {}],
  ];
  for (const [refusal, claims] of cases) {
    provider.accounts.set(login, claims);
    await refused(refusal, run(login, providerId));
  }
  assert.equal(await countUsers(), before);
});

Deno.test("a deactivated link or user, and a full tenant, is refused; a user whose link was removed is added again", async () => {
  const login = account(domain);
  const { user } = await accepted(run(login, providerId));
  await sql`update user_tenants set is_active = false where user_id = ${user.id}`;
  await refused(UNKNOWN, run(login, providerId));
  await sql`delete from user_tenants where user_id = ${user.id}`;
  assert.equal((await accepted(run(login, providerId))).user.id, user.id);
  await sql`update users set is_active = false where id = ${user.id}`;
  await refused(UNKNOWN, run(login, providerId));
  await sql`update tenants set max_users = user_count where id = ${tenantId}`;
  await refused("400 TENANT_CAPACITY_REACHED", run(account(domain), providerId));
  await sql`update tenants set max_users = null where id = ${tenantId}`;
});

Deno.test("groups set the roles at each sign-in; roles that are no groups or of the provider stay; platform reach is refused", async () => {
  const [staff, lead, hidden] = [await role("Staff"), await role("Lead"), await role("Hidden")];
  const platform = await role("Root", "admin:system");
  await sql`insert into scim_groups (role_id, display_name, external_id, hidden_by) values
    (${lead}, 'SG-Leads', 'guid-1', null), (${hidden}, null, null, 'administrator')`;
  await refused("403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED", admin.put(at, { claims: { groups: "groups" } }));
  const strong = await strongAdmin();
  await accepted(strong.put(at, { claims: { groups: "groups" } }));
  const login = account(domain, { groups: ["staff", "guid-1", "Hidden", "Root", "unknown"] });
  const { user, accessToken } = await accepted(run(login, providerId));
  assert.deepEqual(await rolesOf(user.id), ["Lead", "Member", "Staff"]);
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values
    (${user.id}, ${tenantId}, ${hidden}), (${user.id}, ${tenantId}, ${platform})`;
  provider.accounts.set(login, { email: `${login}@${domain}`, groups: ["SG-LEADS"] });
  await refused("403 TENANT_FORBIDDEN", run(login, providerId));
  assert.deepEqual(await rolesOf(user.id), ["Hidden", "Lead", "Member", "Root", "Staff"]);
  await sql`delete from user_tenant_roles where user_id = ${user.id} and role_id = ${platform}`;
  await accepted(run(login, providerId));
  assert.deepEqual(await rolesOf(user.id), ["Hidden", "Lead", "Member"]);
  await refused("401 SESSION_INVALIDATED", withToken(t, accessToken).get("/auth/me"));
  provider.accounts.set(login, { email: `${login}@${domain}` });
  await accepted(run(login, providerId));
  assert.deepEqual(await rolesOf(user.id), ["Hidden", "Lead", "Member"]);
  assert.equal((await sql`select from roles where id = ${staff}`).count, 1);
});

Deno.test("the last administrator keeps the role Admin, whatever the groups say", async () => {
  await sql`delete from user_tenant_roles where tenant_id = ${tenantId}
    and role_id in (select id from roles where tenant_id = ${tenantId} and name = 'Admin')`;
  const last = await person(t, { email: `${crypto.randomUUID()}@${domain}`, links: [tenantId] });
  const login = account(domain, { email: last.email, groups: ["staff"] });
  await accepted(run(login, providerId));
  assert.deepEqual(await rolesOf(last.id), ["Admin", "Staff"]);
  const next = await person(t, { links: [tenantId] });
  await accepted(run(login, providerId));
  assert.deepEqual([await rolesOf(last.id), await rolesOf(next.id)], [["Staff"], ["Admin"]]);
});

Deno.test("two tenants may prove one domain; each signs in to itself only", async () => {
  await verify(other.admin, domain);
  await accepted(other.admin.put(`/api/v1/sign-in-providers/${other.providerId}`, { createsUsers: true }));
  const login = account(domain, { groups: [] });
  const here = await accepted(run(login, providerId));
  const there = await accepted(run(login, other.providerId, { tenantId }));
  assert.equal(here.user.id, there.user.id);
  assert.deepEqual([here.tenant.id, there.tenant.id], [tenantId, other.tenantId]);
  const options = await accepted(t.nobody.get(`/api/v1/auth/sign-in-options?email=nobody@${domain}`));
  assert.deepEqual(pluck(options.providers, "id").sort(), [providerId, other.providerId].sort());
  assert.equal(options.passwordSignIn, true);
});

Deno.test("a disabled provider signs nobody in, ends its sessions and its unfinished sign-ins", async () => {
  const login = account(domain);
  const { accessToken, refreshToken } = await accepted(run(login, providerId));
  const flow = await begin(providerId);
  const callback = await back(flow, login);
  const returned = await run(login, providerId, { returnTo: "/console/" });
  const code = new URLSearchParams(new URL(returned.location).hash.slice(1)).get("code");
  const strong = await strongAdmin();
  await accepted(strong.post(`${at}/disable`));
  await refused("401 TOKEN_REVOKED", withToken(t, accessToken).get("/auth/me"));
  await refused("401 TOKEN_REVOKED", t.nobody.post("/auth/refresh", { refreshToken }));
  await refused(STATE, comeBack(flow, callback));
  await refused("400 OIDC_HANDOVER_INVALID", t.nobody.post("/api/v1/auth/oidc/exchange", { code }));
  const start = `/api/v1/auth/oidc/${providerId}`;
  await refused("404 OIDC_PROVIDER_NOT_FOUND", t.nobody.get(start));
  const page = await t.nobody.get(start, { accept: "text/html", "accept-language": "pt" });
  assert.equal(page.status, 400);
  assert.match(page.body, /O login foi recusado.*enabled; found &quot;.*console\/sign-in\?tenantId=/s);
  const options = await accepted(t.nobody.get(`/api/v1/auth/sign-in-options?tenantId=${tenantId}`));
  assert.deepEqual(options.providers, []);
});

Deno.test("a test of a disabled provider shows what came and what it would give, and leaves nothing", async () => {
  const strong = await strongAdmin();
  const kept = async () => {
    const [row] =
      await sql`select (select count(*) from users) as users, (select count(*) from sessions) as sessions,
      (select count(*) from audit_log) as audited`;
    return { ...row };
  };
  const before = await kept();
  const tested = async (login: string) => {
    const { url } = await accepted(strong.post(`${at}/test`));
    const flow = await begin(providerId, Object.fromEntries(new URL(url).searchParams));
    const page = await accepted(finish(flow, login), 200);
    assert.equal((await flow.browser.visit(url)).status, 400);
    return page;
  };
  const good = await tested(account(domain, { given_name: "<b>", groups: ["Staff"] }));
  for (const text of ["&lt;b&gt;", "would be added to the tenant", "Member, Staff", "would succeed"]) {
    assert.ok(good.includes(text), text);
  }
  const bad = await tested(account("foreign.example.com"));
  assert.match(bad, /would be refused.*Expected an email of a domain/s);
  assert.deepEqual(await kept(), before);
});

Deno.test("another issuer ends sessions and links of accounts; a deleted provider takes them along", async () => {
  const strong = await strongAdmin();
  await accepted(strong.post(`${at}/enable`));
  const login = account(domain);
  const { accessToken, user } = await accepted(run(login, providerId));
  await accepted(strong.put(at, { issuer: "https://other.example.com" }));
  await refused("401 TOKEN_REVOKED", withToken(t, accessToken).get("/auth/me"));
  assert.equal((await sql`select from sign_in_subjects where provider_id = ${providerId}`).count, 0);
  await accepted(strong.delete(at), 204);
  await refused("404 SIGN_IN_PROVIDER_NOT_FOUND", strong.get(at));
  assert.equal((await sql`select from sessions where user_id = ${user.id} and revoked_at is null`).count, 0);
});
