import assert from "node:assert/strict";
import { tenantWithLooks } from "../looks/hosted.ts";
import { setupShared } from "../../support/setup.ts";
import { signIn } from "../auth/people.ts";
import { left, shown } from "./browser.ts";
import {
  authorizeUrl,
  codeOf,
  makeClient,
  problemOf,
  redeem,
  refresh,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { systemAdmin } = t;
const RETURN = "https://app.test/bye";
const given = { firstParty: false, name: "Orders & <Co>", postLogoutRedirectUris: [RETURN] };
const client = await makeClient(systemAdmin, given);

Deno.test("a user is asked once for each client and set of scopes, and again if the client wants more", async () => {
  const { browser, who } = await signedInBrowser(t);
  const url = authorizeUrl(t, client, { scope: "openid email" });
  const page = await browser.show(url);
  assert.match(page.html, /Allow Orders &amp; &lt;Co&gt;\?/);
  assert.ok(page.html.includes(who.email) && page.html.includes("app.test"));
  assert.match(page.html, /Read your email address/);
  assert.doesNotMatch(page.html, /Read your name/);
  assert.ok(codeOf(left(await browser.submit(page, "allowed"))));
  assert.ok(codeOf(await browser.leave(url)));
  assert.ok(codeOf(await browser.leave(authorizeUrl(t, client, { scope: "email", prompt: "none" }))));
  const more = await browser.show(authorizeUrl(t, client));
  assert.match(more.html, /Read your name/);
  assert.ok(codeOf(left(await browser.submit(more, "allowed"))));
  assert.ok(codeOf(await browser.leave(url)), "what was allowed before stays allowed");
  assert.match((await browser.show(authorizeUrl(t, client, { prompt: "consent" }))).html, /Allow Orders/);
});

Deno.test("refusing goes back to the client, and the question comes again", async () => {
  const { browser } = await signedInBrowser(t);
  const page = await browser.show(authorizeUrl(t, client));
  const url = left(await browser.submit(page, "denied"));
  assert.equal(url.searchParams.get("error"), "access_denied");
  assert.deepEqual([url.searchParams.get("state"), url.searchParams.get("iss")], ["the-state", t.url]);
  assert.match((await browser.show(authorizeUrl(t, client))).html, /Allow Orders/);
});

Deno.test("the address of a question cannot contain its answer", async () => {
  const { browser } = await signedInBrowser(t);
  const page = await browser.show(authorizeUrl(t, client, { decision: "allowed", csrf: "x" }));
  const url = left(await browser.submit(page, "denied"));
  assert.equal(url.searchParams.get("error"), "access_denied");
  const signOut = await browser.show(`${t.url}/oauth/logout?decision=leave&csrf=x`);
  const stays = shown(await browser.submit(signOut, "stay"));
  assert.ok(stays.url.pathname.startsWith("/console/"));
  assert.match((await browser.show(authorizeUrl(t, client))).html, /Allow Orders/, "still signed in");
});

Deno.test("no other page can answer for the user, or frame the question", async () => {
  const { browser } = await signedInBrowser(t);
  const page = await browser.show(authorizeUrl(t, client));
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(policy, /frame-ancestors 'none'/);
  assert.match(policy, /form-action 'self' https:\/\/app\.test;/);
  assert.doesNotMatch(policy, /unsafe/);
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
  const send = async (
    fields: Record<string, string>,
    headers: Record<string, string>,
    from: "same-site" | "cross-site",
  ) => {
    const body = new URLSearchParams(authorizeUrl(t, client).searchParams);
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    const init = { method: "POST", body, headers };
    const answer = await browser.request(`${t.url}/oauth/authorize`, init, from);
    await answer.body?.cancel();
    return answer.headers.get("location") ?? "";
  };
  const allowed = { decision: "allowed" };
  const stranger = await signedInBrowser(t);
  const theirs = /name="csrf" value="([^"]+)"/.exec(
    (await stranger.browser.show(authorizeUrl(t, client))).html,
  )?.[1] ?? "";
  const attempts = [
    send({ ...allowed, csrf }, { origin: "https://evil.test" }, "same-site"),
    send({ ...allowed, csrf }, { origin: t.url, "sec-fetch-site": "cross-site" }, "same-site"),
    send({ ...allowed, csrf }, {}, "same-site"),
    send({ ...allowed, csrf }, { origin: t.url }, "cross-site"),
    send({ ...allowed, csrf: theirs }, { origin: t.url }, "same-site"),
    send({ ...allowed, csrf: "" }, { origin: t.url }, "same-site"),
    send(allowed, { origin: t.url }, "same-site"),
    send({ csrf, decision: "maybe" }, { origin: t.url }, "same-site"),
  ];
  for (const location of await Promise.all(attempts)) {
    assert.match(location, /^\/oauth\/authorize\?/, "it is asked again");
  }
  assert.match((await browser.show(authorizeUrl(t, client))).html, /Allow Orders/);
  assert.match(
    await send({ ...allowed, csrf }, { origin: t.url }, "same-site"),
    /^https:\/\/app\.test\/callback\?code=/,
  );
});

