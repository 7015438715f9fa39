import assert from "node:assert/strict";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { has } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { PASSWORD, person, withToken } from "../auth/people.ts";
import { FormBrowser, left, type Shown, shown } from "./browser.ts";
import {
  authorizeUrl,
  CALLBACK,
  codeOf,
  errorOf,
  type MadeClient,
  makeClient,
  redeem,
  refresh,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";
import * as openid from "openid-client";

const t = await setupShared();
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const client = await makeClient(systemAdmin);

type More = Record<string, string | null>;
const urlOf = (more: More = {}, by = client) => authorizeUrl(t, by, more);
/** The error that a request leads back with. */
const refusal = async (browser: FormBrowser, more: More = {}, by = client) =>
  errorOf(await browser.leave(urlOf(more, by)));
/** Fails unless the request leads to the sign-in page, which is returned. */
async function signInPage(browser: FormBrowser, url: URL): Promise<Shown> {
  const page = await browser.show(url);
  assert.match(page.html, /name="password"/);
  return page;
}
const userOf = async (url: URL) => decodeJwt((await accepted(redeem(t, client, codeOf(url)))).id_token).sub;

Deno.test("a browser signs in on the hosted page and returns with a code, the state and the issuer", async () => {
  const who = await person(t);
  const browser = new FormBrowser(t.url);
  const page = await browser.show(urlOf({ nonce: "n-1", login_hint: who.email }));
  assert.match(page.html, new RegExp(`value="${who.email}"`));
  const refusedPage = shown(await browser.signIn(page, who.email, "wrong password"));
  assert.equal(refusedPage.status, 401);
  const url = left(await browser.signIn(refusedPage, who.email, PASSWORD));
  assert.equal(url.origin + url.pathname, CALLBACK);
  assert.deepEqual([url.searchParams.get("state"), url.searchParams.get("iss")], ["the-state", t.url]);
  const { headers, body } = await redeem(t, client, codeOf(url));
  assert.equal(headers.get("cache-control"), "no-store");
  const { id_token, access_token, refresh_token, ...rest } = body;
  assert.deepEqual(rest, { token_type: "Bearer", expires_in: 900, scope: "openid profile email" });
  assert.match(refresh_token, /^ocr_/);
  const keys = createLocalJWKSet((await t.nobody.get("/.well-known/jwks.json")).body);
  const ofUser = { issuer: t.url, audience: client.clientId, algorithms: ["RS256"] };
  const { payload } = await jwtVerify(id_token, keys, ofUser);
  const { auth_time, sid, at_hash } = payload;
  const ofPerson = { name: "Some Body", email: who.email, tenant_id: who.tenantId, sub: who.id };
  has(payload, { ...ofPerson, nonce: "n-1", amr: ["pwd"] });
  const [session] =
    await sql`select extract(epoch from authenticated_at)::int as at from sessions where id = ${String(sid)}`;
  assert.ok(Math.abs(Number(auth_time) - session?.at) <= 1);
  assert.equal(String(at_hash).length, 22);
  const forApi = { issuer: t.url, audience: client.audience, typ: "at+jwt" };
  const access = await jwtVerify(access_token, keys, forApi);
  assert.equal(access.protectedHeader.alg, "EdDSA");
  const { client_id, scope, ver, permissions } = access.payload;
  assert.deepEqual([client_id, ver, permissions], [client.clientId, 1, undefined]);
  assert.equal(scope, "openid profile email");
  await refused("401 TOKEN_INVALID", withToken(t, access_token).get("/api/v1/auth/me"));
  assert.ok(![access_token, refresh_token, codeOf(url)].some((secret) => t.logs.join("").includes(secret)));
});

Deno.test("a signed-in browser gets its code at once, and prompt=none never shows a page", async () => {
  const { browser, who } = await signedInBrowser(t);
  const silent = { prompt: "none" };
  assert.equal(await refusal(new FormBrowser(t.url), silent), "login_required");
  const tokens = await signInToClient(t, browser, client, silent);
  assert.equal(decodeJwt(tokens.access_token).sub, who.id);
  const asking = await makeClient(systemAdmin, { firstParty: false });
  const { error, state, iss } = Object.fromEntries((await browser.leave(urlOf(silent, asking))).searchParams);
  assert.deepEqual([error, state, iss], ["consent_required", "the-state", t.url]);
});

Deno.test("prompt=login and max_age lead to a new sign-in, which leaves other clients signed in", async () => {
  const { browser, who } = await signedInBrowser(t);
  const { refresh_token } = await signInToClient(t, browser, client);
  const again = await signInPage(browser, urlOf({ prompt: "login" }));
  left(await browser.signIn(again, who.email, PASSWORD));
  await accepted(refresh(t, client, refresh_token));
  const page = await signInPage(browser, urlOf({ prompt: "select_account" }));
  const other = await person(t);
  const url = left(await browser.signIn(await browser.show(page.url), other.email, PASSWORD));
  assert.equal(await userOf(url), other.id);

  const age = (minutes: number) =>
    sql`update sessions set authenticated_at = now() - make_interval(mins => ${minutes}) where user_id = ${other.id}`;
  await age(2);
  assert.ok(codeOf(await browser.leave(urlOf({ max_age: "3600" }))));
  assert.equal(await refusal(browser, { max_age: "60", prompt: "none" }), "login_required");
  const stale = await signInPage(browser, urlOf({ max_age: "60" }));
  assert.ok(codeOf(left(await browser.signIn(stale, other.email, PASSWORD))));

  const now = urlOf({ max_age: "0" });
  const asked = await signInPage(browser, now);
  assert.ok(codeOf(left(await browser.signIn(asked, other.email, PASSWORD))));
  const back = new URL(asked.url.searchParams.get("to") ?? "", `${t.url}/console/`);
  assert.ok(codeOf(await browser.leave(back)));
  await signInPage(browser, now); // the sign-in does not count for ever
  await age(6);
  back.searchParams.set("signed_in_after", "0");
  await signInPage(browser, back);
});

Deno.test("an id_token_hint of another user asks for one new sign-in, and does not go round", async () => {
  const { browser, who } = await signedInBrowser(t);
  const { id_token } = await signInToClient(t, browser, client);
  const stranger = await signedInBrowser(t);
  const hint = { id_token_hint: id_token };
  assert.equal(await refusal(stranger.browser, { ...hint, prompt: "none" }), "login_required");
  assert.equal(await refusal(browser, { id_token_hint: `${id_token}x` }), "invalid_request");
  const page = await signInPage(stranger.browser, urlOf(hint));
  const again = left(await stranger.browser.signIn(page, stranger.who.email, PASSWORD));
  assert.deepEqual([errorOf(again), again.searchParams.get("state")], ["login_required", "the-state"]);
  const second = await signInPage(stranger.browser, urlOf(hint));
  assert.equal(await userOf(left(await stranger.browser.signIn(second, who.email, PASSWORD))), who.id);
  const own = await browser.leave(urlOf({ ...hint, prompt: "none" }));
  assert.ok(codeOf(own), "the user of the hint is not asked");
});

Deno.test("the tenant of the tokens: the default one, the requested one, or that of the client; never one without a link", async () => {
  const [first, second, foreign] = [await t.tenant(), await t.tenant(), await t.tenant()];
  const { browser } = await signedInBrowser(t, { links: [first, second] });
  const tenantOf = async (more: More = {}, by = client, from = browser) =>
    decodeJwt((await signInToClient(t, from, by, more)).access_token).tenant_id;
  assert.equal(await tenantOf(), first);
  assert.equal(await tenantOf({ tenant: second.toUpperCase() }), second);
  for (const tenant of [foreign, crypto.randomUUID()]) {
    assert.equal(await refusal(browser, { tenant }), "access_denied");
  }
  assert.equal(await refusal(browser, { tenant: "x" }), "invalid_request");
  const maker = await t.actor({ tenantId: second, permissions: ["manage:oauth-clients"] });
  const own = await makeClient(maker, { firstParty: false });
  await accepted(systemAdmin.put(`/api/v1/oauth-clients/${own.id}`, { firstParty: true }));
  assert.equal(await tenantOf({}, own), second);
  assert.equal(await refusal(browser, { tenant: first }, own), "access_denied");
  assert.equal(await refusal((await signedInBrowser(t)).browser, {}, own), "access_denied");
  const nowhere = await signedInBrowser(t, { links: [] });
  assert.equal(await tenantOf({}, client, nowhere.browser), undefined);
  await accepted(systemAdmin.put(`/api/v1/tenants/${second}`, { isActive: false }));
  assert.equal((await browser.show(urlOf({}, own))).status, 400, "a client of an inactive tenant is unknown");
});

Deno.test("errors before the redirect URI is trusted are shown on a page and never sent anywhere", async () => {
  const { browser } = await signedInBrowser(t);
  const loopback = "http://127.0.0.1/cb";
  const redirectUris = [loopback, "com.example.app:/cb", CALLBACK];
  const open = await makeClient(systemAdmin, { kind: "public", redirectUris });
  const tricks = [
    "https://evil.test/callback",
    ...["/", "?x=1"].map((end) => CALLBACK + end),
    "https://APP.test/callback",
    "http://127.0.0.1:1/other",
    "http://127.0.0.1:99999/cb",
    "http://127.0.0.1:1@evil.test/cb",
  ];
  const isShown = async (by: MadeClient, more: More) => {
    const page = await browser.show(urlOf(more, by));
    assert.equal(page.status, 400, JSON.stringify(more));
    return page;
  };
  for (const redirect_uri of [...tricks, null]) {
    const { html, headers } = await isShown(open, { redirect_uri });
    assert.match(html, /redirect_uri/);
    assert.match(headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  }
  const port = { redirect_uri: "http://127.0.0.1:54321/cb" };
  assert.equal((await browser.leave(urlOf(port, open))).port, "54321");
  await isShown(await makeClient(systemAdmin, { redirectUris: [loopback] }), port); // any port is for public clients
  for (const clientId of ["oc_unknown", "", "a\0b"]) {
    await isShown({ ...client, clientId }, {});
  }
  const twice = urlOf();
  twice.searchParams.append("redirect_uri", "https://evil.test/");
  assert.equal((await browser.show(twice)).status, 400);
  const revoked = await makeClient(systemAdmin);
  await accepted(systemAdmin.delete(`/api/v1/oauth-clients/${revoked.id}`));
  await isShown(revoked, {});
});

Deno.test("all other mistakes go back to the client with their code", async () => {
  const { browser } = await signedInBrowser(t);
  const mistakes: [string, More[]][] = [
    ["unsupported_response_type", [{ response_type: "token" }, { response_type: "code id_token" }]],
    ["invalid_request", [
      { response_type: null },
      { response_mode: "form_post" },
      { code_challenge: null },
      { code_challenge: "short" },
      { code_challenge_method: "plain" },
      { prompt: "none login" },
      { max_age: "-1" },
      { state: "s".repeat(2001) },
    ]],
    ["request_not_supported", [{ request: "x.y.z" }]],
    ["request_uri_not_supported", [{ request_uri: "https://x.test" }]],
    ["invalid_target", [{ resource: "https://other.test" }]],
    ["invalid_scope", [{ scope: "unknown" }]],
  ];
  for (const [error, requests] of mistakes) {
    for (const more of requests) {
      const url = await browser.leave(urlOf(more));
      assert.deepEqual([url.origin + url.pathname, errorOf(url)], [CALLBACK, error], JSON.stringify(more));
      assert.equal(url.searchParams.get("iss"), t.url);
    }
  }
  const redirect_uri = `${CALLBACK}?x=1`;
  const withQuery = await makeClient(systemAdmin, { redirectUris: [redirect_uri] });
  const url = await browser.leave(urlOf({ redirect_uri }, withQuery));
  assert.equal(url.searchParams.get("x"), "1");
  assert.ok(codeOf(url));
  const tokens = await signInToClient(t, browser, client, { scope: "openid unknown:scope admin:system" });
  assert.equal(tokens.scope, "openid", "scopes that the client may not have are left out");
});

Deno.test("a form is carried on with the parameters that its route knows, and not longer than an address may be", async () => {
  const ofLogout = new URLSearchParams({ client_id: client.clientId, state: "s" });
  for (
    const [path, known] of [["/oauth/authorize", urlOf().searchParams], ["/oauth/logout", ofLogout]] as const
  ) {
    const post = (body: URLSearchParams) => fetch(t.url + path, { method: "POST", body, redirect: "manual" });
    const more = new URLSearchParams([...known, ["comment", "x".repeat(100_000)], ["decision", "allowed"]]);
    const carried = await post(more);
    await carried.body?.cancel();
    assert.deepEqual([carried.status, carried.headers.get("location")], [303, `${path}?${known}`]);
    known.set("state", "s".repeat(20_000));
    assert.match(await (await post(known)).text(), /has 20\d{3} characters; expected at most 16000/);
  }
});

Deno.test("the provider's cookie is for its own pages, not for scripts, and ends with the console's", async () => {
  const { browser } = await signedInBrowser(t);
  const account = await browser.show(`${t.url}/console/account`);
  assert.equal(account.url.pathname, "/console/sign-in", "the console's own cookie stays strict");
  const own = await browser.request(`${t.url}/console/account`, { method: "GET" }, "same-site");
  const csrf = /name="csrf" value="([^"]+)"/.exec(await own.text())?.[1] ?? "";
  const out = { method: "POST", body: new URLSearchParams({ csrf }), headers: { origin: t.url } };
  await (await browser.request(`${t.url}/console/sign-out`, out, "same-site")).body?.cancel();
  assert.equal(await refusal(browser, { prompt: "none" }), "login_required");
});

