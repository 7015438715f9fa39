import assert from "node:assert/strict";
import { createLocalJWKSet, decodeJwt, jwtVerify } from "jose";
import { setupShared } from "../../support/setup.ts";
import { PASSWORD, person } from "../auth/people.ts";
import { FormBrowser, left, shown } from "./browser.ts";
import {
  authorizeUrl,
  CALLBACK,
  codeOf,
  makeClient,
  redeem,
  refresh,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const client = await makeClient(systemAdmin);
const errorOf = (url: URL) => url.searchParams.get("error");

Deno.test("a browser signs in on the hosted page and returns with a code, the state and the issuer", async () => {
  const who = await person(t);
  const browser = new FormBrowser(t.url);
  const page = await browser.show(authorizeUrl(t, client, { nonce: "n-1", login_hint: who.email }));
  assert.match(page.html, new RegExp(`value="${who.email}"`));
  const refusedPage = shown(await browser.signIn(page, who.email, "wrong password"));
  assert.equal(refusedPage.status, 401);
  const url = left(await browser.signIn(refusedPage, who.email, PASSWORD));
  assert.equal(url.origin + url.pathname, CALLBACK);
  assert.deepEqual([url.searchParams.get("state"), url.searchParams.get("iss")], ["the-state", t.url]);
  const answer = await redeem(t, client, codeOf(url));
  assert.equal(answer.headers.get("cache-control"), "no-store");
  const { id_token, access_token, refresh_token, ...rest } = answer.body;
  assert.deepEqual(rest, { token_type: "Bearer", expires_in: 900, scope: "openid profile email" });
  assert.match(refresh_token, /^ocr_/);
  const keys = createLocalJWKSet((await t.nobody.get("/.well-known/jwks.json")).body);
  const id = await jwtVerify(id_token, keys, {
    issuer: t.url,
    audience: client.clientId,
    algorithms: ["RS256"],
  });
  const { name, email, nonce, amr, tenant_id, sub, auth_time, sid, at_hash } = id.payload;
  assert.deepEqual(
    { name, email, nonce, amr, tenant_id, sub },
    { name: "Some Body", email: who.email, nonce: "n-1", amr: ["pwd"], tenant_id: who.tenantId, sub: who.id },
  );
  assert.ok(Math.abs(Number(auth_time) - Date.now() / 1000) < 60);
  assert.match(String(sid), /^[0-9a-f-]{36}$/);
  assert.equal(String(at_hash).length, 22);
  const access = await jwtVerify(access_token, keys, {
    issuer: t.url,
    audience: client.audience,
    typ: "at+jwt",
  });
  assert.equal(access.protectedHeader.alg, "EdDSA");
  const { client_id, scope, ver, ...others } = access.payload;
  assert.deepEqual([client_id, scope, ver], [client.clientId, "openid profile email", 1]);
  assert.equal(others.permissions, undefined);
  assert.equal(
    (await t.nobody.with({ authorization: `Bearer ${access_token}` }).get("/api/v1/auth/me")).body.code,
    "TOKEN_INVALID",
  );
  assert.ok(![access_token, refresh_token, codeOf(url)].some((secret) => t.logs.join("").includes(secret)));
});

Deno.test("a signed-in browser gets its code at once, and prompt=none never shows a page", async () => {
  const { browser, who } = await signedInBrowser(t);
  const silent = authorizeUrl(t, client, { prompt: "none" });
  assert.equal(errorOf(await new FormBrowser(t.url).leave(silent)), "login_required");
  const tokens = await signInToClient(t, browser, client, { prompt: "none" });
  assert.equal(decodeJwt(tokens.access_token).sub, who.id);
  const asking = await makeClient(systemAdmin, { firstParty: false });
  const answer = await browser.leave(authorizeUrl(t, asking, { prompt: "none" }));
  assert.equal(errorOf(answer), "consent_required");
  assert.equal(answer.searchParams.get("state"), "the-state");
  assert.equal(answer.searchParams.get("iss"), t.url);
});

Deno.test("prompt=login, max_age and another user's id_token_hint lead to a new sign-in", async () => {
  const { browser, who } = await signedInBrowser(t);
  const first = await signInToClient(t, browser, client);
  for (const again of [{ prompt: "login" }, { prompt: "select_account" }]) {
    const page = await browser.show(authorizeUrl(t, client, again));
    assert.match(page.html, /name="password"/);
    const other = await signedInBrowser(t);
    const stuck = await browser.show(page.url);
    const url = left(await browser.signIn(stuck, other.who.email, PASSWORD));
    const { body } = await redeem(t, client, codeOf(url));
    assert.equal(decodeJwt(body.id_token).sub, other.who.id);
    const back = await browser.show(authorizeUrl(t, client, again));
    left(await browser.signIn(back, who.email, PASSWORD));
  }
  const hinted = authorizeUrl(t, client, { id_token_hint: first.id_token, prompt: "none" });
  assert.ok(codeOf(await browser.leave(hinted)));
  const stranger = await signedInBrowser(t);
  assert.equal(errorOf(await stranger.browser.leave(hinted)), "login_required");
  const forged = authorizeUrl(t, client, { id_token_hint: `${first.id_token}x` });
  assert.equal(errorOf(await browser.leave(forged)), "invalid_request");

  await sql`update sessions set authenticated_at = now() - interval '2 minutes' where user_id = ${who.id}`;
  assert.ok(codeOf(await browser.leave(authorizeUrl(t, client, { max_age: "3600" }))));
  const stale = authorizeUrl(t, client, { max_age: "60" });
  assert.equal(
    errorOf(await browser.leave(authorizeUrl(t, client, { max_age: "60", prompt: "none" }))),
    "login_required",
  );
  const page = await browser.show(stale);
  assert.ok(codeOf(left(await browser.signIn(page, who.email, PASSWORD))));
});

Deno.test("max_age=0 asks for one new sign-in, which does not count for ever", async () => {
  const { browser, who } = await signedInBrowser(t);
  const now = authorizeUrl(t, client, { max_age: "0" });
  const page = await browser.show(now);
  assert.match(page.html, /name="password"/);
  assert.ok(codeOf(left(await browser.signIn(page, who.email, PASSWORD))));
  const back = new URL(page.url.searchParams.get("to") ?? "", `${t.url}/console/`);
  assert.ok(codeOf(await browser.leave(back)));
  assert.match((await browser.show(now)).html, /name="password"/);
  await sql`update sessions set authenticated_at = now() - interval '6 minutes' where user_id = ${who.id}`;
  back.searchParams.set("signed_in_after", "0");
  assert.match((await browser.show(back)).html, /name="password"/);
});

Deno.test("signing in again to one client leaves the others signed in", async () => {
  const { browser, who } = await signedInBrowser(t);
  const tokens = await signInToClient(t, browser, client);
  const page = await browser.show(authorizeUrl(t, client, { prompt: "login" }));
  left(await browser.signIn(page, who.email, PASSWORD));
  assert.equal((await refresh(t, client, tokens.refresh_token)).status, 200);
});

Deno.test("the tenant of the tokens: the default one, the requested one, or that of the client; never one without a link", async () => {
  const [first, second, foreign] = [await t.tenant(), await t.tenant(), await t.tenant()];
  const { browser } = await signedInBrowser(t, { links: [first, second] });
  const tenantOf = async (more: Record<string, string>, by = client) =>
    decodeJwt((await signInToClient(t, browser, by, more)).access_token).tenant_id;
  assert.equal(await tenantOf({}), first);
  assert.equal(await tenantOf({ tenant: second.toUpperCase() }), second);
  for (const tenant of [foreign, crypto.randomUUID()]) {
    assert.equal(errorOf(await browser.leave(authorizeUrl(t, client, { tenant }))), "access_denied");
  }
  assert.equal(errorOf(await browser.leave(authorizeUrl(t, client, { tenant: "x" }))), "invalid_request");
  const maker = await t.actor({ tenantId: second, permissions: ["manage:oauth-clients"] });
  const own = await makeClient(maker, { firstParty: false });
  await systemAdmin.put(`/api/v1/oauth-clients/${own.id}`, { firstParty: true });
  assert.equal(await tenantOf({}, own), second);
  assert.equal(errorOf(await browser.leave(authorizeUrl(t, own, { tenant: first }))), "access_denied");
  const outsider = await signedInBrowser(t);
  assert.equal(errorOf(await outsider.browser.leave(authorizeUrl(t, own))), "access_denied");
  const nowhere = await signedInBrowser(t, { links: [] });
  const tokens = await signInToClient(t, nowhere.browser, client);
  assert.equal(decodeJwt(tokens.access_token).tenant_id, undefined);
  await systemAdmin.put(`/api/v1/tenants/${second}`, { isActive: false });
  assert.equal(
    (await browser.show(authorizeUrl(t, own))).status,
    400,
    "a client of an inactive tenant is unknown",
  );
});

Deno.test("errors before the redirect URI is trusted are shown on a page and never sent anywhere", async () => {
  const { browser } = await signedInBrowser(t);
  const [open, registered] = [
    await makeClient(systemAdmin, {
      kind: "public",
      redirectUris: ["http://127.0.0.1/cb", "com.example.app:/cb", CALLBACK],
    }),
    "https://app.test/callback",
  ];
  const tricks = [
    "https://evil.test/callback",
    `${registered}/`,
    `${registered}/../evil`,
    `${registered}/%2e%2e/evil`,
    `${registered}evil`,
    `${registered}?x=1`,
    `${registered}#x`,
    `${registered}%20`,
    "https://app.test/Callback",
    "https://APP.test/callback",
    "HTTPS://app.test/callback",
    "https://app.test:443/callback",
    "https://app.test./callback",
    "https://app.test/%63allback",
    "https://app.test//callback",
    "https://app.test\\@evil.test/callback",
    "https://app.test@evil.test/callback",
    "https://user@app.test/callback",
    "https://app.test%2f@evil.test/callback",
    "https://evil.test/?https://app.test/callback",
    "http://app.test/callback",
    "http://127.0.0.1:1/other",
    "http://127.0.0.1:99999999/cb",
    "http://127.0.0.1:99999/cb",
    "http://127.0.0.1:65536/cb",
    "http://127.0.0.1:08/cb",
    "http://127.0.0.1:0/cb",
    "http://127.0.0.1:1@evil.test/cb",
    "http://127.0.0.1.evil.test/cb",
    "http://localhost/cb",
    "javascript:alert(1)",
    "com.example.app:/other",
  ];
  for (const by of [client, open]) {
    for (const redirect_uri of [...tricks, null]) {
      const page = await browser.show(authorizeUrl(t, by, { redirect_uri }));
      assert.equal(page.status, 400, String(redirect_uri));
      assert.match(page.html, /redirect_uri/);
      assert.match(page.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    }
  }
  const port = await browser.leave(authorizeUrl(t, open, { redirect_uri: "http://127.0.0.1:54321/cb" }));
  assert.equal(port.port, "54321");
  const closed = await makeClient(systemAdmin, { redirectUris: ["http://127.0.0.1/cb"] });
  const other = authorizeUrl(t, closed, { redirect_uri: "http://127.0.0.1:54321/cb" });
  assert.equal((await browser.show(other)).status, 400, "any port is for public clients");
  for (const clientId of ["oc_unknown", "", "x".repeat(3000), "a\0b"]) {
    assert.equal((await browser.show(authorizeUrl(t, { ...client, clientId }))).status, 400);
  }
  const twice = authorizeUrl(t, client);
  twice.searchParams.append("redirect_uri", "https://evil.test/");
  assert.equal((await browser.show(twice)).status, 400);
  const revoked = await makeClient(systemAdmin);
  await systemAdmin.delete(`/api/v1/oauth-clients/${revoked.id}`);
  assert.equal((await browser.show(authorizeUrl(t, revoked))).status, 400);
});

Deno.test("all other mistakes go back to the client with their code", async () => {
  const { browser } = await signedInBrowser(t);
  const mistakes: [Record<string, string | null>, string][] = [
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ response_type: "code id_token" }, "unsupported_response_type"],
    [{ response_type: null }, "invalid_request"],
    [{ response_mode: "form_post" }, "invalid_request"],
    [{ code_challenge: null }, "invalid_request"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge_method: null }, "invalid_request"],
    [{ code_challenge: "short" }, "invalid_request"],
    [{ request: "x.y.z" }, "request_not_supported"],
    [{ request_uri: "https://x.test" }, "request_uri_not_supported"],
    [{ prompt: "none login" }, "invalid_request"],
    [{ prompt: "create" }, "invalid_request"],
    [{ max_age: "-1" }, "invalid_request"],
    [{ resource: "https://other.test" }, "invalid_target"],
    [{ state: "s".repeat(2001) }, "invalid_request"],
  ];
  for (const [more, error] of mistakes) {
    const url = await browser.leave(authorizeUrl(t, client, more));
    assert.equal(url.origin + url.pathname, CALLBACK);
    assert.equal(errorOf(url), error, JSON.stringify(more));
    assert.equal(url.searchParams.get("iss"), t.url);
  }
  const withQuery = await makeClient(systemAdmin, { redirectUris: [`${CALLBACK}?x=1`] });
  const url = await browser.leave(authorizeUrl(t, withQuery, { redirect_uri: `${CALLBACK}?x=1` }));
  assert.equal(url.searchParams.get("x"), "1");
  assert.ok(codeOf(url));
  const tokens = await signInToClient(t, browser, client, { scope: "openid unknown:scope admin:system" });
  assert.equal(tokens.scope, "openid", "scopes that the client may not have are left out");
});

