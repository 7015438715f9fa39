import assert from "node:assert/strict";
import { decodeJwt, decodeProtectedHeader, exportSPKI, importJWK, type JWK, SignJWT } from "jose";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { tokenOf } from "../auth/mails.ts";
import { forgetFailures, PASSWORD, signedIn } from "../auth/people.ts";
import { inTenant, makeAccount } from "../auth/service_accounts.ts";
import {
  askTokens,
  authorizeUrl,
  browserOf,
  type MadeClient,
  makeClient,
  postForm,
  redeem,
  refresh,
  setupClients,
  signInToClient,
} from "./flow.ts";

const t = await setupShared();
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const { client, open, other, browser, who, newCode, userInfo, isLive } = await setupClients(t);
const INVALID_CLIENT = "401 invalid_client";
const GONE = "400 invalid_grant";
const INVALID = "400 invalid_request";

type Form = Record<string, string>;
type Credentials = Pick<MadeClient, "clientId" | "secret">;
const ask = (fields: Form, headers = {}) => postForm(t, "/oauth/token", fields, headers);
/** Asks for tokens of the client itself. */
const machineTokens = (by: Credentials, more: Form = {}) =>
  askTokens(t, by, { grant_type: "client_credentials", ...more });
const claimsOf = ({ access_token }: { access_token: string }) => decodeJwt(access_token);
const api = (token: string, path = "/api/v1/auth/me", headers = {}) =>
  t.nobody.get(path, { authorization: `Bearer ${token}`, ...headers });

