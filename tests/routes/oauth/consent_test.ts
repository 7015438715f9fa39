import assert from "node:assert/strict";
import type { Tx } from "../../../infra/postgres/postgres.ts";
import { pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { TestApp } from "../auth/factors.ts";
import { resetTokenFor } from "../auth/mails.ts";
import { bearer, PASSWORD, person, racingFor, signIn } from "../auth/people.ts";
import { FormBrowser, left, type Shown, shown } from "./browser.ts";
import {
  authorizeUrl,
  codeOf,
  errorOf,
  makeClient,
  redeem,
  refresh,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";
import { until } from "../../support/until.ts";
import { tenantWithLooks } from "../looks/hosted.ts";

const t = await setupShared();
const { systemAdmin } = t;
const RETURN = "https://app.test/bye";
const client = await makeClient(systemAdmin, {
  firstParty: false,
  name: "Orders & <Co>",
  postLogoutRedirectUris: [RETURN],
});
const own = await makeClient(systemAdmin, { name: "Own", postLogoutRedirectUris: [RETURN] });
const GONE = "400 invalid_grant";

type More = Record<string, string | null>;
const urlOf = (more: More = {}) => authorizeUrl(t, client, more);
const asks = async (browser: FormBrowser, more: More = {}) => {
  const page = await browser.show(urlOf(more));
  assert.match(page.html, /Allow Orders &amp; &lt;Co&gt;\?/);
  return page;
};
const logoutUrl = (query: Record<string, string> = {}) =>
  `${t.url}/oauth/logout?${new URLSearchParams(query)}`;
const isSignedIn = async (browser: FormBrowser) => {
  const url = await browser.leave(authorizeUrl(t, own, { prompt: "none" }));
  return errorOf(url) === null || (assert.equal(errorOf(url), "login_required"), false);
};
const valueOf = ({ html }: Shown, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? "";
const languageOf = (html: string) => /<html[^>]* lang="([^"]+)"/.exec(html)?.[1];

Deno.test("a user is asked once for each client and set of scopes, and again if the client wants more", async () => {
  const { browser, who } = await signedInBrowser(t);
  const scope = "openid email";
  const page = await asks(browser, { scope });
  assert.ok(page.html.includes(who.email) && page.html.includes("app.test"));
  assert.match(page.html, /Read your email address/);
  assert.doesNotMatch(page.html, /Read your name/);
  assert.ok(codeOf(left(await browser.submit(page, "allowed"))));
  const again: Record<string, string>[] = [{ scope }, { scope: "email", prompt: "none" }];
  for (const allowed of again) {
    assert.ok(codeOf(await browser.leave(urlOf(allowed))));
  }
  const more = await asks(browser);
  assert.match(more.html, /Read your name/);
  assert.ok(codeOf(left(await browser.submit(more, "allowed"))));
  assert.ok(codeOf(await browser.leave(urlOf({ scope }))), "what was allowed before stays allowed");
  await asks(browser, { prompt: "consent" });
});

Deno.test("refusing goes back to the client, and the question comes again; its address cannot contain its answer", async () => {
  const { browser } = await signedInBrowser(t);
  const page = await asks(browser, { decision: "allowed", csrf: "x" });
  const { error, state, iss } = Object.fromEntries(left(await browser.submit(page, "denied")).searchParams);
  assert.deepEqual([error, state, iss], ["access_denied", "the-state", t.url]);
  const signOut = await browser.show(logoutUrl({ decision: "leave", csrf: "x" }));
  const stays = shown(await browser.submit(signOut, "stay"));
  assert.ok(stays.url.pathname.startsWith("/console/"));
  await asks(browser); // still signed in
});

Deno.test("the host of a redirect URI adds nothing to the policy of the question", async () => {
  const { browser } = await signedInBrowser(t);
  const stored = await makeClient(systemAdmin, { firstParty: false, name: "Stored before" });
  const redirect_uri = "https://x;sandbox/";
  await t.steward.platform.sql`update oauth_clients set redirect_uris = array[${redirect_uri}]
    where client_id = ${stored.clientId}`;
  const page = await until(
    () => browser.show(authorizeUrl(t, stored, { redirect_uri })),
    ({ html }) => html.includes("Allow Stored before?"),
  );
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(policy, /; form-action 'self'; base-uri 'self'; frame-/);
});

Deno.test("no other page can answer for the user, or frame the question", async () => {
  const [{ browser }, stranger] = [await signedInBrowser(t), await signedInBrowser(t)];
  const page = await asks(browser);
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(policy, /frame-ancestors 'none'/);
  assert.match(policy, /form-action 'self' https:\/\/app\.test;/);
  assert.doesNotMatch(policy, /unsafe/);
  const [csrf, theirs] = [valueOf(page, "csrf"), valueOf(await asks(stranger.browser), "csrf")];
  const send = async (fields: object, headers: Record<string, string>, isCrossSite = false) => {
    const given = { ...Object.fromEntries(urlOf().searchParams), decision: "allowed", ...fields };
    const init = { method: "POST", body: new URLSearchParams(given), headers };
    const from = isCrossSite ? "cross-site" : "same-site";
    const answer = await browser.request(`${t.url}/oauth/authorize`, init, from);
    await answer.body?.cancel();
    return answer.headers.get("location") ?? "";
  };
  const { origin } = new URL(t.url);
  const attempts = [
    send({ csrf }, { origin: "https://evil.test" }),
    send({ csrf }, { origin, "sec-fetch-site": "cross-site" }),
    send({ csrf }, {}),
    send({ csrf }, { origin }, true),
    send({ csrf: theirs }, { origin }),
    send({}, { origin }),
    send({ csrf, decision: "maybe" }, { origin }),
  ];
  for (const location of await Promise.all(attempts)) {
    assert.match(location, /^\/oauth\/authorize\?/, "asked again");
  }
  await asks(browser);
  assert.match(await send({ csrf }, { origin }), /^https:\/\/app\.test\/callback\?code=/);
});

Deno.test("a client signs the browser out with its ID token, and with it the grants of this browser", async () => {
  const { browser } = await signedInBrowser(t);
  const tokens = await signInToClient(t, browser, own);
  const other = await makeClient(systemAdmin);
  const grants = [[own, tokens], [other, await signInToClient(t, browser, other)]] as const;
  const leaving = { id_token_hint: tokens.id_token, post_logout_redirect_uri: RETURN, state: "bye" };
  const elsewhere = [`${RETURN}/`, "https://evil.test/", "https://app.test/callback"];
  const wrong: Record<string, string>[] = [
    ...elsewhere.map((uri) => ({ post_logout_redirect_uri: uri })),
    { client_id: client.clientId },
    { id_token_hint: tokens.access_token },
  ];
  for (const each of wrong) {
    assert.equal((await browser.show(logoutUrl({ ...leaving, ...each }))).status, 400);
  }
  assert.ok(await isSignedIn(browser));
  for (const _ of ["first", "twice is no error"]) {
    assert.equal(String(await browser.leave(logoutUrl(leaving))), `${RETURN}?state=bye`);
    assert.equal(await isSignedIn(browser), false);
  }
  for (const [by, { refresh_token }] of grants) await refused(GONE, refresh(t, by, refresh_token));
});

Deno.test("the pages of a sign-out look like the tenant that the user signs in to", async () => {
  const { tenantId, looks } = await tenantWithLooks(t, { productName: "Eastwind" });
  const { browser } = await signedInBrowser(t, { links: [tenantId] });
  const page = await browser.show(logoutUrl());
  assert.ok(page.html.includes(looks.productName), "the question");
  assert.ok(shown(await browser.submit(page, "leave")).html.includes(looks.productName), "the result");
  assert.ok(!(await browser.show(logoutUrl())).html.includes(looks.productName), "without a session");
});

Deno.test("without an ID token of this session, the user is asked before the sign-out", async () => {
  const [{ browser, who }, stranger] = [await signedInBrowser(t), await signedInBrowser(t)];
  const theirs = await signInToClient(t, stranger.browser, own);
  const queries: Record<string, string>[] = [{}, { id_token_hint: theirs.id_token }];
  for (const query of queries) {
    const page = await browser.show(logoutUrl(query));
    assert.match(page.html, /Sign out\?/);
    assert.ok(page.html.includes(who.email));
  }
  const body = new URLSearchParams({ csrf: "guessed", decision: "leave" });
  const init = { method: "POST", body, headers: { origin: "https://evil.test" } };
  const foreign = await browser.request(logoutUrl(), init, "same-site");
  assert.match(await foreign.text(), /Sign out\?/);
  assert.ok(await isSignedIn(browser));
  const page = await browser.show(logoutUrl({ client_id: own.clientId, post_logout_redirect_uri: RETURN }));
  assert.equal(String(left(await browser.submit(page, "leave"))), RETURN);
  assert.equal(await isSignedIn(browser), false);
});

Deno.test("a tenant that requires a second factor gives no code and no refresh to a sign-in without one", async () => {
  const { browser, who } = await signedInBrowser(t);
  const tokens = await signInToClient(t, browser, own);
  const require = (requireSecondFactor: boolean) =>
    accepted(systemAdmin.put(`/api/v1/tenants/${who.tenantId}`, { requireSecondFactor }));
  await require(true);
  const silent = await browser.leave(authorizeUrl(t, own, { prompt: "none" }));
  assert.equal(errorOf(silent), "interaction_required");
  await refused(GONE, refresh(t, own, tokens.refresh_token));
  const userInfo = t.nobody.get("/oauth/userinfo", { authorization: `Bearer ${tokens.access_token}` });
  await refused("401 invalid_token", userInfo);
  await require(false);
  await accepted(refresh(t, own, tokens.refresh_token)); // the refusal did not use up the token
});

Deno.test("who must add a second factor first is led back to the client afterwards, and nowhere else", async () => {
  const who = await person(t);
  await accepted(systemAdmin.put(`/api/v1/tenants/${who.tenantId}`, { requireSecondFactor: true }));
  const browser = new FormBrowser(t.url);
  const signInPage = await browser.show(authorizeUrl(t, own));
  const page = shown(await browser.signIn(signInPage, who.email, PASSWORD));
  assert.equal(page.url.pathname, "/console/account/security");
  assert.ok(page.html.includes("account/security/passkey?to="));
  const at = (address: string) => new URL(address.replaceAll("&amp;", "&"), `${t.url}/console/`);
  /** Sends the form of a page about the authenticator app. */
  const send = async (from: Shown, fields: Record<string, string>): Promise<Shown> => {
    const [, action = ""] = /<form[^>]* action="(account\/security\/app[^"]*)"/.exec(from.html) ?? [];
    const body = new URLSearchParams({ csrf: valueOf(from, "csrf"), ...fields });
    const headers = { origin: t.url, "sec-fetch-site": "same-origin" };
    const answer = await browser.request(at(action), { method: "POST", body, headers }, "same-site");
    return { url: at(action), status: answer.status, html: await answer.text(), headers: answer.headers };
  };
  const started = await send(page, { do: "start" });
  const [factorId, secret] = [valueOf(started, "factorId"), valueOf(started, "secret")];
  const given = { factorId, secret, otpauthUrl: valueOf(started, "otpauthUrl").replaceAll("&amp;", "&") };
  const code = new TestApp(secret, Date.now).code();
  const codes = await send(started, { ...given, do: "confirm", code });
  assert.equal(codes.status, 200, codes.html);
  const back = /<a class="button primary" href="([^"]*)"/.exec(codes.html)?.[1] ?? "";
  assert.match(back, /^\.\.\/oauth\/authorize\?/);
  const list = await browser.request(page.url, { method: "GET" }, "same-site");
  assert.ok((await list.text()).includes(`href="${back}"`), "the list of factors leads back too");
  await accepted(redeem(t, own, codeOf(await browser.leave(at(back)))));
  for (const to of ["https://evil.test/", "../files", "javascript:x"]) {
    const { html } = await browser.show(`${t.url}/console/account/security?${new URLSearchParams({ to })}`);
    assert.ok(!html.includes("passkey?to="), to);
  }
});

