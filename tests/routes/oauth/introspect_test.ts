import assert from "node:assert/strict";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { until } from "../../support/until.ts";
import { makeAccount } from "../auth/service_accounts.ts";
import { askTokens, makeClient, postForm, signedInBrowser, signInToClient } from "./flow.ts";

const { here, there } = await setupTwoInstances();
const { systemAdmin } = here;
const PATH = "/oauth/introspect";
const INACTIVE = { active: false };
const CHECK = ["check:access", "read:users"];

type Headers = Record<string, string>;
const account = (tenants: unknown, permissions = CHECK) => makeAccount(systemAdmin, { permissions, tenants });
const bearer = (secret: string, more = {}): Headers => ({ authorization: `Bearer ${secret}`, ...more });
const basic = (id: string, secret: string | null, more = {}): Headers => ({
  authorization: `Basic ${btoa(`${id}:${secret}`)}`,
  ...more,
});
const inTenant = (id: string | null) => ({ "x-tenant-id": id ?? "" });
const tokenOf = ({ token }: Actor) => token ?? "";
const machineToken = async (by: { clientId: string; secret: string | null }): Promise<string> =>
  (await accepted(askTokens(here, by, { grant_type: "client_credentials" }))).access_token;

/** What is answered about a token; the request must be accepted. */
async function about(token: string, headers: Headers, t: TestService = here) {
  const answer = await postForm(t, PATH, { token }, headers);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  return await accepted(answer, 200);
}

const all = await account("all");
const asking = bearer(all.secret);
const ofService = { active: true, token_type: "Bearer", iss: here.url, aud: "steward", ver: 1 };

Deno.test("a service account learns what an access token allows now", async () => {
  const user = await here.signedIn(await here.actor({ permissions: ["read:users", "read:files"] }));
  const token = tokenOf(user);
  const found = await about(token, asking);
  const { iat, exp, sid, ...rest } = found;
  const { userId: sub, tenantId: tenant_id } = user;
  assert.deepEqual(rest, { ...ofService, sub, tenant_id, permissions: ["read:files", "read:users"] });
  assert.equal(exp - iat, 900);
  assert.match(sid, /^[0-9a-f-]{36}$/);
  const { clientId, secret } = all;
  for (const headers of [basic(clientId, secret), bearer(await machineToken(all))]) {
    assert.deepEqual(await about(token, headers), found);
  }
  const form = { client_id: clientId, client_secret: secret, token, token_type_hint: "x" };
  assert.deepEqual(await accepted(postForm(here, PATH, form)), found);
});

Deno.test("a lost role, an ended session and a deactivated tenant are seen at once, on every instance", async () => {
  const admin = await here.actor({ permissions: ["update:users"] });
  const tenantId = admin.tenantId ?? "";
  const changes: Record<string, (user: Actor) => Promise<HttpAnswer>> = {
    role: ({ userId }) => admin.put(`/api/v1/users/${userId}/roles`, { roleIds: [] }),
    session: (user) => user.post("/auth/logout"),
    tenant: () => systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive: false }),
  };
  for (const [name, change] of Object.entries(changes)) {
    const user = await here.actor({ tenantId, permissions: ["read:users"] });
    const isActive = async (t: TestService) => (await about(tokenOf(user), asking, t)).active;
    assert.deepEqual([await isActive(here), await isActive(there)], [true, true], name);
    await accepted(change(user));
    assert.deepEqual(await about(tokenOf(user), asking), INACTIVE, name);
    await until(async () => !await isActive(there), Boolean, {
      what: `the end on the other instance (${name})`,
    });
  }
});