Deno.test("clients authenticate by Basic, by form, or not at all if they are public", async () => {
  const { clientId, secret = "" } = client as MadeClient & { secret: string };
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`,
  });
  const form = async (by: MadeClient, more: Form = {}) => ({
    grant_type: "authorization_code",
    code: await newCode(by),
    redirect_uri: "https://app.test/callback",
    code_verifier: "v".repeat(43),
    ...more,
  });
  await accepted(ask(await form(client), basic(clientId, secret)), 200);
  await accepted(ask(await form(client, { client_id: clientId }), basic(clientId, secret)), 200);
  await accepted(ask(await form(client, { client_id: clientId, client_secret: secret })), 200);
  await accepted(ask(await form(open, { client_id: open.clientId })), 200);
  const refusals: [expected: string, headers: Form, more?: Form][] = [
    [INVALID_CLIENT, basic(clientId, "wrong")],
    [INVALID_CLIENT, basic(clientId, "")],
    [INVALID_CLIENT, basic("oc_unknown", secret)],
    [INVALID_CLIENT, basic(other.clientId, secret)],
    ...["Basic %%%", `Basic ${btoa("a%00:b")}`, `Bearer ${secret}`]
      .map((authorization): [string, Form] => [INVALID_CLIENT, { authorization }]),
    [INVALID_CLIENT, {}],
    [INVALID_CLIENT, {}, { client_id: clientId }],
    [INVALID_CLIENT, {}, { client_id: open.clientId, client_secret: "x" }],
    [INVALID, basic(clientId, secret), { client_id: clientId, client_secret: secret }],
    [INVALID, basic(clientId, secret), { client_id: other.clientId }],
  ];
  const good = await form(client);
  for (const [expected, headers, more] of refusals) {
    const answer = await ask({ ...good, ...more }, headers);
    assert.equal(await outcome(answer), expected, JSON.stringify([more, headers]));
    if (answer.status === 401) assert.match(answer.headers.get("www-authenticate") ?? "", /^Basic/);
    assert.deepEqual(["cache-control", "pragma"].map((name) => answer.headers.get(name)), [
      "no-store",
      "no-cache",
    ]);
  }
  await accepted(ask(good, basic(clientId, secret))); // no mistake used the code up
});

Deno.test("a malformed request gets an error of OAuth", async () => {
  const twice = new URLSearchParams({ client_id: client.clientId, client_secret: client.secret ?? "" });
  for (const type of ["refresh_token", "authorization_code"]) twice.append("grant_type", type);
  const wrong: Form[] = [{}, { grant_type: "authorization_code" }];
  await refused(INVALID, ...wrong.map((form) => askTokens(t, client, form)));
  await refused(INVALID, postForm(t, "/oauth/token", twice), refresh(t, client, "a\0b"));
  await refused("400 unsupported_grant_type", askTokens(t, client, { grant_type: "password" }));
});

Deno.test("routes of the protocol refuse wrong methods and bodies in the format of OAuth, also where pages answer", async () => {
  const refusal = async (method: string, path: string, init: RequestInit = {}) => {
    const response = await fetch(`${t.url}/oauth/${path}`, { method, ...init });
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/, `${method} ${path}`);
    const { error, error_description, ...more } = await response.json();
    assert.match(error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    assert.deepEqual([error, more], ["invalid_request", {}]);
    return [response.status, response.headers.get("allow")];
  };
  assert.deepEqual(await refusal("GET", "token"), [405, "POST"]);
  assert.deepEqual(await refusal("PUT", "authorize"), [405, "GET, HEAD, POST"]);
  assert.deepEqual(await refusal("GET", "nothing"), [404, null]);
  assert.deepEqual(await refusal("GET", "authorize?client_id=%00"), [400, null]);
  const json = { body: "{}", headers: { "content-type": "application/json" } };
  for (const name of ["token", "authorize"]) {
    assert.deepEqual(await refusal("POST", name, json), [415, null]);
  }
  const large = { body: new URLSearchParams({ state: "x".repeat(1_100_000) }) };
  assert.deepEqual(await refusal("POST", "authorize", large), [413, null]);
});

Deno.test("a code needs its verifier, its client and its redirect URI, and such a mistake does not use it up", async () => {
  const code = await newCode();
  const wrong: Record<string, string>[] = [
    { code_verifier: "w".repeat(43) },
    { code_verifier: "v".repeat(42) },
    { code_verifier: "KK7Fi1eeCUM5OWtrTBHzYkqAD0yTMYuJPcgrzU7jqAE" },
    { redirect_uri: "https://app.test/callback/" },
    { code: `${code}x` },
  ];
  await refused(GONE, ...wrong.map((more) => redeem(t, client, code, more)));
  await refused(GONE, ...[other, open].map((by) => redeem(t, by, code)));
  await refused(
    INVALID,
    redeem(t, client, code, { code_verifier: "" }),
    redeem(t, client, code, { code: "" }),
  );
  await accepted(redeem(t, client, code), 200);
  const fields = { grant_type: "authorization_code", code_verifier: "v".repeat(43), code: await newCode() };
  await accepted(askTokens(t, client, fields)); // without redirect_uri
});

Deno.test("a code that is used again, or too late, gives nothing, and a replay ends what it gave", async () => {
  const code = await newCode();
  const tokens = await accepted(redeem(t, client, code));
  assert.ok(await isLive(tokens.access_token));
  await refused(GONE, redeem(t, client, code));
  assert.equal(await isLive(tokens.access_token), false);
  await refused(GONE, refresh(t, client, tokens.refresh_token));
  const late = await newCode();
  await sql`update oauth_grants set code_expires_at = now() - interval '1 ms' where code_used_at is null`;
  await refused(GONE, redeem(t, client, late));
  const raced = await newCode();
  const answers = await Promise.all(Array.from({ length: 3 }, () => outcome(redeem(t, client, raced))));
  assert.deepEqual(answers.sort(), ["200", GONE, GONE]);
});

Deno.test("access tokens carry the permissions if the client asks, and use its algorithm", async () => {
  const rich = await makeClient(systemAdmin, { tokenClaims: ["permissions"], tokenAlgorithm: "RS256" });
  const tokens = await signInToClient(t, browser, rich);
  assert.equal(decodeProtectedHeader(tokens.access_token).alg, "RS256");
  const { permissions } = claimsOf(tokens) as { permissions: string[] };
  assert.ok(permissions.includes("create:users") && permissions.length >= 13);
  const next = await accepted(refresh(t, rich, tokens.refresh_token));
  assert.deepEqual(claimsOf(next).permissions, permissions);
  assert.ok(await isLive(next.access_token), "the rights are cached now");
  await sql`delete from role_permissions using roles r, permissions p where role_id = r.id and permission_id = p.id
    and r.tenant_id = ${who.tenantId} and p.code = 'create:users'`; // as by an instance that could not announce it
  const fresh = await accepted(refresh(t, rich, next.refresh_token));
  assert.deepEqual(claimsOf(fresh).permissions, permissions.filter((code) => code !== "create:users"));
});

Deno.test("a service account exchanges its secret for a token that is good for the API", async () => {
  const by = await t.actor({ permissions: ["manage:service-accounts", "read:users"] });
  const made = await makeAccount(by);
  const { access_token, refresh_token } = await accepted(machineTokens(made), 200);
  assert.equal(refresh_token, undefined);
  await accepted(api(access_token, "/api/v1/users", inTenant(by.tenantId)));
  await refused("401 invalid_token", userInfo(access_token));
  await refused("400 unauthorized_client", refresh(t, made, "x"));
  const mixed = [{ ...made, clientId: client.clientId }, { ...made, secret: client.secret }];
  await refused(INVALID_CLIENT, ...mixed.map((each) => machineTokens(each)));
});

Deno.test("a confidential client gets tokens for its own audience; a public one gets none", async () => {
  const scopes = ["openid", "orders.read", "orders.write"];
  const audience = `https://machine.test/${crypto.randomUUID()}/`;
  const machine = await makeClient(systemAdmin, { scopes, redirectUris: [], audience });
  const tokens = await accepted(machineTokens(machine));
  const { aud, sub, client_id, scope, sid } = claimsOf(tokens);
  const { clientId } = machine;
  assert.deepEqual([aud, sub, client_id, sid], [audience, clientId, clientId, undefined]);
  assert.equal(scope, "orders.read orders.write");
  assert.deepEqual([tokens.refresh_token, tokens.id_token], [undefined, undefined]);
  assert.equal((await accepted(machineTokens(machine, { scope: "orders.read" }))).scope, "orders.read");
  const wanted = ["openid", "orders.admin", "orders.read openid"];
  await refused("400 invalid_scope", ...wanted.map((scope) => machineTokens(machine, { scope })));
  for (const resource of [audience, audience.slice(0, -1)]) { // a slash at the end makes no other audience
    assert.equal(claimsOf(await accepted(machineTokens(machine, { resource }))).aud, audience);
  }
  const others = ["https://other.test", "steward", `${audience}x`];
  await refused("400 invalid_target", ...others.map((resource) => machineTokens(machine, { resource })));
  await refused("401 invalid_token", userInfo(tokens.access_token));
  await refused("401 TOKEN_INVALID", api(tokens.access_token, "/api/v1/users"));
  await refused("400 unauthorized_client", machineTokens(open));
});