Deno.test("a user sees the clients they signed in to, and disconnects one: it is signed out and asks again", async () => {
  const { browser, who } = await signedInBrowser(t);
  const scope = "openid";
  const code = codeOf(left(await browser.submit(await asks(browser, { scope }), "allowed")));
  const tokens = await accepted(redeem(t, client, code));
  await signInToClient(t, browser, own);
  const me = bearer(t, await signIn(t, who.email));
  const path = "/api/v1/auth/connected-clients";
  const connected = async () => pluck(await accepted(me.get(path)), "name", "allowedScopes", "sessions");
  assert.deepEqual(await connected(), [["Orders & <Co>", ["openid"], 1], ["Own", [], 1]]);
  const sessions = await accepted(me.get("/api/v1/auth/sessions"));
  assert.equal(sessions.length, 2, "sessions of clients are listed apart");
  const account = await browser.request(`${t.url}/console/account`, { method: "GET" }, "same-site");
  assert.match(await account.text(), /Connected programs.*Orders &amp; &lt;Co&gt;.*Disconnect/s);
  await accepted(me.delete(`${path}/${client.id}`), 204);
  await refused("404 OAUTH_CLIENT_NOT_FOUND", me.delete(`${path}/${client.id}`));
  await refused(GONE, refresh(t, client, tokens.refresh_token));
  await asks(browser, { scope });
  assert.deepEqual(await connected(), [["Own", [], 1]]);
});

