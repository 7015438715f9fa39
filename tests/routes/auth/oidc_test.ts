import assert from "node:assert/strict";
import { decodeJwt, exportJWK, generateKeyPair } from "jose";
import { newId } from "../../../domain/shared/ids.ts";
import { CLIENT_SECRET } from "../../support/oidc.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { addApp, finish as finishSignIn } from "./factors.ts";
import { type Flow, OpenIdTest, PUBLIC_URL } from "./openid.ts";
import { failSignIns, person, refresh, signIn, withToken } from "./people.ts";
import { Buffer } from "node:buffer";

const { t, provider, newBrowser, begin, back, comeBack, finish, run, known } = await OpenIdTest.start();
const { sql } = t.steward.platform;
const UNVERIFIED = "403 OIDC_EMAIL_UNVERIFIED_FORBIDDEN";
const UNKNOWN = "403 OIDC_USER_UNKNOWN_FORBIDDEN";
const LOCKED = "401 ACCOUNT_LOCKED_UNAUTHORIZED";
const INVALID = "400 OIDC_HANDOVER_INVALID";

const exchange = (code?: string, deviceToken?: string) =>
  t.nobody.post("/api/v1/auth/oidc/exchange", { code, deviceToken });

/** A new account of the provider. @returns its login */
function account(claims: Record<string, unknown> = {}): string {
  const login = `account-${newId()}`;
  provider.accounts.set(login, { email: `${login}@example.test`, email_verified: true, ...claims });
  return login;
}

Deno.test("the list names the providers and contains no secret", async () => {
  const providers = await accepted(t.nobody.get("/api/v1/auth/oidc"));
  const signInUrl = `${PUBLIC_URL}/api/v1/auth/oidc/corp`;
  assert.deepEqual(providers[0], { name: "corp", displayName: "The corporation", signInUrl });
  assert.equal(providers.length, 5);
  assert.ok(!JSON.stringify(providers).includes(CLIENT_SECRET));
});

Deno.test("a verified email signs its user in, with a confidential and a public client, and is answered like a login", async () => {
  const { user, login } = await known();
  const answer = await run(login);
  const tokens = await accepted(answer, 200);
  assert.deepEqual([tokens.user.id, tokens.tenant.id], [user.id, user.tenantId]);
  assert.ok(tokens.permissions.includes("read:users"));
  assert.match(answer.headers.getSetCookie()[0] ?? "", /Max-Age=0/);
  await accepted(withToken(t, tokens.accessToken).get("/auth/me"));
  await accepted(refresh(t, tokens));
  assert.equal((await accepted(run(login, "public"))).user.id, user.id);
});

Deno.test("a linked account is found by its subject, whatever its email; the same email alone finds no account", async () => {
  const { user, login } = await known();
  await accepted(run(login));
  await refused("409 OIDC_IDENTITY_CONFLICT", run(account({ email: user.email })));
  provider.accounts.set(login, { email: "changed@example.test", email_verified: false });
  assert.equal((await accepted(run(login))).user.id, user.id);
  const [row, ...more] = await sql`select issuer, subject from user_identities where user_id = ${user.id}`;
  assert.deepEqual([{ ...row }, more], [{ issuer: provider.issuer, subject: login }, []]);
});

Deno.test("tenantId and global of the start work as in a login", async () => {
  const [first, second] = [await t.tenant(), await t.tenant()];
  const { login } = await known({ links: [first, second] });
  const browser = newBrowser();
  const into = async (query: object) => await finish(await begin("corp", query, browser), login);
  assert.equal((await accepted(into({ tenantId: second }))).tenant.id, second);
  assert.equal((await accepted(into({ global: true }))).tenant, null);
  await refused("403 TENANT_FORBIDDEN", into({ tenantId: await t.tenant() }));
});