Deno.test("userinfo shows what the scopes allow, by GET and POST, to pages of every origin", async () => {
  const { access_token: token } = await signInToClient(t, browser, client);
  const ofWho = { sub: who.id, tenant_id: who.tenantId, email: who.email, email_verified: false };
  const expected = { ...ofWho, name: "Some Body", given_name: "Some", family_name: "Body" };
  const allowedOrigin = ({ headers }: Pick<HttpAnswer, "headers">) =>
    headers.get("access-control-allow-origin");
  const origin = { origin: "https://spa.test" };
  for (const method of ["GET", "POST"]) {
    const headers = { authorization: `bearer ${token}`, ...origin };
    const answer = await t.nobody.send(method, "/oauth/userinfo", undefined, headers);
    assert.deepEqual([answer.body, allowedOrigin(answer)], [expected, "*"]);
  }
  const bare = await signInToClient(t, browser, client, { scope: "email" });
  assert.equal(bare.id_token, undefined);
  await refused("403 insufficient_scope", userInfo(bare.access_token));
  const preflight = { ...origin, "access-control-request-method": "POST" };
  for (const name of ["token", "revoke", "userinfo"]) {
    const answer = await t.nobody.send("OPTIONS", `/oauth/${name}`, undefined, preflight);
    assert.equal(allowedOrigin(answer), "*", name);
  }
  const { status, headers } = await t.nobody.get("/oauth/userinfo"); // a request without a token made no mistake
  assert.deepEqual([status, headers.get("www-authenticate")], [401, 'Bearer realm="steward"']);
  const page = await fetch(authorizeUrl(t, client), { redirect: "manual", headers: origin });
  await page.body?.cancel();
  assert.equal(allowedOrigin(page), null);
});

Deno.test("email_verified is true once a link that was mailed to the address was used", async () => {
  /** `email_verified` of a user who signs in to the client, by ID token and userinfo. */
  const isVerified = async (email: string) => {
    const { id_token, access_token } = await signInToClient(t, await browserOf(t, email), client);
    const { email_verified } = await accepted(userInfo(access_token));
    assert.equal(decodeJwt(id_token).email_verified, email_verified);
    return email_verified;
  };
  const mover = await signedIn(t);
  const newEmail = `new-${mover.email}`;
  const change = () => mover.me.post("/auth/change-email", { newEmail, password: PASSWORD });
  const token = await tokenOf(t, newEmail, change);
  assert.equal(await isVerified(mover.email), false, "an administrator wrote the address");
  await accepted(t.nobody.post("/auth/confirm-email", { token }));
  assert.equal(await isVerified(newEmail), true);
});

