import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { PASSWORD, person } from "../auth/people.ts";
import { refused } from "../access/answers.ts";
import { FormBrowser } from "./browser.ts";
import {
  askTokens,
  authorizeUrl,
  codeOf,
  left,
  makeClient,
  postForm,
  problemOf,
  redeem,
  shown,
  signedInBrowser,
  signInToClient,
} from "./flow.ts";

const t = await setup({ TOKEN_AUDIENCE: "https://own.test/api/" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const client = await makeClient(t.systemAdmin);
const errorOf = (url: URL) => url.searchParams.get("error");

/** `email_verified` of a user who signs in to the client, by ID token and userinfo. */
async function verified(email: string, password = PASSWORD): Promise<boolean> {
  const browser = new FormBrowser(t.url);
  shown(await browser.signIn(await browser.show(`${t.url}/console/sign-in`), email, password));
  const { id_token, access_token } = await signInToClient(t, browser, client);
  const info = await t.nobody.get("/oauth/userinfo", { authorization: `Bearer ${access_token}` });
  assert.equal(info.body.email_verified, decodeJwt(id_token).email_verified);
  return info.body.email_verified;
}

async function tokenFor(email: string): Promise<string> {
  let token: string | undefined;
  await until(async () => {
    const { body } = await t.nobody.get("/dev/outbox");
    const mail = body.find((each: { to: unknown }) => JSON.stringify(each.to).includes(email));
    token = /#token=([\w-]{43})/.exec(mail?.textBody ?? "")?.[1];
    return token !== undefined;
  });
  return token ?? "";
}

Deno.test("email_verified is true once a link that was mailed to the address was used", async () => {
  const user = await person(t);
  assert.equal(await verified(user.email), false, "an administrator wrote the address");
  await t.nobody.post("/auth/forgot-password", { email: user.email });
  const newPassword = "chosen by the owner";
  assert.equal(
    (await t.nobody.post("/auth/reset-password", { token: await tokenFor(user.email), newPassword })).status,
    204,
  );
  assert.equal(await verified(user.email, newPassword), true);

  const mover = await person(t);
  const me =
    (await t.nobody.post("/auth/login", { email: mover.email, password: PASSWORD })).body.accessToken;
  const newEmail = `new-${mover.email}`;
  const headers = { authorization: `Bearer ${me}` };
  await t.nobody.post("/auth/change-email", { newEmail, password: PASSWORD }, headers);
  assert.equal(await verified(mover.email), false);
  await t.nobody.post("/auth/confirm-email", { token: await tokenFor(newEmail) });
  assert.equal(await verified(newEmail), true);

  const inviter = await t.actor({ permissions: ["create:users"] });
  for (const email of [`${crypto.randomUUID()}@example.test`, (await person(t)).email]) {
    await inviter.post("/api/v1/users/invite", { email, roleIds: [inviter.roleId] });
    const joined = await t.nobody.post("/auth/invitations/accept", {
      token: await tokenFor(email),
      password: PASSWORD,
    });
    assert.equal(joined.status, 200, JSON.stringify(joined.body));
    assert.equal(await verified(email), true);
  }
});

Deno.test("a code is redeemed without redirect_uri, and one that is sent must be right", async () => {
  const { browser } = await signedInBrowser(t);
  const newCode = async () => codeOf(await browser.leave(authorizeUrl(t, client)));
  const without = { grant_type: "authorization_code", code_verifier: "v".repeat(43) };
  assert.equal((await askTokens(t, client, { ...without, code: await newCode() })).status, 200);
  const code = await newCode();
  const other = await redeem(t, client, code, { redirect_uri: "https://app.test/other" });
  assert.equal(problemOf(other), "400 invalid_grant");
  assert.equal((await redeem(t, client, code)).status, 200);
});

Deno.test("without scopes no answer has a scope, and scopes of which none is allowed are refused", async () => {
  const { browser } = await signedInBrowser(t);
  const code = codeOf(await browser.leave(authorizeUrl(t, client, { scope: null })));
  const { body } = await redeem(t, client, code);
  assert.ok(body.access_token && !("scope" in body) && !("scope" in decodeJwt(body.access_token)));
  const own = await askTokens(t, client, { grant_type: "client_credentials" });
  assert.ok(
    own.body.access_token && !("scope" in own.body) && !("scope" in decodeJwt(own.body.access_token)),
  );
  const asked = { client_id: client.clientId, client_secret: client.secret ?? "", token: body.access_token };
  const found = await postForm(t, "/oauth/introspect", asked);
  assert.ok(found.body.active && !("scope" in found.body));
  assert.equal(errorOf(await browser.leave(authorizeUrl(t, client, { scope: "unknown" }))), "invalid_scope");
});

Deno.test("an id_token_hint of another user asks for one new sign-in, and does not go round", async () => {
  const { browser, who } = await signedInBrowser(t);
  const { id_token: hint } = await signInToClient(t, browser, client);
  const stranger = await signedInBrowser(t);
  const hinted = authorizeUrl(t, client, { id_token_hint: hint });
  const silent = authorizeUrl(t, client, { id_token_hint: hint, prompt: "none" });
  assert.equal(errorOf(await stranger.browser.leave(silent)), "login_required");
  const page = await stranger.browser.show(hinted);
  assert.match(page.html, /name="password"/);
  const again = left(await stranger.browser.signIn(page, stranger.who.email, PASSWORD));
  assert.equal(errorOf(again), "login_required");
  assert.equal(again.searchParams.get("state"), "the-state");
  const second = await stranger.browser.show(hinted);
  const { body } = await redeem(
    t,
    client,
    codeOf(left(await stranger.browser.signIn(second, who.email, PASSWORD))),
  );
  assert.equal(decodeJwt(body.id_token).sub, who.id);
  assert.ok(codeOf(await browser.leave(hinted)), "the user of the hint is not asked");
});

Deno.test("the kind of a client cannot change", async () => {
  const path = `/api/v1/oauth-clients/${client.id}`;
  const answer = await t.systemAdmin.put(path, { kind: "public", name: "Renamed" });
  refused(answer, 400, "VALIDATION_ERROR");
  assert.match(answer.body.errors.kind[0], /^expected confidential/);
  assert.equal((await t.systemAdmin.get(path)).body.name, "Orders");
  assert.equal(
    (await t.systemAdmin.put(path, { kind: "confidential", name: "Renamed" })).body.name,
    "Renamed",
  );
});

Deno.test("the metadata says that introspection takes bearer tokens, and names email_verified", async () => {
  for (const path of ["openid-configuration", "oauth-authorization-server"]) {
    const { body } = await t.nobody.get(`/.well-known/${path}`);
    assert.deepEqual(body.introspection_endpoint_auth_methods_supported, [
      "client_secret_basic",
      "client_secret_post",
      "Bearer",
    ]);
    assert.ok(body.claims_supported.includes("email_verified"));
  }
});

Deno.test("a trailing slash makes no other audience", async () => {
  const given = { name: "Same", kind: "confidential", redirectUris: [], firstParty: true };
  for (const audience of [t.url, `${t.url}/`, "https://own.test/api", "https://own.test/api/"]) {
    const answer = await t.systemAdmin.post("/api/v1/oauth-clients", { ...given, audience });
    refused(answer, 400, "VALIDATION_ERROR");
    assert.match(answer.body.errors.audience[0], /the service's own/, audience);
  }
  const slashed = await makeClient(t.systemAdmin, { audience: `https://slash.test/${crypto.randomUUID()}/` });
  const ask = (resource: string) => askTokens(t, slashed, { grant_type: "client_credentials", resource });
  for (const resource of [slashed.audience, slashed.audience.slice(0, -1)]) {
    const { status, body } = await ask(resource);
    assert.equal(status, 200);
    assert.equal(decodeJwt(body.access_token).aud, slashed.audience);
  }
  assert.equal(problemOf(await ask(`${slashed.audience}x`)), "400 invalid_target");
  const [{ kind } = { kind: null }] = await sql`select kind from oauth_clients where id = ${slashed.id}`;
  assert.equal(kind, "confidential");
});
