import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { CALLBACK } from "./flow.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const { systemAdmin } = t;
const PATH = "/api/v1/oauth-clients";
const MANAGE = "manage:oauth-clients";
const TAKEN = "409 OAUTH_AUDIENCE_CONFLICT";
const MISSING = "403 MISSING_PERMISSION";

const maker = () => t.actor({ permissions: [MANAGE] });
const newAudience = () => `https://orders.test/${crypto.randomUUID()}`;
const create = (by: Pick<Actor, "post">, more: Record<string, unknown> = {}) => {
  const given = { name: "Orders", kind: "confidential", redirectUris: [CALLBACK], audience: newAudience() };
  return by.post(PATH, { ...given, ...more });
};
const made = (by: Actor, more = {}) => accepted(create(by, more), 201);
/** The members that a request names wrongly. */
const wrongMembers = async (answer: ReturnType<typeof create>) =>
  Object.keys((await answer).body.errors ?? {});

Deno.test("a client of a tenant has defaults, shows its secret once, and is stored without it", async () => {
  const by = await maker();
  const { secret, ...client } = await made(by);
  assert.match(secret, /^ocs_[\w-]{43}$/);
  assert.match(client.clientId, /^oc_[\w-]{22}$/);
  assert.ok(secret.startsWith(client.start));
  assert.deepEqual(await accepted(by.get(`${PATH}/${client.id}`)), client);
  const { id, scopes, tokenClaims, tokenAlgorithm, postLogoutRedirectUris } = client;
  assert.deepEqual(scopes, ["openid", "profile", "email", "offline_access"]);
  assert.deepEqual([tokenClaims, tokenAlgorithm, postLogoutRedirectUris], [[], "EdDSA", []]);
  const [row] = await sql`select encode(secret_hash, 'hex') as hash from oauth_clients where id = ${id}`;
  assert.ok(row && !secret.includes(row.hash));
  assert.ok(!t.logs.join("").includes(secret));
  const open = await made(by, { kind: "PUBLIC" });
  assert.deepEqual([open.kind, open.secret, open.start], ["public", null, null]);
});

Deno.test("redirect URIs are https, loopback http, or for public clients a scheme with a dot", async () => {
  const by = await maker();
  const hosts = ["127.0.0.1", "127.0.0.1:5000", "[::1]:9", "localhost:3000", "localhost:65535"];
  const good = [
    "https://app.test",
    "https://app.test/callback?x=1",
    ...hosts.map((host) => `http://${host}/cb`),
  ];
  const native = "com.example.app:/callback";
  const wrong = [
    ...["http://app.test/callback", "http://127.0.0.1.evil.test/callback", "https://user@app.test/callback"],
    ...["127.0.0.1:99999", "localhost:0", "127.0.0.1:08"].map((host) => `http://${host}/callback`),
    ...["https://app.test/callback#part", "https://*.app.test/callback", "HTTPS://app.test/callback"],
    ...[" https://app.test/callback", "https://app.test/ä", "https://x;sandbox/", "/callback"],
    ...["javascript:alert(1)", "javascript.x:alert(1)#", "myapp:/callback"],
  ];
  for (const kind of ["confidential", "public"]) {
    await made(by, { kind, redirectUris: good, postLogoutRedirectUris: good });
    const redirectUris = [CALLBACK, ...wrong];
    const expected = wrong.map((_, index) => `redirectUris.${index + 1}`);
    assert.deepEqual(await wrongMembers(create(by, { kind, redirectUris })), expected);
  }
  await made(by, { kind: "public", redirectUris: [native] });
  const answer = await create(by, { redirectUris: [native] });
  assert.match(answer.body.errors["redirectUris.0"][0], /expected https/);
  const leaving = create(by, { postLogoutRedirectUris: ["http://app.test"] });
  assert.deepEqual(await wrongMembers(leaving), ["postLogoutRedirectUris.0"]);
  const none = await create(by, { kind: "public", redirectUris: [] });
  assert.match(none.body.errors.redirectUris[0], /at least one/);
  await made(by, { redirectUris: [] });
});

Deno.test("an audience is never the service's own, nor a client id, nor that of another owner", async () => {
  const [by, stranger] = [await maker(), await maker()];
  const { clientId } = await made(by);
  const restore = t.replace(({ config }) => config, { TOKEN_AUDIENCE: "https://own.test/api/" });
  try {
    const own = [t.url, `${t.url}/`, "https://own.test/api", "https://own.test/api/"];
    for (const audience of [...own, clientId, "oc_later", "sa_x", "a b"]) {
      assert.deepEqual(await wrongMembers(create(by, { audience })), ["audience"], audience);
    }
  } finally {
    restore();
  }
  const audience = newAudience();
  const clients = [await made(by, { audience }), await made(by, { audience, kind: "public" })];
  const others = [audience, `${audience}/`, `${audience}//`].map((audience) =>
    create(stranger, { audience })
  );
  await refused(TAKEN, ...others, create(systemAdmin, { audience }));
  await refused(TAKEN, stranger.put(`${PATH}/${(await made(stranger)).id}`, { audience }));
  const racing = newAudience();
  const answers = await Promise.all(
    [by, stranger, by, stranger].map((maker) => outcome(create(maker, { audience: racing }))),
  );
  assert.deepEqual(answers.sort(), ["201", "201", TAKEN, TAKEN], "at once, too");
  for (const { id } of clients) await accepted(by.delete(`${PATH}/${id}`), 204);
  await refused(TAKEN, create(stranger, { audience })); // its tokens may still be valid
  await sql`update oauth_clients set revoked_at = now() - interval '2 days' where audience = ${audience}`;
  await made(stranger, { audience });
});