Deno.test("an email that is unverified, missing, odd, not verified with literal true, or only alike in lower case signs nobody in", async () => {
  const { user: { id, email } } = await known();
  const claims: Record<string, unknown>[] = [
    { email, email_verified: false },
    { email, email_verified: undefined },
    { email, email_verified: "true" },
    { email: undefined },
    { email: `\0${email}` },
  ];
  for (const [letter, other] of [["i", "\u0130"], ["k", "\u212a"]]) { // letters other than ASCII
    const { email } = await person(t, { email: `${letter}${newId()}@example.test` });
    const alike = `${other}${email.slice(1)}`;
    const [equal] = await sql`select lower(${alike}) = lower(${email}) as is_equal`;
    assert.ok(equal?.isEqual, "the test would prove nothing");
    claims.push({ email: alike });
  }
  const [login, browser] = [account(), newBrowser()];
  for (const [n, each] of claims.entries()) {
    provider.accounts.set(login, { email_verified: true, ...each });
    const flow = await begin(n % 2 ? "corp" : "open", {}, browser);
    await refused(UNVERIFIED, finish(flow, login));
  }
  assert.equal((await sql`select from user_identities where user_id = ${id}`).count, 0);
});

Deno.test("an unknown email signs nobody in and creates no user; with autoProvision it creates one, without tenant or password", async () => {
  const login = account({ given_name: "Grace", family_name: "Hopper" });
  const email = `${login}@example.test`;
  await refused(UNKNOWN, run(login));
  assert.equal((await sql`select from users where email = ${email}`).count, 0);
  const answers = await Promise.all([1, 2].map(() => run(login, "open")));
  for (const answer of answers) {
    const { tenant, permissions, user: { firstName, lastName } } = await accepted(answer);
    assert.deepEqual([tenant, permissions, firstName, lastName], [null, [], "Grace", "Hopper"]);
  }
  const users = await sql`select password_hash from users where email = ${email}`;
  assert.deepEqual(users.map((row) => ({ ...row })), [{ passwordHash: null }]);
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, email, "anything at all"));
  // names that the database cannot store count as missing
  const { user } = await accepted(run(account({ given_name: "Gr\0ce", family_name: "Hopper" }), "open"));
  assert.deepEqual([user.firstName, user.lastName], ["", "Hopper"]);
});

Deno.test("inactive and deleted users are neither signed in nor created again", async () => {
  const [deleted, inactive, linked] = [await known(), await known({ isActive: false }), await known()];
  await sql`update users set deleted_at = now() where id = ${deleted.user.id}`;
  await accepted(run(linked.login, "open"));
  await sql`update users set is_active = false where id = ${linked.user.id}`;
  for (const { login } of [deleted, inactive, linked]) await refused(UNKNOWN, run(login, "open"));
});

Deno.test("a locked account cannot sign in with a provider either, except from a known device", async () => {
  const { user, login } = await known();
  const browser = newBrowser();
  const here = async () => await accepted(finish(await begin("corp", {}, browser), login));
  const by = async (deviceToken?: string) => {
    const [, code] = (await run(login, "corp", { returnTo: "/welcome" })).location.split("#code=");
    return await exchange(code, deviceToken);
  };
  const { deviceToken } = await here();
  const { deviceToken: other } = await accepted(by());
  for (const token of [deviceToken, other]) assert.match(token, /^[\w-]{43}$/);
  await failSignIns(t, user.email, 5);
  assert.equal((await here()).deviceToken, deviceToken, "by its cookie");
  assert.equal((await accepted(by(other))).deviceToken, other, "by its token");
  await refused(LOCKED, by("A".repeat(43)), by());
  await failSignIns(t, user.email, 5, { deviceToken: other });
  await refused(LOCKED, by(other)); // after wrong passwords of its own
  await here(); // another device of the user
});

Deno.test("unknown providers are not found; one that is down, or rejects the client, is unavailable", async () => {
  const path = "/api/v1/auth/oidc";
  const unknown = ["unknown", "unknown/callback?state=x&code=y"].map((name) =>
    t.nobody.get(`${path}/${name}`)
  );
  await refused("404 OIDC_PROVIDER_NOT_FOUND", ...unknown);
  const { login } = await known();
  await refused("503 OIDC_PROVIDER_UNAVAILABLE", t.nobody.get(`${path}/away`), run(login, "misconfigured"));
});

