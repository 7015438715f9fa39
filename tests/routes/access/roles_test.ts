import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { has, pluck } from "../../support/answers.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { idOf, names, refused } from "./answers.ts";
import { catalogRole, insertLink, insertRole } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const ROLES = "/api/v1/roles";
const ADMINISTERS = ["read:roles", "create:roles", "update:roles", "delete:roles"];
const admin = await t.actor({ permissions: ADMINISTERS });
const stranger = await t.actor({ permissions: ADMINISTERS });
const catalog = new Map(
  (await sql`select code, id from permissions where tenant_id is null`).map(({ code, id }) => [code, id]),
);

/** The id of a catalog permission. */
const permission = (code: string): string => catalog.get(code) ?? assert.fail(`no ${code}`);
const codes = ({ body }: HttpAnswer) => pluck(body.permissions, "code");
const create = (body: Record<string, unknown>, by: HttpClient = admin) => by.post(ROLES, body);
const newRole = (name: string, permissionIds: string[] = [], by: HttpClient = admin) =>
  idOf(create({ name, permissionIds }, by));
const systemRole = (name: string, tenantId = admin.tenantId) => catalogRole(t, name, tenantId);

/** A permission that belongs to the tenant of `owner`. */
async function ownPermission(owner: Actor, code: string): Promise<string> {
  const id = newId();
  await sql`insert into permissions (id, tenant_id, code, category)
    values (${id}, ${owner.tenantId}, ${code}, 'Own')`;
  return id;
}

/** A signed-in visitor who also holds `roleId` in the tenant of `owner`. */
async function holder(owner: Actor, roleId: string): Promise<Actor> {
  const actor = await t.actor({ tenantId: owner.tenantId ?? "", role: "Visitor" });
  await insertLink(t, actor.userId, owner.tenantId, roleId);
  return await t.signedIn(actor);
}

Deno.test("a role name is unique in its tenant and the catalog, whatever its letter case, form and invisible characters", async () => {
  for (const name of ["Caixa", "Straße"]) await newRole(name);
  for (const name of ["CAIXA", "STRASSE", "visitor", "Ca\u200bixa", "Ｃａｉｘａ"]) {
    refused(await create({ name }), 409, "ROLE_ALREADY_EXISTS");
  }
  assert.equal((await create({ name: "Caixa" }, stranger)).status, 201);
  const answers = await Promise.all(Array.from({ length: 4 }, () => create({ name: "Contested" })));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  const gone = await newRole("Passing");
  await admin.delete(`${ROLES}/${gone}`);
  await newRole("Passing");
});

Deno.test("a role with holders cannot be deleted; deleted users do not count", async () => {
  const id = await newRole("Held", [permission("read:users")]);
  const user = await holder(admin, id);
  refused(await admin.delete(`${ROLES}/${id}`), 409, "ROLE_ASSIGNED_CONFLICT");
  await sql`update user_tenants set is_active = false where user_id = ${user.userId}`;
  refused(await admin.delete(`${ROLES}/${id}`), 409, "ROLE_ASSIGNED_CONFLICT");
  assert.equal((await admin.get(`${ROLES}/${id}`)).body.userCount, 1);
  await sql`update users set deleted_at = now() where id = ${user.userId}`;
  assert.equal((await admin.get(`${ROLES}/${id}`)).body.userCount, 0, "nor do they count");
  await accepted(admin.delete(`${ROLES}/${id}`), 200);
  refused([await admin.get(`${ROLES}/${id}`), await admin.delete(`${ROLES}/${id}`)], 404, "ROLE_NOT_FOUND");
  assert.ok(!names(await admin.get(`${ROLES}?search=held`)).includes("Held"));
  const { body: { items: [held] } } = await admin.get(`${ROLES}?search=held&includeDeleted=true`);
  assert.equal(held.name, "Held");
  assert.equal(held.deletedAt, held.updatedAt, "deleted ones are marked");
});

Deno.test("roles are searched without case and accents, summarized, and looked up", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  const one = await newRole("Ação", [], owner);
  const two = await newRole("beta 100%", [permission("read:users")], owner);
  for (const role of [one, one, two]) await holder(owner, role);
  assert.deepEqual(names(await owner.get(`${ROLES}?search=ACAO`)), ["Ação"]);
  const counts = { totalRoles: 6, systemRoles: 3, customRoles: 3, rolesWithoutUsers: 2, usersWithRoles: 4 };
  assert.deepEqual((await owner.get(`${ROLES}/summary`)).body, counts);
  const lookup = await owner.get(`${ROLES}/lookup?includeSystemRoles=false&search=beta`);
  assert.deepEqual(lookup.body.items, [{ id: two, name: "beta 100%", description: null }]);
  assert.equal((await owner.get(`${ROLES}/lookup?ids=${one},${two}&ids=${newId()}`)).body.totalCount, 2);
  assert.equal((await owner.get(`${ROLES}/lookup`)).body.totalCount, 6);
});

