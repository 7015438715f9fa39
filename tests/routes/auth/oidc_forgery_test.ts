import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { type Browser, CLIENT_SECRET } from "../../support/oidc.ts";
import { OpenIdTest, type Outcome, PUBLIC_URL } from "./openid.ts";

const world = await OpenIdTest.start();
Deno.test.afterAll(() => world.stop());
const { t, provider, newBrowser, begin, comeBack, run, known } = world;
Deno.test.beforeEach(() => {
  provider.tamper = null;
});
const { issuer } = provider;
const { sql } = t.steward.platform;

async function refused(answer: Promise<Outcome>): Promise<void> {
  const { status, body } = await answer;
  assert.equal(status, 401, JSON.stringify(body));
  assert.equal(body.code, "OIDC_REFUSED_UNAUTHORIZED");
}

Deno.test("the authorization request asks for a code with PKCE, state and nonce, bound to the browser", async () => {
  const response = await fetch(`${t.url}/api/v1/auth/oidc/corp`, { redirect: "manual" });
  await response.body?.cancel();
  const { searchParams: asked, origin } = new URL(response.headers.get("location") ?? "");
  assert.equal(origin, issuer);
  assert.equal(asked.get("response_type"), "code");
  assert.equal(asked.get("redirect_uri"), `${PUBLIC_URL}/api/v1/auth/oidc/corp/callback`);
  assert.equal(asked.get("scope"), "openid email profile");
  assert.equal(asked.get("code_challenge_method"), "S256");
  for (const name of ["code_challenge", "state", "nonce"]) assert.match(asked.get(name) ?? "", /^[\w-]{43}$/);
  const [cookie = ""] = response.headers.getSetCookie();
  assert.match(
    cookie,
    /^__Secure-steward_oidc_[\w-]{16}=[\w-]{43}; Path=\/base\/api\/v1\/auth\/oidc; SameSite=Lax; Max-Age=600; HttpOnly; Secure$/,
  );
  assert.equal(response.headers.get("cache-control"), "no-store");
});

Deno.test("a state that is unknown, changed, missing, another provider's, expired or used is rejected", async () => {
  const { login } = await known();
  const invalid = async (browser: Browser, callback: string) => {
    const { status, body } = await comeBack(browser, callback);
    assert.equal(status, 400, callback);
    assert.equal(body.code, "OIDC_STATE_INVALID");
  };
  const { browser, authorizationUrl } = await begin();
  const callback = await browser.signIn(authorizationUrl.href, login);
  const altered = new URL(callback);
  altered.searchParams.set("state", "x".repeat(43));
  await invalid(browser, altered.href);
  altered.searchParams.delete("state");
  await invalid(browser, altered.href);
  await invalid(browser, callback.replace("/oidc/corp/", "/oidc/open/"));
  assert.equal((await comeBack(browser, callback)).status, 200);
  await invalid(browser, callback);
  const late = await begin();
  const lateCallback = await late.browser.signIn(late.authorizationUrl.href, login);
  await sql`update oidc_flows set expires_at = now()`;
  await invalid(late.browser, lateCallback);
});

Deno.test("a sign-in cannot be finished in another browser; after the attempt its own browser still can", async () => {
  const { login } = await known();
  const { browser, authorizationUrl } = await begin();
  const callback = await browser.signIn(authorizationUrl.href, login);
  const victim = await begin();
  const { status, body } = await comeBack(victim.browser, callback);
  assert.equal(status, 400);
  assert.equal(body.code, "OIDC_STATE_INVALID");
  assert.equal((await comeBack(browser, callback)).status, 200);
});

Deno.test("two tabs of one browser can sign in at the same time", async () => {
  const { login } = await known();
  const browser = newBrowser();
  const [first, second] = [await begin("corp", "", browser), await begin("corp", "", browser)];
  const back = await browser.signIn(second.authorizationUrl.href, login);
  const backFirst = await browser.signIn(first.authorizationUrl.href, login);
  assert.equal((await comeBack(browser, back)).status, 200);
  assert.equal((await comeBack(browser, backFirst)).status, 200);
});

Deno.test("a wrong nonce is rejected", async () => {
  const { login } = await known();
  await refused(run(login, "corp", "", (url) => url.searchParams.set("nonce", "another")));
  await refused(run(login, "corp", "", (url) => url.searchParams.delete("nonce")));
});

Deno.test("a code whose PKCE challenge was removed or replaced is rejected", async () => {
  const { login } = await known();
  await refused(run(login, "corp", "", (url) => {
    url.searchParams.delete("code_challenge");
    url.searchParams.delete("code_challenge_method");
  }));
  await refused(run(login, "corp", "", (url) => url.searchParams.set("code_challenge_method", "plain")));
  await refused(run(login, "corp", "", (url) => url.searchParams.set("code_challenge", "A".repeat(43))));
});

