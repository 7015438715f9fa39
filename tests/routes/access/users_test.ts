import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { atOnce, auditOf, codes, column, refused, statuses } from "./answers.ts";
import { ADMIN, catalogRole, createUser, insertLink } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const path = (id: string) => `/api/v1/users/${id}`;
/** Links a user to a new tenant. */
async function linkElsewhere(userId: string): Promise<string> {
  const id = await t.tenant();
  await insertLink(t, userId, id);
  return id;
}
const versionOf = async (userId: string) =>
  (await sql<{ v: number }[]>`select security_version as v from users where id = ${userId}`)[0]?.v;

Deno.test("an update ends tokens only if it changes isActive; of simultaneous ones of one version, one succeeds", async () => {
  const id = await createUser(admin);
  const put = (body: object, headers = {}) => admin.put(path(id), body, headers);
  assert.equal((await put({ firstName: " Bea " })).body.firstName, "Bea");
  assert.equal(await versionOf(id), 1);
  assert.equal((await put({ isActive: false })).body.isActive, false);
  assert.equal(await versionOf(id), 2);
  const answers = await atOnce(3, (n) => put({ firstName: `N${n}` }, { "if-match": '"3"' }));
  assert.deepEqual(statuses(answers), [200, 412, 412]);
});

Deno.test("a user who is active in other tenants can be changed only with permission for all users", async () => {
  const id = await createUser(admin);
  const elsewhere = await linkElsewhere(id);
  const attempts = async (by: Actor) => [
    await by.put(path(id), { firstName: "Mallory" }),
    await by.post(`${path(id)}/deactivate`),
    await by.post(`${path(id)}/activate`),
  ];
  refused(await attempts(admin), 403, "CROSS_TENANT_FORBIDDEN");
  const reaching = await t.actor({ tenantId, permissions: [...ADMIN, "manage:all-users"] });
  assert.deepEqual(statuses(await attempts(reaching)), [200, 200, 200]);
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id = ${elsewhere}`;
  assert.equal((await admin.put(path(id), { firstName: "Own" })).status, 200);
});

Deno.test("activating and deactivating end only that user's tokens", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:users"] });
  const change = async (action: string) => {
    const { status, body } = await admin.post(`${path(subject.userId)}/${action}`);
    assert.deepEqual([status, body], [200, ""]);
  };
  assert.equal((await subject.get("/api/v1/users")).status, 200);
  await change("deactivate");
  refused(await subject.get("/api/v1/users"), 401, "SESSION_INVALIDATED");
  await change("deactivate");
  await change("activate");
  assert.equal((await admin.get(path(subject.userId))).body.isActive, true);
  refused(await subject.get("/api/v1/users"), 401, "SESSION_INVALIDATED", "the old token stays dead");
  assert.equal((await admin.get("/api/v1/users")).status, 200);
});

Deno.test("callers can neither delete nor deactivate themselves", async () => {
  const self = await t.actor({ tenantId, permissions: [...ADMIN, "manage:all-users"] });
  const own = path(self.userId);
  const attempts = [
    await self.delete(own),
    await self.post(`${own}/deactivate`),
    await self.put(own, { isActive: false }),
    await self.delete(`/api/v1/admin/users/${self.userId}`),
    await self.put(`/api/v1/admin/users/${self.userId}`, { isActive: false }),
  ];
  refused(attempts, 409, "USER_SELF_CONFLICT");
  assert.equal((await self.put(own, { firstName: "Me" })).status, 200);
});

Deno.test("DELETE unlinks the user from the tenant, and deletes the user with the last link", async () => {
  const id = await createUser(admin);
  const elsewhere = await linkElsewhere(id);
  const before = await versionOf(id);
  const gone = await admin.delete(path(id));
  assert.deepEqual([gone.status, gone.body], [200, ""]);
  refused(await admin.get(path(id)), 404, "USER_NOT_FOUND");
  const left = await t.systemAdmin.get(`/api/v1/admin/users/${id}`);
  assert.deepEqual(left.body.tenants.map((link: { tenantId: string }) => link.tenantId), [elsewhere]);
  assert.notEqual(await versionOf(id), before);
  assert.equal((await auditOf(t, id)).at(-1), "user.unlink");

  const theirs = await t.actor({ tenantId: elsewhere, permissions: ADMIN });
  assert.equal((await theirs.delete(path(id))).status, 200);
  refused(await t.systemAdmin.get(`/api/v1/admin/users/${id}`), 404, "USER_NOT_FOUND");
  refused(await theirs.delete(path(id)), 404, "USER_NOT_FOUND");
  assert.ok(!column(await theirs.get("/api/v1/users"), "id").includes(id));
  assert.ok(column(await theirs.get("/api/v1/users?includeDeleted=true"), "id").includes(id));
  const [tenant] = await sql`select user_count from tenants where id = ${elsewhere}`;
  assert.equal(tenant?.userCount, 1);
});

Deno.test("permissions and roles are those of the token's tenant; a deactivated link gives none", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:roles", "read:files"] });
  await linkElsewhere(subject.userId);
  const [role, ...more] = (await admin.get(`${path(subject.userId)}/roles`)).body;
  assert.deepEqual([role.tenantId, more], [tenantId, []]);
  assert.deepEqual(codes(role), ["read:files", "read:roles"]);
  const permissions = async () => (await admin.get(`${path(subject.userId)}/permissions`)).body;
  assert.deepEqual(await permissions(), ["read:files", "read:roles"]);
  await sql`update user_tenants set is_active = false where user_id = ${subject.userId} and tenant_id = ${tenantId}`;
  assert.deepEqual(await permissions(), []);
});

const rolesPath = (userId: string) => `${path(userId)}/roles`;

Deno.test("replacing a user's roles in the tenant leaves those of other tenants alone", async () => {
  const admin = await t.actor({ role: "Admin" });
  const user = await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" });
  const elsewhere = await t.actor();
  await insertLink(t, user.userId, elsewhere.tenantId, elsewhere.roleId);
  const wanted = await catalogRole(t, "Admin", admin.tenantId);
  const { body } = await admin.put(rolesPath(user.userId), { roleIds: [wanted, wanted] });
  assert.deepEqual(pluck(body, "name"), ["Admin"]);
  assert.equal((await sql`select from user_tenant_roles where user_id = ${user.userId}`).length, 2);
  assert.deepEqual((await admin.put(rolesPath(user.userId), { roleIds: [] })).body, []);
});

Deno.test("a rejected assignment names the missing permissions and who can give them", async () => {
  const owner = await t.actor({ role: "Admin" });
  const tenantId = owner.tenantId ?? "";
  const user = await t.actor({ permissions: [], tenantId });
  const code = "approve:orders";
  const [{ id: permissionId } = { id: "" }] = await sql<{ id: string }[]>`
    insert into permissions (id, tenant_id, code, category)
    values (gen_random_uuid(), ${tenantId}, ${code}, 'Orders') returning id`;
  const made = await owner.post("/api/v1/roles", { name: "Approver", permissionIds: [permissionId] });
  assert.equal(made.status, 201, "a caller with update:roles may add any tenant-reach permission to a role");
  const give = (by: Actor) => by.put(rolesPath(user.userId), { roleIds: [made.body.id] });
  const alone = await give(owner);
  refused(alone, 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.deepEqual(alone.body.errors, [`${code}: the caller does not hold it`]);
  assert.match(alone.body.detail, /permissions approve:orders, .* roles: any holder of admin:system\. /);
  const able = await t.actor({ permissions: ["update:users"], tenantId });
  await insertLink(t, able.userId, tenantId, made.body.id);
  const named = `Users who may assign the roles: ${able.email}, any holder of admin:system.`;
  assert.ok((await give(owner)).body.detail.includes(named));
  const blind = await t.actor({ permissions: ["update:users"], tenantId });
  assert.ok(!(await give(blind)).body.detail.includes("@"), "emails of users need read:users");
  // The fix that the error suggests: add the missing permission to a role of the caller, then sign in again.
  const ownRole = await catalogRole(t, "Admin", tenantId);
  assert.equal((await owner.post(`/api/v1/roles/${ownRole}/permissions/${permissionId}`)).status, 200);
  const again = await t.actor({ role: "Admin", tenantId });
  refused(await again.put(rolesPath(user.userId), { roleIds: [admin.roleId] }), 404, "ROLE_NOT_FOUND");
  assert.equal((await give(again)).status, 200);
});
