import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const NIL = "00000000-0000-0000-0000-000000000000";
const newUuid = () => crypto.randomUUID();

async function role(tenantId: string, permissions: string[] = []): Promise<string> {
  const id = newUuid();
  await sql`insert into roles (id, tenant_id, name) values (${id}, ${tenantId}, ${`Role ${id}`})`;
  await sql`insert into role_permissions (role_id, permission_id)
    select ${id}, id from permissions where tenant_id is null and code = any(${permissions}::text[])`;
  return id;
}

/** A user without links. */
async function user(): Promise<string> {
  const id = newUuid();
  await sql`insert into users (id, email) values (${id}, ${`${id}@example.test`})`;
  return id;
}

async function tenantWithRole(maxUsers: number | null = null): Promise<{ tenantId: string; roleId: string }> {
  const tenantId = await t.tenant();
  await sql`update tenants set max_users = ${maxUsers} where id = ${tenantId}`;
  return { tenantId, roleId: await role(tenantId) };
}

const userCount = async (tenantId: string) =>
  (await sql<{ n: number }[]>`select user_count as n from tenants where id = ${tenantId}`)[0]?.n;
const links = (userId: string) => `/api/v1/admin/users/${userId}/tenants`;
const manager = await t.actor({ permissions: ["manage:all-users", "read:users"] });

Deno.test("a link is added beside the others, and the answer is the whole user", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const { tenantId, roleId } = await tenantWithRole();
  const answer = await t.systemAdmin.post(links(subject.userId), {
    tenantId,
    roleIds: [roleId],
    isDefault: false,
  });
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get("location"), `/api/v1/admin/users/${subject.userId}`);
  assert.deepEqual(answer.body.tenants, [
    {
      tenantId: subject.tenantId,
      roleIds: [subject.roleId],
      isDefault: true,
      isActive: true,
      externalId: null,
    },
    { tenantId, roleIds: [roleId], isDefault: false, isActive: true, externalId: null },
  ]);
  assert.equal((await subject.get("/api/v1/users")).body.code, "SESSION_INVALIDATED");
  assert.equal((await manager.get("/api/v1/users")).status, 200, "nobody else's token ends");
});

Deno.test("isDefault moves the default in the same write; false or a first link does not set one", async () => {
  const subject = await user();
  const [first, second, third] = [await tenantWithRole(), await tenantWithRole(), await tenantWithRole()];
  const add = async (target: { tenantId: string; roleId: string }, isDefault?: boolean) => {
    const { body } = await t.systemAdmin.post(links(subject), {
      tenantId: target.tenantId,
      roleIds: [target.roleId],
      isDefault,
    });
    return body.tenants.filter((link: { isDefault: boolean }) => link.isDefault).map((
      link: { tenantId: string },
    ) => link.tenantId);
  };
  assert.deepEqual(await add(first), []);
  assert.deepEqual(await add(second, true), [second.tenantId]);
  assert.deepEqual(await add(third, true), [third.tenantId]);
});

Deno.test("malformed assignments are rejected before any other check", async () => {
  const many = Array.from({ length: 51 }, newUuid);
  const { tenantId, roleId } = await tenantWithRole();
  const cases: [unknown, RegExp][] = [
    [{ tenantId: NIL, roleIds: [roleId] }, /^tenantId: must not be empty/],
    [{ roleIds: [roleId] }, /^tenantId: /],
    [{ tenantId: "", roleIds: [roleId] }, /^tenantId: /],
    [{ tenantId, roleIds: [] }, /^roleIds: /],
    [{ tenantId, roleIds: null }, /^roleIds: /],
    [{ tenantId }, /^roleIds: /],
    [{ tenantId, roleIds: "x" }, /^roleIds: /],
    [{ tenantId, roleIds: [NIL] }, /^roleIds\.0: must not be empty/],
    [{ tenantId, roleIds: [""] }, /^roleIds\.0: /],
    [{ tenantId, roleIds: many }, /^roleIds: expected at most 50/],
    [{ tenantId, roleIds: [roleId], isDefault: "yes" }, /^isDefault: /],
  ];
  for (const [body, expected] of cases) {
    const answer = await manager.post(links(newUuid()), body);
    assert.equal(answer.status, 400);
    assert.equal(answer.body.code, "VALIDATION_ERROR");
    assert.match(answer.body.errors[0], expected);
  }
});

Deno.test("repeated role ids count once, also against the limit of 50", async () => {
  const { tenantId, roleId } = await tenantWithRole();
  const roleIds = [...Array(60).fill(roleId), roleId.toUpperCase()];
  const answer = await t.systemAdmin.post(links(await user()), { tenantId, roleIds });
  assert.equal(answer.status, 201);
  assert.deepEqual(answer.body.tenants[0].roleIds, [roleId]);
});