Deno.test("permissionIds of a change: absent or null keeps them, an empty list removes all, a list replaces them", async () => {
  const id = await newRole("Matrix", [permission("read:users")]);
  const put = (body: unknown) => admin.put(`${ROLES}/${id}`, body);
  for (const body of [{ name: "Matrix 2" }, { name: null, permissionIds: null }]) {
    assert.deepEqual(codes(await put(body)), ["read:users"]);
  }
  const wanted = [permission("read:roles"), permission("read:files")];
  assert.deepEqual(codes(await put({ permissionIds: wanted })), ["read:files", "read:roles"]);
  assert.deepEqual(codes(await put({ permissionIds: [] })), []);
  refused(await put({ name: "Visitor" }), 409, "ROLE_ALREADY_EXISTS");
});

Deno.test("assigning and revoking a permission can be repeated without a change", async () => {
  const id = await newRole("Single steps");
  const path = `${ROLES}/${id}/permissions/${permission("read:files")}`;
  const { post, delete: remove } = admin;
  for (const [change, held, etag] of [[post, ["read:files"], '"2"'], [remove, [], '"3"']] as const) {
    for (let n = 0; n < 2; n++) {
      const answer = await change(path);
      assert.deepEqual([codes(answer), answer.headers.get("etag")], [held, etag]);
    }
  }
});

Deno.test("catalog roles can get more permissions but cannot lose any, be renamed or be deleted", async () => {
  const platform = await t.systemAdmin.get(`${ROLES}?isSystemRole=true`);
  assert.deepEqual(names(platform), ["Admin", "GroupAdmin", "SystemAdmin", "Visitor"]);
  const visitor = await systemRole("Visitor");
  const { body: before } = await admin.get(`${ROLES}/with-permissions?ids=${visitor}`);
  const held = pluck(before.items[0].permissions, "id");
  const roles: [HttpClient, string, string[]][] = [
    [admin, visitor, held],
    [t.systemAdmin, await systemRole("SystemAdmin", t.platformTenantId), [permission("admin:system")]],
  ];
  for (const [caller, id, carried] of roles) {
    const other = permission("purge:files");
    const put = (body: object) => caller.put(`${ROLES}/${id}`, body);
    const answers = [
      await caller.delete(`${ROLES}/${id}/permissions/${carried[0]}`),
      await caller.delete(`${ROLES}/${id}/permissions/${other}`),
      await put({ permissionIds: [] }),
      await put({ permissionIds: [...carried, other] }),
      await put({ permissionIds: carried }),
      await put({ name: "Renamed" }),
      await caller.delete(`${ROLES}/${id}`),
    ];
    refused(answers, 409, "ROLE_SYSTEM_PROTECTED_CONFLICT");
  }
  const same = { name: "Visitor", description: "May look around" };
  for (const body of [same, { permissionIds: null }]) {
    const { description, permissions } = await accepted(admin.put(`${ROLES}/${visitor}`, body), 200);
    assert.deepEqual([description, permissions.length], ["May look around", held.length]);
  }
  const given = await admin.post(`${ROLES}/${visitor}/permissions/${permission("purge:files")}`);
  assert.ok(codes(given).includes("purge:files"));
});

Deno.test("only a holder can give platform-reach permissions; anyone with the route's permission can take them", async () => {
  for (const code of ["admin:system", "manage:all-users"]) {
    const id = await newRole(`Ceiling ${code}`);
    const answers = [
      await create({ name: `New ${code}`, permissionIds: [permission(code)] }),
      await admin.put(`${ROLES}/${id}`, { permissionIds: [permission("read:users"), permission(code)] }),
      await admin.post(`${ROLES}/${id}/permissions/${permission(code)}`),
      await admin.post(`${ROLES}/${await systemRole("Visitor")}/permissions/${permission(code)}`),
    ];
    refused(answers, 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
    assert.equal((await admin.get(`${ROLES}/${id}`)).body.permissionCount, 0, "the whole call is blocked");

    const equal = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["update:roles", code] });
    assert.deepEqual(codes(await equal.post(`${ROLES}/${id}/permissions/${permission(code)}`)), [code]);
    const both = [permission(code), permission("read:users")];
    const kept = await admin.put(`${ROLES}/${id}`, { permissionIds: both });
    assert.equal(codes(kept).length, 2, "keeping what the role has is no grant");
    const taken = await admin.delete(`${ROLES}/${id}/permissions/${permission(code)}`);
    assert.deepEqual(codes(taken), ["read:users"]);
  }
  const permissions = ["update:roles", "manage:all-users"];
  const users = await t.actor({ tenantId: admin.tenantId ?? "", permissions });
  const id = await newRole("Not quite");
  const beyond = await users.post(`${ROLES}/${id}/permissions/${permission("manage:all-tenants")}`);
  refused(beyond, 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal((await admin.post(`${ROLES}/${id}/permissions/${permission("purge:files")}`)).status, 200);
});