Deno.test("with returnTo the browser is redirected with a code, which can be exchanged for tokens once, or with an error", async () => {
  const { user, login } = await known();
  const returnTo = "https://app.test/signed-in?next=%2Fhome";
  const answer = await run(login, "corp", { returnTo: `${returnTo}#old` });
  assert.equal(answer.status, 303);
  const [before, code] = answer.location.split("#code=");
  assert.equal(before, returnTo);
  const answers = await Promise.all([1, 2].map(() => exchange(code)));
  const [good, ...more] = answers.filter(({ status }) => status === 200);
  assert.deepEqual([good?.body.user.id, more], [user.id, []]);
  await accepted(withToken(t, good?.body.accessToken).get("/auth/me"));
  await refused(INVALID, exchange(code));
  const [, late] = (await run(login, "corp", { returnTo: "/welcome" })).location.split("#code=");
  await sql`update oidc_handovers set expires_at = now() - interval '1 ms'`;
  await refused(INVALID, exchange(late));
  const { status, location } = await run(account(), "corp", { returnTo: "/welcome" });
  const expected = "https://steward.test/welcome#error=OIDC_USER_UNKNOWN_FORBIDDEN";
  assert.deepEqual([status, location], [303, expected]);
});

Deno.test("the service redirects only to its own and configured origins", async () => {
  const evil = [
    "https://evil.test/",
    "//evil.test/",
    "/\\evil.test/",
    "https://app.test@evil.test/",
    "https://user:word@app.test/",
    "http://app.test/",
    "javascript:alert(1)",
    "/\t/evil.test",
  ];
  for (const returnTo of evil) {
    const answer = await t.nobody.get(`/api/v1/auth/oidc/corp?${new URLSearchParams({ returnTo })}`);
    assert.equal(await outcome(answer), "400 VALIDATION_ERROR", returnTo);
    assert.match(answer.body.errors[0], /^returnTo: /);
  }
  for (const returnTo of ["/x", "https://steward.test/y", "http://localhost:3000/", "HTTPS://APP.TEST"]) {
    await begin("corp", { returnTo });
  }
});

/** The provider says from now on how it signed users in. */
function saying(amr: unknown): void {
  provider.tamper = async (tokens) => {
    tokens.id_token = await provider.signIdToken({ ...decodeJwt(String(tokens.id_token)), amr });
  };
}

/** A user of a tenant that requires a second factor. */
async function strictUser() {
  const { user, login } = await known();
  await accepted(t.systemAdmin.put(`/api/v1/tenants/${user.tenantId}`, { requireSecondFactor: true }));
  return { ...user, login };
}

Deno.test("a tenant that requires a second factor accepts a provider's sign-in only if the ID token says so", async () => {
  const { login } = await strictUser();
  const browser = newBrowser();
  for (const amr of [undefined, "mfa", ["not-mfa"], ["pwd", "mfa"]]) {
    saying(amr);
    const { accessToken } = await accepted(finish(await begin("corp", {}, browser), login));
    const expected = String(amr) === "pwd,mfa" ? "200" : "403 SECOND_FACTOR_REQUIRED";
    assert.equal(await outcome(withToken(t, accessToken).get("/auth/me")), expected, JSON.stringify(amr));
  }
});

Deno.test("who removes the last factor is limited, unless the provider itself proved two factors", async () => {
  const { id, login } = await strictUser();
  const signedIn = async () => withToken(t, (await accepted(run(login))).accessToken);
  const isLimited = async (client = added) => (await accepted(client.get("/auth/factors"))).isLimited;
  saying(undefined);
  const added = await signedIn();
  const { app, factorId } = await addApp(added, { now: Date.now, step: 0 });
  const allowCodesAgain = () => sql`update user_factors set last_step = null where user_id = ${id}`;
  const asked = await run(login);
  await allowCodesAgain();
  const both = withToken(
    t,
    (await accepted(finishSignIn(t, asked.body.factorToken, { code: app.code() }))).accessToken,
  );
  saying(["mfa"]);
  const proved = await signedIn();
  const stepped = await accepted(proved.post("/auth/step-up", { code: app.code(1) }));
  assert.deepEqual(stepped.amr, ["fed", "mfa", "otp"]);
  await allowCodesAgain();
  await accepted(added.send("DELETE", `/auth/factors/${factorId}`, { code: app.code() }), 204);
  const limited = [await isLimited(), await isLimited(both), await isLimited(proved)];
  assert.deepEqual(limited, [true, true, false], "the first added it, the second was finished by it");
});