Deno.test("a service account learns only of its tenants, and with X-Tenant-ID of that one, also of a token without a tenant", async () => {
  const newUser = () => here.actor({ permissions: ["read:users"] });
  const [first, second, third] = [await newUser(), await newUser(), await newUser()];
  const found = (headers: Headers) =>
    Promise.all(
      [first, second, third, systemAdmin].map(async (user) => (await about(tokenOf(user), headers)).active),
    );
  const both = await account([first.tenantId, second.tenantId]);
  assert.deepEqual(await found(asking), [true, true, true, false]);
  assert.deepEqual(await found(bearer(both.secret)), [true, true, false, false]);
  for (const asker of [bearer(both.secret), basic(both.clientId, both.secret)]) {
    assert.deepEqual(await found({ ...asker, ...inTenant(second.tenantId) }), [false, true, false, false]);
    const foreign = { ...asker, ...inTenant(third.tenantId) };
    await refused("403 invalid_request", postForm(here, PATH, { token: tokenOf(third) }, foreign));
  }
  const global = tokenOf(
    await here.actor({ permissions: ["read:users"], global: true, tenantId: third.tenantId! }),
  );
  const inside = (tenantId: string | null) => about(global, bearer(all.secret, inTenant(tenantId)));
  assert.deepEqual(await about(global, asking), INACTIVE);
  const { tenant_id, permissions } = await inside(third.tenantId);
  assert.deepEqual([tenant_id, permissions], [third.tenantId, ["read:users"]]);
  assert.deepEqual(await inside(first.tenantId), INACTIVE, "the user has no link there");
});

Deno.test("keys and service accounts are answered about like tokens", async () => {
  const permissions = ["manage:api-keys", "read:users"];
  const owner = await here.actor({ permissions });
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const given = { name: "k", permissions: ["read:users"], expiresAt };
  const { key, id } = await accepted(owner.post("/api/v1/api-keys", given), 201);
  const { userId: sub, tenantId: tenant_id } = owner;
  const exp = Math.floor(Date.parse(expiresAt) / 1000);
  const expected = { ...ofService, sub, client_id: id, tenant_id, permissions: ["read:users"], exp };
  assert.deepEqual(await about(key, asking), expected);
  // the version of a key is that of the access check, also after a change of its user's role
  const admin = await here.actor({ tenantId: tenant_id ?? "", role: "Admin" });
  const [role] = await here.steward.platform.sql`select id from permissions where code = 'read:roles'`;
  await accepted(admin.post(`/api/v1/roles/${owner.roleId}/permissions/${role?.id}`));
  const check = { checks: [{ userId: sub, tenantId: tenant_id, permission: "read:users" }] };
  const { results } = await accepted(here.nobody.with(asking).post("/api/v1/access/check", check));
  assert.deepEqual([(await about(key, asking)).ver, results[0].version], [2, 2]);
  await accepted((await here.signedIn(owner)).delete(`/api/v1/api-keys/${id}`), 204);
  assert.deepEqual(await about(key, asking), INACTIVE);

  const other = await account([tenant_id]);
  const ofOther = { ...ofService, sub: other.id, client_id: other.clientId, permissions: CHECK };
  assert.deepEqual(await about(other.secret, asking), ofOther);
  const inside = await about(other.secret, bearer(all.secret, inTenant(tenant_id)));
  assert.deepEqual(inside, { ...ofOther, tenant_id });
  const elsewhere = await account([await here.tenant()]);
  assert.deepEqual(await about(other.secret, bearer(elsewhere.secret)), INACTIVE);
  const token = await machineToken(other);
  const { exp: ends, iat, ...exchanged } = await about(token, asking);
  assert.deepEqual([exchanged, ends - iat], [ofOther, 900]);
  await accepted(systemAdmin.delete(`/api/v1/service-accounts/${other.id}`), 204);
  for (const each of [other.secret, token]) assert.deepEqual(await about(each, asking), INACTIVE);
});

