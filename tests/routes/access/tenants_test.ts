import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { auditOf, idOf, isSignedIn, names, refused } from "./answers.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const { sql } = t.steward.platform;
const TENANTS = "/api/v1/tenants";
const readsTenants = (tenantId: string) => t.actor({ tenantId, permissions: ["read:tenants"] });
const create = (body: Record<string, unknown>, by: HttpClient = t.systemAdmin) => by.post(TENANTS, body);

Deno.test("a tenant is created with its catalog roles, found at its Location, and audited", async () => {
  const answer = await create({ name: "  Acme  ", maxUsers: 5, extra: "ignored" });
  assert.equal(answer.status, 201);
  const { id, createdAt, updatedAt, ...rest } = answer.body;
  assert.deepEqual(rest, {
    name: "Acme",
    type: "Standard",
    isActive: true,
    parentTenantId: null,
    maxUsers: 5,
    userCount: 0,
    requireSecondFactor: false,
    deletedAt: null,
  });
  assert.equal(createdAt, updatedAt);
  const read = await t.systemAdmin.get(answer.headers.get("location") ?? "");
  assert.deepEqual(read.body, answer.body);
  assert.equal(read.headers.get("etag"), '"1"');
  const roles = await t.systemAdmin.get(`/api/v1/admin/tenants/${id}/roles`);
  assert.deepEqual(names(roles), ["Admin", "GroupAdmin", "Visitor"]);
  const admin = roles.body.items.find((role: { name: string }) => role.name === "Admin");
  assert.deepEqual([admin.isSystemRole, admin.permissionCount, admin.userCount], [true, 13, 0]);
  assert.deepEqual(await auditOf(t, id), ["tenant.create"]);
});

Deno.test("an invalid body is answered with a list of all invalid fields", async () => {
  const answer = await create({
    name: " ",
    type: "Planet",
    maxUsers: 0,
    parentTenantId: "x",
    isActive: "yes",
  });
  refused(answer, 400, "VALIDATION_ERROR");
  assert.deepEqual(
    answer.body.errors.map((error: string) => error.split(":")[0]).sort(),
    ["isActive", "maxUsers", "name", "parentTenantId", "type"],
  );
  for (const name of [undefined, null, 7, {}, [], "x".repeat(201), "a\0b"]) {
    refused(await create({ name }), 400, "VALIDATION_ERROR");
  }
  for (const maxUsers of [-1, 1.5, 2 ** 31, "5"]) {
    refused(await create({ name: "Odd", maxUsers }), 400, "VALIDATION_ERROR");
  }
});

Deno.test("a name is unique whatever its letter case, and free again once its tenant is deleted", async () => {
  const id = await idOf(create({ name: "Zürich Sul" }));
  refused(await create({ name: "ZÜRICH sul" }), 409, "TENANT_ALREADY_EXISTS");
  const other = await idOf(create({ name: "Other name" }));
  refused(
    await t.systemAdmin.put(`${TENANTS}/${other}`, { name: "zürich SUL" }),
    409,
    "TENANT_ALREADY_EXISTS",
  );
  assert.equal((await t.systemAdmin.delete(`${TENANTS}/${id}`)).status, 200);
  assert.equal((await create({ name: "Zürich Sul" })).status, 201);
});

Deno.test("one of twenty simultaneous creations of one name succeeds", async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => create({ name: "Contested" })));
  assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
  assert.ok(answers.every(({ status, body }) => status === 201 || body.code === "TENANT_ALREADY_EXISTS"));
});

