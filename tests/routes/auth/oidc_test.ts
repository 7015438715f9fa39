import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { newId } from "../../../domain/shared/ids.ts";
import { Browser, CLIENT_SECRET, startOidcProvider } from "../../support/oidc.ts";
import { setup } from "../../support/setup.ts";
import { bearer, person, signIn } from "./people.ts";

const PUBLIC_URL = "https://steward.test/base";
const names = ["corp", "open", "public", "misconfigured"];
const provider = await startOidcProvider({
  redirectUris: names.map((name) => `${PUBLIC_URL}/api/v1/auth/oidc/${name}/callback`),
});
const { issuer } = provider;
const t = await setup({
  PUBLIC_URL,
  OIDC_PROVIDERS: JSON.stringify({
    corp: { issuer, clientId: "basic", clientSecret: CLIENT_SECRET, displayName: "The corporation" },
    open: {
      issuer,
      clientId: "post",
      clientSecret: CLIENT_SECRET,
      clientAuthentication: "client_secret_post",
      autoProvision: true,
    },
    public: { issuer, clientId: "public" },
    misconfigured: { issuer, clientId: "basic", clientSecret: "not the secret" },
    away: { issuer: "http://127.0.0.1:1", clientId: "x" },
  }),
  OIDC_RETURN_ORIGINS: "https://app.test, http://localhost:3000",
});
Deno.test.afterAll(() => Promise.all([t.stop(), provider.stop()]).then(() => {}));
Deno.test.beforeEach(() => {
  provider.tamper = null;
});
const { sql } = t.steward.platform;

const newBrowser = () => new Browser({ [PUBLIC_URL]: t.url });

interface Flow {
  browser: Browser;
  /** Where the provider is asked. */
  authorizationUrl: URL;
}

async function start(name = "corp", query = "", browser = newBrowser()): Promise<Flow> {
  const response = await browser.visit(`${PUBLIC_URL}/api/v1/auth/oidc/${name}${query}`);
  assert.equal(response.status, 302, await response.text());
  return { browser, authorizationUrl: new URL(response.headers.get("location") ?? "") };
}

/** Brings the browser back to Steward. */
async function comeBack(browser: Browser, callback: string) {
  const response = await browser.visit(callback);
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, location: headers.get("location") ?? "", body: text ? JSON.parse(text) : null };
}

async function run(login: string, name = "corp", query = "", change: (url: URL) => void = () => {}) {
  const { browser, authorizationUrl } = await start(name, query);
  change(authorizationUrl);
  return await comeBack(browser, await browser.signIn(authorizationUrl.href, login));
}

/** Somebody with a user here and an account of the same email there. */
async function known(o: Parameters<typeof person>[1] = {}) {
  const user = await person(t, o);
  const login = `login-${user.id}`;
  provider.accounts.set(login, { email: user.email.toUpperCase(), email_verified: true });
  return { user, login };
}

Deno.test("the list names the providers and gives no secret away", async () => {
  const { status, body } = await t.nobody.get("/api/v1/auth/oidc");
  assert.equal(status, 200);
  assert.deepEqual(body[0], {
    name: "corp",
    displayName: "The corporation",
    signInUrl: `${PUBLIC_URL}/api/v1/auth/oidc/corp`,
  });
  assert.equal(body.length, 5);
  assert.ok(!JSON.stringify(body).includes(CLIENT_SECRET));
});

Deno.test("the way there asks for a code with PKCE, state and nonce, and binds it to the browser", async () => {
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
    /^steward_oidc_[\w-]{16}=[\w-]{43}; Path=\/base\/api\/v1\/auth\/oidc; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  );
  assert.equal(response.headers.get("cache-control"), "no-store");
});

