import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { idOf, isSignedIn, refused } from "./answers.ts";
import { ADMIN, insertLink, insertRole, newUser } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const newUuid = () => crypto.randomUUID();
const manager = await t.actor({ permissions: ["manage:all-users", "read:users", "read:roles"] });
const path = (id: string) => `/api/v1/admin/users/${id}`;
const send = (tenants: unknown, by: Actor = t.systemAdmin) =>
  by.post("/api/v1/admin/users", newUser({ tenants }));
const made = (tenants: unknown[] = []) => idOf(send(tenants));

interface Link {
  tenantId: string;
  roleIds: string[];
  isDefault: boolean;
  isActive: boolean;
  externalId: string | null;
}
/** A link of an answer. */
const link = (tenantId: string | null, roleIds: unknown[] = [], o: Partial<Link> = {}) => ({
  tenantId,
  roleIds,
  isDefault: false,
  isActive: true,
  externalId: null,
  ...o,
});
const matrixOf = async (id: string): Promise<Link[]> => (await t.systemAdmin.get(path(id))).body.tenants;

Deno.test("create answers a UserDto; the full user has the links", async () => {
  const [a, b] = [await t.tenant(), await t.tenant()];
  const roleA = await insertRole(t, a);
  const created = await send([{ tenantId: a, roleIds: [roleA, roleA], isDefault: true }, { tenantId: b }]);
  const { roles, tenants } = created.body;
  assert.deepEqual([roles, tenants], [[], undefined], "no role in the token's tenant");
  assert.deepEqual(await matrixOf(created.body.id), [link(a, [roleA], { isDefault: true }), link(b)]);
});

Deno.test("tenants of a PUT: absent or null keeps the links, an empty list removes them, a list replaces them", async () => {
  const [a, b, c] = [await t.tenant(), await t.tenant(), await t.tenant()];
  const [roleA, roleB, roleC] = [await insertRole(t, a), await insertRole(t, b), await insertRole(t, c)];
  const id = await made([link(a, [roleA], { isDefault: true }), link(b, [roleB])]);
  const before = await matrixOf(id);
  const madeAt = async () =>
    (await sql`select created_at from user_tenants where user_id = ${id} and tenant_id = ${b}`)[0]?.createdAt;
  const createdAt = await madeAt();
  const put = (body: object) => t.systemAdmin.put(path(id), body);
  for (const body of [{ firstName: "Bea" }, { tenants: null }]) {
    assert.deepEqual((await put(body)).body.tenants, before);
  }
  const wanted = [link(b), link(c, [roleC], { isDefault: true })];
  assert.deepEqual((await put({ tenants: wanted })).body.tenants, wanted);
  assert.deepEqual(await madeAt(), createdAt, "a link that stays keeps its date");
  assert.deepEqual((await put({ tenants: [] })).body.tenants, []);
  assert.equal((await sql`select from user_tenant_roles where user_id = ${id}`).length, 0);
});

Deno.test("when links are replaced, isDefault false keeps the default, and removing a link removes its default", async () => {
  const [a, b] = [await t.tenant(), await t.tenant()];
  const id = await made([{ tenantId: a, isDefault: true }, { tenantId: b }]);
  const defaults = async (tenants: unknown[]) => {
    await t.systemAdmin.put(path(id), { tenants });
    return (await matrixOf(id)).filter(({ isDefault }) => isDefault).map(({ tenantId }) => tenantId);
  };
  assert.deepEqual(await defaults([link(a), link(b)]), [a]);
  assert.deepEqual(await defaults([{ tenantId: a }, link(b, [], { isDefault: true })]), [b]);
  assert.deepEqual(await defaults([{ tenantId: a }]), []);
});

