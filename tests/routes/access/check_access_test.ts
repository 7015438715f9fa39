import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { makeAccount } from "../auth/service_accounts.ts";
import { refused } from "./answers.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const CHECK = "/api/v1/access/check";
const UNKNOWN = crypto.randomUUID();

interface Asked {
  userId: string;
  tenantId: string;
  permission: string;
}

const check = async (by: HttpClient, ...checks: Asked[]): Promise<[boolean, number][]> =>
  pluck((await accepted(by.post(CHECK, { checks }), 200)).results, "allowed", "version");

const about = ({ userId, tenantId }: Actor, permission: string): Asked => ({
  userId,
  tenantId: tenantId ?? "",
  permission,
});

const account = async (tenants: string[] | "all") =>
  new HttpClient(
    t.url,
    (await makeAccount(t.systemAdmin, { permissions: ["check:access"], tenants })).secret,
  );

Deno.test("the answers are those of the user's roles in the tenant, in the order of the checks", async () => {
  const asker = await t.actor({ permissions: ["check:access", "update:users"] });
  const tenantId = asker.tenantId ?? "";
  const reader = await t.actor({ tenantId, permissions: ["read:users", "read:files"] });
  const other = await t.actor({ permissions: ["read:users"] });
  const permission = "read:users";
  const expected: [Asked, boolean, number][] = [
    [about(reader, permission), true, 1],
    [about(reader, "delete:users"), false, 1],
    [about(reader, "read:files"), true, 1],
    [about(reader, "' or 1=1 --{},"), false, 1],
    [about(asker, "check:access"), true, 1],
    [{ userId: UNKNOWN, tenantId, permission }, false, 0],
    [{ userId: other.userId, tenantId, permission }, false, 0],
    [about(other, permission), false, 0],
    [{ userId: reader.userId, tenantId: UNKNOWN, permission }, false, 0],
  ];
  const results = await check(asker, ...expected.map(([asked]) => asked));
  assert.deepEqual(results, expected.map(([, ...result]) => result));
  const { status } = await asker.put(`/api/v1/users/${reader.userId}/roles`, { roleIds: [] });
  assert.equal(status, 200);
  const many = await check(asker, ...Array(500).fill(about(reader, permission)));
  assert.deepEqual([many.length, many[0]], [500, [false, 2]], "the next check sees it");
});

Deno.test("a check by admin:system includes every permission but those of the file module", async () => {
  const checks = ["read:users", "approve:orders", "read:files", "purge:files", "admin:system"];
  const results = await check(t.systemAdmin, ...checks.map((permission) => about(t.systemAdmin, permission)));
  assert.deepEqual(results.map(([allowed]) => allowed), [true, true, false, false, true]);
  const tenantId = await t.tenant();
  await sql`insert into user_tenants (user_id, tenant_id) values (${t.systemAdmin.userId}, ${tenantId})`;
  const checker = await account([tenantId]);
  const elsewhere = { userId: t.systemAdmin.userId, tenantId, permission: "read:users" };
  assert.deepEqual(await check(checker, elsewhere), [[false, 1]], "it counts only in the platform tenant");
});

Deno.test("nothing is allowed with an inactive or deleted user, link, tenant, role or permission", async () => {
  const checker = await account("all");
  const changes: [string, (user: Actor) => Promise<unknown>, number][] = [
    ["user", ({ userId }) => sql`update users set is_active = false where id = ${userId}`, 1],
    ["deleted user", ({ userId }) => sql`update users set deleted_at = now() where id = ${userId}`, 0],
    ["link", ({ userId }) => sql`update user_tenants set is_active = false where user_id = ${userId}`, 1],
    ["tenant", ({ tenantId }) => sql`update tenants set is_active = false where id = ${tenantId}`, 1],
    [
      "deleted tenant",
      ({ tenantId }) => sql`update tenants set deleted_at = now() where id = ${tenantId}`,
      1,
    ],
    ["role", ({ roleId }) => sql`delete from role_permissions where role_id = ${roleId}`, 1],
    ["link gone", ({ userId }) => sql`delete from user_tenants where user_id = ${userId}`, 0],
  ];
  for (const [name, change, version] of changes) {
    const user = await t.actor({ permissions: ["read:users"] });
    assert.deepEqual(await check(checker, about(user, "read:users")), [[true, 1]], name);
    await change(user);
    assert.deepEqual(await check(checker, about(user, "read:users")), [[false, version]], name);
  }
});