Deno.test("errors are checked in the documented order", async () => {
  const full = await tenantWithRole(1);
  const strong = await role(full.tenantId, ["purge:files"]);
  const foreign = (await tenantWithRole()).roleId;
  const linked = (await t.actor({ tenantId: full.tenantId })).userId;
  const unlinked = await user();
  const deleted = await user();
  await sql`update users set deleted_at = now() where id = ${deleted}`;
  const code = async (userId: string, tenantId: string, roleIds: string[]) => {
    const { status, body } = await manager.post(links(userId), { tenantId, roleIds });
    return `${status} ${body.code}`;
  };
  assert.equal(await code(newUuid(), newUuid(), [newUuid()]), "404 USER_NOT_FOUND");
  assert.equal(await code(deleted, newUuid(), [newUuid()]), "404 USER_NOT_FOUND");
  assert.equal(await code(linked, newUuid(), [strong]), "404 TENANT_NOT_FOUND");
  assert.equal(await code(linked, full.tenantId, [strong, newUuid()]), "404 ROLE_NOT_FOUND");
  assert.equal(await code(linked, full.tenantId, [strong, foreign]), "404 ROLE_NOT_FOUND");
  assert.equal(await code(linked, full.tenantId, [strong]), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal(await code(linked, full.tenantId, [full.roleId]), "409 USER_ALREADY_ASSIGNED");
  assert.equal(await code(unlinked, full.tenantId, [full.roleId]), "400 TENANT_CAPACITY_REACHED");
});

Deno.test("a role of another tenant and an unknown role get the same answer", async () => {
  const { tenantId } = await tenantWithRole();
  const subject = await user();
  const strip = ({ traceId: _, detail, ...rest }: Record<string, string>, id: string) => ({
    ...rest,
    detail: detail?.replace(id, "…"),
  });
  const [foreign, missing] = [(await tenantWithRole()).roleId, newUuid()];
  const one = await manager.post(links(subject), { tenantId, roleIds: [foreign] });
  const other = await manager.post(links(subject), { tenantId, roleIds: [missing] });
  assert.deepEqual(strip(one.body, foreign), strip(other.body, missing));
});

Deno.test("deleted tenants and roles are not found; an inactive user and tenant can be linked", async () => {
  const { tenantId, roleId } = await tenantWithRole();
  const gone = await role(tenantId);
  await sql`update roles set deleted_at = now() where id = ${gone}`;
  const subject = await user();
  await sql`update users set is_active = false where id = ${subject}`;
  await sql`update tenants set is_active = false where id = ${tenantId}`;
  const refused = await t.systemAdmin.post(links(subject), { tenantId, roleIds: [gone] });
  assert.equal(refused.body.code, "ROLE_NOT_FOUND");
  assert.equal((await t.systemAdmin.post(links(subject), { tenantId, roleIds: [roleId] })).status, 201);
  const other = await tenantWithRole();
  await sql`update tenants set deleted_at = now() where id = ${other.tenantId}`;
  const missing = await t.systemAdmin.post(links(subject), {
    tenantId: other.tenantId,
    roleIds: [other.roleId],
  });
  assert.equal(missing.body.code, "TENANT_NOT_FOUND");
});

Deno.test("linking again changes nothing: no roles, version, default or audit row, also for a deactivated link", async () => {
  const { tenantId, roleId } = await tenantWithRole();
  const second = await role(tenantId);
  const subject = await user();
  await t.systemAdmin.post(links(subject), { tenantId, roleIds: [roleId] });
  const snapshot = () =>
    sql`select (select json_agg(u) from users u where id = ${subject}) as users,
      (select json_agg(l) from user_tenants l where user_id = ${subject}) as links,
      (select json_agg(r) from user_tenant_roles r where user_id = ${subject}) as roles,
      (select count(*) from audit_log where target_id = ${subject}) as audited`;
  for (const isActive of [true, false]) {
    await sql`update user_tenants set is_active = ${isActive} where user_id = ${subject}`;
    const before = await snapshot();
    const again = await t.systemAdmin.post(links(subject), { tenantId, roleIds: [second], isDefault: true });
    assert.equal(again.status, 409);
    assert.equal(again.body.code, "USER_ALREADY_ASSIGNED");
    assert.deepEqual(await snapshot(), before);
  }
});

Deno.test("of two simultaneous calls for one pair one gets 201 and one 409", async () => {
  for (let round = 0; round < 5; round++) {
    const { tenantId, roleId } = await tenantWithRole();
    const subject = await user();
    const body = { tenantId, roleIds: [roleId], isDefault: true };
    const answers = await Promise.all([1, 2].map(() => t.systemAdmin.post(links(subject), body)));
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409]);
    assert.equal(await userCount(tenantId), 1);
  }
});

