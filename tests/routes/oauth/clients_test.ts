import assert from "node:assert/strict";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { type Actor, setup, setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const PATH = "/api/v1/oauth-clients";
const MANAGE = "manage:oauth-clients";
const CALLBACK = "https://app.test/callback";

type Answer = Promise<{ status: number; body: { code?: string } }>;
const outcome = async (answer: Answer) => {
  const { status, body } = await answer;
  return `${status} ${body?.code ?? ""}`.trim();
};
const maker = () => t.actor({ permissions: [MANAGE] });
const given = (more: Record<string, unknown> = {}) => ({
  name: "Orders",
  kind: "confidential",
  redirectUris: [CALLBACK],
  audience: `https://orders.test/${crypto.randomUUID()}`,
  ...more,
});

async function makeClient(by: Actor, more: Record<string, unknown> = {}) {
  const { status, body } = await by.post(PATH, given(more));
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

Deno.test("a client of a tenant has defaults, shows its secret once, and is stored without it", async () => {
  const by = await maker();
  const { secret, ...made } = await makeClient(by);
  assert.match(secret, /^ocs_[\w-]{43}$/);
  assert.match(made.clientId, /^oc_[\w-]{22}$/);
  assert.ok(secret.startsWith(made.start));
  const { id, clientId, start, createdAt, updatedAt, audience, ...rest } = made;
  assert.deepEqual(rest, {
    tenantId: by.tenantId,
    name: "Orders",
    kind: "confidential",
    redirectUris: [CALLBACK],
    postLogoutRedirectUris: [],
    scopes: ["openid", "profile", "email", "offline_access"],
    tokenClaims: [],
    tokenAlgorithm: "EdDSA",
    firstParty: false,
    createdBy: by.userId,
    revokedAt: null,
    revokedBy: null,
    lastUsedAt: null,
  });
  const read = await by.get(`${PATH}/${id}`);
  assert.deepEqual(read.body, { id, clientId, start, createdAt, updatedAt, audience, ...rest });
  const [row] = await sql<{ hash: string }[]>`
    select encode(secret_hash, 'hex') as hash from oauth_clients where id = ${id}`;
  assert.ok(row && !secret.includes(row.hash));
  assert.ok(!t.logs.join("").includes(secret));
  const open = await makeClient(by, { kind: "PUBLIC" });
  assert.deepEqual([open.kind, open.secret, open.start], ["public", null, null]);
});

Deno.test("redirect URIs are https, loopback http, or for public clients a scheme with a dot", async () => {
  const by = await maker();
  const accepted = [
    "https://app.test",
    "https://app.test/callback?x=1",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:5000/callback",
    "http://[::1]:9/callback",
    "http://localhost:3000/callback",
    "http://localhost:65535/callback",
  ];
  for (const kind of ["confidential", "public"]) {
    await makeClient(by, { kind, redirectUris: accepted, postLogoutRedirectUris: accepted });
  }
  const native = "com.example.app:/callback";
  await makeClient(by, { kind: "public", redirectUris: [native] });
  const refused = [
    "http://app.test/callback",
    "http://127.0.0.1.evil.test/callback",
    "http://localhost.evil.test/",
    "http://127.0.0.1:99999/callback",
    "http://localhost:65536/callback",
    "http://localhost:0/callback",
    "http://127.0.0.1:08/callback",
    "http://127.0.0.1@evil.test/",
    "https://user@app.test/callback",
    "https://user:pass@app.test/callback",
    "https://@app.test/",
    "https://app.test/callback#part",
    "https://app.test/callback#",
    "https://*.app.test/callback",
    "https:\\\\app.test/callback",
    "https:/app.test",
    "https:app.test",
    "https:///callback",
    "HTTPS://app.test/callback",
    " https://app.test/callback",
    "https://app.test/ä",
    "/callback",
    "javascript:alert(1)",
    "data:text/html,x",
    "javascript.x:alert(1)#",
    "myapp:/callback",
    "file:///etc/passwd",
  ];
  for (const uri of refused) {
    for (const kind of ["confidential", "public"]) {
      const answer = await by.post(PATH, given({ kind, redirectUris: [CALLBACK, uri] }));
      assert.equal(await outcome(Promise.resolve(answer)), "400 VALIDATION_ERROR", `${kind} ${uri}`);
      assert.ok(answer.body.errors["redirectUris.1"], JSON.stringify(answer.body));
    }
  }
  const answer = await by.post(PATH, given({ redirectUris: [native] }));
  assert.match(answer.body.errors["redirectUris.0"][0], /expected https/);
  const leaving = await by.post(PATH, given({ postLogoutRedirectUris: ["http://app.test"] }));
  assert.ok(leaving.body.errors["postLogoutRedirectUris.0"]);
  const none = await by.post(PATH, given({ kind: "public", redirectUris: [] }));
  assert.match(none.body.errors.redirectUris[0], /at least one/);
  await makeClient(by, { redirectUris: [] });
});

Deno.test("an audience is never the service's own, nor a client id, nor that of another owner", async () => {
  const by = await maker();
  const { clientId } = await makeClient(by);
  for (
    const audience of ["steward", t.url, clientId, "oc_later", "sa_x", "", "a b", "x".repeat(501), undefined]
  ) {
    const answer = await by.post(PATH, given({ audience }));
    assert.equal(answer.body.code, "VALIDATION_ERROR", audience);
    assert.ok(answer.body.errors.audience, audience);
  }
  const audience = "https://shared.test";
  const first = await makeClient(by, { audience });
  const second = await makeClient(by, { audience, kind: "public" });
  const stranger = await maker();
  const taken = () => outcome(stranger.post(PATH, given({ audience })));
  assert.equal(await taken(), "409 OAUTH_AUDIENCE_CONFLICT");
  for (const other of [`${audience}/`, `${audience}//`]) {
    const same = await outcome(stranger.post(PATH, given({ audience: other })));
    assert.equal(same, "409 OAUTH_AUDIENCE_CONFLICT", "a slash at the end makes no other audience");
  }
  assert.equal(await outcome(systemAdmin.post(PATH, given({ audience }))), "409 OAUTH_AUDIENCE_CONFLICT");
  const own = await makeClient(stranger);
  assert.equal(await outcome(stranger.put(`${PATH}/${own.id}`, { audience })), "409 OAUTH_AUDIENCE_CONFLICT");
  for (const { id } of [first, second]) assert.equal((await by.delete(`${PATH}/${id}`)).status, 204);
  assert.equal(await taken(), "409 OAUTH_AUDIENCE_CONFLICT", "its tokens may still be valid");
  await sql`update oauth_clients set revoked_at = now() - interval '2 days' where audience = ${audience}`;
  assert.equal(await taken(), "201");
});

Deno.test("an audience with a slash at its end is reserved without it, and a client may add or drop it", async () => {
  const [by, stranger] = [await maker(), await maker()];
  const client = await makeClient(by, { audience: "https://slash.test/" });
  assert.equal(client.audience, "https://slash.test/", "tokens have the audience as it was given");
  const taken = () => outcome(stranger.post(PATH, given({ audience: "https://slash.test" })));
  assert.equal(await taken(), "409 OAUTH_AUDIENCE_CONFLICT");
  assert.equal((await by.put(`${PATH}/${client.id}`, { audience: "https://slash.test" })).status, 200);
  await sql`update oauth_audiences set left_at = now() - interval '2 days' where audience = 'https://slash.test'`;
  assert.equal(await taken(), "409 OAUTH_AUDIENCE_CONFLICT", "the client still has it");
});

Deno.test("an audience that a client leaves stays with its owner for a day", async () => {
  const [by, stranger] = [await maker(), await maker()];
  const audience = "https://left.test";
  const client = await makeClient(by, { audience });
  const change = (to: string) => by.put(`${PATH}/${client.id}`, { audience: to });
  assert.equal((await change("https://next.test")).status, 200);
  const taken = () => outcome(stranger.post(PATH, given({ audience })));
  assert.equal(await taken(), "409 OAUTH_AUDIENCE_CONFLICT", "its tokens may still be valid");
  assert.equal((await change(audience)).status, 200);
  assert.equal((await change("https://next.test")).status, 200);
  await sql`update oauth_audiences set left_at = now() - interval '2 days' where audience = ${audience}`;
  assert.equal(await taken(), "201");
  assert.equal(await outcome(change(audience)), "409 OAUTH_AUDIENCE_CONFLICT");
});

Deno.test("of concurrent makers of two tenants, only one gets an audience", async () => {
  const [one, two] = [await maker(), await maker()];
  for (let round = 0; round < 5; round++) {
    const audience = `https://race.test/${round}`;
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => outcome((n % 2 ? one : two).post(PATH, given({ audience })))),
    );
    const made = answers.filter((answer) => answer === "201").length;
    const owners = await sql`select distinct tenant_id from oauth_clients where audience = ${audience}`;
    assert.equal(owners.length, 1, answers.join());
    assert.equal(made, 4, answers.join());
  }
});