const { issuer } = provider;
const REFUSED = "401 OIDC_REFUSED_UNAUTHORIZED";
const WRONG_STATE = "400 OIDC_STATE_INVALID";

Deno.test("the authorization request asks for a code with PKCE, state and nonce, bound to the browser", async () => {
  const response = await fetch(`${t.url}/api/v1/auth/oidc/corp`, { redirect: "manual" });
  await response.body?.cancel();
  const { searchParams, origin } = new URL(response.headers.get("location") ?? "");
  assert.equal(origin, issuer);
  const { code_challenge, state, nonce, ...rest } = Object.fromEntries(searchParams);
  assert.deepEqual(rest, {
    client_id: "basic",
    response_type: "code",
    redirect_uri: `${PUBLIC_URL}/api/v1/auth/oidc/corp/callback`,
    scope: "openid email profile",
    code_challenge_method: "S256",
  });
  for (const value of [code_challenge, state, nonce]) assert.match(value ?? "", /^[\w-]{43}$/);
  const [cookie = ""] = response.headers.getSetCookie();
  assert.match(
    cookie,
    /^__Secure-steward_oidc_[\w-]{16}=[\w-]{43}; Path=\/base\/api\/v1\/auth\/oidc; SameSite=Lax; Max-Age=600; HttpOnly; Secure$/,
  );
  assert.equal(response.headers.get("cache-control"), "no-store");
  // who reads the database cannot use a stored sign-in
  const stored = await sql`select from oidc_flows where state_hash = sha256(${state ?? ""}::text::bytea)`;
  assert.equal(stored.count, 1);
});

Deno.test("a state that is unknown, changed, missing, another provider's, expired or used is rejected", async () => {
  const { login } = await known();
  const flow = await begin();
  const callback = await back(flow, login);
  const [changed, missing] = [new URL(callback), new URL(callback)];
  changed.searchParams.set("state", "x".repeat(43));
  missing.searchParams.delete("state");
  for (const url of [changed, missing, callback.href.replace("/oidc/corp/", "/oidc/open/")]) {
    await refused(WRONG_STATE, comeBack(flow, url));
  }
  await accepted(comeBack(flow, callback));
  await refused(WRONG_STATE, comeBack(flow, callback));
  const late = await begin();
  const lateCallback = await back(late, login);
  await sql`update oidc_flows set expires_at = now() - interval '1 ms'`;
  await refused(WRONG_STATE, comeBack(late, lateCallback));
});

Deno.test("a sign-in cannot be finished in another browser; after the attempt its own browser still can", async () => {
  const { login } = await known();
  const flow = await begin();
  const callback = await back(flow, login);
  await refused(WRONG_STATE, comeBack(await begin(), callback));
  const tab = await begin("corp", {}, flow.browser); // two tabs can sign in at the same time
  await accepted(comeBack(tab, await back(tab, login)));
  await accepted(comeBack(flow, callback));
});

Deno.test("a used code, or one of another sign-in, is rejected", async () => {
  const { login } = await known();
  const [first, other] = [await begin(), await begin()];
  const used = await back(first, login);
  await accepted(comeBack(first, used));
  for (const { searchParams } of [used, await back(other, login)]) {
    const flow = await begin();
    const callback = await back(flow, login);
    callback.searchParams.set("code", searchParams.get("code") ?? "");
    await refused(REFUSED, comeBack(flow, callback));
  }
});

