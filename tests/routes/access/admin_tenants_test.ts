import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { names, refused } from "./answers.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const ADMIN = "/api/v1/admin/tenants";

Deno.test("summary and lookup cover all tenants only for admin:system and manage:all-tenants", async () => {
  const group = await t.tenant({ name: "Admin group", type: "Group" });
  await t.tenant({ name: "Admin child", parentTenantId: group });
  const operator = await t.actor({ tenantId: t.platformTenantId, permissions: ["manage:all-tenants"] });
  const globally = await t.actor({
    tenantId: t.platformTenantId,
    permissions: ["manage:all-tenants"],
    global: true,
  });
  for (const caller of [t.systemAdmin, operator, globally]) {
    const found = await caller.get(`${ADMIN}/lookup?search=ADMIN%20&hierarchyScope=grouped`);
    assert.deepEqual(names(found), ["Admin child"]);
    const summary = await caller.get(`${ADMIN}/summary?parentTenantId=${group}`);
    assert.deepEqual([summary.body.totalTenants, summary.body.groupedTenants], [1, 1]);
  }
  const { body } = await t.systemAdmin.get(`${ADMIN}/summary`);
  assert.equal(body.totalTenants, body.groupTenants + body.groupedTenants + body.standaloneTenants);
  assert.equal(body.totalTenants, body.activeTenants + body.inactiveTenants);
});

Deno.test("roles of any tenant are listed and looked up, until it is deleted", async () => {
  const owner = await t.actor({ role: "Admin" });
  const { body: role } = await owner.post("/api/v1/roles", { name: "Auditora", description: "Vê tudo" });
  const roles = `${ADMIN}/${owner.tenantId}/roles`;
  assert.deepEqual(names(await t.systemAdmin.get(roles)), ["Admin", "Auditora", "GroupAdmin", "Visitor"]);
  assert.deepEqual(names(await t.systemAdmin.get(`${roles}?isSystemRole=false`)), ["Auditora"]);
  assert.deepEqual(names(await t.systemAdmin.get(`${roles}?search=VE%20TUDO`)), ["Auditora"]);
  assert.deepEqual((await t.systemAdmin.get(`${roles}/lookup?ids=${role.id}`)).body.items, [
    { id: role.id, name: "Auditora", description: "Vê tudo" },
  ]);
  assert.equal((await t.systemAdmin.get(`${roles}/lookup?includeSystemRoles=false`)).body.totalCount, 1);
  assert.equal((await t.systemAdmin.delete(`/api/v1/tenants/${owner.tenantId}`)).status, 200);
  for (const path of [roles, `${roles}/lookup`]) {
    refused(await t.systemAdmin.get(path), 404, "TENANT_NOT_FOUND");
  }
});
