import assert from "node:assert/strict";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { type Actor, setup, type TestService } from "../../support/setup.ts";
import { forgetFailures } from "../auth/people.ts";
import { askTokens, makeClient, postForm, problemOf, signedInBrowser, signInToClient } from "./flow.ts";

// Two instances on one database: `here` makes the changes, `there` is notified of them.
const shared = {
  DATABASE_URL: await createTestDatabase(),
  TOKEN_KEYS: JSON.stringify([await generateTokenKey(), await generateTokenKey("RS256")]),
};
const here = await setup(shared);
const there = await setup({ ...shared, PUBLIC_URL: here.url });
Deno.test.afterAll(() => Promise.all([here, there].map((t) => t.stop())).then(() => {}));
const { systemAdmin } = here;
const PATH = "/oauth/introspect";
const INACTIVE = { active: false };

async function account(tenants: string[] | "all", permissions = ["check:access", "read:users"]) {
  const made = await systemAdmin.post("/api/v1/service-accounts", { name: "Backend", permissions, tenants });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body as { id: string; clientId: string; secret: string };
}

const bearer = (secret: string, more = {}) => ({ authorization: `Bearer ${secret}`, ...more });
const basic = (id: string, secret: string, more = {}) => ({
  authorization: `Basic ${btoa(`${id}:${secret}`)}`,
  ...more,
});

/** What is answered about a token; the request must be accepted. */
async function about(token: string, headers: Record<string, string>, t: TestService = here) {
  const { status, body, headers: answered } = await postForm(t, PATH, { token }, headers);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(answered.get("cache-control"), "no-store");
  return body;
}

const all = await account("all");
const asking = bearer(all.secret);
const tokenOf = (actor: Actor) => actor.token ?? "";

Deno.test("a service account learns what an access token allows now", async () => {
  const user = await here.signedIn(await here.actor({ permissions: ["read:users", "read:files"] }));
  const { iat, exp, sid, ...rest } = await about(tokenOf(user), asking);
  assert.deepEqual(rest, {
    active: true,
    token_type: "Bearer",
    sub: user.userId,
    tenant_id: user.tenantId,
    ver: 1,
    permissions: ["read:files", "read:users"],
    iss: here.url,
    aud: "steward",
  });
  assert.equal(exp - iat, 900);
  assert.match(sid, /^[0-9a-f-]{36}$/);
  assert.deepEqual(await about(tokenOf(user), basic(all.clientId, all.secret)), { iat, exp, sid, ...rest });
  const byForm = {
    client_id: all.clientId,
    client_secret: all.secret,
    token: tokenOf(user),
    token_type_hint: "x",
  };
  assert.deepEqual((await postForm(here, PATH, byForm)).body, { iat, exp, sid, ...rest });
  const exchanged = await askTokens(here, all, { grant_type: "client_credentials" });
  assert.deepEqual(await about(tokenOf(user), bearer(exchanged.body.access_token)), {
    iat,
    exp,
    sid,
    ...rest,
  });
});

Deno.test("a lost role, an ended session and a deactivated user or tenant are seen at once, and elsewhere within a second", async () => {
  const admin = await here.actor({ permissions: ["update:users"] });
  const tenantId = admin.tenantId ?? "";
  const changes: [string, (user: Actor) => Promise<{ status: number }>][] = [
    ["role", ({ userId }) => admin.put(`/api/v1/users/${userId}/roles`, { roleIds: [] })],
    ["session", (user) => user.post("/auth/logout")],
    ["user", ({ userId }) => systemAdmin.put(`/api/v1/admin/users/${userId}`, { isActive: false })],
    ["tenant", () => systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive: false })],
  ];
  for (const [name, change] of changes) {
    const user = await here.actor({ tenantId, permissions: ["read:users"] });
    for (const t of [here, there]) assert.equal((await about(tokenOf(user), asking, t)).active, true, name);
    const { status } = await change(user);
    assert.ok(status < 300, `${name}: ${status}`);
    const since = performance.now();
    assert.deepEqual(await about(tokenOf(user), asking), INACTIVE, name);
    while ((await about(tokenOf(user), asking, there)).active) {
      assert.ok(performance.now() - since < 1_000, `${name}: the other instance knows it within a second`);
    }
  }
});

