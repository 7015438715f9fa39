import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { names } from "./answers.ts";

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

Deno.test("roles of any tenant are listed and looked up with admin:system only", async () => {
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

  const operator = await t.actor({
    tenantId: t.platformTenantId,
    permissions: ["manage:all-tenants", "manage:all-users", "read:roles"],
  });
  for (const path of [roles, `${roles}/lookup`]) {
    assert.equal((await operator.get(path)).body.code, "MISSING_PERMISSION");
    assert.equal((await owner.get(path)).body.code, "MISSING_PERMISSION");
  }
});

Deno.test("unknown and deleted tenants have no roles; invalid filters are rejected", async () => {
  const gone = await t.tenant();
  await t.systemAdmin.delete(`/api/v1/tenants/${gone}`);
  for (const id of [newId(), gone]) {
    for (const path of [`${ADMIN}/${id}/roles`, `${ADMIN}/${id}/roles/lookup`]) {
      const { status, body } = await t.systemAdmin.get(path);
      assert.deepEqual([status, body.code], [404, "TENANT_NOT_FOUND"]);
    }
  }
  const { platformTenantId: id } = t;
  for (
    const path of [
      "x/roles",
      `${id}/roles?sortBy=permissionCount`,
      `${id}/roles/lookup?pageSize=51`,
      `${id}/roles/lookup?ids=${Array.from({ length: 51 }, newId)}`,
      "lookup?pageSize=51",
      "summary?type=x",
    ]
  ) {
    assert.equal((await t.systemAdmin.get(`${ADMIN}/${path}`)).body.code, "VALIDATION_ERROR", path);
  }
});

Deno.test("tenant administrators and anonymous callers are rejected", async () => {
  const admin = await t.actor({ role: "Admin" });
  for (const path of ["summary", "lookup", `${admin.tenantId}/roles`]) {
    assert.equal((await admin.get(`${ADMIN}/${path}`)).body.code, "MISSING_PERMISSION");
    assert.equal((await t.nobody.get(`${ADMIN}/${path}`)).body.code, "TOKEN_MISSING");
  }
});
