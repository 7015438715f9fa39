import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { inTenant, makeAccount, MANAGE, outcome, PATH, setupTwo } from "./service_accounts.ts";

const { here, there, program, usersOf, maker, stop } = await setupTwo();
Deno.test.afterAll(stop);
const { systemAdmin, platformTenantId } = here;

Deno.test("PUT is effective at once on all instances, keeps omitted members, and honours If-Match", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by, { permissions: ["read:users", "read:roles"] });
  const rolesOf = (at: typeof here) =>
    outcome(program(secret, at).get("/api/v1/roles", inTenant(by.tenantId)));
  assert.deepEqual([await rolesOf(here), await rolesOf(there)], ["200", "200"]);
  const path = `${PATH}/${id}`;
  const { headers } = await by.get(path);
  const changed = await by.put(path, { permissions: ["read:users"] }, {
    "if-match": headers.get("etag") ?? "",
  });
  assert.deepEqual([changed.status, changed.body.name, changed.body.permissions], [200, "Sync", [
    "read:users",
  ]]);
  assert.deepEqual([await rolesOf(here), await rolesOf(there)], [
    "403 MISSING_PERMISSION",
    "403 MISSING_PERMISSION",
  ]);
  const stale = by.put(path, { name: "y" }, { "if-match": headers.get("etag") ?? "" });
  assert.equal(await outcome(stale), "412 PRECONDITION_FAILED");
  const same = await by.put(path, { permissions: ["read:users", "read:users"], tenants: [by.tenantId] });
  assert.equal(same.headers.get("etag"), changed.headers.get("etag"), "nothing changed");
  assert.equal(await outcome(by.put(path, { tenants: "all" })), "403 CROSS_TENANT_FORBIDDEN");
  const blocked = by.put(path, { permissions: ["read:users", "delete:users"] });
  assert.equal(await outcome(blocked), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal(
    await outcome(systemAdmin.put(path, { tenants: [crypto.randomUUID()] })),
    "404 TENANT_NOT_FOUND",
  );
  assert.equal(
    await outcome(systemAdmin.put(path, { permissions: ["no:such"] })),
    "404 PERMISSION_NOT_FOUND",
  );
  assert.equal((await systemAdmin.put(path, { tenants: "all" })).body.tenants, "all");
  assert.equal(await outcome(by.get(path)), "404 SERVICE_ACCOUNT_NOT_FOUND", "now it also acts elsewhere");
});

Deno.test("rotating replaces the secret at once; who lacks a permission of the account cannot get its secret", async () => {
  const by = await maker();
  const { id, clientId, secret } = await makeAccount(by);
  assert.deepEqual([await usersOf(secret, by.tenantId), await usersOf(secret, by.tenantId, there)], [
    "200",
    "200",
  ]);
  const path = `${PATH}/${id}/rotate`;
  const weaker = await here.actor({ tenantId: by.tenantId ?? "", permissions: [MANAGE] });
  assert.equal(await outcome(weaker.post(path)), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal(await outcome(by.post(path, undefined, { "if-match": '"9"' })), "412 PRECONDITION_FAILED");
  assert.equal(await outcome(by.post(path, undefined, { "idempotency-key": "k" })), "400 VALIDATION_ERROR");
  const { status, body } = await by.post(path);
  assert.deepEqual([status, body.id, body.clientId], [200, id, clientId]);
  for (const at of [here, there]) {
    assert.equal(await usersOf(secret, by.tenantId, at), "401 TOKEN_INVALID");
    assert.equal(await usersOf(body.secret, by.tenantId, at), "200");
  }
});

Deno.test("the secret can be replaced after a tenant or a permission of the account was deleted", async () => {
  const [one, two] = [await here.tenant(), await here.tenant()];
  const code = `approve:r${crypto.randomUUID()}`;
  const permission = await systemAdmin.post("/api/v1/permissions", { code, category: "Own" });
  assert.equal(permission.status, 201, JSON.stringify(permission.body));
  const { id, secret } = await makeAccount(systemAdmin, {
    permissions: ["read:users", code],
    tenants: [one, two],
  });
  assert.equal((await systemAdmin.delete(`/api/v1/permissions/${permission.body.id}`)).status, 200);
  assert.equal((await systemAdmin.delete(`/api/v1/tenants/${two}`)).status, 200);
  const { status, body } = await systemAdmin.post(`${PATH}/${id}/rotate`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(await usersOf(secret, one), "401 TOKEN_INVALID");
  assert.equal(await usersOf(body.secret, one), "200");
});

Deno.test("a revoked account is refused at once on all instances, and can neither be changed nor rotated", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by);
  assert.deepEqual([await usersOf(secret, by.tenantId), await usersOf(secret, by.tenantId, there)], [
    "200",
    "200",
  ]);
  assert.equal(await outcome(by.delete(`${PATH}/${id}`, { "if-match": '"9"' })), "412 PRECONDITION_FAILED");
  assert.equal((await by.delete(`${PATH}/${id}`)).status, 204);
  for (const at of [here, there]) assert.equal(await usersOf(secret, by.tenantId, at), "401 TOKEN_REVOKED");
  const { body } = await by.get(`${PATH}/${id}`);
  assert.equal(body.revokedBy, by.userId);
  assert.equal((await by.delete(`${PATH}/${id}`)).status, 204);
  assert.deepEqual((await by.get(`${PATH}/${id}`)).body, body);
  assert.equal(await outcome(by.put(`${PATH}/${id}`, { name: "y" })), "409 SERVICE_ACCOUNT_REVOKED_CONFLICT");
  assert.equal(await outcome(by.post(`${PATH}/${id}/rotate`)), "409 SERVICE_ACCOUNT_REVOKED_CONFLICT");
  assert.deepEqual((await by.get(PATH)).body.items, []);
  assert.equal((await by.get(`${PATH}?includeDeleted=true`)).body.items.length, 1);
});