Deno.test("a code whose PKCE challenge was removed or replaced is rejected", async () => {
  const { login } = await known();
  const changes = [
    ({ searchParams }: URL) =>
      ["code_challenge", "code_challenge_method"].forEach((name) => searchParams.delete(name)),
    ({ searchParams }: URL) => searchParams.set("code_challenge", "A".repeat(43)),
  ];
  for (const change of changes) await refused(REFUSED, run(login, "corp", {}, change));
});

/** The claims of a good ID token. */
const goodClaims = (sub: string, email: string, { authorizationUrl }: Flow) => {
  const iat = Math.floor(Date.now() / 1000);
  const nonce = authorizationUrl.searchParams.get("nonce");
  return { iss: issuer, sub, aud: "basic", iat, exp: iat + 600, nonce, email, email_verified: true };
};

Deno.test("an ID token with wrong audience, issuer, subject, age or nonce is rejected, even if signed by the provider", async () => {
  const [{ user, login }, other] = [await known(), await known()];
  const now = Math.floor(Date.now() / 1000);
  const browser = newBrowser();
  const attempt = async (change: Record<string, unknown>) => {
    const flow = await begin("corp", {}, browser);
    const claims = Object.entries({ ...goodClaims(login, user.email, flow), ...change });
    provider.tamper = async (tokens) => {
      tokens.id_token = await provider.signIdToken(
        Object.fromEntries(claims.filter(([, value]) => value !== undefined)),
      );
    };
    return await outcome(finish(flow, login));
  };
  assert.equal(await attempt({}), "200", "claims of the ID token itself are taken");
  const wrong = [
    { aud: "another-client" },
    { aud: ["basic", "another-client"], azp: "another-client" },
    { iss: "https://elsewhere.test" },
    { exp: now - 31 },
    ...["another", undefined].map((nonce) => ({ nonce })),
    { sub: undefined },
    // Without an email in the token, userinfo is requested, which has another subject.
    { sub: other.login, email: undefined, email_verified: undefined },
  ];
  for (const change of wrong) assert.equal(await attempt(change), REFUSED, JSON.stringify(change));
});

Deno.test("an ID token not signed by the provider is rejected", async () => {
  const { user, login } = await known();
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const foreign = { ...await exportJWK(privateKey), alg: "RS256" };
  const secret = { kty: "oct", alg: "HS256", k: Buffer.from(CLIENT_SECRET).toString("base64url") };
  const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  type Claims = Record<string, unknown>;
  const forgers = [
    (claims: Claims) => provider.signIdToken(claims, foreign),
    (claims: Claims) => provider.signIdToken(claims, secret),
    (claims: Claims) => Promise.resolve(`${b64({ alg: "none" })}.${b64(claims)}.`),
  ];
  const browser = newBrowser();
  for (const forge of forgers) {
    const flow = await begin("corp", {}, browser);
    provider.tamper = async (tokens) => {
      tokens.id_token = await forge(goodClaims(login, user.email, flow));
    };
    await refused(REFUSED, finish(flow, login));
  }
});

Deno.test("an answer with another issuer, or none, is rejected before the code is sent to any endpoint, and so is an error", async () => {
  const { login } = await known();
  for (const iss of ["https://elsewhere.test", null]) {
    const flow = await begin();
    const callback = await back(flow, login);
    if (iss) callback.searchParams.set("iss", iss);
    else callback.searchParams.delete("iss");
    await refused(REFUSED, comeBack(flow, callback));
  }
  const flow = await begin();
  const state = flow.authorizationUrl.searchParams.get("state") ?? "";
  const answer = new URLSearchParams({ error: "access_denied", state, iss: issuer });
  await refused(REFUSED, comeBack(flow, `${PUBLIC_URL}/api/v1/auth/oidc/corp/callback?${answer}`));
});

Deno.test("the log contains no codes, tokens or secrets of a provider", () => {
  const log = t.logs.join("\n");
  assert.match(log, /a sign-in by an OpenID provider failed/);
  assert.ok(!log.includes(CLIENT_SECRET));
  assert.ok(!/[?&]code=|id_token|eyJ/.test(log));
});
