import assert from "node:assert/strict";
import { bootstrap } from "../../../domain/access/bootstrap.ts";
import { setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql, config } = t.steward.platform;

Deno.test("a start updates the texts of built-in permissions, once", async () => {
  const read = () => sql`select description, category, version from permissions where code = 'read:users'`;
  const [shipped] = await read();
  await sql`update permissions set description = 'old text', category = 'Old' where code = 'read:users'`;
  await bootstrap({ sql, config });
  await bootstrap({ sql, config });
  assert.deepEqual([...await read()], [{ ...shipped, version: shipped?.version + 1 }]);
});

Deno.test("a start changes no permission that a tenant or the platform has made", async () => {
  const permission = { code: "approve:texts", description: "Mine", category: "Texts" };
  assert.equal((await t.systemAdmin.post("/api/v1/permissions", permission)).status, 201);
  const addition = { ...permission, description: "Built in", reach: "Tenant" as const };
  await bootstrap({ sql, config }, { permissions: [addition], roleGrants: [] });
  const rows = await sql`select description, is_system from permissions where code = 'approve:texts'`;
  assert.ok(rows.some(({ description, isSystem }) => description === "Mine" && !isSystem));
});

Deno.test("a start updates the descriptions of catalog roles, except those that a tenant has changed", async () => {
  const admin = await t.actor({ role: "Admin" });
  const other = await t.actor({ role: "Admin" });
  const adminRole = async (tenantId: string | null) => {
    const [role] = await sql`
      select id, description from roles where tenant_id = ${tenantId} and name = 'Admin'`;
    return role!;
  };
  const { id, description } = await adminRole(admin.tenantId);
  const changed = await admin.put(`/api/v1/roles/${id}`, { description: "Ours" });
  assert.equal(changed.status, 200);
  await sql`update roles set description = 'old text' where tenant_id = ${other.tenantId} and name = 'Admin'`;
  await bootstrap({ sql, config });
  assert.equal((await adminRole(admin.tenantId)).description, "Ours");
  assert.equal((await adminRole(other.tenantId)).description, description);
});