Deno.test("a PUT of the links that GET answers ends no session, also after a tenant of the user was deleted", async () => {
  const [subject, gone] = [await t.actor({ permissions: ["read:users"] }), await t.tenant()];
  await insertLink(t, subject.userId, gone, null, false);
  assert.equal((await t.systemAdmin.delete(`/api/v1/tenants/${gone}`)).status, 200);
  const before = await t.systemAdmin.get(path(subject.userId));
  const after = await t.systemAdmin.put(path(subject.userId), { tenants: before.body.tenants });
  assert.deepEqual([after.status, after.body], [200, before.body]);
  assert.ok(await isSignedIn(subject));
});

Deno.test("a deactivated link is still a link", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const own = { tenantId: subject.tenantId, roleIds: [subject.roleId] };
  const off = await t.systemAdmin.put(path(subject.userId), { tenants: [{ ...own, isActive: false }] });
  assert.deepEqual(off.body.tenants, [link(own.tenantId, own.roleIds, { isDefault: true, isActive: false })]);
  refused(await t.systemAdmin.post(`${path(subject.userId)}/tenants`, own), 409, "USER_ALREADY_ASSIGNED");
  const [shown] = (await t.systemAdmin.get(`${path(subject.userId)}/tenants`)).body;
  assert.deepEqual([shown.isActive, shown.isTenantActive], [false, true]);
});