Deno.test("a service account asks about its tenants, with X-Tenant-ID about one; `all` is without the platform's", async () => {
  const newUser = () => t.actor({ permissions: ["read:users"] });
  const [first, second, third] = [await newUser(), await newUser(), await newUser()];
  const asked = [first, second, third, t.systemAdmin].map((user) => about(user, "read:users"));
  const both = await account([first.tenantId ?? "", second.tenantId ?? ""]);
  const allowed = async (by: HttpClient) => (await check(by, ...asked)).map(([allowed]) => allowed);
  assert.deepEqual(await allowed(both), [true, true, false, false]);
  const inTenant = (by: Actor) => both.with({ "x-tenant-id": by.tenantId ?? "" });
  assert.deepEqual(await allowed(inTenant(second)), [false, true, false, false]);
  assert.deepEqual(await allowed(await account("all")), [true, true, true, false]);
});

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
  has(body, { isAllowed: true, tenantId: subject.tenantId, grants, description: "Read the tenant's users" });
  assert.deepEqual(failedChecks(body), []);
  assert.match(body.summary, /holds read:users in .*has read:users/);
  const elsewhere = await explain(subject.userId, "read:users", crypto.randomUUID());
  refused(elsewhere, 404, "TENANT_NOT_FOUND");
});

Deno.test("the missing part is named: role, link, active link, active tenant, active user or permission", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const ask = async (permission = "read:users", tenantId = subject.tenantId) =>
    failedChecks((await explain(subject.userId, permission, tenantId)).body);
  assert.deepEqual(await ask("delete:users"), ["PermissionHeld"]);
  assert.deepEqual(await ask("no:such"), ["PermissionKnown", "PermissionHeld"]);
  const unlinked = ["TenantLinked", "LinkActive", "PermissionHeld"];
  assert.deepEqual(await ask("read:users", await t.tenant()), unlinked);
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
  const permissions = ["manage:all-users", "read:users"];
  const subject = await t.actor({ tenantId: t.platformTenantId, permissions });
  assert.equal((await explain(subject.userId, "manage:all-users")).body.isAllowed, true);
  const scoped = (await explain(subject.userId, "read:users")).body;
  assert.deepEqual([scoped.isAllowed, scoped.tenantId, scoped.tenantName], [false, null, null]);
});

Deno.test("explanations in a tenant name its roles only, and without read:roles those that the user has", async () => {
  const admin = await t.actor({ permissions: ["read:users", "read:roles"] });
  const subject = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:roles"] });
  const path = (id: string) => `/api/v1/users/${id}/access?permission=create:users`;
  const { status, body } = await admin.get(path(subject.userId));
  assert.equal(status, 200);
  assert.deepEqual([body.tenantId, body.isAllowed], [admin.tenantId, false]);
  const named = pluck(body.grantingRoles, "roleName");
  assert.ok(named.includes("Admin") && !named.includes("Visitor"), named.join());
  assert.ok(body.grantingRoles.every(({ tenantId }: { tenantId: string }) => tenantId === admin.tenantId));
  const blind = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:users"] });
  assert.deepEqual((await blind.get(path(subject.userId))).body.grantingRoles, [], "without read:roles");
  const held = (await blind.get(`/api/v1/users/${blind.userId}/access?permission=read:users`)).body;
  assert.deepEqual(held.grantingRoles, held.grants, "but roles that the user has");
});