for (const name of ["corp", "open", "public"]) {
  Deno.test(`a verified email signs its user in by the ${name} client, and is answered as a login`, async () => {
    const { user, login } = await known();
    const { status, body, headers } = await run(login, name);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.user.id, user.id);
    assert.equal(body.tenant.id, user.tenantId);
    assert.ok(body.permissions.includes("read:users"));
    assert.match(headers.getSetCookie()[0] ?? "", /Max-Age=0/);
    const me = t.nobody.with({ authorization: `Bearer ${body.accessToken}` });
    assert.equal((await me.get("/auth/me")).status, 200);
    assert.equal((await t.nobody.post("/auth/refresh", { refreshToken: body.refreshToken })).status, 200);
  });
}

Deno.test("once linked, the account is known by its subject, whatever its email says", async () => {
  const { user, login } = await known();
  assert.equal((await run(login)).status, 200);
  provider.accounts.set(login, { email: "changed@example.test", email_verified: false });
  assert.equal((await run(login)).body.user.id, user.id);
  const rows = await sql`select issuer, subject from user_identities where user_id = ${user.id}`;
  assert.deepEqual(rows.map((row) => ({ ...row })), [{ issuer, subject: login }]);
  const [audited] = await sql`select action from audit_log where target_id = ${user.id}`;
  assert.equal(audited?.action, "user.link-identity");
});

Deno.test("another account of the provider with the same email does not get into a linked user", async () => {
  const { user, login } = await known();
  assert.equal((await run(login)).status, 200);
  provider.accounts.set(`heir-${login}`, { email: user.email, email_verified: true });
  const { status, body } = await run(`heir-${login}`);
  assert.equal(status, 409);
  assert.equal(body.code, "OIDC_IDENTITY_CONFLICT");
});

Deno.test("tenantId and global of the start count as in a login", async () => {
  const second = await t.tenant();
  const { user, login } = await known({ links: [await t.tenant(), second] });
  assert.equal((await run(login, "corp", `?tenantId=${second}`)).body.tenant.id, second);
  assert.equal((await run(login, "corp", "?global=true")).body.tenant, null);
  const foreign = await run(login, "corp", `?tenantId=${await t.tenant()}`);
  assert.equal(foreign.body.code, "TENANT_FORBIDDEN");
  assert.ok(user);
});

Deno.test("an unverified email, an absent one, and a verification that is not literally true sign nobody in", async () => {
  const { user } = await known();
  const accounts = [
    { email: user.email, email_verified: false },
    { email: user.email },
    { email: user.email, email_verified: "true" as unknown as boolean },
    { email_verified: true },
  ];
  for (const [index, account] of accounts.entries()) {
    const login = `unverified-${index}-${user.id}`;
    provider.accounts.set(login, account);
    for (const name of ["corp", "open"]) {
      const { status, body } = await run(login, name);
      assert.equal(status, 403);
      assert.equal(body.code, "OIDC_EMAIL_UNVERIFIED_FORBIDDEN");
    }
  }
  assert.equal((await sql`select from user_identities where user_id = ${user.id}`).count, 0);
});

Deno.test("an unknown email signs nobody in and creates nobody without autoProvision", async () => {
  const login = `stranger-${newId()}`;
  provider.accounts.set(login, { email: `${login}@example.test`, email_verified: true });
  const { status, body } = await run(login, "corp");
  assert.equal(status, 403);
  assert.equal(body.code, "OIDC_USER_UNKNOWN_FORBIDDEN");
  assert.equal((await sql`select from users where email = ${`${login}@example.test`}`).count, 0);
});

Deno.test("with autoProvision an unknown email makes a user without tenant or password, once", async () => {
  const login = `newcomer-${newId()}`;
  const email = `${login}@example.test`;
  provider.accounts.set(login, { email, email_verified: true, given_name: "Grace", family_name: "Hopper" });
  const answers = await Promise.all(Array.from({ length: 3 }, () => run(login, "open")));
  for (const { status, body } of answers) {
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.tenant, null);
    assert.deepEqual(body.permissions, []);
    assert.equal(body.user.firstName, "Grace");
    assert.equal(body.user.lastName, "Hopper");
  }
  const users = await sql`select password_hash from users where email = ${email}`;
  assert.deepEqual(users.map((row) => ({ ...row })), [{ passwordHash: null }]);
  assert.equal((await signIn(t, email, "")).status, 400);
  assert.equal((await signIn(t, email, "anything at all")).status, 401);
});