Deno.test("a form leads to the same request by query, and the sign-in page leads nowhere else", async () => {
  const { browser } = await signedInBrowser(t);
  const url = authorizeUrl(t, client);
  const answer = await browser.request(`${t.url}/oauth/authorize`, {
    method: "POST",
    body: url.searchParams,
  }, "cross-site");
  assert.equal(answer.status, 303);
  assert.equal(answer.headers.get("location"), `/oauth/authorize?${url.searchParams}`);
  for (
    const to of [
      "../oauth/authorize",
      "../x",
      "../oauth/logout?x",
      "//evil.test",
      "https://evil.test",
      "../oauth/authorize?#x",
    ]
  ) {
    const who = await person(t);
    const lone = new FormBrowser(t.url);
    const page = await lone.show(`${t.url}/console/sign-in?to=${encodeURIComponent(to)}`);
    const landed = shown(await lone.signIn(page, who.email, PASSWORD));
    assert.equal(landed.url.pathname, "/console/", to);
  }
});

Deno.test("a form is carried on with the parameters that its route knows, and not longer than an address may be", async () => {
  const { browser } = await signedInBrowser(t);
  const post = (path: string, fields: URLSearchParams) =>
    browser.request(t.url + path, { method: "POST", body: fields }, "cross-site");
  for (const path of ["/oauth/authorize", "/oauth/logout"]) {
    const known = new URLSearchParams({ client_id: client.clientId, state: "s" });
    const more = new URLSearchParams([...known, ["comment", "x".repeat(100_000)], ["decision", "allowed"]]);
    const answer = await post(path, more);
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, `${path}?${known}`]);
    known.set("state", "s".repeat(20_000));
    const refused = await post(path, known);
    assert.deepEqual([refused.status, refused.headers.get("location")], [400, null]);
    assert.match(await refused.text(), /has 20\d{3} characters; expected at most 16000/);
  }
});

Deno.test("the provider's cookie is for its own pages, not for scripts, and ends with the console's", async () => {
  const { browser } = await signedInBrowser(t);
  const stolen = await browser.request(authorizeUrl(t, client), {
    method: "POST",
    body: new URLSearchParams(),
  }, "cross-site");
  assert.equal(stolen.headers.get("set-cookie"), null);
  const account = shown(await browser.open(`${t.url}/console/account`));
  assert.equal(account.url.pathname, "/console/sign-in", "the console's own cookie stays strict");
  const own = await browser.request(`${t.url}/console/account`, { method: "GET" }, "same-site");
  const csrf = /name="csrf" value="([^"]+)"/.exec(await own.text())?.[1] ?? "";
  await browser.request(`${t.url}/console/sign-out`, {
    method: "POST",
    body: new URLSearchParams({ csrf }),
    headers: { origin: t.url },
  }, "same-site");
  const silent = authorizeUrl(t, client, { prompt: "none" });
  assert.equal(errorOf(await browser.leave(silent)), "login_required");
});
