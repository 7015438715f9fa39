import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { exportJWK, generateKeyPair } from "jose";
import { CLIENT_SECRET } from "../../support/oidc.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { type Flow, OpenIdTest, PUBLIC_URL } from "./openid.ts";

const world = await OpenIdTest.start();
const { t, provider, newBrowser, begin, back, comeBack, finish, run, known } = world;
const { issuer } = provider;
const { sql } = t.steward.platform;
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
  await sql`update oidc_flows set expires_at = now()`;
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
  const changes: Record<string, string | null>[] = [
    { code_challenge: null, code_challenge_method: null },
    { code_challenge: "A".repeat(43) },
  ];
  for (const change of changes) {
    const answer = run(login, "corp", {}, ({ searchParams }) => {
      for (const [name, value] of Object.entries(change)) {
        if (value === null) searchParams.delete(name);
        else searchParams.set(name, value);
      }
    });
    await refused(REFUSED, answer);
  }
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
