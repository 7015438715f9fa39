import assert from "node:assert/strict";
import { has } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const explain = async (userId: string, permission: string, tenantId?: string | null) =>
  await t.systemAdmin.get(
    `/api/v1/admin/users/${userId}/access?permission=${permission}${tenantId ? `&tenantId=${tenantId}` : ""}`,
  );
const failedChecks = (body: { checks: { name: string; passed: boolean }[] }) =>
  body.checks.filter((check) => !check.passed).map((check) => check.name);

Deno.test("a permission is traced to the link and role that give it", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const { status, body } = await explain(subject.userId, "read:users", subject.tenantId);
  assert.equal(status, 200);
  const grants = [{ roleId: subject.roleId, permission: "read:users" }];
  has(body, { isAllowed: true, tenantId: subject.tenantId, grants });
  assert.deepEqual(failedChecks(body), []);
  assert.match(body.summary, /holds read:users in .*has read:users/);
});

Deno.test("the missing part is named: role, link, active link, active tenant, active user or permission", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const ask = async (permission = "read:users", tenantId = subject.tenantId) =>
    failedChecks((await explain(subject.userId, permission, tenantId)).body);
  assert.deepEqual(await ask("delete:users"), ["PermissionHeld"]);
  assert.deepEqual(await ask("no:such"), ["PermissionKnown", "PermissionHeld"]);
  assert.deepEqual(await ask("read:users", await t.tenant()), [
    "TenantLinked",
    "LinkActive",
    "PermissionHeld",
  ]);
  await sql`update user_tenants set is_active = false where user_id = ${subject.userId}`;
  assert.deepEqual(await ask(), ["LinkActive"]);
  await sql`update tenants set is_active = false where id = ${subject.tenantId}`;
  assert.deepEqual(await ask(), ["TenantActive", "LinkActive"]);
  await sql`update users set is_active = false where id = ${subject.userId}`;
  const { body } = await explain(subject.userId, "read:users", subject.tenantId);
  assert.equal(body.isAllowed, false);
  assert.deepEqual(failedChecks(body), ["UserActive", "TenantActive", "LinkActive"]);
  assert.match(body.summary, /does not hold read:users/);
});

Deno.test("without a tenant only platform-reach permissions of the platform tenant count", async () => {
  const subject = await t.actor({
    tenantId: t.platformTenantId,
    permissions: ["manage:all-users", "read:users"],
  });
  assert.equal((await explain(subject.userId, "manage:all-users")).body.isAllowed, true);
  const scoped = (await explain(subject.userId, "read:users")).body;
  assert.deepEqual([scoped.isAllowed, scoped.tenantId, scoped.tenantName], [false, null, null]);
});

Deno.test("explanations match what the service allows", async () => {
  const codes = ["read:users", "read:roles", "read:permissions"];
  for (const held of [[], ["read:users"], codes, ["admin:system"]]) {
    const subject = await t.actor({ permissions: held });
    for (const code of codes) {
      const { body } = await explain(subject.userId, code, subject.tenantId);
      const { status } = await subject.get(`/api/v1/${code.slice(5)}`);
      assert.equal(status === 200, body.isAllowed, `${code} with ${held}`);
    }
  }
});

Deno.test("unknown users and tenants are not found", async () => {
  const { userId, tenantId } = await t.actor();
  assert.equal((await explain(crypto.randomUUID(), "read:users", tenantId)).body.code, "USER_NOT_FOUND");
  assert.equal((await explain(userId, "read:users", crypto.randomUUID())).body.code, "TENANT_NOT_FOUND");
});

Deno.test("the roles that would give a missing permission are named", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const { body } = await explain(subject.userId, "create:users", subject.tenantId);
  assert.equal(body.description, "Create users in the tenant");
  assert.deepEqual(body.grants, []);
  const roles = body.grantingRoles.map(({ roleName }: { roleName: string }) => roleName);
  assert.ok(roles.includes("Admin"), roles.join());
  assert.ok(!roles.includes("Visitor"));
});

Deno.test("explanations in a tenant name its roles only, and without read:roles those that the user has", async () => {
  const admin = await t.actor({ permissions: ["read:users", "read:roles"] });
  const subject = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:roles"] });
  const path = (id: string) => `/api/v1/users/${id}/access?permission=create:users`;
  const { status, body } = await admin.get(path(subject.userId));
  assert.equal(status, 200);
  assert.deepEqual([body.tenantId, body.isAllowed], [admin.tenantId, false]);
  assert.ok(body.grantingRoles.some(({ roleName }: { roleName: string }) => roleName === "Admin"));
  assert.ok(body.grantingRoles.every(({ tenantId }: { tenantId: string }) => tenantId === admin.tenantId));
  const blind = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:users"] });
  assert.deepEqual((await blind.get(path(subject.userId))).body.grantingRoles, [], "without read:roles");
  const held = (await blind.get(`/api/v1/users/${blind.userId}/access?permission=read:users`)).body;
  assert.deepEqual(held.grantingRoles, held.grants, "but roles that the user has");
});