Deno.test("a sign-in to a client at the moment of its disconnection leaves no session, whichever is first", async () => {
  const { browser, who } = await signedInBrowser(t);
  const me = bearer(t, await signIn(t, who.email));
  const disconnect = () => me.delete(`/api/v1/auth/connected-clients/${client.id}`);
  const allow = async () => left(await browser.submit(await asks(browser), "allowed"));
  let way = await allow();
  const enter = async () => {
    way = await browser.leave(urlOf());
    return { status: 303, headers: new Headers(), body: {} };
  };
  const lockClient = (tx: Tx) => tx`select from oauth_clients where id = ${client.id} for update`;
  const lockConsent = (tx: Tx) => tx`select from oauth_consents where user_id = ${who.id} for update`;
  assert.deepEqual(await racingFor(t, lockClient, enter, disconnect), ["303", "204"]);
  await refused(GONE, redeem(t, client, codeOf(way)));
  await allow();
  assert.deepEqual(await racingFor(t, lockConsent, disconnect, enter), ["204", "303"]);
  assert.equal(errorOf(way), "consent_required");
});

Deno.test("a consent that is given while the owner of the account proves themselves is removed too", async () => {
  const { browser, who } = await signedInBrowser(t);
  const [page, token] = [await asks(browser), await resetTokenFor(t, who.email)];
  const raced = await racingFor(
    t,
    (tx) => tx`select from oauth_clients where id = ${client.id} for update`,
    async () => {
      await browser.submit(page, "allowed");
      return { status: 303, headers: new Headers(), body: {} };
    },
    () =>
      t.nobody.post("/api/v1/auth/reset-password", { token, newPassword: "a wholly different passphrase" }),
  );
  assert.deepEqual(raced, ["303", "204"]);
  assert.equal(
    (await t.steward.platform.sql`select from oauth_consents where user_id = ${who.id}`).length,
    0,
  );
});