Deno.test("simultaneous defaults of one user leave exactly one", async () => {
  const subject = await user();
  const targets = await Promise.all(Array.from({ length: 8 }, () => tenantWithRole()));
  const answers = await Promise.all(
    targets.map(({ tenantId, roleId }) =>
      t.systemAdmin.post(links(subject), { tenantId, roleIds: [roleId], isDefault: true })
    ),
  );
  assert.deepEqual(answers.map((answer) => answer.status), Array(8).fill(201));
  const rows = await sql`select from user_tenants where user_id = ${subject} and is_default`;
  assert.equal(rows.length, 1);
});

Deno.test("50 concurrent additions by every route never exceed the capacity", async () => {
  const { tenantId, roleId } = await tenantWithRole(20);
  const users = await Promise.all(Array.from({ length: 50 }, () => user()));
  const answers = await Promise.all(users.map((userId, at) => {
    const link = { tenantId, roleIds: [roleId] };
    if (at % 3 === 0) return t.systemAdmin.post(links(userId), link);
    if (at % 3 === 1) {
      return t.systemAdmin.post(`/api/v1/tenants/${tenantId}/users`, { userId, roleIds: [roleId] });
    }
    return t.systemAdmin.put(`/api/v1/admin/users/${userId}`, { tenants: [link] });
  }));
  const good = answers.filter((answer) => answer.status < 300);
  const refused = answers.filter((answer) => answer.body.code === "TENANT_CAPACITY_REACHED");
  assert.equal(good.length, 20);
  assert.equal(refused.length, 30);
  assert.ok(refused.every((answer) => answer.status === 400));
  const [row] = await sql<
    { n: number }[]
  >`select count(*) as n from user_tenants where tenant_id = ${tenantId}`;
  assert.equal(row?.n, 20);
  assert.equal(await userCount(tenantId), 20);
});

Deno.test("capacity counts active links of users that are not deleted", async () => {
  const { tenantId, roleId } = await tenantWithRole(1);
  const [first, second] = [await user(), await user()];
  const add = (userId: string) => t.systemAdmin.post(links(userId), { tenantId, roleIds: [roleId] });
  assert.equal((await add(first)).status, 201);
  assert.equal((await add(second)).body.code, "TENANT_CAPACITY_REACHED");
  const matrix = [{ tenantId, roleIds: [roleId], isActive: false }];
  assert.equal((await t.systemAdmin.put(`/api/v1/admin/users/${first}`, { tenants: matrix })).status, 200);
  assert.equal((await add(second)).status, 201, "a deactivated link takes no place");
  const reactivated = await t.systemAdmin.put(`/api/v1/admin/users/${first}`, {
    tenants: [{ tenantId, roleIds: [roleId] }],
  });
  assert.equal(reactivated.body.code, "TENANT_CAPACITY_REACHED");
  assert.equal((await t.systemAdmin.delete(`/api/v1/admin/users/${second}`)).status, 200);
  assert.equal((await add(await user())).status, 201, "a deleted user takes no place");
});

