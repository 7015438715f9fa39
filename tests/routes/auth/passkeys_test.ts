import assert from "node:assert/strict";
import { type Faults, TestAuthenticator } from "../../support/authenticator.ts";
import type { HttpClient } from "../../support/http.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { addPasskey, appUser, finish, siteOf } from "./factors.ts";
import { PASSWORD, type person, setupSignIns, signedIn, signIn, withToken } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;
const site = siteOf({ baseUrl: t.steward.platform.baseUrl() });
const FACTORS = "/api/v1/auth/factors";
const WRONG = "401 SECOND_FACTOR_INVALID_UNAUTHORIZED";
const newAuthenticator = () => new TestAuthenticator(site);

/** A signed-in user with a passkey. */
async function holder(o: Parameters<typeof person>[1] = {}) {
  const user = await signedIn(t, o);
  const { authenticator, added } = await addPasskey(user.me, newAuthenticator());
  return { ...user, authenticator, added: await accepted(added, 201) };
}

const signInOptions = () => accepted(t.nobody.post("/api/v1/auth/login/passkey/options"));
const signInBy = (passkey: unknown, more = {}) =>
  t.nobody.post("/api/v1/auth/login/passkey", { passkey, ...more });
/** Signs in with an answer to new options. */
const use = async (authenticator: TestAuthenticator, more = {}) =>
  await signInBy(authenticator.get(await signInOptions()), more);
const addOptions = (client: HttpClient) => accepted(client.post(`${FACTORS}/passkey/options`));
const add = (client: HttpClient, passkey: unknown) => client.post(`${FACTORS}/passkey/verify`, { passkey });
/** Returns the answer to the first step of a sign-in with the password. */
const asked = async ({ email }: { email: string }) => (await signIn(t, email)).body;

Deno.test("a passkey signs in alone, to the wanted tenant, and counts as two factors; its answer works once", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const { id, authenticator } = await holder({ links: [first, second] });
  const options = await signInOptions();
  const { rpId, userVerification, allowCredentials } = options;
  assert.deepEqual([rpId, userVerification, allowCredentials], ["localhost", "required", []]);
  const passkey = authenticator.get(options);
  const answers = await Promise.all([1, 2, 3].map(() => signInBy(passkey, { tenantId: second })));
  const [signed, ...more] = answers.filter(({ status }) => status === 200);
  assert.deepEqual([signed?.body.user.id, signed?.body.tenant.id, more], [id, second, []]);
  await refused(WRONG, ...answers.filter((answer) => answer !== signed), signInBy(passkey));
  const [session] = await accepted(withToken(t, signed?.body.accessToken).get("/auth/sessions"));
  assert.deepEqual(session.amr, ["hwk", "user", "mfa"]);
  assert.equal((await accepted(use(authenticator, { global: true }))).tenant, null);
  await refused("403 TENANT_FORBIDDEN", use(authenticator, { tenantId: await t.tenant() }));
});

Deno.test("the first passkey brings recovery codes, and the session counts as signed in with it; each belongs to one user, once", async () => {
  const { added, me, authenticator } = await holder();
  assert.deepEqual([added.recoveryCodes.length, added.factor.name], [10, "My key"]);
  const [session] = await accepted(me.get("/auth/sessions"));
  assert.deepEqual(session.amr, ["pwd", "hwk", "user", "mfa"]);
  const second = await addPasskey(me, newAuthenticator());
  assert.equal(second.added.body.recoveryCodes, null);
  assert.equal((await accepted(me.get(FACTORS))).factors.length, 2);
  for (const client of [me, (await signedIn(t)).me]) {
    await refused("409 FACTOR_ALREADY_EXISTS", (await addPasskey(client, authenticator)).added);
  }
});

Deno.test("a passkey is the second factor of a password sign-in", async () => {
  const user = await holder();
  const { factors, factorToken, passkeyOptions } = await asked(user);
  assert.deepEqual(factors, ["passkey", "recoveryCode"]);
  assert.equal(passkeyOptions.allowCredentials[0].id, user.authenticator.get({}).id);
  const options = () => t.nobody.post("/auth/login/factor/options", { factorToken });
  assert.notEqual((await accepted(options())).passkeyOptions.challenge, passkeyOptions.challenge);
  await accepted(finish(t, factorToken, { passkey: user.authenticator.get(passkeyOptions) }), 200);
  await refused("401 FACTOR_TOKEN_INVALID_UNAUTHORIZED", options());

  const both = await appUser(t);
  const { authenticator } = await addPasskey(both.client, newAuthenticator());
  const choice = await asked(both);
  assert.deepEqual(choice.factors, ["totp", "passkey", "recoveryCode"]);
  await accepted(finish(t, choice.factorToken, { passkey: authenticator.get(choice.passkeyOptions) }), 200);
});