Deno.test("foreign, misused and forged tokens are refused, also with the public RSA key as a secret", async () => {
  const { access_token: token, id_token, refresh_token } = await signInToClient(t, browser, client);
  const { keys }: { keys: JWK[] } = await accepted(t.nobody.get("/.well-known/jwks.json"));
  const rsa = keys.find(({ kty }) => kty === "RSA");
  assert.ok(rsa);
  const rs256 = await makeClient(systemAdmin, { tokenAlgorithm: "RS256" });
  const { access_token: rsaToken } = await signInToClient(t, browser, rs256);
  const pem = await exportSPKI(await importJWK(rsa, "RS256", { extractable: true }) as CryptoKey);
  const header = { alg: "HS256", typ: "at+jwt", kid: rsa.kid ?? "" };
  const confused = [pem, JSON.stringify(rsa), rsa.n ?? ""].map((key) =>
    new SignJWT(decodeJwt(rsaToken)).setProtectedHeader(header).sign(new TextEncoder().encode(key))
  );
  const forged = [...await Promise.all(confused), token.replace(/[^.]*$/, "")];
  for (const text of [...forged, id_token, refresh_token, systemAdmin.token ?? ""]) {
    const answer = await userInfo(text);
    assert.equal(await outcome(answer), "401 invalid_token", text);
    assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer .*error="invalid_token"/);
  }
  assert.ok(await isLive(token) && await isLive(rsaToken));
  await refused("401 TOKEN_INVALID", ...[token, rsaToken, id_token, ...forged].map((text) => api(text)));
});

Deno.test("a client revokes its own tokens: an unknown one is no error, one of another client is", async () => {
  const revoke = ({ clientId, secret }: Credentials, token?: string) =>
    postForm(t, "/oauth/revoke", {
      ...token === undefined ? {} : { token },
      client_id: clientId,
      ...secret === null ? {} : { client_secret: secret },
    });
  for (const kind of ["refresh_token", "access_token"] as const) {
    const tokens = await signInToClient(t, browser, client);
    await refused(GONE, revoke(other, tokens[kind]));
    await refused(INVALID_CLIENT, revoke({ ...client, secret: "x" }, tokens[kind]));
    assert.ok(await isLive(tokens.access_token));
    await accepted(revoke(client, tokens[kind]), 200);
    assert.equal(await isLive(tokens.access_token), false);
    await refused(GONE, refresh(t, client, tokens.refresh_token));
    await accepted(revoke(client, tokens[kind]), 200);
  }
  await accepted(revoke(client, "unknown"), 200);
  await refused(INVALID, revoke(open));
  const { access_token } = await accepted(machineTokens(client));
  await refused("400 unsupported_token_type", revoke(client, access_token));
});

Deno.test("a revoked client, and one with a new secret, is refused at once with all its tokens", async () => {
  const own = await makeClient(systemAdmin);
  const path = `/api/v1/oauth-clients/${own.id}`;
  const tokens = await signInToClient(t, browser, own);
  const renewed = await accepted(systemAdmin.post(`${path}/rotate-secret`));
  await refused(INVALID_CLIENT, refresh(t, own, tokens.refresh_token));
  const next = await accepted(refresh(t, renewed, tokens.refresh_token));
  assert.ok((await accepted(systemAdmin.get(path))).lastUsedAt);
  await accepted(systemAdmin.delete(path));
  await refused(INVALID_CLIENT, refresh(t, renewed, next.refresh_token));
  assert.equal(await isLive(next.access_token), false);
});

Deno.test("too many wrong secrets are slowed down; the right one still works", async () => {
  const victim = await makeClient(systemAdmin, { redirectUris: [] });
  const wrong = () => machineTokens({ ...victim, secret: "wrong" });
  await refused(INVALID_CLIENT, wrong());
  const subject = `address:${victim.clientId} at %`;
  const failed =
    await sql`update failed_sign_ins set failed_at = array_fill(now(), array[28]) where subject like ${subject}`;
  assert.equal(failed.count, 1);
  await refused(INVALID_CLIENT, wrong());
  const slowed = await wrong();
  await refused("429 temporarily_unavailable", slowed);
  assert.ok(Number(slowed.headers.get("retry-after")) > 0);
  await accepted(machineTokens(victim), 200);
  const login = { email: who.email, password: "x" };
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", t.nobody.post("/api/v1/auth/login", login));
});