Deno.test("an audience that a client leaves stays with its owner for a day; a slash at its end makes no other", async () => {
  const [by, stranger] = [await maker(), await maker()];
  const [audience, next] = [newAudience(), newAudience()];
  const slashed = `${audience}/`;
  const client = await made(by, { audience: slashed });
  assert.equal(client.audience, slashed, "tokens have the audience as it was given");
  const change = (to: string) => by.put(`${PATH}/${client.id}`, { audience: to });
  const take = () => create(stranger, { audience });
  const age = () =>
    sql`update oauth_audiences set left_at = now() - interval '2 days' where audience = ${audience}`;
  await refused(TAKEN, take());
  await accepted(change(audience));
  await age();
  await refused(TAKEN, take()); // the client still has it
  for (const to of [next, audience, next]) await accepted(change(to));
  await refused(TAKEN, take()); // its tokens may still be valid
  await age();
  await accepted(take(), 201);
  await refused(TAKEN, change(audience));
});

Deno.test("a client of the platform needs admin:system in the platform tenant or without a tenant", async () => {
  const { platformTenantId: tenantId } = t;
  const global = await t.actor({ tenantId, role: "SystemAdmin", global: true });
  for (const by of [systemAdmin, global]) assert.equal((await made(by)).tenantId, null);
  assert.equal((await made(await t.actor({ tenantId, permissions: [MANAGE] }))).tenantId, tenantId);
  await refused("403 FORBIDDEN", create(await t.actor({ permissions: [MANAGE], global: true })));
});

Deno.test("only a system administrator makes or changes a first-party client", async () => {
  const by = await maker();
  await refused(MISSING, create(by, { firstParty: true }));
  const path = `${PATH}/${(await made(by)).id}`;
  await refused(MISSING, by.put(path, { firstParty: true }));
  const promoted = await accepted(systemAdmin.put(path, { firstParty: true }));
  assert.deepEqual([promoted.firstParty, promoted.tenantId], [true, by.tenantId]);
  const changes = [{ redirectUris: ["https://evil.test/"] }, { firstParty: false }];
  await refused(MISSING, ...changes.map((change) => by.put(path, change)), by.post(`${path}/rotate-secret`));
  await accepted(by.delete(path), 204); // revoking gives nothing to anyone
});

Deno.test("a change keeps the kind, counts a repeated scope once, and checks the redirect URIs", async () => {
  const by = await maker();
  const path = `${PATH}/${(await made(by)).id}`;
  const given = { scopes: ["openid", "orders.read", "openid"], tokenAlgorithm: "rs256" };
  has((await by.put(path, given)).body, { scopes: ["openid", "orders.read"], tokenAlgorithm: "RS256" });
  assert.deepEqual(await wrongMembers(by.put(path, { redirectUris: ["http://x.test"] })), ["redirectUris.0"]);
  const { body } = await by.put(path, { kind: "public", name: "Renamed" });
  assert.match(body.errors.kind[0], /^expected confidential/);
});

Deno.test("a revoked client stays readable, and can neither be changed nor get a secret, which no public client has", async () => {
  const by = await maker();
  const path = `${PATH}/${(await made(by)).id}`;
  const open = await made(by, { kind: "public" });
  await refused("409 OAUTH_CLIENT_PUBLIC_CONFLICT", by.post(`${PATH}/${open.id}/rotate-secret`));
  await accepted(by.delete(`${PATH}/${open.id}`));
  for (let n = 0; n < 2; n++) await accepted(by.delete(path), 204);
  assert.equal((await accepted(by.get(path))).revokedBy, by.userId);
  await refused(
    "409 OAUTH_CLIENT_REVOKED_CONFLICT",
    by.put(path, { name: "y" }),
    by.post(`${path}/rotate-secret`),
  );
  assert.deepEqual((await accepted(by.get(PATH))).items, []);
  assert.equal((await accepted(by.get(`${PATH}?includeDeleted=true`))).items.length, 2);
});

Deno.test("discovery names the endpoints at both addresses, for pages of every origin, and the keys are there", async () => {
  const origin = { origin: "https://elsewhere.test" };
  const allowed = ({ headers }: { headers: Headers }, name = "origin") =>
    headers.get(`access-control-allow-${name}`);
  for (const name of ["openid-configuration", "oauth-authorization-server"]) {
    const path = `/.well-known/${name}`;
    const answer = await t.nobody.get(path, origin);
    const body = await accepted(answer);
    has(body, {
      issuer: t.url,
      authorization_endpoint: `${t.url}/oauth/authorize`,
      code_challenge_methods_supported: ["S256"],
      id_token_signing_alg_values_supported: ["RS256"],
      introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "Bearer"],
    });
    assert.ok(body.claims_supported.includes("email_verified"));
    const asked = { ...origin, "access-control-request-method": "GET" };
    const preflight = await t.nobody.send("OPTIONS", path, undefined, asked);
    assert.deepEqual([allowed(answer), allowed(preflight)], ["*", "*"]);
    assert.deepEqual([preflight.status, allowed(preflight, "credentials")], [204, null]);
  }
  const { keys } = await accepted(t.nobody.get("/.well-known/jwks.json", origin));
  assert.deepEqual(pluck(keys, "alg", "kty"), [["EdDSA", "OKP"], ["RS256", "RSA"]]);
  assert.ok(keys.every((key: Record<string, string>) => !key.d && !key.p && key.kid));
  assert.equal(allowed(await t.nobody.get("/api/v1/auth/oidc", origin)), null);
});