Deno.test("a client of the platform needs admin:system in the platform tenant or without a tenant", async () => {
  assert.equal((await makeClient(systemAdmin)).tenantId, null);
  const global = await t.actor({ tenantId: t.platformTenantId, role: "SystemAdmin", global: true });
  assert.equal((await makeClient(global)).tenantId, null);
  const staff = await t.actor({ tenantId: t.platformTenantId, permissions: [MANAGE] });
  assert.equal((await makeClient(staff)).tenantId, t.platformTenantId);
  const lost = await t.actor({ permissions: [MANAGE], global: true });
  assert.equal(await outcome(lost.post(PATH, given())), "403 FORBIDDEN");
});

Deno.test("only a system administrator makes or changes a first-party client", async () => {
  const tenantId = await t.tenant();
  const by = await t.actor({ tenantId, permissions: [MANAGE] });
  assert.equal(await outcome(by.post(PATH, given({ firstParty: true }))), "403 MISSING_PERMISSION");
  const { id } = await makeClient(by);
  const path = `${PATH}/${id}`;
  assert.equal(await outcome(by.put(path, { firstParty: true })), "403 MISSING_PERMISSION");
  const promoted = await systemAdmin.put(path, { firstParty: true });
  assert.deepEqual([promoted.body.firstParty, promoted.body.tenantId], [true, tenantId]);
  const stolen = { redirectUris: ["https://evil.test/"] };
  assert.equal(await outcome(by.put(path, stolen)), "403 MISSING_PERMISSION");
  assert.equal(await outcome(by.put(path, { firstParty: false })), "403 MISSING_PERMISSION");
  assert.equal(await outcome(by.post(`${path}/rotate-secret`)), "403 MISSING_PERMISSION");
  assert.equal((await by.delete(path)).status, 204, "revoking gives nothing to anyone");
});