Deno.test("the pages are also in Portuguese", async () => {
  const { browser } = await signedInBrowser(t);
  const look = async (url: URL | string) => {
    const answer = await browser.request(
      url,
      { method: "GET", headers: { "accept-language": "pt-PT" } },
      "cross-site",
    );
    return await answer.text();
  };
  assert.match(await look(authorizeUrl(t, client)), /Permitir Orders.*Ler seu nome.*Não permitir/s);
  assert.match(
    await look(authorizeUrl(t, client, { redirect_uri: "https://evil.test" })),
    /Não foi possível/,
  );
  assert.match(await look(`${t.url}/oauth/logout`), /Sair\?/);
});

Deno.test("a client signs the browser out with its ID token, and with it the grants of this browser", async () => {
  const first = await makeClient(systemAdmin, { postLogoutRedirectUris: [RETURN] });
  const { browser } = await signedInBrowser(t);
  const tokens = await signInToClient(t, browser, first);
  const other = await signInToClient(t, browser, await makeClient(systemAdmin));
  const url = new URL(`${t.url}/oauth/logout`);
  url.searchParams.set("id_token_hint", tokens.id_token);
  url.searchParams.set("post_logout_redirect_uri", RETURN);
  url.searchParams.set("state", "bye");
  for (const uri of [`${RETURN}/`, "https://evil.test/", "https://app.test/callback"]) {
    const wrong = new URL(url);
    wrong.searchParams.set("post_logout_redirect_uri", uri);
    assert.equal((await browser.show(wrong)).status, 400, uri);
  }
  const mixed = new URL(url);
  mixed.searchParams.set("client_id", client.clientId);
  assert.equal((await browser.show(mixed)).status, 400);
  const forged = new URL(url);
  forged.searchParams.set("id_token_hint", tokens.access_token);
  assert.equal((await browser.show(forged)).status, 400);
  assert.ok(codeOf(await browser.leave(authorizeUrl(t, first, { prompt: "none" }))), "still signed in");
  assert.equal(String(await browser.leave(url)), `${RETURN}?state=bye`);
  const silent = await browser.leave(authorizeUrl(t, first, { prompt: "none" }));
  assert.equal(silent.searchParams.get("error"), "login_required");
  for (const { refresh_token } of [tokens, other]) {
    assert.match(problemOf(await refresh(t, first, refresh_token)), /400 invalid_grant/);
  }
  assert.equal(String(await browser.leave(url)), `${RETURN}?state=bye`, "signing out twice is no error");
});

Deno.test("the pages of a sign-out look like the tenant that the user signs in to", async () => {
  const { tenantId, looks } = await tenantWithLooks(t, { productName: "Eastwind" });
  const { browser } = await signedInBrowser(t, { links: [tenantId] });
  const page = await browser.show(`${t.url}/oauth/logout`);
  assert.match(page.html, /Sign out\?/);
  assert.ok(page.html.includes(looks.productName), "the question");
  assert.ok(shown(await browser.submit(page, "leave")).html.includes(looks.productName), "the result");
  assert.ok(
    !(await browser.show(`${t.url}/oauth/logout`)).html.includes(looks.productName),
    "without a session",
  );
});