Deno.test("a used code, or one of another sign-in, is rejected", async () => {
  const { login } = await known();
  const first = await begin();
  const used = new URL(await first.browser.signIn(first.authorizationUrl.href, login));
  assert.equal((await comeBack(first.browser, used.href)).status, 200);
  const second = await begin();
  const replayed = new URL(await second.browser.signIn(second.authorizationUrl.href, login));
  replayed.searchParams.set("code", used.searchParams.get("code") ?? "");
  await refused(comeBack(second.browser, replayed.href));
  const [third, fourth] = [await begin(), await begin()];
  const mine = new URL(await third.browser.signIn(third.authorizationUrl.href, login));
  const theirs = new URL(await fourth.browser.signIn(fourth.authorizationUrl.href, login));
  mine.searchParams.set("code", theirs.searchParams.get("code") ?? "");
  await refused(comeBack(third.browser, mine.href));
});

Deno.test("an ID token with wrong audience, issuer, subject, age or nonce is rejected, even if signed by the provider", async () => {
  const { user, login } = await known();
  const other = await known();
  const now = Math.floor(Date.now() / 1000);
  const good = (nonce: string) => ({
    iss: issuer,
    sub: login,
    aud: "basic",
    iat: now,
    exp: now + 600,
    nonce,
    email: user.email,
    email_verified: true,
  });
  const attempt = async (change: Record<string, unknown>) => {
    const { browser, authorizationUrl } = await begin();
    const nonce = authorizationUrl.searchParams.get("nonce") ?? "";
    provider.tamper = async (tokens) => {
      tokens.id_token = await provider.signIdToken(
        Object.fromEntries(
          Object.entries({ ...good(nonce), ...change }).filter(([, value]) => value !== undefined),
        ),
      );
    };
    return await comeBack(browser, await browser.signIn(authorizationUrl.href, login));
  };
  assert.equal((await attempt({})).status, 200, "claims of the ID token itself are taken");
  for (
    const change of [
      { aud: "another-client" },
      { aud: ["another-client"] },
      { aud: ["basic", "another-client"], azp: "another-client" },
      { aud: undefined },
      { iss: "https://elsewhere.test" },
      { iss: undefined },
      { sub: undefined },
      { exp: now - 31 },
      { exp: undefined },
      { iat: undefined },
      { nonce: "another" },
      { nonce: undefined },
      { nbf: now + 600 },
      // Without an email in the token, userinfo is requested, which has another subject.
      { sub: other.login, email: undefined, email_verified: undefined },
    ]
  ) {
    const { status, body } = await attempt(change);
    assert.equal(status, 401, JSON.stringify({ change, body }));
    assert.equal(body.code, "OIDC_REFUSED_UNAUTHORIZED");
  }
});

Deno.test("an ID token not signed by the provider is rejected", async () => {
  const { user, login } = await known();
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const foreign = { ...await exportJWK(privateKey), alg: "RS256" };
  const b64 = (value: unknown) =>
    btoa(JSON.stringify(value)).replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
  const now = Math.floor(Date.now() / 1000);
  for (const forge of ["foreign key", "none", "HS256"]) {
    const { browser, authorizationUrl } = await begin();
    const nonce = authorizationUrl.searchParams.get("nonce") ?? "";
    const claims = {
      iss: issuer,
      sub: login,
      aud: "basic",
      iat: now,
      exp: now + 600,
      nonce,
      email: user.email,
      email_verified: true,
    };
    provider.tamper = async (tokens) => {
      if (forge === "foreign key") tokens.id_token = await provider.signIdToken(claims, foreign);
      if (forge === "none") tokens.id_token = `${b64({ alg: "none" })}.${b64(claims)}.`;
      if (forge === "HS256") {
        const secret = { kty: "oct", alg: "HS256", k: btoa(CLIENT_SECRET).replace(/=+$/, "") };
        tokens.id_token = await provider.signIdToken(claims, secret);
      }
    };
    await refused(comeBack(browser, await browser.signIn(authorizationUrl.href, login)));
  }
});

Deno.test("an answer with another issuer, or none, is rejected before the code is sent to any endpoint", async () => {
  const { login } = await known();
  for (const iss of ["https://elsewhere.test", ""]) {
    const { browser, authorizationUrl } = await begin();
    const callback = new URL(await browser.signIn(authorizationUrl.href, login));
    if (iss) callback.searchParams.set("iss", iss);
    else callback.searchParams.delete("iss");
    await refused(comeBack(browser, callback.href));
  }
});

Deno.test("an error of the provider is reported as such", async () => {
  const { browser, authorizationUrl } = await begin();
  const state = authorizationUrl.searchParams.get("state");
  const back = new URLSearchParams({ error: "access_denied", state: state ?? "", iss: issuer });
  await refused(comeBack(browser, `${PUBLIC_URL}/api/v1/auth/oidc/corp/callback?${back}`));
});

Deno.test("a stored sign-in cannot be used by someone who reads the database", async () => {
  const { browser, authorizationUrl } = await begin();
  const state = authorizationUrl.searchParams.get("state") ?? "";
  const rows = await sql`select state_hash from oidc_flows where state_hash = sha256(${state}::text::bytea)`;
  assert.equal(rows.length, 1);
  assert.ok(browser);
});

Deno.test("the log contains no codes, tokens or secrets of a provider", () => {
  const log = t.logs.join("\n");
  assert.match(log, /a sign-in by an OpenID provider failed/);
  assert.ok(!log.includes(CLIENT_SECRET));
  assert.ok(!/[?&]code=|id_token|eyJ/.test(log));
});