Deno.test("a change keeps absent members, respects If-Match, and leaves an equal client alone", async () => {
  const by = await maker();
  const { id, audience } = await makeClient(by);
  const path = `${PATH}/${id}`;
  const before = await by.get(path);
  assert.equal(before.headers.get("etag"), '"1"');
  assert.equal(
    await outcome(by.put(path, { name: "x" }, { "if-match": '"7"' })),
    "412 PRECONDITION_FAILED",
  );
  const same = await by.put(path, { name: "Orders", redirectUris: [CALLBACK] });
  assert.equal(same.headers.get("etag"), '"1"');
  const change = { name: "Sales", scopes: ["openid", "orders.read", "openid"], tokenClaims: ["permissions"] };
  const changed = await by.put(path, { ...change, tokenAlgorithm: "rs256" }, { "if-match": '"1"' });
  assert.equal(changed.headers.get("etag"), '"2"');
  const { name, scopes, tokenClaims, tokenAlgorithm, redirectUris } = changed.body;
  assert.deepEqual(
    [name, scopes, tokenClaims, tokenAlgorithm, redirectUris, changed.body.audience],
    ["Sales", ["openid", "orders.read"], ["permissions"], "RS256", [CALLBACK], audience],
  );
  assert.equal(await outcome(by.put(path, { redirectUris: ["http://x.test"] })), "400 VALIDATION_ERROR");
  const { body: log } = await systemAdmin.get(`/api/v1/audit-log?pageSize=100&tenantId=${by.tenantId}`);
  const rows = log.items.filter((row: { targetId: string }) => row.targetId === id);
  assert.deepEqual(rows.map((row: { action: string }) => row.action), [
    "oauthClient.update",
    "oauthClient.create",
  ]);
});

