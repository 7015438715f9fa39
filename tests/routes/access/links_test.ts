import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import { atEnd } from "../../support/at_end.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { atOnce, refused, statuses } from "./answers.ts";
import { insertRole, insertUser, newUser } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const newUuid = () => crypto.randomUUID();
const user = (set = {}) => insertUser(t, set);

/** A tenant with room for `maxUsers`, and a role of it without permissions. */
async function tenantWithRole(maxUsers: number | null = null): Promise<{ tenantId: string; roleId: string }> {
  const tenantId = await t.tenant();
  await sql`update tenants set max_users = ${maxUsers} where id = ${tenantId}`;
  return { tenantId, roleId: await insertRole(t, tenantId) };
}

const userCount = async (tenantId: string) =>
  (await sql<{ n: number }[]>`select user_count as n from tenants where id = ${tenantId}`)[0]?.n;
const links = (userId: string) => `/api/v1/admin/users/${userId}/tenants`;
const linkTo = (
  userId: string,
  tenantId: string | null,
  roleIds: unknown,
  o = {},
  by: Actor = t.systemAdmin,
) => by.post(links(userId), { tenantId, roleIds, ...o });
const manager = await t.actor({ permissions: ["manage:all-users", "read:users"] });

Deno.test("a link is added beside the others; isDefault moves the default in the same write, false or a first link does not", async () => {
  const subject = await user();
  let links = 0;
  for (const isDefault of [undefined, true, true]) {
    const { tenantId, roleId } = await tenantWithRole();
    const { body } = await linkTo(subject, tenantId, [roleId, roleId.toUpperCase()], { isDefault });
    assert.equal(body.tenants.length, ++links);
    const added = body.tenants.find((link: { tenantId: string }) => link.tenantId === tenantId);
    assert.deepEqual(added.roleIds, [roleId], "repeated ids count once");
    const defaults = body.tenants.filter((link: { isDefault: boolean }) => link.isDefault);
    assert.deepEqual(pluck(defaults, "tenantId"), isDefault ? [tenantId] : []);
  }
});