Deno.test("a service account learns only of its tenants, and with X-Tenant-ID of that one", async () => {
  const [first, second, third] = await Promise.all(
    [1, 2, 3].map(() => here.actor({ permissions: ["read:users"] })),
  );
  assert.ok(first && second && third);
  const users = [first, second, third, systemAdmin];
  const found = async (headers: Record<string, string>) =>
    await Promise.all(users.map(async (user) => (await about(tokenOf(user), headers)).active));
  const both = await account([first.tenantId ?? "", second.tenantId ?? ""]);
  assert.deepEqual(await found(asking), [true, true, true, false]);
  assert.deepEqual(await found(bearer(both.secret)), [true, true, false, false]);
  const one = { "x-tenant-id": second.tenantId ?? "" };
  assert.deepEqual(await found(bearer(both.secret, one)), [false, true, false, false]);
  assert.deepEqual(await found(basic(both.clientId, both.secret, one)), [false, true, false, false]);
  const foreign = { "x-tenant-id": third.tenantId ?? "" };
  for (const headers of [bearer(both.secret, foreign), basic(both.clientId, both.secret, foreign)]) {
    const answer = await postForm(here, PATH, { token: tokenOf(third) }, headers);
    assert.equal(problemOf(answer), "403 invalid_request");
  }
});

Deno.test("a token without a tenant is looked at in the tenant that the asker names", async () => {
  const user = await here.actor({ permissions: ["read:users"], global: true });
  assert.deepEqual(await about(tokenOf(user), asking), INACTIVE);
  const named = await about(tokenOf(user), bearer(all.secret, { "x-tenant-id": user.tenantId ?? "" }));
  assert.deepEqual([named.tenant_id, named.permissions], [user.tenantId, ["read:users"]]);
  assert.deepEqual(
    await about(tokenOf(user), bearer(all.secret, { "x-tenant-id": await here.tenant() })),
    INACTIVE,
    "the user has no link there",
  );
});

Deno.test("keys and service accounts are answered about like tokens", async () => {
  const owner = await here.actor({ permissions: ["manage:api-keys", "read:users", "read:roles"] });
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const { body: key } = await owner.post("/api/v1/api-keys", {
    name: "k",
    permissions: ["read:users"],
    expiresAt,
  });
  assert.deepEqual(await about(key.key ?? key.secret, asking), {
    active: true,
    token_type: "Bearer",
    sub: owner.userId,
    client_id: key.id,
    tenant_id: owner.tenantId,
    ver: 1,
    permissions: ["read:users"],
    iss: here.url,
    aud: "steward",
    exp: Math.floor(new Date(expiresAt).getTime() / 1000),
  });
  assert.equal((await owner.delete(`/api/v1/api-keys/${key.id}`)).status, 204);
  assert.deepEqual(await about(key.key ?? key.secret, asking), INACTIVE);

  const tenantId = owner.tenantId ?? "";
  const other = await account([tenantId]);
  const active = { active: true, token_type: "Bearer", sub: other.id, client_id: other.clientId, ver: 1 };
  const rest = { permissions: ["check:access", "read:users"], iss: here.url, aud: "steward" };
  assert.deepEqual(await about(other.secret, asking), { ...active, ...rest });
  const inTenant = await about(other.secret, bearer(all.secret, { "x-tenant-id": tenantId }));
  assert.deepEqual(inTenant, { ...active, ...rest, tenant_id: tenantId });
  const elsewhere = await account([await here.tenant()]);
  assert.deepEqual(await about(other.secret, bearer(elsewhere.secret)), INACTIVE);
  const { body } = await askTokens(here, other, { grant_type: "client_credentials" });
  const { exp, iat, ...exchanged } = await about(body.access_token, asking);
  assert.deepEqual([exchanged, exp - iat], [{ ...active, ...rest }, 900]);
  assert.equal((await systemAdmin.delete(`/api/v1/service-accounts/${other.id}`)).status, 204);
  for (const token of [other.secret, body.access_token]) {
    assert.deepEqual(await about(token, asking), INACTIVE);
  }
});

Deno.test("the version of a key is that of the access check, also after a change of its user's role", async () => {
  const permissions = ["manage:api-keys", "read:users", "read:roles", "update:roles"];
  const owner = await here.actor({ permissions });
  const made = await owner.post("/api/v1/api-keys", { name: "k", permissions: ["read:users"] });
  const { body: { items: [role] } } = await owner.get(`/api/v1/roles/with-permissions?ids=${owner.roleId}`);
  const dropped = role.permissions.find(({ code }: { code: string }) => code === "read:roles");
  const lost = await owner.delete(`/api/v1/roles/${owner.roleId}/permissions/${dropped.id}`);
  assert.ok(lost.status < 300, JSON.stringify(lost.body));
  const check = { userId: owner.userId, tenantId: owner.tenantId, permission: "read:users" };
  const { body } = await here.nobody.with(asking).post("/api/v1/access/check", { checks: [check] });
  assert.deepEqual([(await about(made.body.key, asking)).ver, body.results[0].version], [2, 2]);
});

