import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { decodeJwt, decodeProtectedHeader, exportSPKI, importJWK, type JWK, SignJWT } from "jose";
import { setupShared } from "../../support/setup.ts";
import { forgetFailures } from "../auth/people.ts";
import {
  askTokens,
  authorizeUrl,
  type MadeClient,
  makeClient,
  postForm,
  problemOf,
  redeem,
  refresh,
  setupClients,
  signInToClient,
} from "./flow.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const { client, open, other, browser, who, newCode, userInfo, isLive } = await setupClients(t);

Deno.test("clients authenticate by Basic, by form, or not at all if they are public", async () => {
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}`,
  });
  const form = async (by: MadeClient, more: Record<string, string> = {}) => ({
    grant_type: "authorization_code",
    code: await newCode(by),
    redirect_uri: "https://app.test/callback",
    code_verifier: "v".repeat(43),
    ...more,
  });
  const ask = (fields: Record<string, string>, headers = {}) => postForm(t, "/oauth/token", fields, headers);
  const { clientId, secret = "" } = client as MadeClient & { secret: string };
  assert.equal((await ask(await form(client), basic(clientId, secret))).status, 200);
  assert.equal((await ask(await form(client, { client_id: clientId }), basic(clientId, secret))).status, 200);
  assert.equal((await ask(await form(client, { client_id: clientId, client_secret: secret }))).status, 200);
  assert.equal((await ask(await form(open, { client_id: open.clientId }))).status, 200);
  const refusals: [Record<string, string>, Record<string, string>, string][] = [
    [{}, basic(clientId, "wrong"), "401 invalid_client"],
    [{}, basic(clientId, ""), "401 invalid_client"],
    [{}, basic("oc_unknown", secret), "401 invalid_client"],
    [{}, basic(other.clientId, secret), "401 invalid_client"],
    [{}, { authorization: "Basic %%%" }, "401 invalid_client"],
    [{}, { authorization: `Basic ${btoa("a%00:b")}` }, "401 invalid_client"],
    [{}, { authorization: `Basic ${btoa("\0a:b")}` }, "401 invalid_client"],
    [{}, { authorization: `Bearer ${secret}` }, "401 invalid_client"],
    [{}, {}, "401 invalid_client"],
    [{ client_id: clientId }, {}, "401 invalid_client"],
    [{ client_id: open.clientId, client_secret: "x" }, {}, "401 invalid_client"],
    [{ client_id: clientId, client_secret: secret }, basic(clientId, secret), "400 invalid_request"],
    [{ client_id: other.clientId }, basic(clientId, secret), "400 invalid_request"],
  ];
  for (const [more, headers, expected] of refusals) {
    const answer = await ask(await form(client, more), headers);
    assert.equal(problemOf(answer), expected, JSON.stringify([more, headers]));
    if (answer.status === 401) assert.match(answer.headers.get("www-authenticate") ?? "", /^Basic/);
    assert.equal(answer.headers.get("cache-control"), "no-store");
  }
  await forgetFailures(t);
});

Deno.test("a malformed request gets an error of OAuth", async () => {
  const url = `${t.url}/oauth/token`;
  const json = await fetch(url, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json" },
  });
  assert.equal(json.status, 415);
  assert.equal((await json.json()).error, "invalid_request");
  const get = await fetch(url);
  assert.equal(get.status, 405);
  await get.body?.cancel();
  const huge = await postForm(t, "/oauth/token", { code: "x".repeat(1_100_000) });
  assert.equal(problemOf(huge), "413 invalid_request");
  assert.equal(problemOf(await askTokens(t, client, {})), "400 invalid_request");
  assert.equal(
    problemOf(await askTokens(t, client, { grant_type: "password" })),
    "400 unsupported_grant_type",
  );
  assert.equal(
    problemOf(await askTokens(t, client, { grant_type: "authorization_code" })),
    "400 invalid_request",
  );
  const twice = new URLSearchParams({ client_id: client.clientId, client_secret: client.secret ?? "" });
  twice.append("grant_type", "refresh_token");
  twice.append("grant_type", "authorization_code");
  assert.equal(problemOf(await postForm(t, "/oauth/token", twice)), "400 invalid_request");
  const nul = await askTokens(t, client, { grant_type: "refresh_token", refresh_token: "a\0b" });
  assert.equal(problemOf(nul), "400 invalid_request");
});

Deno.test("a code needs its verifier, its client and its redirect URI, and such a mistake does not use it up", async () => {
  const code = await newCode();
  const wrong: Record<string, string>[] = [
    { code_verifier: "w".repeat(43) },
    { code_verifier: "v".repeat(42) },
    { code_verifier: "" },
    { code_verifier: "KK7Fi1eeCUM5OWtrTBHzYkqAD0yTMYuJPcgrzU7jqAE" },
    { redirect_uri: "https://app.test/callback/" },
    { code: `${code}x` },
    { code: "" },
  ];
  for (const more of wrong) {
    const expected = Object.values(more)[0] === "" ? "400 invalid_request" : "400 invalid_grant";
    assert.equal(problemOf(await redeem(t, client, code, more)), expected, JSON.stringify(more));
  }
  for (const by of [other, open]) assert.equal(problemOf(await redeem(t, by, code)), "400 invalid_grant");
  assert.equal((await redeem(t, client, code)).status, 200);
});

Deno.test("a code that is used again, or too late, gives nothing, and a replay ends what it gave", async () => {
  const code = await newCode();
  const { body } = await redeem(t, client, code);
  assert.ok(await isLive(body.access_token));
  assert.equal(problemOf(await redeem(t, client, code)), "400 invalid_grant");
  assert.equal(await isLive(body.access_token), false);
  assert.equal(problemOf(await refresh(t, client, body.refresh_token)), "400 invalid_grant");
  const late = await newCode();
  await sql`update oauth_grants set code_expires_at = now() where code_used_at is null`;
  assert.equal(problemOf(await redeem(t, client, late)), "400 invalid_grant");
  const raced = await newCode();
  const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(t, client, raced)));
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
});

Deno.test("access tokens carry the permissions if the client asks, and use its algorithm", async () => {
  const rich = await makeClient(systemAdmin, { tokenClaims: ["permissions"], tokenAlgorithm: "RS256" });
  const tokens = await signInToClient(t, browser, rich);
  assert.equal(decodeProtectedHeader(tokens.access_token).alg, "RS256");
  const { permissions } = decodeJwt(tokens.access_token) as { permissions: string[] };
  assert.ok(permissions.includes("create:users") && permissions.length >= 13);
  assert.deepEqual(permissions, permissions.toSorted());
  const next = await refresh(t, rich, tokens.refresh_token);
  assert.deepEqual(decodeJwt(next.body.access_token).permissions, permissions);
  assert.ok(await isLive(next.body.access_token), "the rights are cached now");
  await sql`delete from role_permissions using roles r, permissions p where role_id = r.id and permission_id = p.id
    and r.tenant_id = ${who.tenantId} and p.code = 'create:users'`; // as by an instance that could not announce it
  const fresh = await refresh(t, rich, next.body.refresh_token);
  const left = permissions.filter((code) => code !== "create:users");
  assert.deepEqual(decodeJwt(fresh.body.access_token).permissions, left);
  assert.ok(await isLive(next.body.access_token));
});

Deno.test("a service account exchanges its secret for a token that is good for the API until the secret is replaced", async () => {
  const by = await t.actor({ permissions: ["manage:service-accounts", "read:users"] });
  const { body: account } = await by.post("/api/v1/service-accounts", {
    name: "Sync",
    permissions: ["read:users"],
    tenants: [by.tenantId],
  });
  const { clientId, secret } = account;
  const { status, body } = await askTokens(t, { clientId, secret }, { grant_type: "client_credentials" });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.refresh_token, undefined);
  const call = (tenant: string | null, path = "/api/v1/users") =>
    t.nobody.get(path, { authorization: `Bearer ${body.access_token}`, "x-tenant-id": tenant ?? "" });
  assert.equal((await call(by.tenantId)).status, 200);
  assert.equal((await call(await t.tenant())).body.code, "TENANT_FORBIDDEN");
  assert.equal((await call(by.tenantId, "/api/v1/roles")).body.code, "MISSING_PERMISSION");
  assert.equal((await call(by.tenantId, "/api/v1/auth/me")).body.code, "FORBIDDEN");
  assert.equal((await userInfo(body.access_token)).status, 401);
  const misuse = await askTokens(t, { clientId, secret }, {
    grant_type: "refresh_token",
    refresh_token: "x",
  });
  assert.equal(problemOf(misuse), "400 unauthorized_client");
  const mixed = { clientId: client.clientId, secret };
  assert.equal(
    problemOf(await askTokens(t, mixed, { grant_type: "client_credentials" })),
    "401 invalid_client",
  );
  const wrong = { clientId, secret: client.secret };
  assert.equal(
    problemOf(await askTokens(t, wrong, { grant_type: "client_credentials" })),
    "401 invalid_client",
  );
  await by.post(`/api/v1/service-accounts/${account.id}/rotate`);
  assert.equal((await call(by.tenantId)).body.code, "TOKEN_REVOKED");
  await by.delete(`/api/v1/service-accounts/${account.id}`);
  assert.equal((await call(by.tenantId)).body.code, "TOKEN_REVOKED");
  await forgetFailures(t);
});

Deno.test("a confidential client gets tokens for its own audience; a public one gets none", async () => {
  const scopes = ["openid", "orders.read", "orders.write"];
  const machine = await makeClient(systemAdmin, { scopes, redirectUris: [] });
  const ask = (more = {}) => askTokens(t, machine, { grant_type: "client_credentials", ...more });
  const { body } = await ask();
  const { aud, sub, client_id, scope, sid } = decodeJwt(body.access_token);
  assert.deepEqual(
    [aud, sub, client_id, scope, sid],
    [machine.audience, machine.clientId, machine.clientId, "orders.read orders.write", undefined],
  );
  assert.deepEqual([body.refresh_token, body.id_token], [undefined, undefined]);
  assert.equal((await ask({ scope: "orders.read" })).body.scope, "orders.read");
  for (const wanted of ["openid", "orders.admin", "orders.read openid"]) {
    assert.equal(problemOf(await ask({ scope: wanted })), "400 invalid_scope");
  }
  assert.equal((await ask({ resource: machine.audience })).status, 200);
  for (const resource of ["https://other.test", "steward"]) {
    assert.equal(problemOf(await ask({ resource })), "400 invalid_target");
  }
  assert.equal((await userInfo(body.access_token)).status, 401);
  const api = await t.nobody.get("/api/v1/users", { authorization: `Bearer ${body.access_token}` });
  assert.equal(api.body.code, "TOKEN_INVALID");
  assert.equal(
    problemOf(await askTokens(t, open, { grant_type: "client_credentials" })),
    "400 unauthorized_client",
  );
});

Deno.test("userinfo shows what the scopes allow, by GET and POST, to pages of every origin", async () => {
  const { access_token: token } = await signInToClient(t, browser, client);
  const expected = {
    sub: who.id,
    tenant_id: who.tenantId,
    name: "Some Body",
    given_name: "Some",
    family_name: "Body",
    email: who.email,
    email_verified: false,
  };
  const origin = { origin: "https://spa.test" };
  for (const method of ["GET", "POST"]) {
    const answer = await t.nobody.send(method, "/oauth/userinfo", undefined, {
      authorization: `bearer ${token}`,
      ...origin,
    });
    assert.deepEqual(answer.body, expected);
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  }
  const bare = await signInToClient(t, browser, client, { scope: "email" });
  assert.equal(bare.id_token, undefined);
  const lacking = await userInfo(bare.access_token);
  assert.deepEqual([lacking.status, lacking.body.error], [403, "insufficient_scope"]);
  for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/userinfo", "/.well-known/jwks.json"]) {
    const preflight = await fetch(t.url + path, {
      method: "OPTIONS",
      headers: { ...origin, "access-control-request-method": "POST" },
    });
    assert.equal(preflight.headers.get("access-control-allow-origin"), "*", path);
  }
  const without = await t.nobody.get("/oauth/userinfo");
  assert.deepEqual(
    [without.status, without.headers.get("www-authenticate")],
    [401, 'Bearer realm="steward"'],
    "a request without a token made no mistake",
  );
  const page = await fetch(authorizeUrl(t, client), { redirect: "manual", headers: origin });
  assert.equal(page.headers.get("access-control-allow-origin"), null);
  await page.body?.cancel();
});

Deno.test("tampered, foreign and misused tokens are refused", async () => {
  const tokens = await signInToClient(t, browser, client);
  const { access_token: token, id_token, refresh_token } = tokens;
  const [header = "", payload = "", signature = ""] = token.split(".");
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = decodeJwt(token);
  const { keys } = (await t.nobody.get("/.well-known/jwks.json")).body as { keys: JWK[] };
  const rsa = keys.find(({ kty }) => kty === "RSA");
  assert.ok(rsa);
  const rs256 = await makeClient(systemAdmin, { tokenAlgorithm: "RS256" });
  const { access_token: rsaToken } = await signInToClient(t, browser, rs256);
  const [, rsaPayload = ""] = rsaToken.split(".");
  const pem = await exportSPKI(await importJWK(rsa, "RS256", { extractable: true }) as CryptoKey);
  const confused = (key: string) => {
    const head = encode({ alg: "HS256", typ: "at+jwt", kid: rsa.kid });
    return `${head}.${rsaPayload}.${
      createHmac("sha256", key).update(`${head}.${rsaPayload}`).digest("base64url")
    }`;
  };
  const strange = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "at+jwt" })
    .sign(new TextEncoder().encode("x".repeat(32)));
  const forged = [
    `${header}.${payload}.`,
    `${encode({ alg: "none", typ: "at+jwt" })}.${payload}.`,
    `${encode({ alg: "none", typ: "at+jwt", kid: decodeProtectedHeader(token).kid })}.${payload}.`,
    `${encode({ ...decodeProtectedHeader(token), kid: rsa.kid })}.${payload}.${signature}`,
    `${header}.${encode({ ...claims, sub: systemAdmin.userId })}.${signature}`,
    `${header}.${encode({ ...claims, scope: "openid email profile" })}.${signature}`,
    confused(pem),
    confused(JSON.stringify(rsa)),
    confused(rsa.n ?? ""),
    strange,
    id_token,
    refresh_token,
    systemAdmin.token ?? "",
    "x",
  ];
  for (const text of forged) {
    const answer = await userInfo(text);
    assert.deepEqual([answer.status, answer.body.error], [401, "invalid_token"], text);
    assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer .*error="invalid_token"/);
  }
  assert.ok(await isLive(token) && await isLive(rsaToken));
  for (const text of [token, rsaToken, id_token, ...forged.slice(0, 9)]) {
    const answer = await t.nobody.get("/api/v1/auth/me", { authorization: `Bearer ${text}` });
    assert.equal(answer.body.code, "TOKEN_INVALID", text);
  }
  assert.equal((await t.nobody.get("/oauth/userinfo")).status, 401);
});

Deno.test("a client revokes its own tokens: an unknown one is no error, one of another client is", async () => {
  const revoke = (by: MadeClient, token: string) =>
    postForm(t, "/oauth/revoke", {
      token,
      client_id: by.clientId,
      ...by.secret === null ? {} : { client_secret: by.secret },
    });
  for (const kind of ["refresh_token", "access_token"] as const) {
    const tokens = await signInToClient(t, browser, client);
    assert.equal(problemOf(await revoke(other, tokens[kind])), "400 invalid_grant");
    assert.equal(problemOf(await revoke({ ...client, secret: "x" }, tokens[kind])), "401 invalid_client");
    assert.ok(await isLive(tokens.access_token));
    assert.equal((await revoke(client, tokens[kind])).status, 200);
    assert.equal(await isLive(tokens.access_token), false);
    assert.equal(problemOf(await refresh(t, client, tokens.refresh_token)), "400 invalid_grant");
    assert.equal((await revoke(client, tokens[kind])).status, 200);
  }
  assert.equal((await revoke(client, "unknown")).status, 200);
  assert.equal(
    problemOf(await postForm(t, "/oauth/revoke", { client_id: open.clientId })),
    "400 invalid_request",
  );
  const { body } = await askTokens(t, client, { grant_type: "client_credentials" });
  assert.equal(problemOf(await revoke(client, body.access_token)), "400 unsupported_token_type");
  await forgetFailures(t);
});

Deno.test("a revoked client, and one with a new secret, is refused at once with all its tokens", async () => {
  const maker = await t.actor({ permissions: ["manage:oauth-clients"] });
  const own = await makeClient(systemAdmin, {});
  const tokens = await signInToClient(t, browser, own);
  const { body: rotated } = await systemAdmin.post(`/api/v1/oauth-clients/${own.id}/rotate-secret`);
  assert.equal(problemOf(await refresh(t, own, tokens.refresh_token)), "401 invalid_client");
  const renewed = { ...own, secret: rotated.secret };
  const next = await refresh(t, renewed, tokens.refresh_token);
  assert.equal(next.status, 200);
  assert.ok((await systemAdmin.get(`/api/v1/oauth-clients/${own.id}`)).body.lastUsedAt);
  await systemAdmin.delete(`/api/v1/oauth-clients/${own.id}`);
  assert.equal(problemOf(await refresh(t, renewed, next.body.refresh_token)), "401 invalid_client");
  assert.equal(await isLive(next.body.access_token), false);
  assert.equal((await maker.get(`/api/v1/oauth-clients/${own.id}`)).body.code, "OAUTH_CLIENT_NOT_FOUND");
  await forgetFailures(t);
});

Deno.test("too many wrong secrets are slowed down; the right one still works", async () => {
  const victim = await makeClient(systemAdmin, { redirectUris: [] });
  const ask = (secret: string | null) =>
    askTokens(t, { ...victim, secret }, { grant_type: "client_credentials" });
  for (let n = 0; n < 29; n++) assert.equal(problemOf(await ask("wrong")), "401 invalid_client");
  const slowed = await ask("wrong");
  assert.equal(problemOf(slowed), "429 temporarily_unavailable");
  assert.ok(Number(slowed.headers.get("retry-after")) > 0);
  assert.equal((await ask(victim.secret)).status, 200);
  assert.equal((await t.nobody.post("/api/v1/auth/login", { email: who.email, password: "x" })).status, 401);
  await forgetFailures(t);
});