Deno.test("a client learns of tokens for its audience only, a service account also of clients' tokens in its tenants", async () => {
  const [client, other] = [await makeClient(systemAdmin), await makeClient(systemAdmin)];
  const { clientId, audience } = client;
  const { browser, who } = await signedInBrowser(here);
  const { access_token: token } = await signInToClient(here, browser, client);
  const byClient = basic(clientId, client.secret);
  const found = await about(token, byClient);
  const { active, sub, client_id, aud, scope, permissions, ver, sid, exp, tenant_id } = found;
  assert.deepEqual([active, sub, client_id, aud], [true, who.id, clientId, audience]);
  assert.equal(scope, "openid profile email");
  assert.ok(Array.isArray(permissions) && ver >= 1 && sid && exp && tenant_id);
  assert.deepEqual(await about(token, basic(other.clientId, other.secret)), INACTIVE);
  assert.deepEqual(await about(token, asking), found);
  for (const own of [tokenOf(await here.actor()), all.secret]) { // for Steward's own API
    assert.deepEqual(await about(own, byClient), INACTIVE);
  }
  const change = (audience: string) =>
    accepted(systemAdmin.put(`/api/v1/oauth-clients/${client.id}`, { audience }));
  await change(`${audience}/next`);
  assert.equal((await about(token, asking)).aud, audience, "the token keeps its audience");
  await change(audience);
  const own = await machineToken(client);
  const program = await about(own, byClient);
  assert.deepEqual([program.sub, program.permissions, program.ver], [clientId, [], undefined]);
  assert.deepEqual(await about(own, asking), INACTIVE, "it belongs to no tenant");
  await accepted(postForm(here, "/oauth/revoke", { token }, byClient));
  assert.deepEqual(await about(token, byClient), INACTIVE);
  const open = await makeClient(systemAdmin, { kind: "public" });
  await refused("400 unauthorized_client", postForm(here, PATH, { token, client_id: open.clientId }));
});

Deno.test("malformed, forged and expired tokens are not active", async () => {
  const token = tokenOf(await here.actor({ permissions: ["read:users"] }));
  const odd = [`sk_${"x".repeat(43)}`, token.replace(/[^.]*$/, "AAAA"), "é"];
  for (const each of odd) assert.deepEqual(await about(each, asking), INACTIVE, each);
  const { exp } = await about(token, asking);
  using _ = here.replace(({ clock }) => clock, { now: () => new Date((exp + 1) * 1000) });
  assert.deepEqual(await about(token, asking), INACTIVE, "expired");
});

Deno.test("who may not ask gets an error of OAuth", async () => {
  const user = await here.actor({ permissions: ["check:access", "manage:api-keys"] });
  const { key } = await accepted(user.post("/api/v1/api-keys", { name: "k", permissions: ["check:access"] }));
  const [without, revoked] = [await account("all", ["read:users"]), await account("all")];
  await accepted(systemAdmin.delete(`/api/v1/service-accounts/${revoked.id}`), 204);
  const token = tokenOf(user);
  const callers: [expected: string, headers: Headers[]][] = [
    ["401 invalid_client", [{}, basic(all.clientId, "wrong"), basic("sa_unknown", all.secret)]],
    ["401 invalid_token", [`sk_${"x".repeat(43)}`, token, key, revoked.secret].map((each) => bearer(each))],
    ["403 insufficient_scope", [bearer(without.secret), basic(without.clientId, without.secret)]],
  ];
  for (const [expected, all] of callers) {
    for (const headers of all) {
      const answer = await postForm(here, PATH, { token }, headers);
      assert.equal(await outcome(answer), expected, JSON.stringify(headers));
      if (answer.status === 401) assert.ok(answer.headers.has("www-authenticate"));
      assert.equal(answer.headers.get("cache-control"), "no-store");
    }
  }
  const twice = new URLSearchParams([["token", token], ["token", "other"]]);
  const wrong: (Record<string, string> | URLSearchParams)[] = [{}, { token: "" }, twice];
  await refused("400 invalid_request", ...wrong.map((form) => postForm(here, PATH, form, asking)));
});
