import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { TestAuthenticator } from "../../support/authenticator.ts";
import type { HttpClient } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { makeClient } from "../oauth/flow.ts";
import { addApp, addPasskey, finish, half, type TestApp } from "./factors.ts";
import { mailsTo, resetTokenFor, subjectsTo, tokenOf, withJobs } from "./mails.ts";
import { OpenIdTest, PUBLIC_URL } from "./openid.ts";
import { bearer, PASSWORD, type Person, person, signedIn, signIn, withToken } from "./people.ts";

const world = await OpenIdTest.start();
const { t, run, known } = world;
const { sql } = t.steward.platform;
const NEW = "a password of my own";
const REQUIRED = "401 SECOND_FACTOR_REQUIRED_UNAUTHORIZED";
const WRONG = "401 SECOND_FACTOR_INVALID_UNAUTHORIZED";
const newAuthenticator = () => new TestAuthenticator(new URL(PUBLIC_URL).origin);

const clientOf = async ({ email }: Person) => bearer(t, await signIn(t, email));

/** Adds an authenticator app; its current code can still be used. */
async function addAppNow(client: HttpClient): Promise<TestApp> {
  const { app, factorId } = await addApp(client, { now: Date.now, step: 0 });
  await sql`update user_factors set last_step = null where id = ${factorId}`;
  return app;
}

/** What somebody adds who signs in with a password that the owner did not choose. */
async function addAccess(user: Person) {
  await sql`insert into role_permissions (role_id, permission_id)
    select h.role_id, p.id from user_tenant_roles h, permissions p
    where h.user_id = ${user.id} and p.code = 'manage:api-keys' and p.tenant_id is null`;
  const client = await clientOf(user);
  const ofKey = { name: "Mine", permissions: ["read:users"] };
  const { key } = await accepted(client.post("/api/v1/api-keys", ofKey), 201);
  const device = { token: newId(), platform: "Android" };
  await accepted(client.post(`/api/v1/user-notifications/devices?userId=${user.id}`, device), 200);
  const lure = await makeClient(t.systemAdmin, { kind: "public", firstParty: false });
  await sql`insert into oauth_consents (user_id, client_id, scopes) values (${user.id}, ${lure.id}, '{openid}')`;
  return { client, key: withToken(t, key) };
}

const signInBy = async (authenticator: TestAuthenticator) => {
  const options = await accepted(t.nobody.post("/api/v1/auth/login/passkey/options"));
  return await t.nobody.post("/api/v1/auth/login/passkey", { passkey: authenticator.get(options) });
};

/** What of the tables with somebody's access is left. */
async function left(userId: string): Promise<string[]> {
  const rows = await sql<{ kind: string }[]>`
    select 'password' as kind from users where id = ${userId} and password_hash is not null
    union all select 'factor' from user_factors where user_id = ${userId}
    union all select distinct 'codes' from recovery_codes where user_id = ${userId}
    union all select distinct 'challenge' from passkey_challenges where user_id = ${userId}
    union all select 'key' from api_keys where created_by = ${userId} and revoked_at is null
    union all select 'consent' from oauth_consents where user_id = ${userId}
    union all select 'push device' from user_devices where user_id = ${userId}
    union all select distinct 'session' from sessions where user_id = ${userId} and revoked_at is null
    union all select 'half sign-in' from factor_tokens where user_id = ${userId}`;
  return rows.map(({ kind }) => kind);
}

async function reset(email: string): Promise<void> {
  const token = await resetTokenFor(t, email);
  await accepted(withJobs(t, () => t.nobody.post("/auth/reset-password", { token, newPassword: NEW })), 204);
}

async function invitationTo(email: string): Promise<string> {
  const inviter = await t.actor({ permissions: ["create:users"] });
  const invitation = { email, roleIds: [inviter.roleId] };
  return await tokenOf(t, email, () => inviter.post("/api/v1/users/invite", invitation));
}

