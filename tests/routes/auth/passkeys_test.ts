import assert from "node:assert/strict";
import { TestAuthenticator } from "../../support/authenticator.ts";
import type { HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { addPasskey, appUser, clock, finish, siteOf } from "./factors.ts";
import { bearer, forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setupShared({}, { clock });
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;
const site = siteOf({ baseUrl: t.steward.platform.baseUrl() });

/** A signed-in user with a passkey. */
async function holder(o: Parameters<typeof person>[1] = {}) {
  const user = await person(t, o);
  const client = bearer(t, await signIn(t, user.email));
  const { authenticator, added } = await addPasskey(client, new TestAuthenticator(site));
  assert.equal(added.status, 201, JSON.stringify(added.body));
  return { ...user, client, authenticator, added: added.body };
}

const signInOptions = async () => (await t.nobody.post("/api/v1/auth/login/passkey/options")).body;
const signInBy = (passkey: unknown, more = {}) =>
  t.nobody.post("/api/v1/auth/login/passkey", { passkey, ...more });
const addOptions = async (client: HttpClient) =>
  (await client.post("/api/v1/auth/factors/passkey/options")).body;

Deno.test("a passkey signs in alone and counts as two factors", async () => {
  const user = await holder();
  const options = await signInOptions();
  assert.equal(options.rpId, "localhost");
  assert.equal(options.userVerification, "required");
  assert.deepEqual(options.allowCredentials, []);
  const { status, body } = await signInBy(user.authenticator.get(options));
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.user.id, user.id);
  const sessions = await t.nobody.with({ authorization: `Bearer ${body.accessToken}` }).get("/auth/sessions");
  assert.deepEqual(sessions.body[0].amr, ["hwk", "user", "mfa"]);
});

Deno.test("the first passkey brings recovery codes, and the session counts as signed in with it", async () => {
  const user = await holder();
  assert.equal(user.added.recoveryCodes.length, 10);
  assert.equal(user.added.factor.name, "My key");
  const [session] = (await user.client.get("/auth/sessions")).body;
  assert.deepEqual(session.amr, ["pwd", "hwk", "user", "mfa"]);
  const second = await addPasskey(user.client, new TestAuthenticator(site));
  assert.equal(second.added.body.recoveryCodes, null);
  const { body } = await user.client.get("/auth/factors");
  assert.equal(body.factors.length, 2);
});

Deno.test("a passkey is the second factor of a password sign-in", async () => {
  const user = await holder();
  const asked = await signIn(t, user.email);
  assert.deepEqual(asked.body.factors, ["passkey", "recoveryCode"]);
  const { factorToken, passkeyOptions } = asked.body;
  assert.equal(passkeyOptions.allowCredentials[0].id, user.added && user.authenticator.get({}).id);
  const fresh = await t.nobody.post("/auth/login/factor/options", { factorToken });
  assert.notEqual(fresh.body.passkeyOptions.challenge, passkeyOptions.challenge);
  assert.equal(
    (await finish(t, factorToken, { passkey: user.authenticator.get(passkeyOptions) })).status,
    200,
  );
  const gone = await t.nobody.post("/auth/login/factor/options", { factorToken });
  assert.equal(gone.body.code, "FACTOR_TOKEN_INVALID_UNAUTHORIZED");
});

Deno.test("an answer works once: of 20 simultaneous sign-ins one succeeds", async () => {
  const user = await holder();
  const passkey = user.authenticator.get(await signInOptions());
  const answers = await Promise.all(Array.from({ length: 20 }, () => signInBy(passkey)));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, ...Array(19).fill(401)]);
  assert.equal((await signInBy(passkey)).body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
});