Deno.test("with manage:all-users alone a caller gives only permissions held in the token's tenant", async () => {
  const { tenantId } = await tenantWithRole();
  const held = await role(tenantId, ["read:users", "manage:all-users"]);
  const beyond = await role(tenantId, ["read:users", "delete:users"]);
  const subject = await user();
  const blocked = await manager.post(links(subject), { tenantId, roleIds: [held, beyond] });
  assert.equal(blocked.status, 403);
  assert.equal(blocked.body.code, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.match(blocked.body.detail, /delete:users/);
  assert.equal((await sql`select from user_tenants where user_id = ${subject}`).length, 0);
  assert.equal((await manager.post(links(subject), { tenantId, roleIds: [held] })).status, 201);
  assert.equal((await t.systemAdmin.post(links(await user()), { tenantId, roleIds: [beyond] })).status, 201);
});

Deno.test("the admin routes need admin:system or manage:all-users", async () => {
  const admin = await t.actor({ role: "Admin" });
  const { tenantId, roleId } = await tenantWithRole();
  const refused = await admin.post(links(admin.userId), { tenantId, roleIds: [roleId] });
  assert.equal(refused.status, 403);
  assert.equal(refused.body.code, "MISSING_PERMISSION");
  const wrongPath = await manager.post(links("not-a-uuid"), { tenantId, roleIds: [roleId] });
  assert.equal(wrongPath.body.code, "VALIDATION_ERROR");
});

Deno.test("POST /tenants/{id}/users links with create:users in the tenant's own context", async () => {
  const admin = await t.actor({ role: "Admin" });
  const roleId = await role(admin.tenantId ?? "", ["read:users"]);
  const path = `/api/v1/tenants/${admin.tenantId}/users`;
  const subject = await t.actor({ permissions: ["read:users"] });
  const answer = await admin.post(path, { userId: subject.userId, roleIds: [roleId], isDefault: false });
  assert.equal(answer.status, 201);
  assert.equal(answer.headers.get("location"), `/api/v1/users/${subject.userId}/tenants`);
  assert.equal(answer.body.tenantId, admin.tenantId);
  assert.equal(answer.body.isActive, true);
  assert.equal(answer.body.isDefault, false);
  assert.deepEqual(answer.body.roles.map((r: { id: string }) => r.id), [roleId]);
  const again = await admin.post(path, { userId: subject.userId, roleIds: [roleId] });
  assert.equal(again.body.code, "USER_ALREADY_ASSIGNED");
  assert.equal(
    (await admin.post(path, { userId: newUuid(), roleIds: [roleId] })).body.code,
    "USER_NOT_FOUND",
  );
  assert.equal(
    (await admin.post(path, { userId: subject.userId, roleIds: [] })).body.code,
    "VALIDATION_ERROR",
  );
  const strong = await role(admin.tenantId ?? "", ["purge:files"]);
  assert.equal(
    (await admin.post(path, { userId: await user(), roleIds: [strong] })).body.code,
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  );
});

Deno.test("a tenant's admin cannot remove the default of another tenant's user", async () => {
  const admin = await t.actor({ role: "Admin" });
  const roleId = await role(admin.tenantId ?? "");
  const subject = await t.actor({ permissions: ["read:users"] });
  const path = `/api/v1/tenants/${admin.tenantId}/users`;
  const refused = await admin.post(path, { userId: subject.userId, roleIds: [roleId], isDefault: true });
  assert.equal(refused.body.code, "CROSS_TENANT_FORBIDDEN");
  const newcomer = await admin.post(path, { userId: await user(), roleIds: [roleId], isDefault: true });
  assert.equal(newcomer.status, 201);
  assert.equal(newcomer.body.isDefault, true);
});

Deno.test("a default in a deleted tenant does not count, and can be replaced", async () => {
  const admin = await t.actor({ role: "Admin" });
  const roleId = await role(admin.tenantId ?? "");
  const subject = await t.actor({ permissions: ["read:users"] });
  assert.equal((await t.systemAdmin.delete(`/api/v1/tenants/${subject.tenantId}`)).status, 200);
  const { status, body } = await admin.post(`/api/v1/tenants/${admin.tenantId}/users`, {
    userId: subject.userId,
    roleIds: [roleId],
    isDefault: true,
  });
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal(body.isDefault, true);
});

Deno.test("POST /tenants/{id}/users reaches other tenants only with permission for all of them, and otherwise reveals nothing", async () => {
  const { tenantId, roleId } = await tenantWithRole();
  const admin = await t.actor({ role: "Admin" });
  const visitor = await t.actor({ role: "Visitor" });
  const ask = async (actor: Actor, id: string) =>
    (await actor.post(`/api/v1/tenants/${id}/users`, { userId: newUuid(), roleIds: [roleId] })).body.code;
  assert.equal(await ask(admin, tenantId), "CROSS_TENANT_FORBIDDEN");
  assert.equal(await ask(admin, newUuid()), "CROSS_TENANT_FORBIDDEN");
  assert.equal(await ask(visitor, visitor.tenantId ?? ""), "MISSING_PERMISSION");
  const global = await t.actor({ role: "Admin", global: true });
  assert.equal(await ask(global, tenantId), "FORBIDDEN");
  for (const permission of ["manage:all-users", "manage:all-tenants"]) {
    const reaching = await t.actor({ permissions: [permission] });
    const userId = await user();
    const added = await reaching.post(`/api/v1/tenants/${tenantId}/users`, { userId, roleIds: [roleId] });
    assert.equal(added.status, 201);
    assert.equal(await ask(reaching, newUuid()), "USER_NOT_FOUND");
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
  try {
    const [{ tenantId, roleId }, one, other] = [await tenantWithRole(), await user(), await user()];
    const added = await t.systemAdmin.post(links(one), { tenantId, roleIds: [roleId] });
    assert.deepEqual([added.status, added.body.tenants?.length], [201, 1], JSON.stringify(added.body));
    const brought = await t.systemAdmin.post(`/api/v1/tenants/${tenantId}/users`, {
      userId: other,
      roleIds: [roleId],
    });
    assert.deepEqual([brought.status, brought.body.tenantId], [201, tenantId], JSON.stringify(brought.body));
    assert.equal((await t.systemAdmin.get(links(one))).body.code, "USER_NOT_FOUND");
  } finally {
    await sql`drop function delete_linked cascade`;
  }
});