Deno.test("a new secret replaces the old one; a public client has none", async () => {
  const by = await maker();
  const { id, secret, clientId } = await makeClient(by);
  const rotated = await by.post(`${PATH}/${id}/rotate-secret`, undefined, { "if-match": '"1"' });
  assert.equal(rotated.body.clientId, clientId);
  assert.notEqual(rotated.body.secret, secret);
  assert.equal((await by.get(`${PATH}/${id}`)).body.start, rotated.body.secret.slice(0, 10));
  assert.equal(
    await outcome(by.post(`${PATH}/${id}/rotate-secret`, undefined, { "if-match": '"1"' })),
    "412 PRECONDITION_FAILED",
  );
  const { id: open } = await makeClient(by, { kind: "public" });
  assert.equal(await outcome(by.post(`${PATH}/${open}/rotate-secret`)), "409 OAUTH_CLIENT_PUBLIC_CONFLICT");
});

Deno.test("a revoked client stays readable, and can neither be changed nor get a secret", async () => {
  const by = await maker();
  const { id } = await makeClient(by);
  const path = `${PATH}/${id}`;
  assert.equal(await outcome(by.delete(path, { "if-match": '"9"' })), "412 PRECONDITION_FAILED");
  assert.equal((await by.delete(path)).status, 204);
  assert.equal((await by.delete(path)).status, 204);
  assert.equal((await by.get(path)).body.revokedBy, by.userId);
  assert.equal(await outcome(by.put(path, { name: "y" })), "409 OAUTH_CLIENT_REVOKED_CONFLICT");
  assert.equal(await outcome(by.post(`${path}/rotate-secret`)), "409 OAUTH_CLIENT_REVOKED_CONFLICT");
  assert.deepEqual((await by.get(PATH)).body.items, []);
  assert.equal((await by.get(`${PATH}?includeDeleted=true`)).body.items.length, 1);
});

Deno.test("each tenant manages only its own clients; a system administrator manages all", async () => {
  const [by, stranger] = [await maker(), await maker()];
  const { id } = await makeClient(by, { name: "Gámma" });
  await makeClient(by, { name: "alpha" });
  const names = async (query: string) =>
    (await by.get(`${PATH}?${query}`)).body.items.map((item: { name: string }) => item.name);
  assert.deepEqual(await names("sortBy=name"), ["alpha", "Gámma"]);
  assert.deepEqual(await names("search=gamma"), ["Gámma"]);
  const path = `${PATH}/${id}`;
  for (
    const answer of [
      stranger.get(path),
      stranger.put(path, { name: "x" }),
      stranger.post(`${path}/rotate-secret`),
      stranger.delete(path),
    ]
  ) assert.equal(await outcome(answer), "404 OAUTH_CLIENT_NOT_FOUND");
  assert.equal((await systemAdmin.get(path)).status, 200);
});