// Other clients that nobody here wrote are in `real_clients_deep.ts`.

Deno.test("openid-client signs in, reads the user, refreshes, revokes and signs out", async () => {
  const made = await makeClient(t.systemAdmin, { postLogoutRedirectUris: ["https://app.test/bye"] });
  const { browser, who } = await signedInBrowser(t);
  const config = await openid.discovery(new URL(t.url), made.clientId, made.secret ?? "", undefined, {
    execute: [openid.allowInsecureRequests, openid.enableNonRepudiationChecks],
  });
  const [verifier, state, nonce] = [
    openid.randomPKCECodeVerifier(),
    openid.randomState(),
    openid.randomNonce(),
  ];
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: CALLBACK,
    scope: "openid profile email offline_access",
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    nonce,
    max_age: "600",
  });
  const tokens = await openid.authorizationCodeGrant(config, await browser.leave(url), {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
    maxAge: 600,
  });
  assert.equal(tokens.claims()?.sub, who.id);
  assert.equal((await openid.fetchUserInfo(config, tokens.access_token, who.id)).email, who.email);
  const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
  await openid.tokenRevocation(config, next.refresh_token ?? "");
  const revoked = openid.refreshTokenGrant(config, next.refresh_token ?? "");
  await assert.rejects(revoked, /invalid_grant|unexpected|server responded/);
  const machine = await openid.clientCredentialsGrant(config);
  assert.equal(machine.token_type, "bearer");
  const end = openid.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token ?? "",
    post_logout_redirect_uri: "https://app.test/bye",
    state,
  });
  assert.equal(String(await browser.leave(end)), `https://app.test/bye?state=${state}`);
});