Deno.test("without an ID token of this session, the user is asked before the sign-out", async () => {
  const first = await makeClient(systemAdmin, { postLogoutRedirectUris: [RETURN] });
  const { browser, who } = await signedInBrowser(t);
  const stranger = await signedInBrowser(t);
  const theirs = await signInToClient(t, stranger.browser, first);
  const isSignedIn = async () =>
    (await browser.leave(authorizeUrl(t, first, { prompt: "none" }))).searchParams.has("code");
  for (const query of ["", `?id_token_hint=${theirs.id_token}`, `?client_id=${first.clientId}`]) {
    const page = await browser.show(`${t.url}/oauth/logout${query}`);
    assert.match(page.html, /Sign out\?/);
    assert.ok(page.html.includes(who.email));
    const stays = shown(await browser.submit(page, "stay"));
    assert.ok(stays.url.pathname.startsWith("/console/"));
    assert.ok(await isSignedIn());
  }
  const foreign = await browser.request(`${t.url}/oauth/logout`, {
    method: "POST",
    body: new URLSearchParams({ csrf: "guessed", decision: "leave" }),
    headers: { origin: "https://evil.test" },
  }, "same-site");
  assert.match(await foreign.text(), /Sign out\?/);
  assert.ok(await isSignedIn());
  const query = new URLSearchParams({ client_id: first.clientId, post_logout_redirect_uri: RETURN });
  const page = await browser.show(`${t.url}/oauth/logout?${query}`);
  assert.equal(String(left(await browser.submit(page, "leave"))), RETURN);
  assert.equal(await isSignedIn(), false);
  assert.match((await browser.show(`${t.url}/oauth/logout`)).html, /You are signed out/);
});

Deno.test("a tenant that requires a second factor gives no code and no refresh to a sign-in without one", async () => {
  const first = await makeClient(systemAdmin);
  const { browser, who } = await signedInBrowser(t);
  const tokens = await signInToClient(t, browser, first);
  const path = `/api/v1/tenants/${who.tenantId}`;
  assert.equal((await systemAdmin.put(path, { requireSecondFactor: true })).status, 200);
  t.steward.platform.rights.invalidate(null);
  const silent = await browser.leave(authorizeUrl(t, first, { prompt: "none" }));
  assert.equal(silent.searchParams.get("error"), "interaction_required");
  const answer = await browser.request(authorizeUrl(t, first), { method: "GET" }, "cross-site");
  assert.equal(answer.status, 303);
  assert.match(answer.headers.get("location") ?? "", /^\/console\/account\/security\?to=/);
  await answer.body?.cancel();
  assert.match(problemOf(await refresh(t, first, tokens.refresh_token)), /400 invalid_grant/);
  const userInfo = await t.nobody.get("/oauth/userinfo", { authorization: `Bearer ${tokens.access_token}` });
  assert.equal(userInfo.status, 401);
  assert.equal((await systemAdmin.put(path, { requireSecondFactor: false })).status, 200);
  t.steward.platform.rights.invalidate(null);
  const again = await refresh(t, first, tokens.refresh_token);
  assert.equal(again.status, 200, "the refusal did not use up the token");
});

Deno.test("a user sees the clients they signed in to, and disconnects one: it is signed out and asks again", async () => {
  const { browser, who } = await signedInBrowser(t);
  const page = await browser.show(authorizeUrl(t, client, { scope: "openid" }));
  const code = codeOf(left(await browser.submit(page, "allowed")));
  const { body: tokens } = await redeem(t, client, code);
  await signInToClient(t, browser, await makeClient(systemAdmin, { name: "Own" }));
  const { body: session } = await signIn(t, who.email);
  const me = t.nobody.with({ authorization: `Bearer ${session.accessToken}` });
  const path = "/api/v1/auth/connected-clients";
  const { body: connected } = await me.get(path);
  const rows = connected.map((row: Record<string, unknown>) => [row.name, row.allowedScopes, row.sessions]);
  assert.deepEqual(rows, [["Orders & <Co>", ["openid"], 1], ["Own", [], 1]]);
  assert.equal(
    (await me.get("/api/v1/auth/sessions")).body.length,
    2,
    "sessions of clients are listed apart",
  );
  const account = await browser.request(`${t.url}/console/account`, { method: "GET" }, "same-site");
  assert.match(await account.text(), /Connected programs.*Orders &amp; &lt;Co&gt;.*Disconnect/s);
  assert.equal((await me.delete(`${path}/${client.id}`)).status, 204);
  assert.equal((await me.delete(`${path}/${client.id}`)).body.code, "OAUTH_CLIENT_NOT_FOUND");
  assert.match(problemOf(await refresh(t, client, tokens.refresh_token)), /400 invalid_grant/);
  assert.match((await browser.show(authorizeUrl(t, client, { scope: "openid" }))).html, /Allow Orders/);
  assert.deepEqual((await me.get(path)).body.map(({ name }: { name: string }) => name), ["Own"]);
});