Deno.test("creating needs the permission and a valid body; programs and Idempotency-Keys are refused", async () => {
  const by = await maker();
  const without = await t.actor({
    permissions: ["manage:service-accounts", "manage:api-keys", "read:users"],
  });
  for (const method of ["GET", "POST"]) {
    assert.equal(await outcome(without.send(method, PATH)), "403 MISSING_PERMISSION");
  }
  const bad: [Record<string, unknown>, string][] = [
    [{ name: " " }, "name"],
    [{ kind: "secret" }, "kind"],
    [{ kind: undefined }, "kind"],
    [{ redirectUris: undefined }, "redirectUris"],
    [{ redirectUris: Array(51).fill(CALLBACK) }, "redirectUris"],
    [{ scopes: ["two words"] }, "scopes"],
    [{ tokenClaims: ["email"] }, "tokenClaims"],
    [{ tokenAlgorithm: "HS256" }, "tokenAlgorithm"],
    [{ tokenAlgorithm: "none" }, "tokenAlgorithm"],
    [{ redirectURIs: [] }, "redirectURIs"],
  ];
  for (const [more, field] of bad) {
    const refused = await by.post(PATH, given(more));
    assert.equal(refused.body.code, "VALIDATION_ERROR", JSON.stringify(more));
    assert.ok(JSON.stringify(refused.body.errors).includes(field), JSON.stringify(refused.body.errors));
  }
  const keyed = await by.post(PATH, given(), { "idempotency-key": "one" });
  assert.match(keyed.body.errors["Idempotency-Key"][0], /a secret/);
  const admin = await t.actor({ permissions: [MANAGE, "manage:api-keys"] });
  const { body: key } = await admin.post("/api/v1/api-keys", { name: "k", permissions: [MANAGE] });
  const asProgram = t.nobody.with({ authorization: `Bearer ${key.key}` });
  assert.equal(await outcome(asProgram.get(PATH)), "403 FORBIDDEN");
});

Deno.test("discovery names the endpoints at both addresses, for pages of every origin, and the keys are there", async () => {
  const origin = { origin: "https://elsewhere.test" };
  for (const name of ["openid-configuration", "oauth-authorization-server"]) {
    const path = `/.well-known/${name}`;
    const { status, body, headers } = await t.nobody.get(path, origin);
    assert.equal(status, 200);
    assert.equal(body.issuer, t.url);
    assert.equal(body.authorization_endpoint, `${t.url}/oauth/authorize`);
    assert.deepEqual(body.code_challenge_methods_supported, ["S256"]);
    assert.deepEqual(body.id_token_signing_alg_values_supported, ["RS256"]);
    assert.equal(headers.get("access-control-allow-origin"), "*");
    const preflight = await fetch(t.url + path, {
      method: "OPTIONS",
      headers: { ...origin, "access-control-request-method": "GET" },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), "*");
    assert.equal(preflight.headers.get("access-control-allow-credentials"), null);
  }
  const { body } = await t.nobody.get("/.well-known/jwks.json", origin);
  const kinds = body.keys.map(({ alg, kty }: { alg: string; kty: string }) => `${alg} ${kty}`);
  assert.deepEqual(kinds, ["EdDSA OKP", "RS256 RSA"]);
  assert.ok(body.keys.every((key: Record<string, string>) => !key.d && !key.p && key.kid));
  const closed = await t.nobody.get("/api/v1/auth/oidc", origin);
  assert.equal(closed.headers.get("access-control-allow-origin"), null);
});

Deno.test("without an RSA key among the configured ones, only the OpenID provider refuses", async () => {
  const plain = await setup({ TOKEN_KEYS: JSON.stringify([await generateTokenKey()]) });
  try {
    const answer = await plain.nobody.get("/.well-known/openid-configuration");
    assert.equal(await outcome(Promise.resolve(answer)), "503 OPENID_KEY_MISSING_UNAVAILABLE");
    assert.equal(
      await outcome(plain.systemAdmin.post(PATH, given())),
      "503 OPENID_KEY_MISSING_UNAVAILABLE",
    );
    assert.equal((await plain.nobody.get("/.well-known/jwks.json")).body.keys.length, 1);
    assert.equal((await plain.systemAdmin.get("/api/v1/auth/me")).status, 200);
  } finally {
    await plain.stop();
  }
});