Deno.test("an account that is moved leaves an audit row in its old tenant and in its new one", async () => {
  const [one, two] = [await maker(), await maker()];
  const { id } = await makeAccount(one);
  const move = await systemAdmin.put(`${PATH}/${id}`, { tenants: [two.tenantId] });
  assert.equal(move.status, 200, JSON.stringify(move.body));
  const rowsOf = async (by: Actor) =>
    (await by.get(`/api/v1/audit-log?action=serviceAccount.update`)).body.items
      .filter(({ targetId }: { targetId: string }) => targetId === id)
      .map(({ before, after }: Record<string, { tenants: string[] }>) => [before?.tenants, after?.tenants]);
  const moved = [[one.tenantId], [two.tenantId]];
  assert.deepEqual([await rowsOf(one), await rowsOf(two)], [[moved], [moved]]);
  await systemAdmin.put(`${PATH}/${id}`, { tenants: "all" });
  assert.deepEqual(
    await rowsOf(two),
    [[[two.tenantId], "all"], moved],
    "also if it acts in more tenants now",
  );
});

Deno.test("a deleted permission is lost at once, and does not prevent that its account is moved", async () => {
  const permissions = ["create:permissions", "delete:permissions"];
  const by = await here.actor({ tenantId: platformTenantId, role: "SystemAdmin", permissions });
  const { status, body } = await by.post("/api/v1/permissions", {
    code: "weigh:parcels",
    category: "Parcels",
  });
  assert.equal(status, 201, JSON.stringify(body));
  const tenantId = await here.tenant();
  const { id } = await makeAccount(by, { permissions: ["read:users", "weigh:parcels"], tenants: [tenantId] });
  const held = async ({ steward }: typeof here) =>
    [...(await steward.platform.rights.keys.permissionsIn(id, tenantId))?.permissions ?? []].sort();
  assert.deepEqual([await held(here), await held(there)], Array(2).fill(["read:users", "weigh:parcels"]));
  assert.equal((await by.delete(`/api/v1/permissions/${body.id}`)).status, 200);
  assert.deepEqual([await held(here), await held(there)], Array(2).fill(["read:users"]));
  const moved = await by.put(`${PATH}/${id}`, { tenants: [await here.tenant()] });
  assert.deepEqual([moved.status, moved.body.permissions], [200, ["read:users"]]);
});

Deno.test("requests with an account race with its revocation: each succeeds or is refused", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by);
  const calls = Array.from({ length: 40 }, (_, n) => usersOf(secret, by.tenantId, n % 2 ? here : there));
  const [revoked] = await Promise.all([by.delete(`${PATH}/${id}`), ...calls]);
  assert.equal(revoked.status, 204);
  for (const call of calls) assert.ok(["200", "401 TOKEN_REVOKED"].includes(await call), await call);
  assert.equal(await usersOf(secret, by.tenantId, there), "401 TOKEN_REVOKED");
});