Deno.test("a parent is an existing Group tenant, one level deep, and there is only one platform tenant", async () => {
  const group = await idOf(create({ name: "Group G", type: "group" }));
  const child = await idOf(create({ name: "Child of G", parentTenantId: group.toUpperCase() }));
  refused(await create({ name: "n1", parentTenantId: child }), 400, "VALIDATION_ERROR");
  refused(
    await create({ name: "n2", type: "Group", parentTenantId: group }),
    400,
    "VALIDATION_ERROR",
  );
  refused(await create({ name: "n3", parentTenantId: newId() }), 404, "TENANT_NOT_FOUND");
  refused(await create({ name: "n4", type: "Platform" }), 409, "TENANT_PLATFORM_CONFLICT");
  const put = (id: string, body: unknown) => t.systemAdmin.put(`${TENANTS}/${id}`, body);
  refused(await put(group, { parentTenantId: group }), 400, "VALIDATION_ERROR");
  refused(await put(child, { parentTenantId: child }), 400, "VALIDATION_ERROR");
  refused(await put(t.platformTenantId, { parentTenantId: group }), 409, "TENANT_PLATFORM_CONFLICT");
  refused(await put(t.platformTenantId, { isActive: false }), 409, "TENANT_PLATFORM_CONFLICT");
  refused(await t.systemAdmin.delete(`${TENANTS}/${t.platformTenantId}`), 409, "TENANT_PLATFORM_CONFLICT");
  refused(await t.systemAdmin.delete(`${TENANTS}/${group}`), 409, "TENANT_HAS_CHILDREN_CONFLICT");
  assert.equal((await put(child, { parentTenantId: null })).body.parentTenantId, null);
  assert.equal((await t.systemAdmin.delete(`${TENANTS}/${group}`)).status, 200);
  refused(await put(child, { parentTenantId: group }), 404, "TENANT_NOT_FOUND");
});

Deno.test("a group deleted while children are created has no children afterwards", async () => {
  for (let round = 0; round < 5; round++) {
    const group = await idOf(create({ name: `Racing group ${round}`, type: "Group" }));
    const [deleted, ...made] = await Promise.all([
      t.systemAdmin.delete(`${TENANTS}/${group}`),
      ...Array.from(
        { length: 4 },
        (_, n) => create({ name: `Racing child ${round}.${n}`, parentTenantId: group }),
      ),
    ]);
    const children = made.filter(({ status }) => status === 201).length;
    if (deleted?.status === 200) assert.equal(children, 0);
    else refused(deleted as HttpAnswer, 409, "TENANT_HAS_CHILDREN_CONFLICT");
  }
});