Deno.test("a replacement of links that breaks a rule changes nothing", async () => {
  const [a, b, full] = [await t.tenant(), await t.tenant(), await t.tenant()];
  const strong = await insertRole(t, b, ["purge:files"]);
  const id = await made([{ tenantId: a }]);
  const before = await matrixOf(id);
  await made([{ tenantId: full }]);
  await made([{ tenantId: full, isActive: false }]);
  await sql`update tenants set max_users = 1 where id = ${full}`;
  const cases: [number, string, unknown[], Actor?][] = [
    [404, "TENANT_NOT_FOUND", [{ tenantId: newUuid() }]],
    [404, "ROLE_NOT_FOUND", [{ tenantId: a, roleIds: [strong] }]],
    [403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED", [{ tenantId: b, roleIds: [strong] }], manager],
    [400, "TENANT_CAPACITY_REACHED", [{ tenantId: b }, { tenantId: full }]],
    [400, "VALIDATION_ERROR", [{ tenantId: b }, { tenantId: b }]],
    [400, "VALIDATION_ERROR", [{ tenantId: a, isDefault: true }, { tenantId: b, isDefault: true }]],
    [400, "VALIDATION_ERROR", [{ tenantId: b, roleIds: Array.from({ length: 51 }, newUuid) }]],
  ];
  for (const [status, code, tenants, by = t.systemAdmin] of cases) {
    refused(await by.put(path(id), { firstName: "Changed", tenants }), status, code);
    refused(await send(tenants, by), status, code, "as a new user");
  }
  assert.deepEqual(await matrixOf(id), before);
  assert.equal((await t.systemAdmin.get(path(id))).body.firstName, "Ana");
});

Deno.test("a caller can keep a user's roles without holding their permissions, but cannot add them back", async () => {
  const tenantId = await t.tenant();
  const roleIds = [await insertRole(t, tenantId, ["purge:files"])];
  const id = await made([{ tenantId, roleIds }]);
  const put = (o: object) => manager.put(path(id), { tenants: [{ tenantId, roleIds, ...o }] });
  assert.equal((await put({ isDefault: true })).status, 200);
  assert.equal((await put({ isActive: false })).status, 200);
  refused(await put({}), 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
});

Deno.test("after simultaneous replacements the links are those of one of them", async () => {
  const tenants = [await t.tenant(), await t.tenant()];
  const id = await made();
  const replace = (n: number) =>
    t.systemAdmin.put(path(id), { tenants: [{ tenantId: tenants[n % 2], isDefault: true }] });
  const answers = await Promise.all([0, 1, 2, 3].map(replace));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal((await matrixOf(id)).length, 1);
  const [counts] = await sql`select sum(user_count)::int as n from tenants where id in ${sql(tenants)}`;
  assert.equal(counts?.n, 1);
});

/** Deactivates all system administrators but these; activates the others and the caller again in the end. */
async function onlyAdministrators(...userIds: string[]) {
  const changed = await sql`update users set is_active = false
    where is_active and not id = any(${userIds}::uuid[]) and id in (${holders}) returning id`;
  const ids = [t.systemAdmin.userId, ...changed.map(({ id }) => id)];
  const restore = () => sql`update users set is_active = true where id = any(${ids}::uuid[])`;
  return { [Symbol.asyncDispose]: async () => void await restore() };
}
const holders =
  sql`select h.user_id from user_tenant_roles h join role_permissions rp on rp.role_id = h.role_id
  join permissions p on p.id = rp.permission_id and p.code = 'admin:system'`;

Deno.test("no route can remove admin:system from its last active holder", async () => {
  const last = t.systemAdmin.userId;
  await using _ = await onlyAdministrators(last);
  const account = { name: "Operations", permissions: ["admin:system"], tenants: "all" };
  const { body: { secret } } = await t.systemAdmin.post("/api/v1/service-accounts", account);
  const program = t.nobody.with({ authorization: `Bearer ${secret}` }); // holds it too, and is no user
  const put = (body: object) => program.put(path(last), body);
  const attempts = [
    await program.delete(path(last)),
    await put({ isActive: false }),
    await put({ tenants: [] }),
    await put({ tenants: [{ tenantId: t.platformTenantId, roleIds: [] }] }),
    await program.post(`${path(last)}/erase`, { reason: "asked" }),
    await t.systemAdmin.put(path(last), { tenants: [] }),
    await t.systemAdmin.put(`/api/v1/users/${last}/roles`, { roleIds: [] }),
  ];
  refused(attempts, 409, "LAST_SYSTEM_ADMIN_CONFLICT");
  assert.equal((await t.systemAdmin.get("/api/v1/admin/users")).status, 200, "no token was ended either");

  const heir = await t.actor({ permissions: ["admin:system"] });
  await sql`update users set is_active = false where id = ${last}`;
  const [role, tenant] = [`/api/v1/roles/${heir.roleId}`, `/api/v1/tenants/${heir.tenantId}`];
  const [permission] = await sql`select id from permissions where code = 'admin:system'`;
  const byHeir = [
    await heir.delete(`${role}/permissions/${permission?.id}`),
    await heir.put(role, { permissionIds: [] }),
    await heir.put(tenant, { isActive: false }),
    await heir.delete(tenant),
  ];
  refused(byHeir, 409, "LAST_SYSTEM_ADMIN_CONFLICT");
  assert.equal((await heir.get("/auth/me")).status, 200, "nothing was changed");
});

Deno.test("if two administrators remove each other at once, one stays", async () => {
  const [one, two] = [await t.actor({ role: "SystemAdmin" }), await t.actor({ role: "SystemAdmin" })];
  await using _ = await onlyAdministrators(one.userId, two.userId);
  const answers = await Promise.all([
    one.delete(path(two.userId)),
    two.put(path(one.userId), { isActive: false }),
  ]);
  const removed = answers.filter(({ status }) => status === 200);
  assert.equal(removed.length, 1, JSON.stringify(answers.map(({ body }) => body)));
  const left = await sql`select from users u where id in (${holders}) and is_active and deleted_at is null`;
  assert.equal(left.length, 1);
});

const platform = { tenantId: t.platformTenantId };
const clerk = await t.actor({ ...platform, role: "Admin" });
const eraser = await t.actor({ ...platform, permissions: ["erase:users"] });
const reacher = await t.actor({ ...platform, permissions: ["manage:all-users"] });
const newSystemAdmin = () => t.actor({ role: "SystemAdmin" });

const inTenant = (by: Actor, id: string, roleId: string | null) => ({
  change: () => by.put(`/api/v1/users/${id}`, { firstName: "Other" }),
  "deactivate by PUT": () => by.put(`/api/v1/users/${id}`, { isActive: false }),
  deactivate: () => by.post(`/api/v1/users/${id}/deactivate`),
  activate: () => by.post(`/api/v1/users/${id}/activate`),
  delete: () => by.delete(`/api/v1/users/${id}`),
  unlock: () => by.post(`/api/v1/users/${id}/unlock`),
  "send a reset link": () => by.post(`/api/v1/users/${id}/password-reset`),
  "remove factors": () => by.delete(`/api/v1/users/${id}/factors`),
  "replace roles": () => by.put(`/api/v1/users/${id}/roles`, { roleIds: [roleId] }),
});

const anywhere = (by: Actor, id: string) => ({
  change: () => by.put(`/api/v1/admin/users/${id}`, { firstName: "Other" }),
  "remove all links": () => by.put(`/api/v1/admin/users/${id}`, { tenants: [] }),
  deactivate: () => by.put(`/api/v1/admin/users/${id}`, { isActive: false }),
  delete: () => by.delete(`/api/v1/admin/users/${id}`),
  unlock: () => by.post(`/api/v1/admin/users/${id}/unlock`),
  "send a reset link": () => by.post(`/api/v1/admin/users/${id}/password-reset`),
  "list sessions": () => by.get(`/api/v1/admin/users/${id}/sessions`),
  "end sessions": () => by.delete(`/api/v1/admin/users/${id}/sessions`),
  "remove factors": () => by.delete(`/api/v1/admin/users/${id}/factors`),
  erase: () => by.post(`/api/v1/admin/users/${id}/erase`, { reason: "asked" }),
});

Deno.test("who lacks admin:system changes no system administrator, by any route", async () => {
  const target = await newSystemAdmin();
  const state = () =>
    sql`select version, is_active, deleted_at, first_name, erased_at from users where id = ${target.userId}`;
  const [before] = await state();
  const attempts = [
    ...Object.entries(inTenant(clerk, target.userId, clerk.roleId)),
    ...Object.entries(anywhere(reacher, target.userId)),
  ];
  const erasure = await eraser.post(`/api/v1/users/${target.userId}/erase`, { reason: "asked" });
  refused(erasure, 403, "MISSING_PERMISSION");
  for (const [name, attempt] of attempts) {
    const answer = await attempt();
    refused(answer, 403, "MISSING_PERMISSION");
    assert.match(answer.body.detail, /the user holds admin:system, which the caller does not hold/, name);
  }
  assert.deepEqual((await state())[0], before);
  assert.ok(await isSignedIn(target));
  const links = await sql`select from password_resets where user_id = ${target.userId}`;
  assert.equal(links.length, 0);
});

Deno.test("a system administrator, and who has the same platform reach, may change them", async () => {
  const target = await newSystemAdmin();
  const other = await t.actor({ ...platform, permissions: ["manage:all-users"] });
  const sessions = ["list sessions", "end sessions"] as const;
  const allowed = ["change", "unlock", ...sessions, "send a reset link", "delete"] as const;
  for (const name of allowed) {
    assert.ok((await anywhere(t.systemAdmin, target.userId)[name]()).status < 300, name);
    assert.ok((await anywhere(reacher, other.userId)[name]()).status < 300, name);
  }
});

Deno.test("a tenant still removes the link of a system administrator to itself", async () => {
  const target = await newSystemAdmin();
  const admin = await t.actor({ permissions: ADMIN });
  await insertLink(t, target.userId, admin.tenantId, admin.roleId);
  refused(await admin.post(`/api/v1/users/${target.userId}/deactivate`), 403, "CROSS_TENANT_FORBIDDEN");
  assert.equal((await admin.put(`/api/v1/users/${target.userId}/roles`, { roleIds: [] })).status, 200);
  assert.equal((await admin.delete(`/api/v1/users/${target.userId}`)).status, 200);
  refused(await admin.get(`/api/v1/users/${target.userId}`), 404, "USER_NOT_FOUND");
});