Deno.test("answers with a wrong origin, site, challenge, counter or without user verification are refused", async () => {
  const user = await holder();
  const wrong = [
    { origin: "https://evil.example" },
    { site: "evil.example" },
    { challenge: "made-up" },
    { isUserVerified: false },
    { counter: 1 },
    { counter: 0 },
  ];
  for (const faults of wrong) {
    const { status, body } = await signInBy(user.authenticator.get(await signInOptions(), faults));
    assert.equal(status, 401, JSON.stringify(faults));
    assert.equal(body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
    await forgetFailures(t);
  }
  const passkey = user.authenticator.get(await signInOptions());
  const other = new TestAuthenticator(site);
  const forged = {
    ...passkey,
    response: { ...passkey.response, signature: other.get({}).response.signature },
  };
  assert.equal((await signInBy(forged)).status, 401);
  assert.equal((await signInBy(other.get(await signInOptions()))).status, 401, "an unknown passkey");
});

Deno.test("a challenge is valid for five minutes, and only for what it was made for", async () => {
  const user = await holder();
  const options = await signInOptions();
  await sql`update passkey_challenges set expires_at = now()`;
  assert.equal((await signInBy(user.authenticator.get(options))).status, 401);
  const { passkeyOptions } = (await signIn(t, user.email)).body;
  assert.equal((await signInBy(user.authenticator.get(passkeyOptions))).status, 401);
  const { factorToken } = (await signIn(t, user.email)).body;
  const passkey = user.authenticator.get(await signInOptions());
  assert.equal((await finish(t, factorToken, { passkey })).status, 401);
});

Deno.test("another user's passkey is not a second factor", async () => {
  const [user, other] = [await holder(), await holder()];
  const { factorToken, passkeyOptions } = (await signIn(t, user.email)).body;
  const { status, body } = await finish(t, factorToken, { passkey: other.authenticator.get(passkeyOptions) });
  assert.equal(status, 401);
  assert.equal(body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
});

Deno.test("a passkey signs in to the wanted tenant, and not to another's", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const user = await holder({ links: [first, second] });
  const to = async (more: object) => await signInBy(user.authenticator.get(await signInOptions()), more);
  assert.equal((await to({ tenantId: second })).body.tenant.id, second);
  assert.equal((await to({ global: true })).body.tenant, null);
  assert.equal((await to({ tenantId: await t.tenant() })).body.code, "TENANT_FORBIDDEN");
});

Deno.test("a lockout after wrong passwords does not keep the holder of a passkey out; inactivity does", async () => {
  const user = await holder();
  await sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${user.id}`;
  assert.equal((await signIn(t, user.email, PASSWORD)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.equal((await signInBy(user.authenticator.get(await signInOptions()))).status, 200);
  await sql`update users set is_active = false where id = ${user.id}`;
  const { body } = await signInBy(user.authenticator.get(await signInOptions()));
  assert.equal(body.code, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
});

Deno.test("a new passkey is refused with a wrong origin, site, challenge, or without user verification", async () => {
  const client = bearer(t, await signIn(t, (await person(t)).email));
  const wrong = [
    { origin: "https://evil.example" },
    { site: "evil.example" },
    { challenge: "made-up" },
    { isUserVerified: false },
  ];
  for (const faults of wrong) {
    const passkey = new TestAuthenticator(site).create(await addOptions(client), faults);
    const { status, body } = await client.post("/auth/factors/passkey/verify", { passkey });
    assert.equal(status, 400, JSON.stringify(faults));
    assert.match(body.errors[0], /^passkey: /);
  }
  const options = await addOptions(client);
  const other = bearer(t, await signIn(t, (await person(t)).email));
  const passkey = new TestAuthenticator(site).create(options);
  assert.equal(
    (await other.post("/auth/factors/passkey/verify", { passkey })).status,
    400,
    "another's challenge",
  );
  assert.equal((await client.post("/auth/factors/passkey/verify", { passkey })).status, 201);
  assert.equal((await client.post("/auth/factors/passkey/verify", { passkey })).status, 400, "used up");
});

Deno.test("an attestation with certificates is refused: nothing is fetched for it", async () => {
  const client = bearer(t, await signIn(t, (await person(t)).email));
  const statement = new Map<string, unknown>([["alg", -7], ["sig", new Uint8Array(8)], ["x5c", [
    new Uint8Array(8),
  ]]]);
  const authenticator = new TestAuthenticator(site);
  const passkey = authenticator.create(await addOptions(client), {}, ["packed", statement]);
  const { status, body } = await client.post("/auth/factors/passkey/verify", { passkey });
  assert.equal(status, 400);
  assert.match(body.errors[0], /attestation/);
});

Deno.test("a passkey belongs to one user, once", async () => {
  const user = await holder();
  const other = bearer(t, await signIn(t, (await person(t)).email));
  for (const client of [user.client, other]) {
    const { added } = await addPasskey(client, user.authenticator);
    assert.equal(added.status, 409);
    assert.equal(added.body.code, "FACTOR_ALREADY_EXISTS");
  }
});

Deno.test("a user has at most 20 passkeys, also by simultaneous requests", async () => {
  const user = await holder();
  await sql`insert into user_factors (id, user_id, kind, name, confirmed_at, credential_id, public_key, sign_count,
      transports, is_synced)
    select gen_random_uuid(), ${user.id}, 'passkey', 'Old', now(), sha256(n::text::bytea), '', 0, '{}', false
    from generate_series(1, 17) n`;
  const created = await Promise.all(Array.from({ length: 5 }, async () => {
    const passkey = new TestAuthenticator(site).create(await addOptions(user.client));
    return () => user.client.post("/auth/factors/passkey/verify", { passkey });
  }));
  const answers = await Promise.all(created.map((send) => send()));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [201, 201, 409, 409, 409]);
  const { status, body } = await user.client.post("/auth/factors/passkey/options");
  assert.equal(status, 409);
  assert.equal(body.code, "FACTOR_LIMIT_CONFLICT");
});

Deno.test("a removed passkey no longer signs in", async () => {
  const user = await holder();
  const { passkeyOptions } = (await user.client.post("/auth/step-up/options")).body;
  const removed = await user.client.send("DELETE", `/auth/factors/${user.added.factor.id}`, {
    passkey: user.authenticator.get(passkeyOptions),
  });
  assert.equal(removed.status, 204);
  assert.equal((await signInBy(user.authenticator.get(await signInOptions()))).status, 401);
  assert.equal((await signIn(t, user.email)).status, 200);
});

Deno.test("an authenticator app and a passkey are both offered", async () => {
  const user = await appUser(t);
  const { authenticator } = await addPasskey(user.client, new TestAuthenticator(site));
  const asked = (await signIn(t, user.email)).body;
  assert.deepEqual(asked.factors, ["totp", "passkey", "recoveryCode"]);
  const passkey = authenticator.get(asked.passkeyOptions);
  assert.equal((await finish(t, asked.factorToken, { passkey })).status, 200);
});

Deno.test("passkeys need a public URL with a host name", async () => {
  const restore = t.replace((platform) => platform, { baseUrl: () => "http://192.0.2.1:8000" });
  try {
    const { status, body } = await t.nobody.post("/auth/login/passkey/options");
    assert.equal(status, 503);
    assert.equal(body.code, "FACTOR_UNAVAILABLE");
  } finally {
    restore();
  }
});
