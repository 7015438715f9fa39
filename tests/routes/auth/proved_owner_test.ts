import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { TestAuthenticator } from "../../support/authenticator.ts";
import { addApp, addPasskey, finish } from "./factors.ts";
import { mailsTo, withJobs } from "./mails.ts";
import { OpenIdTest, PUBLIC_URL } from "./openid.ts";
import { bearer, PASSWORD, type Person, person, signIn, withToken } from "./people.ts";

const world = await OpenIdTest.start();
Deno.test.afterAll(() => world.stop());
const { t, run, known } = world;
const { sql } = t.steward.platform;
const site = new URL(PUBLIC_URL).origin;
const NEW = "a password of my own";
const now = Date.now;

/** What somebody adds who signs in with a password that the owner did not choose. */
async function addAccess({ id, email }: Person) {
  await sql`insert into role_permissions (role_id, permission_id)
    select h.role_id, p.id from user_tenant_roles h, permissions p
    where h.user_id = ${id} and p.code = 'manage:api-keys' and p.tenant_id is null`;
  const client = bearer(t, await signIn(t, email));
  const key = await client.post("/api/v1/api-keys", { name: "Mine", permissions: ["read:users"] });
  assert.equal(key.status, 201, JSON.stringify(key.body));
  const device = { token: newId(), platform: "Android" };
  assert.equal((await client.post(`/api/v1/user-notifications/devices?userId=${id}`, device)).status, 200);
  const made = await t.systemAdmin.post("/api/v1/oauth-clients", {
    name: "Lure",
    kind: "public",
    redirectUris: ["https://lure.test/callback"],
    audience: `https://${id}.test`,
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await sql`insert into oauth_consents (user_id, client_id, scopes) values (${id}, ${made.body.id}, '{openid}')`;
  return { client, key: withToken(t, key.body.key) };
}

const signInBy = async (authenticator: TestAuthenticator) => {
  const { body } = await t.nobody.post("/api/v1/auth/login/passkey/options");
  return await t.nobody.post("/api/v1/auth/login/passkey", { passkey: authenticator.get(body) });
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

const actionsOn = async (userId: string) =>
  (await sql`select action from audit_log where target_id = ${userId} order by id`).map(({ action }) =>
    action
  );

/** The token of the newest mailed link. */
async function linkTo(email: string, ask: () => Promise<{ status: number }>): Promise<string> {
  const { status } = await withJobs(t, ask);
  assert.ok(status < 300, String(status));
  const texts = (await mailsTo(t, email)).map(({ textBody }) => /#token=([\w-]{43})/.exec(textBody)?.[1]);
  return texts.find(Boolean) ?? "";
}

const resetLink = (email: string) => linkTo(email, () => t.nobody.post("/auth/forgot-password", { email }));
const reset = async (email: string) => {
  const token = await resetLink(email);
  return await withJobs(t, () => t.nobody.post("/auth/reset-password", { token, newPassword: NEW }));
};

async function invitationTo(email: string): Promise<string> {
  const inviter = await t.actor({ permissions: ["create:users"] });
  const invited = { email, roleIds: [inviter.roleId] };
  return await linkTo(email, () => inviter.post("/api/v1/users/invite", invited));
}

Deno.test("the first sign-in by a provider removes what somebody else has added before, the next ones nothing", async () => {
  const { user, login } = await known();
  const { client, key } = await addAccess(user);
  const { authenticator } = await addPasskey(client, new TestAuthenticator(site));
  await addApp(client, { now });
  const stale = (await client.post("/api/v1/auth/factors/passkey/options")).body;
  assert.equal((await signIn(t, user.email)).status, 401, "a sign-in waits for its second factor");
  assert.equal((await signInBy(authenticator)).status, 200);

  const { status, body } = await withJobs(t, () => run(login));
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(await left(user.id), ["key", "session"]);
  assert.equal((await signInBy(authenticator)).body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  assert.equal((await client.get("/auth/me")).body.code, "TOKEN_REVOKED");
  assert.equal((await key.get("/api/v1/users")).status, 200, "a key acts only in its own tenant");
  const late = { name: "Late", passkey: new TestAuthenticator(site).create(stale) };
  assert.equal((await client.post("/api/v1/auth/factors/passkey/verify", late)).status, 401);
  assert.deepEqual((await actionsOn(user.id)).slice(-3), [
    "user.link-identity",
    "user.remove-password",
    "user.remove-former-access",
  ]);
  const [mail] = await mailsTo(t, user.email);
  assert.equal(mail?.subject, "The password of your account was removed");
  assert.match(mail?.textBody ?? "", /second factors and passkeys/);

  const owner = withToken(t, body.accessToken);
  const own = await addPasskey(owner, new TestAuthenticator(site));
  assert.equal(own.added.status, 201);
  await sql`delete from user_identities where user_id = ${user.id}`;
  assert.equal((await run(login)).body.code, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED", "linked once more");
  assert.equal((await signInBy(own.authenticator)).body.user.id, user.id);
});

Deno.test("the first reset of a password by a mailed link removes what was added before, the next ones nothing", async () => {
  const user = await person(t);
  await addAccess(user);
  assert.equal((await reset(user.email)).status, 204);
  assert.deepEqual(await left(user.id), ["password", "key"]);
  assert.ok((await actionsOn(user.id)).includes("user.remove-former-access"));
  const subjects = (await mailsTo(t, user.email)).map(({ subject }) => subject);
  assert.ok(subjects.includes("Earlier access to your account was removed"), subjects.join());

  const owner = bearer(t, await signIn(t, user.email, NEW));
  await addApp(owner, { now });
  assert.equal((await reset(user.email)).status, 204);
  assert.deepEqual(await left(user.id), ["password", "factor", "codes", "key"]);
});

Deno.test("a reset keeps second factors; the owner counts as unproved until a provider signs them in", async () => {
  const { user, login } = await known();
  const { client } = await addAccess(user);
  const { authenticator } = await addPasskey(client, new TestAuthenticator(site));
  assert.equal((await reset(user.email)).status, 204);
  assert.equal((await signIn(t, user.email, NEW)).body.code, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED");
  assert.equal((await run(login)).status, 200);
  assert.deepEqual(await left(user.id), ["key", "session"]);
  assert.equal((await signInBy(authenticator)).status, 401);
});

Deno.test("a new email is verified, but does not prove that its owner made the account", async () => {
  const { user, login } = await known();
  const email = `new-${user.email}`;
  const client = bearer(t, await signIn(t, user.email));
  const change = { newEmail: email, password: PASSWORD };
  const token = await linkTo(email, () => client.post("/auth/change-email", change));
  assert.equal((await t.nobody.post("/auth/confirm-email", { token })).status, 204);
  assert.equal((await client.get("/auth/me")).status, 200);
  const { authenticator } = await addPasskey(client, new TestAuthenticator(site));
  world.provider.accounts.set(login, { email, email_verified: true });
  assert.equal((await run(login)).status, 200);
  assert.deepEqual(await left(user.id), ["session"]);
  assert.equal((await signInBy(authenticator)).status, 401);
});

Deno.test("who accepts an invitation with the password and a factor of the account is its owner and keeps both", async () => {
  const { user, login } = await known();
  const client = bearer(t, await signIn(t, user.email));
  const { app } = await addApp(client, { now });
  const token = await invitationTo(user.email);
  const proof = { password: PASSWORD, code: app.code() };
  const accepted = await t.nobody.post("/api/v1/auth/invitations/accept", { token, ...proof });
  assert.equal(accepted.status, 200, JSON.stringify(accepted.body));
  assert.deepEqual((await left(user.id)).slice(0, 3), ["password", "factor", "codes"]);
  assert.equal((await run(login)).body.code, "SECOND_FACTOR_REQUIRED_UNAUTHORIZED");
  assert.deepEqual((await left(user.id)).slice(0, 3), ["password", "factor", "codes"]);
});

Deno.test("the account of somebody who used a mailed link before keeps everything when it joins a tenant", async () => {
  const user = await person(t, { isProved: true });
  const client = bearer(t, await signIn(t, user.email));
  const { app } = await addApp(client, { now });
  const token = await invitationTo(user.email);
  const accepted = await client.post("/api/v1/auth/invitations/accept-signed-in", { token });
  assert.equal(accepted.status, 200);
  const { body: { factorToken } } = await signIn(t, user.email);
  assert.equal((await finish(t, factorToken, { code: app.code() })).status, 200);
});