Deno.test("inactive and deleted users are not signed in, nor made anew", async () => {
  const deleted = await known();
  await sql`update users set deleted_at = now() where id = ${deleted.user.id}`;
  const inactive = await known({ isActive: false });
  const linked = await known();
  assert.equal((await run(linked.login, "open")).status, 200);
  await sql`update users set is_active = false where id = ${linked.user.id}`;
  for (const { login } of [deleted, inactive, linked]) {
    const { status, body } = await run(login, "open");
    assert.equal(status, 403);
    assert.equal(body.code, "OIDC_USER_UNKNOWN_FORBIDDEN");
  }
});

Deno.test("a locked account is locked for this way in, too", async () => {
  const { user, login } = await known();
  await sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${user.id}`;
  const { status, body, headers } = await run(login);
  assert.equal(status, 401);
  assert.equal(body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.ok(Number(headers.get("retry-after")) > 590);
});

Deno.test("a state that is unknown, altered, absent, another provider's, expired or used is refused", async () => {
  const { login } = await known();
  const invalid = async (browser: Browser, callback: string) => {
    const { status, body } = await comeBack(browser, callback);
    assert.equal(status, 400, callback);
    assert.equal(body.code, "OIDC_STATE_INVALID");
  };
  const { browser, authorizationUrl } = await start();
  const callback = await browser.signIn(authorizationUrl.href, login);
  const altered = new URL(callback);
  altered.searchParams.set("state", "x".repeat(43));
  await invalid(browser, altered.href);
  altered.searchParams.delete("state");
  await invalid(browser, altered.href);
  await invalid(browser, callback.replace("/oidc/corp/", "/oidc/open/"));
  assert.equal((await comeBack(browser, callback)).status, 200);
  await invalid(browser, callback);
  const late = await start();
  const lateCallback = await late.browser.signIn(late.authorizationUrl.href, login);
  await sql`update oidc_flows set expires_at = now()`;
  await invalid(late.browser, lateCallback);
});

Deno.test("a sign-in cannot be finished in another browser, and the attempt does not spoil it", async () => {
  const { login } = await known();
  const { browser, authorizationUrl } = await start();
  const callback = await browser.signIn(authorizationUrl.href, login);
  const victim = await start();
  const { status, body } = await comeBack(victim.browser, callback);
  assert.equal(status, 400);
  assert.equal(body.code, "OIDC_STATE_INVALID");
  assert.equal((await comeBack(browser, callback)).status, 200);
});

Deno.test("two tabs of one browser sign in side by side", async () => {
  const { login } = await known();
  const browser = newBrowser();
  const [first, second] = [await start("corp", "", browser), await start("corp", "", browser)];
  const back = await browser.signIn(second.authorizationUrl.href, login);
  const backFirst = await browser.signIn(first.authorizationUrl.href, login);
  assert.equal((await comeBack(browser, back)).status, 200);
  assert.equal((await comeBack(browser, backFirst)).status, 200);
});

const refused = async (answer: ReturnType<typeof run>) => {
  const { status, body } = await answer;
  assert.equal(status, 401, JSON.stringify(body));
  assert.equal(body.code, "OIDC_REFUSED_UNAUTHORIZED");
};

Deno.test("another nonce than the one asked for is refused", async () => {
  const { login } = await known();
  await refused(run(login, "corp", "", (url) => url.searchParams.set("nonce", "another")));
  await refused(run(login, "corp", "", (url) => url.searchParams.delete("nonce")));
});

Deno.test("a code for which PKCE was dropped or replaced on the way is refused", async () => {
  const { login } = await known();
  await refused(run(login, "corp", "", (url) => {
    url.searchParams.delete("code_challenge");
    url.searchParams.delete("code_challenge_method");
  }));
  await refused(run(login, "corp", "", (url) => url.searchParams.set("code_challenge_method", "plain")));
  await refused(run(login, "corp", "", (url) => url.searchParams.set("code_challenge", "A".repeat(43))));
});

Deno.test("a code used before, or taken from another sign-in, is refused", async () => {
  const { login } = await known();
  const first = await start();
  const used = new URL(await first.browser.signIn(first.authorizationUrl.href, login));
  assert.equal((await comeBack(first.browser, used.href)).status, 200);
  const second = await start();
  const replayed = new URL(await second.browser.signIn(second.authorizationUrl.href, login));
  replayed.searchParams.set("code", used.searchParams.get("code") ?? "");
  await refused(comeBack(second.browser, replayed.href));
  const [third, fourth] = [await start(), await start()];
  const mine = new URL(await third.browser.signIn(third.authorizationUrl.href, login));
  const theirs = new URL(await fourth.browser.signIn(fourth.authorizationUrl.href, login));
  mine.searchParams.set("code", theirs.searchParams.get("code") ?? "");
  await refused(comeBack(third.browser, mine.href));
});

Deno.test("an ID token of wrong audience, issuer, subject, age or nonce is refused, though the provider signed it", async () => {
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
    const { browser, authorizationUrl } = await start();
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
      // Without an email userinfo is asked, which speaks of another subject.
      { sub: other.login, email: undefined, email_verified: undefined },
    ]
  ) {
    const { status, body } = await attempt(change);
    assert.equal(status, 401, JSON.stringify({ change, body }));
    assert.equal(body.code, "OIDC_REFUSED_UNAUTHORIZED");
  }
});

Deno.test("an ID token the provider did not sign is refused", async () => {
  const { user, login } = await known();
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const foreign = { ...await exportJWK(privateKey), alg: "RS256" };
  const b64 = (value: unknown) =>
    btoa(JSON.stringify(value)).replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
  const now = Math.floor(Date.now() / 1000);
  for (const forge of ["foreign key", "none", "HS256"]) {
    const { browser, authorizationUrl } = await start();
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

Deno.test("an answer that names another issuer, or none, is refused before the code is sent anywhere", async () => {
  const { login } = await known();
  for (const iss of ["https://elsewhere.test", ""]) {
    const { browser, authorizationUrl } = await start();
    const callback = new URL(await browser.signIn(authorizationUrl.href, login));
    if (iss) callback.searchParams.set("iss", iss);
    else callback.searchParams.delete("iss");
    await refused(comeBack(browser, callback.href));
  }
});

Deno.test("a refusal of the provider's is told as one", async () => {
  const { browser, authorizationUrl } = await start();
  const state = authorizationUrl.searchParams.get("state");
  const back = new URLSearchParams({ error: "access_denied", state: state ?? "", iss: issuer });
  await refused(comeBack(browser, `${PUBLIC_URL}/api/v1/auth/oidc/corp/callback?${back}`));
});

Deno.test("unknown providers are not found; one that is away, or does not accept us, is unavailable", async () => {
  for (const path of ["/unknown", "/unknown/callback?state=x&code=y"]) {
    const { status, body } = await t.nobody.get(`/api/v1/auth/oidc${path}`);
    assert.equal(status, 404);
    assert.equal(body.code, "OIDC_PROVIDER_NOT_FOUND");
  }
  const away = await t.nobody.get("/api/v1/auth/oidc/away");
  assert.equal(away.status, 503);
  assert.equal(away.body.code, "OIDC_PROVIDER_UNAVAILABLE");
  const { login } = await known();
  const { status, body } = await run(login, "misconfigured");
  assert.equal(status, 503);
  assert.equal(body.code, "OIDC_PROVIDER_UNAVAILABLE");
});

Deno.test("with returnTo the browser goes there with a code, which is exchanged for the tokens once", async () => {
  const { user, login } = await known();
  const returnTo = "https://app.test/signed-in?next=%2Fhome";
  const answer = await run(login, "corp", `?${new URLSearchParams({ returnTo: `${returnTo}#old` })}`);
  assert.equal(answer.status, 303);
  assert.ok(answer.location.startsWith(`${returnTo}#code=`), answer.location);
  const code = new URL(answer.location).hash.slice("#code=".length);
  const exchange = () => t.nobody.post("/api/v1/auth/oidc/exchange", { code });
  const answers = await Promise.all(Array.from({ length: 4 }, exchange));
  const good = answers.filter(({ status }) => status === 200);
  assert.equal(good.length, 1);
  assert.equal(good[0]?.body.user.id, user.id);
  assert.equal((await bearer(t, good[0]!).get("/auth/me")).status, 200);
  const again = await exchange();
  assert.equal(again.status, 400);
  assert.equal(again.body.code, "OIDC_HANDOVER_INVALID");
});