Deno.test("a client learns of tokens for its audience only, a service account also of clients' tokens in its tenants", async () => {
  const client = await makeClient(systemAdmin);
  const other = await makeClient(systemAdmin);
  const { browser, who } = await signedInBrowser(here);
  const { access_token: token } = await signInToClient(here, browser, client);
  const byClient = basic(client.clientId, client.secret ?? "");
  const found = await about(token, byClient);
  assert.equal(found.active, true, JSON.stringify(found));
  assert.deepEqual([found.sub, found.client_id, found.aud, found.scope], [
    who.id,
    client.clientId,
    client.audience,
    "openid profile email",
  ]);
  assert.ok(Array.isArray(found.permissions) && found.ver >= 1 && found.sid && found.exp && found.tenant_id);
  assert.deepEqual(await about(token, basic(other.clientId, other.secret ?? "")), INACTIVE);
  assert.deepEqual(await about(token, asking), found);
  const user = await here.actor();
  assert.deepEqual(await about(tokenOf(user), byClient), INACTIVE, "a token for Steward's own API");
  assert.deepEqual(await about(all.secret, byClient), INACTIVE);
  await systemAdmin.put(`/api/v1/oauth-clients/${client.id}`, { audience: `${client.audience}/next` });
  assert.equal((await about(token, asking)).aud, client.audience, "the token keeps its audience");
  await systemAdmin.put(`/api/v1/oauth-clients/${client.id}`, { audience: client.audience });
  const own = await askTokens(here, client, { grant_type: "client_credentials" });
  const program = await about(own.body.access_token, byClient);
  assert.deepEqual([program.sub, program.permissions, program.ver], [client.clientId, [], undefined]);
  assert.deepEqual(await about(own.body.access_token, asking), INACTIVE, "it belongs to no tenant");
  await postForm(here, "/oauth/revoke", { token }, byClient);
  assert.deepEqual(await about(token, byClient), INACTIVE);
  const open = await makeClient(systemAdmin, { kind: "public" });
  const answer = await postForm(here, PATH, { token, client_id: open.clientId });
  assert.equal(problemOf(answer), "400 unauthorized_client");
});

Deno.test("malformed, forged and expired tokens are not active", async () => {
  const user = await here.actor({ permissions: ["read:users"] });
  const [head, body, signature] = tokenOf(user).split(".");
  const none = `${btoa('{"alg":"none"}').replaceAll("=", "")}.${body}.`;
  const odd = [
    "x",
    "sk_",
    `sk_${"x".repeat(43)}`,
    `${head}.${body}.AAAA`,
    `${head}.e30.${signature}`,
    none,
    "a.b.c.d",
    "é",
  ];
  for (const token of odd) assert.deepEqual(await about(token, asking), INACTIVE, token);
  const { exp } = await about(tokenOf(user), asking);
  const { platform } = here.steward;
  const { clock } = platform;
  const restore = here.replace(() => clock, { now: () => new Date((exp + 1) * 1000) });
  try {
    assert.deepEqual(await about(tokenOf(user), asking), INACTIVE, "expired");
  } finally {
    restore();
  }
});

Deno.test("who may not ask gets an error of OAuth", async () => {
  const user = await here.actor({ permissions: ["check:access", "manage:api-keys"] });
  const { body: key } = await user.post("/api/v1/api-keys", { name: "k", permissions: ["check:access"] });
  const without = await account("all", ["read:users"]);
  const token = tokenOf(user);
  const cases: [Record<string, string>, Record<string, string>, string][] = [
    [{ token }, {}, "401 invalid_client"],
    [{ token }, basic(all.clientId, "wrong"), "401 invalid_client"],
    [{ token }, basic("sa_unknown", all.secret), "401 invalid_client"],
    [{ token }, bearer(`sk_${"x".repeat(43)}`), "401 invalid_token"],
    [{ token }, bearer(tokenOf(user)), "401 invalid_token"],
    [{ token }, bearer(key.key ?? key.secret), "401 invalid_token"],
    [{ token }, bearer(without.secret), "403 insufficient_scope"],
    [{ token }, basic(without.clientId, without.secret), "403 insufficient_scope"],
    [{}, asking, "400 invalid_request"],
    [{ token: "" }, asking, "400 invalid_request"],
  ];
  for (const [fields, headers, expected] of cases) {
    const answer = await postForm(here, PATH, fields, headers);
    assert.equal(problemOf(answer), expected, JSON.stringify([fields, headers]));
    if (answer.status === 401) assert.ok(answer.headers.get("www-authenticate"));
    assert.equal(answer.headers.get("cache-control"), "no-store");
  }
  const twice = new URLSearchParams([["token", token], ["token", "other"]]);
  assert.equal(problemOf(await postForm(here, PATH, twice, asking)), "400 invalid_request");
  const json = await here.nobody.post(PATH, { token }, asking);
  assert.deepEqual([json.status, json.body.error], [415, "invalid_request"]);
  const revoked = await account("all");
  assert.equal((await systemAdmin.delete(`/api/v1/service-accounts/${revoked.id}`)).status, 204);
  assert.equal(problemOf(await postForm(here, PATH, { token }, bearer(revoked.secret))), "401 invalid_token");
  await forgetFailures(here);
});