Deno.test("a change keeps omitted members, and null removes a limit", async () => {
  const id = await idOf(create({ name: "Changing", maxUsers: 3 }));
  const put = (body: unknown, headers = {}) => t.systemAdmin.put(`${TENANTS}/${id}`, body, headers);
  const renamed = await put({ name: "Changed" });
  assert.deepEqual([renamed.status, renamed.body.name, renamed.body.maxUsers], [200, "Changed", 3]);
  assert.equal(renamed.headers.get("etag"), '"2"');
  assert.equal((await put({ name: "Changed" })).headers.get("etag"), '"2"', "no change, no new version");
  assert.equal((await put({ maxUsers: null })).body.maxUsers, null);
  refused(await put({ name: "Stale" }, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  assert.equal((await put({ name: "Fresh" }, { "if-match": '"3"' })).status, 200);
  refused(
    await t.systemAdmin.delete(`${TENANTS}/${id}`, { "if-match": '"3"' }),
    412,
    "PRECONDITION_FAILED",
  );
  assert.equal((await t.systemAdmin.delete(`${TENANTS}/${id}`, { "if-match": '"4"' })).status, 200);
  for (const answer of [await t.systemAdmin.get(`${TENANTS}/${id}`), await put({ name: "Gone" })]) {
    refused(answer, 404, "TENANT_NOT_FOUND");
  }
  refused(await t.systemAdmin.delete(`${TENANTS}/${id}`), 404, "TENANT_NOT_FOUND");
  assert.deepEqual(await auditOf(t, id), [
    "tenant.create",
    "tenant.update",
    "tenant.update",
    "tenant.update",
    "tenant.delete",
  ]);
});

Deno.test("deactivating, activating or deleting a tenant ends the tokens of its users only", async () => {
  const tenantId = await t.tenant();
  const inside = await readsTenants(tenantId);
  const outside = await t.actor({ permissions: ["read:tenants"] });
  const formerly = await t.actor({ permissions: ["read:tenants"] });
  await sql`insert into user_tenants (user_id, tenant_id, is_active) values (${formerly.userId}, ${tenantId}, false)`;
  assert.equal((await t.systemAdmin.put(`${TENANTS}/${tenantId}`, { name: "Only renamed" })).status, 200);
  assert.ok(await isSignedIn(inside), "a new name changes no rights");
  assert.equal((await t.systemAdmin.put(`${TENANTS}/${tenantId}`, { isActive: false })).body.isActive, false);
  assert.equal((await inside.get("/auth/me")).body.code, "SESSION_INVALIDATED");
  assert.ok(await isSignedIn(outside));
  assert.ok(await isSignedIn(formerly), "a deactivated link gives nothing that could be lost");
  assert.ok(await isSignedIn(t.systemAdmin));
  assert.equal((await t.systemAdmin.put(`${TENANTS}/${tenantId}`, { isActive: true })).status, 200);

  const later = await readsTenants(tenantId);
  assert.ok(await isSignedIn(later));
  assert.equal((await t.systemAdmin.delete(`${TENANTS}/${tenantId}`)).status, 200);
  assert.equal((await later.get("/auth/me")).body.code, "SESSION_INVALIDATED");
  assert.ok(await isSignedIn(outside));
});

Deno.test("a caller reaches only their own tenant; others are rejected and not listed", async () => {
  const caller = await t.actor({
    permissions: ["read:tenants", "create:tenants", "update:tenants", "delete:tenants"],
  });
  const foreign = await t.tenant({ name: "Foreign land" });
  const own = caller.tenantId ?? "";
  assert.equal((await caller.get(`${TENANTS}/${own}`)).body.id, own);
  for (
    const answer of [
      await caller.get(`${TENANTS}/${foreign}`),
      await caller.put(`${TENANTS}/${foreign}`, { name: "Mine" }),
      await caller.delete(`${TENANTS}/${foreign}`),
      await create({ name: "A new land" }, caller),
      await create({ name: "A new land", parentTenantId: foreign }, caller),
      await caller.put(`${TENANTS}/${own}`, { parentTenantId: foreign }),
    ]
  ) refused(answer, 403, "CROSS_TENANT_FORBIDDEN");
  refused(await caller.get(`${TENANTS}/${newId()}`), 404, "TENANT_NOT_FOUND");
  assert.deepEqual((await caller.get(TENANTS)).body.items.map((item: { id: string }) => item.id), [own]);
  assert.equal((await caller.get(`${TENANTS}?search=foreign`)).body.totalCount, 0);
  assert.equal((await caller.get(`${TENANTS}/lookup?ids=${foreign},${own}`)).body.totalCount, 1);
  assert.equal((await caller.get(`${TENANTS}/summary`)).body.totalTenants, 1);
  assert.equal((await caller.put(`${TENANTS}/${own}`, { name: `Renamed ${own}` })).status, 200);
});

Deno.test("manage:all-tenants reaches every tenant, with the permission of the route", async () => {
  const operator = await t.actor({
    tenantId: t.platformTenantId,
    permissions: ["manage:all-tenants", "read:tenants", "create:tenants"],
  });
  const id = await idOf(create({ name: "Operated" }, operator));
  assert.equal((await operator.get(`${TENANTS}/${id}`)).status, 200);
  refused(await operator.delete(`${TENANTS}/${id}`), 403, "MISSING_PERMISSION");
  const bare = await t.actor({ tenantId: t.platformTenantId, permissions: ["manage:all-tenants"] });
  refused(await bare.get(TENANTS), 403, "MISSING_PERMISSION");
  assert.equal((await bare.get("/api/v1/admin/tenants/summary")).status, 200);
});

Deno.test("every route checks its permission before it reads the body", async () => {
  const group = ["read:group-tenants", "read:group-analytics", "manage:child-tenants"];
  const caller = await t.actor({ permissions: ["read:users", "update:roles", ...group] });
  const id = caller.tenantId;
  for (
    const answer of [
      await caller.get(TENANTS),
      await caller.get(`${TENANTS}/summary`),
      await caller.get(`${TENANTS}/lookup`),
      await caller.get(`${TENANTS}/${id}`),
      await caller.post(TENANTS, "{"),
      await caller.put(`${TENANTS}/${id}`, "{"),
      await caller.delete(`${TENANTS}/${id}`),
    ]
  ) refused(answer, 403, "MISSING_PERMISSION");
  refused(await t.nobody.get(TENANTS), 401, "TOKEN_MISSING");
  const global = await t.actor({ permissions: ["read:tenants"], global: true });
  refused(await global.get(TENANTS), 403, "FORBIDDEN");
  assert.equal((await global.with({ "x-tenant-id": global.tenantId ?? "" }).get(TENANTS)).body.totalCount, 1);
});

Deno.test("a group administrator can read, create, change and delete only the group's children", async () => {
  const group = await t.tenant({ name: "Holding", type: "Group" });
  const child = await t.tenant({ name: "Daughter", parentTenantId: group });
  const otherGroup = await t.tenant({ type: "Group" });
  const cousin = await t.tenant({ parentTenantId: otherGroup });
  const admin = await t.actor({ tenantId: group, role: "GroupAdmin" });

  assert.deepEqual(names(await admin.get(TENANTS)), ["Daughter", "Holding"]);
  assert.deepEqual(names(await admin.get(`${TENANTS}?hierarchyScope=grouped`)), ["Daughter"]);
  assert.deepEqual(names(await admin.get(`${TENANTS}/lookup?parentTenantId=${group}`)), ["Daughter"]);
  assert.equal((await admin.get(`${TENANTS}/summary`)).body.groupedTenants, 1);
  assert.equal((await admin.get(`${TENANTS}/${child}`)).status, 200);
  refused(await admin.get(`${TENANTS}/${cousin}`), 403, "CROSS_TENANT_FORBIDDEN");

  const made = await idOf(create({ name: "New daughter", parentTenantId: group }, admin));
  assert.equal((await admin.put(`${TENANTS}/${made}`, { name: "Newer daughter" })).status, 200);
  for (
    const answer of [
      await create({ name: "Not a child" }, admin),
      await create({ name: "Not a child", parentTenantId: otherGroup }, admin),
      await admin.put(`${TENANTS}/${made}`, { parentTenantId: null }),
      await admin.put(`${TENANTS}/${made}`, { parentTenantId: otherGroup }),
      await admin.put(`${TENANTS}/${cousin}`, { name: "Stolen" }),
    ]
  ) refused(answer, 403, "CROSS_TENANT_FORBIDDEN");
  for (
    const answer of [
      await admin.put(`${TENANTS}/${group}`, { name: "Not with a group's permission" }),
      await admin.delete(`${TENANTS}/${group}`),
    ]
  ) refused(answer, 403, "MISSING_PERMISSION");
  assert.equal((await admin.delete(`${TENANTS}/${made}`)).status, 200);

  const reader = await readsTenants(group);
  assert.deepEqual(names(await reader.get(TENANTS)), ["Holding"], "read:tenants alone shows no children");
  const analyst = await t.actor({ tenantId: group, permissions: ["read:tenants", "read:group-analytics"] });
  assert.equal((await analyst.get(`${TENANTS}/summary`)).body.totalTenants, 2);
  assert.equal((await analyst.get(TENANTS)).body.totalCount, 1);
});

Deno.test("the tenant of the last holder of admin:system cannot be deleted or deactivated", async () => {
  const id = await t.tenant();
  const elsewhere = await t.actor({ tenantId: id, permissions: ["admin:system"] });
  assert.equal((await t.systemAdmin.put(`${TENANTS}/${id}`, { isActive: false })).status, 200);
  assert.equal((await t.systemAdmin.put(`${TENANTS}/${id}`, { isActive: true })).status, 200);
  const heir = await t.actor({ tenantId: id, permissions: ["admin:system"] });
  const others = await sql`
    update users set is_active = false where id not in (${elsewhere.userId}, ${heir.userId}) and is_active
    returning id`;
  try {
    refused(await heir.put(`${TENANTS}/${id}`, { isActive: false }), 409, "LAST_SYSTEM_ADMIN_CONFLICT");
    refused(await heir.delete(`${TENANTS}/${id}`), 409, "LAST_SYSTEM_ADMIN_CONFLICT");
    assert.ok(await isSignedIn(heir), "nothing was changed");
  } finally {
    await sql`update users set is_active = true where id in ${sql(others.map((row) => row.id))}`;
    await transact(
      sql,
      (tx) => Promise.resolve(t.steward.platform.rights.invalidateAfterCommit(tx, "everyone")),
    );
  }
});