Deno.test("the first sign-in by a provider removes what somebody else has added before, the next ones nothing", async () => {
  const { user, login } = await known();
  const { client, key } = await addAccess(user);
  const { authenticator } = await addPasskey(client, newAuthenticator());
  await addAppNow(client);
  const stale = await accepted(client.post("/api/v1/auth/factors/passkey/options"));
  await half(t, user); // a sign-in waits for its second factor
  await accepted(signInBy(authenticator));

  const tokens = await accepted(withJobs(t, () => run(login)), 200);
  assert.deepEqual(await left(user.id), ["key", "session"]);
  await refused(WRONG, signInBy(authenticator));
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, user.email));
  await refused("401 TOKEN_REVOKED", client.get("/auth/me"));
  await accepted(key.get("/api/v1/users")); // a key acts only in its own tenant
  const late = { name: "Late", passkey: newAuthenticator().create(stale) };
  await refused("401 TOKEN_REVOKED", client.post("/api/v1/auth/factors/passkey/verify", late));
  const actions =
    await sql`select action from audit_log where target_id = ${user.id} order by id desc limit 3`;
  const expected = ["remove-former-access", "remove-password", "link-identity"];
  assert.deepEqual(actions.map(({ action }) => action), expected.map((action) => `user.${action}`));
  const [mail] = await mailsTo(t, user.email);
  assert.equal(mail?.subject, "The password of your account was removed");
  assert.match(mail?.textBody ?? "", /second factors and passkeys/);

  const own = await addPasskey(withToken(t, tokens.accessToken), newAuthenticator());
  await accepted(own.added, 201);
  await sql`delete from user_identities where user_id = ${user.id}`;
  await refused(REQUIRED, run(login)); // linked once more
  assert.equal((await accepted(signInBy(own.authenticator))).user.id, user.id);
});

Deno.test("the first reset of a password by a mailed link removes what was added before, the next ones nothing", async () => {
  const user = await person(t);
  await addAccess(user);
  await reset(user.email);
  assert.deepEqual(await left(user.id), ["password", "key"]);
  const removed =
    await sql`select from audit_log where target_id = ${user.id} and action = 'user.remove-former-access'`;
  assert.equal(removed.count, 1);
  assert.ok((await subjectsTo(t, user.email)).includes("Earlier access to your account was removed"));
  await addAppNow(bearer(t, await signIn(t, user.email, NEW)));
  await reset(user.email);
  assert.deepEqual(await left(user.id), ["password", "factor", "codes", "key"]);
});

Deno.test("a reset keeps second factors; the owner counts as unproved until a provider signs them in", async () => {
  const { user, login } = await known();
  const { client } = await addAccess(user);
  const { authenticator } = await addPasskey(client, newAuthenticator());
  await reset(user.email);
  await refused(REQUIRED, signIn(t, user.email, NEW));
  await accepted(run(login));
  assert.deepEqual(await left(user.id), ["key", "session"]);
  await refused(WRONG, signInBy(authenticator));
});

Deno.test("a new email is verified, but does not prove that its owner made the account", async () => {
  const { user, login } = await known();
  const email = `new-${user.email}`;
  const client = await clientOf(user);
  const change = { newEmail: email, password: PASSWORD };
  const token = await tokenOf(t, email, () => client.post("/auth/change-email", change));
  await accepted(t.nobody.post("/auth/confirm-email", { token }), 204);
  const { authenticator } = await addPasskey(client, newAuthenticator());
  world.provider.accounts.set(login, { email, email_verified: true });
  await accepted(run(login));
  assert.deepEqual(await left(user.id), ["session"]);
  await refused(WRONG, signInBy(authenticator));
});

Deno.test("who accepts an invitation with the password and a factor of the account is its owner and keeps both", async () => {
  const { user, login } = await known();
  const app = await addAppNow(await clientOf(user));
  const token = await invitationTo(user.email);
  const proof = { password: PASSWORD, code: app.code() };
  await accepted(t.nobody.post("/api/v1/auth/invitations/accept", { token, ...proof }), 200);
  const kept = ["password", "factor", "codes"];
  assert.deepEqual((await left(user.id)).slice(0, 3), kept);
  await refused(REQUIRED, run(login));
  assert.deepEqual((await left(user.id)).slice(0, 3), kept);
});

Deno.test("the account of somebody who used a mailed link before keeps everything when it joins a tenant", async () => {
  const { me, ...user } = await signedIn(t, { isProved: true });
  const app = await addAppNow(me);
  const token = await invitationTo(user.email);
  await accepted(me.post("/api/v1/auth/invitations/accept-signed-in", { token }), 200);
  await accepted(finish(t, await half(t, user), { code: app.code() }), 200);
});
