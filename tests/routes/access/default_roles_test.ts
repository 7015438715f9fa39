import assert from "node:assert/strict";
import { bootstrap } from "../../../domain/access/tenants/bootstrap.ts";
import { createCatalogRoles, lockDefaultRoles } from "../../../domain/access/roles/default_roles.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { HttpClient } from "../../support/http.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { setupChanged } from "../auth/people.ts";
import { auditOf, idOf, isSignedIn, refused } from "./answers.ts";

const t = await setupChanged();
const { sql, config } = t.steward.platform;
const { systemAdmin } = t;
const PERMISSIONS = "/api/v1/permissions";

const newPermission = (code: string, by: HttpClient = systemAdmin) =>
  idOf(by.post(PERMISSIONS, { code, category: "Orders" }));
const set = (id: string, roles: unknown, by: HttpClient = systemAdmin) =>
  by.put(`${PERMISSIONS}/${id}/default-roles`, { roles });
const codesOf = async (actor: Actor): Promise<string[]> => (await actor.get("/auth/me")).body.permissions;
const permissionId = async (code: string): Promise<string> =>
  (await systemAdmin.get(`${PERMISSIONS}/by-code/${code}`)).body.id;

/** The catalog roles of a tenant that have the permission. */
async function rolesWith(code: string, tenantId: string | null): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select r.name from roles r join role_permissions rp on rp.role_id = r.id
    join permissions p on p.id = rp.permission_id
    where p.code = ${code} and r.tenant_id = ${tenantId} and r.is_system order by r.name`;
  return rows.map(({ name }) => name);
}

Deno.test("a permission gets to the named roles of every tenant, present and future, and no session ends", async () => {
  const admin = await t.actor({ role: "Admin" });
  const visitor = await t.actor({ role: "Visitor" });
  const id = await newPermission("approve:orders");
  const created = await systemAdmin.get(`${PERMISSIONS}/${id}`);
  assert.deepEqual(created.body.defaultRoles, []);
  const answer = await set(id, ["visitor", "Admin", "admin"]);
  assert.deepEqual((await accepted(answer, 200)).defaultRoles, ["Admin", "Visitor"]);
  assert.notEqual(answer.headers.get("etag"), created.headers.get("etag"));
  assert.ok((await codesOf(admin)).includes("approve:orders"), "the token from before has it");
  assert.ok((await codesOf(visitor)).includes("approve:orders"));
  const later = await t.actor({ role: "Admin" });
  assert.ok((await codesOf(later)).includes("approve:orders"), "a later tenant has it");
  assert.deepEqual(await rolesWith("approve:orders", t.platformTenantId), ["Admin", "Visitor"]);
  const same = await set(id, ["Admin", "Visitor"]);
  assert.equal(same.headers.get("etag"), answer.headers.get("etag"), "nothing changes");
  assert.deepEqual(await auditOf(t, id), ["permission.create", "permission.default-roles"]);
  assert.deepEqual((await set(id, ["Visitor"])).body.defaultRoles, ["Visitor"]);
  assert.ok(!(await codesOf(admin)).includes("approve:orders"), "it is taken away at once");
  assert.ok(await isSignedIn(admin), "and the session goes on");
  assert.deepEqual(await rolesWith("approve:orders", admin.tenantId), ["Visitor"]);
  assert.deepEqual((await set(id, [])).body.defaultRoles, []);
  assert.deepEqual(await rolesWith("approve:orders", later.tenantId), []);
  await accepted(systemAdmin.delete(`${PERMISSIONS}/${id}`), 200); // no role has it any more
});

Deno.test("which roles and permissions are refused", async () => {
  const id = await newPermission("refused:orders");
  for (const roles of [["SystemAdmin"], ["Clerk"]]) refused(await set(id, roles), 400, "VALIDATION_ERROR");
  const maker = await t.actor({ permissions: ["create:permissions"] });
  refused(await set(await newPermission("own:thing", maker), ["Admin"]), 404, "PERMISSION_NOT_FOUND");
  for (const code of ["admin:system", "manage:all-users", "manage:all-tenants"]) {
    refused(await set(await permissionId(code), ["Admin"]), 409, "PERMISSION_SYSTEM_PROTECTED_CONFLICT");
  }
  refused(await set(await permissionId("read:users"), ["Admin"]), 409, "ROLE_SYSTEM_PROTECTED_CONFLICT");
  const global = await t.actor({ role: "SystemAdmin", global: true });
  assert.equal((await set(id, ["Admin"], global)).status, 200, "no tenant context is needed");
});

Deno.test("a start keeps what was set; a grant that is declared no more can be removed", async () => {
  const id = await newPermission("kept:orders");
  await set(id, ["GroupAdmin"]);
  const extension = {
    permissions: [{ code: "sell:shop", category: "Shop", description: "Sell", reach: "Tenant" as const }],
    roleGrants: [{ roleName: "Admin", code: "sell:shop" }],
  };
  await bootstrap({ sql, config }, extension);
  const selling = await permissionId("sell:shop");
  const shown = async (id: string) => (await systemAdmin.get(`${PERMISSIONS}/${id}`)).body.defaultRoles;
  assert.deepEqual([await shown(id), await shown(selling)], [["GroupAdmin"], ["Admin"]]);
  refused(await set(selling, []), 409, "ROLE_SYSTEM_PROTECTED_CONFLICT");
  assert.deepEqual((await set(selling, ["Admin", "Visitor"])).body.defaultRoles, ["Admin", "Visitor"]);
  await bootstrap({ sql, config }, extension);
  assert.deepEqual(await shown(selling), ["Admin", "Visitor"]);
  await bootstrap({ sql, config });
  assert.deepEqual((await set(selling, [])).body.defaultRoles, []);
});

Deno.test("a tenant that is created meanwhile has the permission too", async () => {
  const id = await newPermission("race:orders");
  const tenantId = newId();
  let answer: ReturnType<typeof set> | undefined;
  await transact(sql, async (tx) => {
    await tx`insert into tenants (id, name, type) values (${tenantId}, ${tenantId}, 'Standard')`;
    await createCatalogRoles(tx, tenantId, "Standard");
    answer = set(id, ["Admin"]);
    await until(async () => (await countLockWaits(tx, "advisory")) > 0);
  });
  assert.equal((await answer)?.status, 200);
  assert.deepEqual(await rolesWith("race:orders", tenantId), ["Admin"]);

  let creating: Promise<string> | undefined;
  await transact(sql, async (tx) => {
    await lockDefaultRoles(tx, "exclusive");
    await tx`insert into default_role_permissions values ('Visitor', 'race:orders', false)`;
    creating = t.tenant();
    await until(async () => (await countLockWaits(tx, "advisory")) > 0);
  });
  assert.deepEqual(await rolesWith("race:orders", (await creating) ?? null), ["Admin", "Visitor"]);
});

Deno.test("an assignment that waited for the change knows what the caller holds by it", async () => {
  const admin = await t.actor({ role: "Admin" });
  const user = await t.actor({ tenantId: admin.tenantId ?? "" });
  const id = await newPermission("approve:waited");
  const [role] = await sql<{ id: string }[]>`select id from roles
    where tenant_id = ${admin.tenantId} and name = 'Admin' and is_system`;
  const answers: ReturnType<typeof set>[] = [];
  await transact(sql, async (tx) => {
    await tx`select from roles where id = ${role?.id ?? ""} for no key update`;
    const assign = () => admin.put(`/api/v1/users/${user.userId}/roles`, { roleIds: [role?.id] });
    for (const send of [() => set(id, ["Admin"]), assign]) {
      answers.push(send());
      await until(() => countLockWaits(tx), (waiting) => waiting >= answers.length);
    }
  });
  for (const answer of answers) await accepted(answer, 200);
});

Deno.test("a refusal tells an administrator how the role Admin gets the permission", async () => {
  const admin = await t.actor({ role: "Admin" });
  const declare = () => admin.put("/api/v1/job-types/invoices.send", {});
  const code = "manage:job-types";
  const { body } = await declare();
  const way =
    `PUT ${PERMISSIONS}/{id}/default-roles {"roles":["Admin"]}, with the id of GET ${PERMISSIONS}/by-code/${code}.`;
  assert.ok(body.detail.endsWith(way), body.detail);
  await accepted(set(await permissionId(code), ["Admin"]), 200);
  await accepted(declare(), 201);
});

Deno.test("a start updates the texts of built-in permissions, once, and of catalog roles, but none that anybody changed or made", async () => {
  const [admin, other] = [await t.actor({ role: "Admin" }), await t.actor({ role: "Admin" })];
  const builtIn = () => sql`select description, category, version from permissions where code = 'read:users'`;
  const adminRole = async ({ tenantId }: Actor) =>
    (await sql`select id, description from roles where tenant_id = ${tenantId} and name = 'Admin'`)[0]!;
  const [[shipped], { id, description }] = [await builtIn(), await adminRole(admin)];
  const permission = { code: "approve:texts", description: "Mine", category: "Texts" };
  assert.equal((await t.systemAdmin.post("/api/v1/permissions", permission)).status, 201);
  assert.equal((await admin.put(`/api/v1/roles/${id}`, { description: "Ours" })).status, 200);
  await sql`update roles set description = 'old text' where tenant_id = ${other.tenantId} and name = 'Admin'`;
  await sql`update permissions set description = 'old text', category = 'Old' where code = 'read:users'`;
  const addition = { ...permission, description: "Built in", reach: "Tenant" as const };
  for (const _ of [1, 2]) await bootstrap({ sql, config }, { permissions: [addition], roleGrants: [] });
  assert.deepEqual([...await builtIn()], [{ ...shipped, version: shipped?.version + 1 }]);
  assert.deepEqual((await adminRole(admin)).description, "Ours");
  assert.deepEqual((await adminRole(other)).description, description);
  const made = await sql`select description, is_system from permissions where code = 'approve:texts'`;
  assert.ok(made.some(({ description, isSystem }) => description === "Mine" && !isSystem));
});

Deno.test("two simultaneous changes leave what the later one says, in every tenant", async () => {
  const id = await newPermission("twice:orders");
  const tenants = await Promise.all([1, 2].map(() => t.tenant()));
  await Promise.all([["Admin"], ["Visitor"], [], ["Admin", "GroupAdmin"]].map((roles) => set(id, roles)));
  const { body } = await systemAdmin.get(`${PERMISSIONS}/${id}`);
  for (const tenantId of tenants) {
    assert.deepEqual(await rolesWith("twice:orders", tenantId), body.defaultRoles);
  }
});