Deno.test("with returnTo a refusal goes there, too, and an old code is worthless", async () => {
  const query = `?${new URLSearchParams({ returnTo: "/welcome" })}`;
  const stranger = `stranger-${newId()}`;
  provider.accounts.set(stranger, { email: `${stranger}@example.test`, email_verified: true });
  const answer = await run(stranger, "corp", query);
  assert.equal(answer.status, 303);
  assert.equal(answer.location, "https://steward.test/welcome#error=OIDC_USER_UNKNOWN_FORBIDDEN");
  const { login } = await known();
  const code = (await run(login, "corp", query)).location.split("#code=")[1];
  await sql`update oidc_handovers set expires_at = now()`;
  assert.equal((await t.nobody.post("/auth/oidc/exchange", { code })).body.code, "OIDC_HANDOVER_INVALID");
});

Deno.test("the service redirects to no place but its own and the configured ones", async () => {
  const evil = [
    "https://evil.test/",
    "//evil.test/",
    "/\\evil.test/",
    "\\\\evil.test",
    "https:/\\evil.test",
    "https://app.test.evil.test/",
    "https://app.test@evil.test/",
    "https://user:word@app.test/",
    "http://app.test/",
    "https://app.test:8443/",
    "javascript:alert(1)",
    "data:text/html,x",
    "/\t/evil.test",
    "https://evil.test#https://app.test",
  ];
  for (const returnTo of evil) {
    const { status, body } = await t.nobody.get(
      `/api/v1/auth/oidc/corp?${new URLSearchParams({ returnTo })}`,
    );
    assert.equal(status, 400, returnTo);
    assert.equal(body.code, "VALIDATION_ERROR");
    assert.match(body.errors[0], /^returnTo: /);
  }
  for (const returnTo of ["/x", "https://steward.test/y", "http://localhost:3000/", "HTTPS://APP.TEST"]) {
    await start("corp", `?${new URLSearchParams({ returnTo })}`);
  }
});

Deno.test("what is stored of a sign-in under way cannot be used by who reads it", async () => {
  const { browser, authorizationUrl } = await start();
  const state = authorizationUrl.searchParams.get("state") ?? "";
  const rows = await sql`select state_hash from oidc_flows where state_hash = sha256(${state}::text::bytea)`;
  assert.equal(rows.length, 1);
  assert.ok(browser);
});

Deno.test("neither codes nor tokens nor secrets of a provider come into the log", () => {
  const log = t.logs.join("\n");
  assert.match(log, /a sign-in by an OpenID provider failed/);
  assert.ok(!log.includes(CLIENT_SECRET));
  assert.ok(!/[?&]code=|id_token|eyJ/.test(log));
});