Deno.test("a tenant's own permission can be added only to the tenant's own roles", async () => {
  const own = await ownPermission(admin, "approve:loans");
  const foreign = await ownPermission(stranger, "approve:loans");
  const id = await newRole("Lender", [own]);
  const attempts = [
    await create({ name: "Thief", permissionIds: [foreign] }),
    await admin.post(`${ROLES}/${id}/permissions/${foreign}`),
    await admin.delete(`${ROLES}/${id}/permissions/${foreign}`),
    await admin.put(`${ROLES}/${id}`, { permissionIds: [own, foreign] }),
    await admin.post(`${ROLES}/${id}/preview`, { permissionIds: [own, foreign] }),
  ];
  refused(attempts, 404, "PERMISSION_NOT_FOUND");
});

Deno.test("simultaneous changes of roles all take effect; a role is not assigned during its deletion", async () => {
  const [id, twin] = [await newRole("Busy"), await newRole("Busy twin")];
  const { userId } = await holder(admin, id);
  await insertLink(t, userId, admin.tenantId, twin);
  const rowOf = async () => [...await sql`select xmin::text from users where id = ${userId}`];
  const before = await rowOf();
  const give = (role: string, code: string) => admin.post(`${ROLES}/${role}/permissions/${permission(code)}`);
  const replace = (role: string) =>
    admin.put(`${ROLES}/${role}`, { permissionIds: [permission("read:users")] });
  const given = ["read:users", "read:roles", "read:files"].map((code) => give(id, code));
  assert.deepEqual((await Promise.all(given)).map(({ status }) => status), [200, 200, 200]);
  const { body, headers } = await admin.get(`${ROLES}/${id}`);
  assert.deepEqual([body.permissionCount, headers.get("etag")], [3, '"4"']);
  const mixed = [replace(id), replace(twin), give(id, "purge:files"), give(twin, "purge:files")];
  assert.ok((await Promise.all(mixed)).every(({ status }) => status === 200), "no deadlock");
  assert.deepEqual(await rowOf(), before, "no row of the holders is changed, of whom there may be many");
  const racing = await newRole("Racing");
  const [assigned, deleted] = await Promise.allSettled([
    holder(admin, racing),
    admin.delete(`${ROLES}/${racing}`),
  ]);
  const isDeleted = deleted.status === "fulfilled" && deleted.value.status === 200;
  assert.notEqual(assigned.status === "fulfilled", isDeleted, "either assigned or deleted, never both");
});

Deno.test("a preview names who gains and loses what, and changes nothing", async () => {
  const admin = await t.actor({ permissions: [...ADMINISTERS, "read:users"] });
  const tenantId = admin.tenantId ?? "";
  const role = await t.actor({ tenantId, permissions: ["read:roles", "read:tenants"] });
  // Also has read:tenants by another role, so loses nothing.
  const second = await t.actor({ tenantId, permissions: [] });
  for (const id of [role.roleId, await insertRole(t, tenantId, ["read:tenants"])]) {
    await insertLink(t, second.userId, tenantId, id);
  }
  const path = `/api/v1/roles/${role.roleId}`;
  const before = await admin.get(path);

  const preview = (...codes: string[]) =>
    accepted(admin.post(`${path}/preview`, { permissionIds: codes.map(permission) }), 200);
  const body = await preview("read:roles", "read:users");
  assert.deepEqual(pluck(body.added, "code", "userCount"), [["read:users", 2]]);
  assert.deepEqual(pluck(body.removed, "code", "userCount"), [["read:tenants", 1]]);
  assert.deepEqual([body.userCount, body.affectedCount], [2, 2]);
  const of = (id: string) => body.users.find((user: { id: string }) => user.id === id);
  assert.deepEqual([of(role.userId).gains, of(role.userId).loses], [["read:users"], ["read:tenants"]]);
  assert.deepEqual([of(second.userId).gains, of(second.userId).loses], [["read:users"], []]);
  assert.equal(of(role.userId).email, role.email);
  assert.deepEqual(await admin.get(path).then(({ body }) => body), before.body);

  const onlyCovered = await preview("read:roles");
  assert.deepEqual([onlyCovered.affectedCount, onlyCovered.sessionCount], [1, 2], "of all holders");
  assert.deepEqual(pluck(onlyCovered.users, "id"), [role.userId]);
  const nobody = { affectedCount: 0, sessionCount: 0, users: [] };
  has(await preview("read:roles", "read:tenants"), { added: [], removed: [], userCount: 2, ...nobody });
  await sql`update sessions set revoked_at = now() where user_id = ${role.userId}`;
  const blind = await t.actor({ tenantId, permissions: ["update:roles"] });
  const unnamed = (await blind.post(`${path}/preview`, { permissionIds: [] })).body;
  assert.deepEqual([unnamed.affectedCount, unnamed.users], [2, []], "names need read:users");
  assert.equal(unnamed.sessionCount, 1, "sessions that have ended are not counted");
});