Deno.test("the first supported language wins, without its region, before that of the browser, but after the chosen one", async () => {
  const metadata = await accepted(t.nobody.get("/.well-known/openid-configuration"));
  assert.deepEqual(metadata.ui_locales_supported, ["en", "pt"]);
  const { browser } = await signedInBrowser(t);
  const cases: [uiLocales: string | null, ofBrowser: string, spoken: string][] = [
    ["en", "pt", "en"],
    ["de-CH PT-pt en", "en", "pt"],
    ["enm zh-Hant pt", "en", "pt"], // Middle English is no English
    ["de fr", "pt", "pt"],
    [null, "pt", "pt"],
  ];
  for (const [ui_locales, ofBrowser, spoken] of cases) {
    const init = { method: "GET", headers: { "accept-language": ofBrowser } };
    const answer = await browser.request(urlOf({ ui_locales }), init, "cross-site");
    assert.equal(languageOf(await answer.text()), spoken, String(ui_locales));
  }
  const to = `../oauth/authorize?${urlOf({ ui_locales: "en" }).searchParams}`;
  const signInPage = `/console/sign-in?${new URLSearchParams({ to })}`;
  for (
    const [header, spoken] of [[{ "accept-language": "pt" }, "en"], [{ cookie: "steward_locale=pt" }, "pt"]]
  ) {
    assert.equal(languageOf((await t.nobody.get(signInPage, Object(header))).body), spoken);
  }
  const asked = await browser.show(urlOf({ ui_locales: "pt" }));
  assert.match(asked.html, /Permitir Orders.*Ler seu nome.*Não permitir/s);
  assert.match((await browser.show(logoutUrl({ ui_locales: "pt" }))).html, /Sair\?/);
  const failed = await t.nobody.get("/oauth/authorize?ui_locales=pt&client_id=oc_none");
  assert.match(failed.body, /Não foi possível entrar/);
});
