import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { has } from "../../support/answers.ts";
import type { HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { atOnce, column, idOf, names, refused, statuses } from "./answers.ts";

const t = await setupShared();

const { sql } = t.steward.platform;
const TENANTS = "/api/v1/tenants";
const ADMIN = "/api/v1/admin/tenants";
const TAKEN = "TENANT_ALREADY_EXISTS";
const BEYOND = "CROSS_TENANT_FORBIDDEN";
const create = (body: Record<string, unknown>, by: HttpClient = t.systemAdmin) => by.post(TENANTS, body);

Deno.test("a tenant is created with its catalog roles, and found at its Location", async () => {
  const answer = await create({ name: "  Acme  ", maxUsers: 5, extra: "ignored" });
  assert.equal(answer.status, 201);
  const defaults = { type: "Standard", isActive: true, parentTenantId: null, requireSecondFactor: false };
  has(answer.body, { name: "Acme", maxUsers: 5, userCount: 0, actAs: "allowed", ...defaults });
  assert.deepEqual((await t.systemAdmin.get(answer.headers.get("location") ?? "")).body, answer.body);
  const roles = await t.systemAdmin.get(`/api/v1/admin/tenants/${answer.body.id}/roles`);
  assert.deepEqual(names(roles), ["Admin", "GroupAdmin", "Visitor"]);
  has(roles.body.items[0], { isSystemRole: true, permissionCount: 13, userCount: 0 });
});

Deno.test("a name is unique whatever its letter case, and free again once its tenant is deleted", async () => {
  const id = await idOf(create({ name: "Zürich Sul" }));
  const other = await idOf(create({ name: "Other name" }));
  const rename = (id: string, name: string) => t.systemAdmin.put(`${TENANTS}/${id}`, { name });
  const remove = () => t.systemAdmin.delete(`${TENANTS}/${id}`);
  refused([await create({ name: "ZÜRICH sul" }), await rename(other, "zürich SUL")], 409, TAKEN);
  assert.equal((await remove()).status, 200);
  const gone = [await t.systemAdmin.get(`${TENANTS}/${id}`), await rename(id, "Gone"), await remove()];
  const roles = ["roles", "roles/lookup"].map((path) => t.systemAdmin.get(`${ADMIN}/${id}/${path}`));
  refused([...gone, ...await Promise.all(roles)], 404, "TENANT_NOT_FOUND");
  assert.deepEqual(statuses(await atOnce(3, () => create({ name: "Zürich Sul" }))), [201, 409, 409]);
});

Deno.test("a parent is an existing Group tenant, one level deep, and there is only one platform tenant", async () => {
  const group = await idOf(create({ name: "Group G", type: "group" }));
  const child = await idOf(create({ name: "Child of G", parentTenantId: group.toUpperCase() }));
  const put = (id: string, body: unknown) => t.systemAdmin.put(`${TENANTS}/${id}`, body);
  const remove = (id: string) => t.systemAdmin.delete(`${TENANTS}/${id}`);
  const wrong = [
    await create({ name: "n1", parentTenantId: child }),
    await create({ name: "n2", type: "Group", parentTenantId: group }),
    await put(group, { parentTenantId: group }),
    await put(child, { parentTenantId: child }),
  ];
  refused(wrong, 400, "VALIDATION_ERROR");
  refused(await create({ name: "n3", parentTenantId: newId() }), 404, "TENANT_NOT_FOUND");
  const ofPlatform = [
    await create({ name: "n4", type: "Platform" }),
    await put(t.platformTenantId, { parentTenantId: group }),
    await put(t.platformTenantId, { isActive: false }),
    await remove(t.platformTenantId),
  ];
  refused(ofPlatform, 409, "TENANT_PLATFORM_CONFLICT");
  refused(await remove(group), 409, "TENANT_HAS_CHILDREN_CONFLICT");
  assert.equal((await put(child, { parentTenantId: null })).body.parentTenantId, null);
  assert.equal((await remove(group)).status, 200);
  refused(await put(child, { parentTenantId: group }), 404, "TENANT_NOT_FOUND");
});

Deno.test("a group deleted while children are created has no children afterwards", async () => {
  const group = await idOf(create({ name: "Racing group", type: "Group" }));
  const [deleted, ...made] = await Promise.all([
    t.systemAdmin.delete(`${TENANTS}/${group}`),
    ...[1, 2, 3].map((n) => create({ name: `Racing child ${n}`, parentTenantId: group })),
  ]);
  const hasChildren = made.some(({ status }) => status === 201);
  if (hasChildren) refused(deleted, 409, "TENANT_HAS_CHILDREN_CONFLICT");
  else assert.equal(deleted.status, 200);
});

Deno.test("a caller reaches only their own tenant; others are rejected and not listed", async () => {
  const permissions = ["read:tenants", "create:tenants", "update:tenants"];
  const caller = await t.actor({ permissions });
  const foreign = await t.tenant({ name: "Foreign land" });
  const own = caller.tenantId ?? "";
  assert.equal((await caller.get(`${TENANTS}/${own}`)).body.id, own);
  const move = await caller.put(`${TENANTS}/${own}`, { parentTenantId: foreign });
  refused([await create({ name: "A new land" }, caller), move], 403, BEYOND);
  assert.deepEqual(column(await caller.get(TENANTS), "id"), [own]);
  assert.equal((await caller.get(`${TENANTS}?search=foreign`)).body.totalCount, 0);
  assert.equal((await caller.get(`${TENANTS}/lookup?ids=${foreign},${own}`)).body.totalCount, 1);
  assert.equal((await caller.get(`${TENANTS}/summary`)).body.totalTenants, 1);
  assert.equal((await caller.put(`${TENANTS}/${own}`, { name: `Renamed ${own}` })).status, 200);
  // manage:all-tenants reaches every tenant, with the permission of the route
  const tenantId = t.platformTenantId;
  const operator = await t.actor({
    tenantId,
    permissions: ["manage:all-tenants", "read:tenants", "create:tenants"],
  });
  const id = await idOf(create({ name: "Operated" }, operator));
  assert.equal((await operator.get(`${TENANTS}/${id}`)).status, 200);
  refused(await operator.delete(`${TENANTS}/${id}`), 403, "MISSING_PERMISSION");
});

Deno.test("a group administrator can read, create, change and delete only the group's children", async () => {
  const group = await t.tenant({ name: "Holding", type: "Group" });
  const child = await t.tenant({ name: "Daughter", parentTenantId: group });
  const otherGroup = await t.tenant({ type: "Group" });
  const cousin = await t.tenant({ parentTenantId: otherGroup });
  const admin = await t.actor({ tenantId: group, role: "GroupAdmin" });
  const named = async (by: HttpClient, query: string) => names(await by.get(TENANTS + query));
  const change = (id: string, body: object) => admin.put(`${TENANTS}/${id}`, body);

  assert.deepEqual(await named(admin, ""), ["Daughter", "Holding"]);
  for (const query of ["?hierarchyScope=grouped", `/lookup?parentTenantId=${group}`]) {
    assert.deepEqual(await named(admin, query), ["Daughter"]);
  }
  assert.equal((await admin.get(`${TENANTS}/summary`)).body.groupedTenants, 1);
  assert.equal((await admin.get(`${TENANTS}/${child}`)).status, 200);

  const made = await idOf(create({ name: "New daughter", parentTenantId: group }, admin));
  assert.equal((await change(made, { name: "Newer daughter" })).status, 200);
  const strangers = [
    await admin.get(`${TENANTS}/${cousin}`),
    await create({ name: "Not a child" }, admin),
    await create({ name: "Not a child", parentTenantId: otherGroup }, admin),
    await change(made, { parentTenantId: null }),
    await change(made, { parentTenantId: otherGroup }),
    await change(cousin, { name: "Stolen" }),
  ];
  refused(strangers, 403, BEYOND);
  const itself = [await change(group, { name: "Not so" }), await admin.delete(`${TENANTS}/${group}`)];
  refused(itself, 403, "MISSING_PERMISSION");
  assert.equal((await admin.delete(`${TENANTS}/${made}`)).status, 200);

  const analyst = await t.actor({ tenantId: group, permissions: ["read:tenants", "read:group-analytics"] });
  assert.deepEqual(await named(analyst, ""), ["Holding"], "read:tenants alone shows no children");
  assert.equal((await analyst.get(`${TENANTS}/summary`)).body.totalTenants, 2);
});

Deno.test("lists filter before they count, and mark deleted tenants; a name is searched as text", async () => {
  const tag = crypto.randomUUID().slice(0, 8);
  const group = await idOf(create({ name: `${tag} Ítaca_50%`, type: "Group" }));
  await idOf(create({ name: `${tag} beta`, parentTenantId: group, isActive: false }));
  await idOf(create({ name: `${tag} Álamo`, maxUsers: 1 }));
  const gone = await idOf(create({ name: `${tag} gone` }));
  await t.systemAdmin.delete(`${TENANTS}/${gone}`);
  const list = (query: string) => t.systemAdmin.get(`${TENANTS}?search=${tag}&${query}`);
  assert.equal((await list("")).body.totalCount, 3);
  const { items } = (await list("includeDeleted=true")).body;
  assert.equal(items.length, 4);
  for (const { id, deletedAt } of items) assert.equal(deletedAt !== null, id === gone);
  for (const [scope, name] of [["groups", "Ítaca_50%"], ["grouped", "beta"], ["standalone", "Álamo"]]) {
    assert.deepEqual(names(await list(`hierarchyScope=${scope}`)), [`${tag} ${name}`]);
  }
  for (const [text, found] of [[`${tag} ITÁCA_5`, [`${tag} Ítaca_50%`]], [`${tag}％`, []]] as const) {
    assert.deepEqual(names(await t.systemAdmin.get(`${TENANTS}?search=${encodeURIComponent(text)}`)), found);
  }
});

Deno.test("user counts follow links and users, and the summary adds them up", async () => {
  const before = (await t.systemAdmin.get(`${TENANTS}/summary`)).body;
  const id = await idOf(create({ name: "Counted", maxUsers: 2 }));
  const [one, two] = [await t.actor({ tenantId: id }), await t.actor({ tenantId: id })];
  const userCount = async () => (await t.systemAdmin.get(`${TENANTS}/${id}`)).body.userCount;
  assert.equal(await userCount(), 2);
  const after = (await t.systemAdmin.get(`${TENANTS}/summary`)).body;
  const added = {
    totalTenants: 1,
    activeTenants: 1,
    standaloneTenants: 1,
    totalUsers: 2,
    tenantsAtCapacity: 1,
  };
  for (const [name, n] of Object.entries(added)) assert.equal(after[name], before[name] + n, name);
  const changes = [
    [sql`update user_tenants set is_active = false where user_id = ${one.userId}`, 1],
    [sql`update user_tenants set is_active = true, is_default = false where user_id = ${one.userId}`, 2],
    [sql`update users set deleted_at = now() where id = ${two.userId}`, 1],
    [sql`delete from user_tenants where tenant_id = ${id}`, 0],
  ] as const;
  for (const [change, count] of changes) {
    await change;
    assert.equal(await userCount(), count);
  }
});