const FAULTS: Faults[] = [
  { origin: "https://evil.example" },
  { site: "evil.example" },
  { challenge: "made-up" },
  { isUserVerified: false },
];

Deno.test("answers with a wrong origin, site, challenge, counter or without user verification are refused", async () => {
  const { authenticator } = await holder();
  for (const faults of [...FAULTS, { counter: 1 }, { counter: 0 }]) {
    const answer = await outcome(signInBy(authenticator.get(await signInOptions(), faults)));
    assert.equal(answer, WRONG, JSON.stringify(faults));
  }
  const passkey = authenticator.get(await signInOptions());
  const other = newAuthenticator();
  const { signature } = other.get({}).response;
  await refused(WRONG, signInBy({ ...passkey, response: { ...passkey.response, signature } }));
  await refused(WRONG, use(other)); // an unknown passkey
});

Deno.test("a challenge is valid for five minutes, and only for what and whom it was made for", async () => {
  const [user, other] = [await holder(), await holder()];
  const options = await signInOptions();
  await sql`update passkey_challenges set expires_at = now() - interval '1 ms'`;
  const { passkeyOptions } = await asked(user);
  await refused(WRONG, ...[options, passkeyOptions].map((each) => signInBy(user.authenticator.get(each))));
  const { factorToken } = await asked(user);
  const signingIn = user.authenticator.get(await signInOptions());
  const ofOther = other.authenticator.get((await asked(user)).passkeyOptions);
  await refused(WRONG, ...[signingIn, ofOther].map((passkey) => finish(t, factorToken, { passkey })));
});

Deno.test("a lockout after wrong passwords does not keep the holder of a passkey out; inactivity does", async () => {
  const { id, email, authenticator } = await holder();
  await sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${id}`;
  await refused("401 ACCOUNT_LOCKED_UNAUTHORIZED", signIn(t, email, PASSWORD));
  await accepted(use(authenticator));
  await sql`update users set is_active = false where id = ${id}`;
  await refused(WRONG, use(authenticator));
});

Deno.test("a new passkey is refused with a wrong origin, site, challenge, attestation, or without user verification", async () => {
  const [{ me }, other] = [await signedIn(t), await signedIn(t)];
  const [sig, x5c] = [new Uint8Array(8), [new Uint8Array(8)]];
  const certificates = new Map<string, unknown>(Object.entries({ alg: -7, sig, x5c }));
  const wrong: [mistake: RegExp, faults: Faults, attestation?: [string, unknown]][] = [
    ...FAULTS.map((faults): [RegExp, Faults] => [/^passkey: /, faults]),
    [/attestation/, {}, ["packed", certificates]], // nothing is fetched for it
  ];
  for (const [mistake, ...faults] of wrong) {
    const passkey = newAuthenticator().create(await addOptions(me), ...faults);
    const answer = await add(me, passkey);
    await refused("400 VALIDATION_ERROR", answer);
    assert.match(answer.body.errors[0], mistake);
  }
  const passkey = newAuthenticator().create(await addOptions(me));
  await refused("400 VALIDATION_ERROR", add(other.me, passkey)); // another's challenge
  await accepted(add(me, passkey), 201);
  await refused("400 VALIDATION_ERROR", add(me, passkey)); // used up
});

Deno.test("a user has at most 20 passkeys, also by simultaneous requests", async () => {
  const { id, me } = await holder();
  await sql`insert into user_factors (id, user_id, kind, name, confirmed_at, credential_id, public_key, sign_count,
      transports, is_synced)
    select gen_random_uuid(), ${id}, 'passkey', 'Old', now(), sha256(n::text::bytea), '', 0, '{}', false
    from generate_series(1, 18) n`;
  const passkeys = [];
  for (let n = 0; n < 2; n++) passkeys.push(newAuthenticator().create(await addOptions(me)));
  const answers = await Promise.all(passkeys.map((passkey) => outcome(add(me, passkey))));
  const limit = "409 FACTOR_LIMIT_CONFLICT";
  assert.deepEqual(answers.sort(), ["201", limit]);
  await refused(limit, me.post(`${FACTORS}/passkey/options`));
});

Deno.test("passkeys need a public URL with a host name", async () => {
  using _ = t.replace((platform) => platform, { baseUrl: () => "http://192.0.2.1:8000" });
  await refused("503 FACTOR_UNAVAILABLE", t.nobody.post("/auth/login/passkey/options"));
});