Deno.test("errors are checked in the documented order, also for deleted users, tenants and roles", async () => {
  const full = await tenantWithRole(1);
  const strong = await insertRole(t, full.tenantId, ["purge:files"]);
  const foreign = (await tenantWithRole()).roleId;
  const linked = (await t.actor({ tenantId: full.tenantId })).userId;
  const deleted = await user({ deleted_at: new Date() });
  const closed = await tenantWithRole();
  const goneRole = await insertRole(t, closed.tenantId);
  await sql`update roles set deleted_at = now() where id = ${goneRole}`;
  await sql`update tenants set is_active = false where id = ${closed.tenantId}`;
  const goneTenant = await tenantWithRole();
  await sql`update tenants set deleted_at = now() where id = ${goneTenant.tenantId}`;
  const cases: [number, string, string, string, string[]][] = [
    [404, "USER_NOT_FOUND", deleted, newUuid(), [newUuid()]],
    [404, "TENANT_NOT_FOUND", linked, newUuid(), [strong]],
    [404, "TENANT_NOT_FOUND", linked, goneTenant.tenantId, [goneTenant.roleId]],
    [404, "ROLE_NOT_FOUND", linked, closed.tenantId, [goneRole]],
    [404, "ROLE_NOT_FOUND", linked, full.tenantId, [strong, newUuid()]],
    [404, "ROLE_NOT_FOUND", linked, full.tenantId, [strong, foreign]],
    [403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED", linked, full.tenantId, [strong]],
    [409, "USER_ALREADY_ASSIGNED", linked, full.tenantId, [full.roleId]],
    [400, "TENANT_CAPACITY_REACHED", await user(), full.tenantId, [full.roleId]],
  ];
  for (const [status, code, userId, tenantId, roleIds] of cases) {
    refused(await linkTo(userId, tenantId, roleIds, {}, manager), status, code);
  }
  const inactive = await user({ is_active: false });
  const held = await insertRole(t, closed.tenantId, ["read:users", "manage:all-users"]);
  await accepted(linkTo(inactive, closed.tenantId, [held], {}, manager), 201); // both may be inactive
});

Deno.test("linking again changes nothing: no roles, version, default or audit row, though the link is deactivated", async () => {
  const { tenantId, roleId } = await tenantWithRole();
  const second = await insertRole(t, tenantId);
  const subject = await user();
  await linkTo(subject, tenantId, [roleId]);
  const snapshot = () =>
    sql`select (select json_agg(u) from users u where id = ${subject}) as users,
      (select json_agg(l) from user_tenants l where user_id = ${subject}) as links,
      (select json_agg(r) from user_tenant_roles r where user_id = ${subject}) as roles,
      (select count(*) from audit_log where target_id = ${subject}) as audited`;
  await sql`update user_tenants set is_active = false where user_id = ${subject}`;
  const before = await snapshot();
  refused(await linkTo(subject, tenantId, [second], { isDefault: true }), 409, "USER_ALREADY_ASSIGNED");
  assert.deepEqual(await snapshot(), before);
});

Deno.test("of simultaneous calls for one pair one gets 201; simultaneous defaults leave exactly one", async () => {
  const subject = await user();
  const targets = await atOnce(2, () => tenantWithRole());
  const link = ({ tenantId, roleId }: { tenantId: string; roleId: string }) =>
    linkTo(subject, tenantId, [roleId], { isDefault: true });
  const answers = await Promise.all([...targets, ...targets].map(link));
  assert.deepEqual(statuses(answers), [201, 201, 409, 409]);
  for (const { tenantId } of targets) assert.equal(await userCount(tenantId), 1);
  assert.equal((await sql`select from user_tenants where user_id = ${subject} and is_default`).length, 1);
});

Deno.test("concurrent additions by every route never exceed the capacity", async () => {
  const { tenantId, roleId } = await tenantWithRole(2);
  const users = await atOnce(6, () => user());
  const roleIds = [roleId];
  const answers = await Promise.all(users.map((userId, at) => {
    if (at === 5) {
      const admin = newUser({ tenants: [{ tenantId, roleIds }] });
      return t.systemAdmin.post("/api/v1/admin/users", admin);
    }
    if (at % 3 === 0) return linkTo(userId, tenantId, roleIds);
    if (at % 3 === 1) return t.systemAdmin.post(`/api/v1/tenants/${tenantId}/users`, { userId, roleIds });
    return t.systemAdmin.put(`/api/v1/admin/users/${userId}`, { tenants: [{ tenantId, roleIds }] });
  }));
  const refusals = answers.filter(({ status }) => status >= 300);
  assert.equal(refusals.length, 4);
  refused(refusals, 400, "TENANT_CAPACITY_REACHED");
  assert.equal((await sql`select from user_tenants where tenant_id = ${tenantId}`).length, 2);
  assert.equal(await userCount(tenantId), 2);
});

Deno.test("capacity counts active links of users that are not deleted", async () => {
  const { tenantId, roleId } = await tenantWithRole(1);
  const [first, second] = [await user(), await user()];
  const add = (userId: string) => linkTo(userId, tenantId, [roleId]);
  const put = (isActive: boolean) => {
    const tenants = [{ tenantId, roleIds: [roleId], isActive }];
    return t.systemAdmin.put(`/api/v1/admin/users/${first}`, { tenants });
  };
  assert.equal((await add(first)).status, 201);
  refused(await add(second), 400, "TENANT_CAPACITY_REACHED");
  assert.equal((await put(false)).status, 200);
  assert.equal((await add(second)).status, 201, "a deactivated link takes no place");
  refused(await put(true), 400, "TENANT_CAPACITY_REACHED");
  assert.equal((await t.systemAdmin.delete(`/api/v1/admin/users/${second}`)).status, 200);
  assert.equal((await add(await user())).status, 201, "a deleted user takes no place");
});

Deno.test("POST /tenants/{id}/users links with create:users in the tenant's own context", async () => {
  const admin = await t.actor({ role: "Admin" });
  const roleIds = [await insertRole(t, admin.tenantId, ["read:users"])];
  const subject = await t.actor({ permissions: ["read:users"] });
  const add = (userId: string, more: object = {}) =>
    admin.post(`/api/v1/tenants/${admin.tenantId}/users`, { userId, roleIds, ...more });
  refused(await add(subject.userId, { isDefault: true }), 403, "CROSS_TENANT_FORBIDDEN");
  const { tenantId, isActive, isDefault, roles } = await accepted(add(subject.userId, { isDefault: false }));
  assert.deepEqual([tenantId, isActive, isDefault], [admin.tenantId, true, false]);
  assert.deepEqual(pluck(roles, "id"), roleIds);
  refused(await add(subject.userId), 409, "USER_ALREADY_ASSIGNED");
  refused(await add(newUuid()), 404, "USER_NOT_FOUND");
  const strong = [await insertRole(t, admin.tenantId, ["purge:files"])];
  refused(await add(await user(), { roleIds: strong }), 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const homeless = await t.actor();
  assert.equal((await t.systemAdmin.delete(`/api/v1/tenants/${homeless.tenantId}`)).status, 200);
  for (const id of [await user(), homeless.userId]) {
    assert.equal((await add(id, { isDefault: true })).body.isDefault, true, "who has no default elsewhere");
  }
});

Deno.test("POST /tenants/{id}/users reaches other tenants only with permission for all of them, and otherwise reveals nothing", async () => {
  const { tenantId, roleId } = await tenantWithRole();
  const admin = await t.actor({ role: "Admin" });
  const visitor = await t.actor({ role: "Visitor" });
  const add = (by: Actor, id: string | null, userId: string = newUuid()) =>
    by.post(`/api/v1/tenants/${id}/users`, { userId, roleIds: [roleId] });
  refused([await add(admin, tenantId), await add(admin, newUuid())], 403, "CROSS_TENANT_FORBIDDEN");
  refused(await add(visitor, visitor.tenantId), 403, "MISSING_PERMISSION");
  for (const permission of ["manage:all-users", "manage:all-tenants"]) {
    const reaching = await t.actor({ permissions: [permission] });
    await accepted(add(reaching, tenantId, await user()), 201);
    refused(await add(reaching, newUuid()), 404, "USER_NOT_FOUND");
  }
});

Deno.test("the answer shows the link as it was created, even if the user is deleted right after", async () => {
  // Runs when the link commits: reads after the commit find the user deleted.
  await sql.unsafe(`
    create function delete_linked() returns trigger language plpgsql as $$ begin
      update users set deleted_at = now() where id = new.user_id;
      return null;
    end $$;
    create constraint trigger delete_linked after insert on user_tenants deferrable initially deferred
      for each row execute function delete_linked()`);
  await using _ = atEnd(() => sql`drop function delete_linked cascade`);
  const [{ tenantId, roleId }, one, userId] = [await tenantWithRole(), await user(), await user()];
  const added = await linkTo(one, tenantId, [roleId]);
  assert.equal((await accepted(added, 201)).tenants.length, 1);
  const body = { userId, roleIds: [roleId] };
  const brought = t.systemAdmin.post(`/api/v1/tenants/${tenantId}/users`, body);
  assert.equal((await accepted(brought, 201)).tenantId, tenantId);
  refused(await t.systemAdmin.get(links(one)), 404, "USER_NOT_FOUND");
});
