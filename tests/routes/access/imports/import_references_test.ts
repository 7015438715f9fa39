// To what the texts of a row refer: tenants and roles by id or name.
import assert from "node:assert/strict";
import { setupShared } from "../../../support/setup.ts";
import { insertRole, newEmail } from "../users.ts";
import { counts, IMPORTER, Importing } from "./importing.ts";

const t = await setupShared();
const importing = new Importing(t);
const permissions = [...IMPORTER, "manage:all-users"];
const platformImporter = await t.actor({ tenantId: t.platformTenantId, permissions });

const { sql } = t.steward.platform;

async function tenantIdsOf(email: string): Promise<string[]> {
  const { items } = (await t.systemAdmin.get(`/api/v1/admin/users?search=${email}`)).body;
  return items[0]?.tenants.map(({ tenantId }: { tenantId: string }) => tenantId) ?? [];
}
async function roleIdsOf(email: string): Promise<string[]> {
  const roles = await sql<{ roleId: string }[]>`select r.role_id from user_tenant_roles r
    join users u on u.id = r.user_id where u.email = ${email}`;
  return roles.map(({ roleId }) => roleId);
}
const rename = async (tenantId: string, name: string) => {
  const { status, body } = await t.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { name });
  assert.equal(status, 200, JSON.stringify(body));
};

Deno.test("a tenant named with the id of another one gets none of its imported users", async () => {
  const victimId = await t.tenant();
  const attackerId = await t.tenant();
  await rename(attackerId, victimId.toUpperCase());
  const [byId, byName] = [newEmail(), newEmail()];
  const csv = `tenantId,tenantName,email\n${victimId},,${byId}\n,${victimId},${byName}\n`;
  const several = await importing.run(platformImporter, csv, { admin: true });
  assert.deepEqual(counts(several), { created: 2, updated: 0, unchanged: 0, failed: 0 });
  for (const email of [byId, byName]) {
    assert.deepEqual(await tenantIdsOf(email), [victimId]);
  }
});

Deno.test("a text that is an id finds no tenant and no role by name, but the role with that id", async () => {
  const importer = await t.actor({ permissions: IMPORTER });
  const [named, roleName, email] = [crypto.randomUUID(), crypto.randomUUID(), newEmail()];
  await rename(await t.tenant(), named);
  await insertRole(t, importer.tenantId, [], roleName);
  const wanted = await insertRole(t, importer.tenantId);
  await insertRole(t, importer.tenantId, [], wanted.toUpperCase());
  const tenants = `tenantId,tenantName,email\n${named},,${newEmail()}\n,${named},${newEmail()}\n`;
  const byTenant = await importing.run(platformImporter, tenants, { admin: true });
  const byRole = await importing.run(
    importer,
    `email,roles\n${newEmail()},${roleName}\n${email},${wanted}\n`,
  );
  assert.deepEqual([byTenant.failed, byRole.failed, byRole.created], [2, 1, 1]);
  assert.match((await importing.result(platformImporter, byTenant))[0]?.[3] ?? "", /^TENANT_NOT_FOUND/);
  assert.match((await importing.result(importer, byRole))[0]?.[3] ?? "", /^ROLE_NOT_FOUND/);
  assert.deepEqual(await roleIdsOf(email), [wanted]);
});

Deno.test("tenants and roles are found by names whose lower case depends on who makes it", async () => {
  const id = crypto.randomUUID().slice(0, 8);
  const name = `\u0130zmir ${id}`;
  const tenantId = await t.tenant({ name });
  const roleId = await insertRole(t, tenantId, [], "\u0130thalat");
  const [first, second] = [newEmail(), newEmail()];
  const csv = `tenantName,email,roles\n${name},${first},\u0130thalat\n` +
    `\u0130ZM\u0130R ${id},${second},\u0130THALAT\n`;
  const done = await importing.run(platformImporter, csv, { admin: true });
  assert.deepEqual(counts(done), { created: 2, updated: 0, unchanged: 0, failed: 0 });
  for (const email of [first, second]) {
    assert.deepEqual([await tenantIdsOf(email), await roleIdsOf(email)], [[tenantId], [roleId]]);
  }
});
