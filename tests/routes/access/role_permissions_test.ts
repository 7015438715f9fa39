import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { has, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { auditOf, isSignedIn, names, refused, withoutOthers } from "./answers.ts";
import { ADMINISTERS, ROLES, rolesOf } from "./roles.ts";
import { insertLink, insertRole } from "./users.ts";

const t = await setupShared();

const { sql } = t.steward.platform;
const { admin, stranger, create, newRole, permission, systemRole, ownPermission, holder } = await rolesOf(t);
const codes = ({ body }: HttpAnswer) => body.permissions.map((item: { code: string }) => item.code);

Deno.test("permissionIds of a change: absent or null keeps them, an empty list removes all, a list replaces them", async () => {
  const id = await newRole("Matrix", [permission("read:users")]);
  const put = (body: unknown) => admin.put(`${ROLES}/${id}`, body);
  assert.deepEqual(codes(await put({ name: "Matrix 2" })), ["read:users"]);
  const nulls = await put({ name: null, permissionIds: null, description: "Kept" });
  assert.deepEqual([nulls.body.name, codes(nulls)], ["Matrix 2", ["read:users"]]);
  const replaced = await put({ permissionIds: [permission("read:roles"), permission("read:files")] });
  assert.deepEqual(codes(replaced), ["read:files", "read:roles"]);
  assert.equal(replaced.body.description, "Kept");
  assert.deepEqual(codes(await put({ permissionIds: [] })), []);
  assert.equal((await put({ description: null })).body.description, null);
  const { headers } = await put({});
  assert.equal(headers.get("etag"), '"6"', "five changes, and an empty one");
  refused(await put({ name: "Visitor" }), 409, "ROLE_ALREADY_EXISTS");
  refused(await put({ permissionIds: [newId()] }), 404, "PERMISSION_NOT_FOUND");
  assert.equal((await auditOf(t, id)).length, 6);
});

Deno.test("assigning and revoking a permission can be repeated without a change", async () => {
  const id = await newRole("Single steps");
  const path = `${ROLES}/${id}/permissions/${permission("read:files")}`;
  const assigned = await admin.post(path);
  assert.deepEqual([codes(assigned), assigned.headers.get("etag")], [["read:files"], '"2"']);
  const user = await holder(admin, id);
  assert.equal((await admin.post(path)).headers.get("etag"), '"2"');
  assert.ok(await isSignedIn(user), "assigning what is assigned invalidates nobody");
  assert.deepEqual(codes(await admin.delete(path)), []);
  assert.ok(!await isSignedIn(user));
  assert.equal((await admin.delete(path)).headers.get("etag"), '"3"');
  refused(await admin.post(`${ROLES}/${id}/permissions/${newId()}`), 404, "PERMISSION_NOT_FOUND");
  refused(await admin.delete(`${ROLES}/${id}/permissions/${newId()}`), 404, "PERMISSION_NOT_FOUND");
});

Deno.test("catalog roles can get more permissions but cannot lose any, be renamed or be deleted", async () => {
  const platform = await t.systemAdmin.get(`${ROLES}?isSystemRole=true`);
  assert.deepEqual(names(platform), ["Admin", "GroupAdmin", "SystemAdmin", "Visitor"]);
  const roles: [HttpClient, string, string][] = [
    [admin, await systemRole("Visitor"), "read:users"],
    [t.systemAdmin, await systemRole("SystemAdmin", t.platformTenantId), "admin:system"],
  ];
  for (const [caller, id, carried] of roles) {
    const [has, other] = [permission(carried), permission("purge:files")];
    const answers = [
      await caller.delete(`${ROLES}/${id}/permissions/${has}`),
      await caller.delete(`${ROLES}/${id}/permissions/${other}`),
      await caller.put(`${ROLES}/${id}`, { permissionIds: [] }),
      await caller.put(`${ROLES}/${id}`, { permissionIds: [has, other] }),
      await caller.put(`${ROLES}/${id}`, { name: "Renamed" }),
      await caller.delete(`${ROLES}/${id}`),
    ];
    refused(answers, 409, "ROLE_SYSTEM_PROTECTED_CONFLICT");
  }
  const visitor = await systemRole("Visitor");
  const { body: before } = await admin.get(`${ROLES}/with-permissions?ids=${visitor}`);
  const held = before.items[0].permissions.map(({ id }: { id: string }) => id);
  for (const permissionIds of [held.slice(0, 1), [...held, permission("purge:files")], held]) {
    const answer = await admin.put(`${ROLES}/${visitor}`, { permissionIds });
    refused(answer, 409, "ROLE_SYSTEM_PROTECTED_CONFLICT");
  }
  const same = { name: "Visitor", description: "May look around" };
  for (const body of [same, { permissionIds: null }]) {
    const described = await admin.put(`${ROLES}/${visitor}`, body);
    assert.equal(described.status, 200, JSON.stringify(described.body));
    assert.equal(described.body.description, "May look around");
    assert.equal(described.body.permissions.length, held.length);
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
    const kept = await admin.put(`${ROLES}/${id}`, {
      permissionIds: [permission(code), permission("read:users")],
    });
    assert.deepEqual(codes(kept).length, 2, "keeping what the role has is no grant");
    assert.deepEqual(codes(await admin.delete(`${ROLES}/${id}/permissions/${permission(code)}`)), [
      "read:users",
    ]);
  }
  const users = await t.actor({
    tenantId: admin.tenantId ?? "",
    permissions: ["update:roles", "manage:all-users"],
  });
  const id = await newRole("Not quite");
  refused(
    await users.post(`${ROLES}/${id}/permissions/${permission("manage:all-tenants")}`),
    403,
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  );
  assert.equal((await admin.post(`${ROLES}/${id}/permissions/${permission("purge:files")}`)).status, 200);
});

Deno.test("a tenant's own permission can be added only to the tenant's own roles", async () => {
  const own = await ownPermission(admin, "approve:loans");
  const foreign = await ownPermission(stranger, "approve:loans");
  const id = await newRole("Lender", [own]);
  refused(await create({ name: "Thief", permissionIds: [foreign] }), 404, "PERMISSION_NOT_FOUND");
  refused(await admin.post(`${ROLES}/${id}/permissions/${foreign}`), 404, "PERMISSION_NOT_FOUND");
  refused(await admin.put(`${ROLES}/${id}`, { permissionIds: [own, foreign] }), 404, "PERMISSION_NOT_FOUND");
});

Deno.test("simultaneous changes of one role all take effect, and its version counts them", async () => {
  const id = await newRole("Busy");
  const given = ["read:users", "read:roles", "read:files"];
  const answers = await Promise.all(
    given.map((code) => admin.post(`${ROLES}/${id}/permissions/${permission(code)}`)),
  );
  assert.ok(answers.every(({ status }) => status === 200));
  const { body, headers } = await admin.get(`${ROLES}/${id}`);
  assert.deepEqual([body.permissionCount, headers.get("etag")], [3, '"4"']);
  const user = await holder(admin, id);
  const twin = await newRole("Busy twin");
  await sql`insert into user_tenant_roles values (${user.userId}, ${admin.tenantId}, ${twin})`;
  const mixed = await Promise.all(
    [id, twin, id, twin].map((role, index) =>
      index < 2
        ? admin.put(`${ROLES}/${role}`, { permissionIds: [permission("read:users")] })
        : admin.post(`${ROLES}/${role}/permissions/${permission("purge:files")}`)
    ),
  );
  assert.ok(mixed.every(({ status }) => status === 200));
});

Deno.test("changing a role with many holders changes no row of theirs, and ends their sessions at once", async () => {
  const id = await newRole("Everybody");
  const { tenantId } = admin;
  await sql`with made as (
      insert into users (id, email) select gen_random_uuid(), 'many-' || n || '@example.test'
      from generate_series(1, 5) n returning id)
    insert into user_tenants (user_id, tenant_id) select id, ${tenantId} from made`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select l.user_id, l.tenant_id, ${id} from user_tenants l join users u on u.id = l.user_id
    where l.tenant_id = ${tenantId} and u.email like 'many-%'`;
  const user = await holder(admin, id);
  const other = await t.actor({ tenantId: tenantId ?? "" });
  assert.ok(await isSignedIn(user));
  const rows = () => sql`select xmin::text, id from users where email like 'many-%' order by id`;
  const before = await rows();
  for (const code of ["read:users", "read:files", "upload:files"]) {
    assert.equal((await admin.post(`${ROLES}/${id}/permissions/${permission(code)}`)).status, 200);
  }
  assert.ok(!await isSignedIn(user));
  assert.ok(await isSignedIn(other));
  assert.deepEqual([...await rows()], [...before]);
  assert.equal((await admin.get(`${ROLES}/${id}`)).body.userCount, 6);
});

Deno.test("the last role with admin:system keeps it", async () => {
  const heir = await t.actor({ permissions: ["admin:system"] });
  await withoutOthers(t, [heir.userId], async () => {
    const answers = [
      await heir.delete(`${ROLES}/${heir.roleId}/permissions/${permission("admin:system")}`),
      await heir.put(`${ROLES}/${heir.roleId}`, { permissionIds: [] }),
    ];
    refused(answers, 409, "LAST_SYSTEM_ADMIN_CONFLICT");
    assert.ok(await isSignedIn(heir), "nothing was changed");
  });
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

  const { status, body } = await admin.post(`${path}/preview`, {
    permissionIds: [permission("read:roles"), permission("read:users")],
  });
  assert.equal(status, 200);
  assert.deepEqual(pluck(body.added, "code", "userCount"), [["read:users", 2]]);
  assert.deepEqual(pluck(body.removed, "code", "userCount"), [["read:tenants", 1]]);
  assert.deepEqual([body.userCount, body.affectedCount], [2, 2]);
  const of = (id: string) => body.users.find((user: { id: string }) => user.id === id);
  assert.deepEqual([of(role.userId).gains, of(role.userId).loses], [["read:users"], ["read:tenants"]]);
  assert.deepEqual([of(second.userId).gains, of(second.userId).loses], [["read:users"], []]);
  assert.equal(of(role.userId).email, role.email);
  assert.deepEqual(await admin.get(path).then(({ body }) => body), before.body);

  const onlyCovered =
    (await admin.post(`${path}/preview`, { permissionIds: [permission("read:roles")] })).body;
  assert.equal(onlyCovered.affectedCount, 1);
  assert.deepEqual(onlyCovered.users.map(({ id }: { id: string }) => id), [role.userId]);
  const nobody = { affectedCount: 0, sessionCount: 0, users: [] };
  const same =
    (await admin.post(`${path}/preview`, { permissionIds: ["read:roles", "read:tenants"].map(permission) }))
      .body;
  has(same, { added: [], removed: [], userCount: 2, ...nobody });
  const unknown = await admin.post(`${path}/preview`, { permissionIds: [crypto.randomUUID()] });
  refused(unknown, 404, "PERMISSION_NOT_FOUND");
  const blind = await t.actor({ tenantId, permissions: ["update:roles"] });
  const unnamed = (await blind.post(`${path}/preview`, { permissionIds: [] })).body;
  assert.deepEqual([unnamed.affectedCount, unnamed.users], [2, []], "names need read:users");
});

Deno.test("a preview counts the sessions that the change would end", async () => {
  const admin = await t.actor({ permissions: [...ADMINISTERS, "read:users"] });
  const holder = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:roles"] });
  const path = `/api/v1/roles/${holder.roleId}`;
  const [open] =
    await sql`select count(*)::int as n from sessions where user_id = ${holder.userId} and revoked_at is null`;
  assert.ok(open?.n > 0);
  const wanted = { permissionIds: [permission("read:tenants")] };
  assert.equal((await admin.post(`${path}/preview`, wanted)).body.sessionCount, open?.n);
  assert.equal((await admin.put(path, wanted)).status, 200);
  assert.equal((await holder.get("/api/v1/tenants")).body.code, "SESSION_INVALIDATED");
  const after = (await admin.post(`${path}/preview`, { permissionIds: [] })).body;
  assert.equal(after.sessionCount, 0, "sessions that have ended are not counted");
});
