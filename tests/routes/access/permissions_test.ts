import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import type { HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { codes, column, idOf, refused } from "./answers.ts";

const t = await setupShared();

const { sql } = t.steward.platform;
const PERMISSIONS = "/api/v1/permissions";
const ADMINISTERS = ["read:permissions", "create:permissions", "update:permissions", "delete:permissions"];
const admin = await t.actor({ permissions: [...ADMINISTERS, "create:roles", "update:roles"] });
const stranger = await t.actor({ permissions: ADMINISTERS });

const create = (code: string, by: HttpClient = admin, rest = {}) =>
  by.post(PERMISSIONS, { code, category: "Tests", ...rest });

Deno.test("a permission belongs to the tenant in which it is created, or with admin:system in the platform tenant to the catalog", async () => {
  const answer = await create("approve:invoices", admin, { category: " Finance " });
  assert.equal(answer.status, 201);
  const own = { reach: "Tenant", tenantId: admin.tenantId, isSystem: false, roleCount: 0 };
  has(answer.body, { code: "approve:invoices", category: "Finance", ...own });
  for (const path of [answer.headers.get("location") ?? "", `${PERMISSIONS}/by-code/approve%3Ainvoices`]) {
    assert.deepEqual((await admin.get(path)).body, answer.body);
  }
  const { body } = await create("audit:books", t.systemAdmin);
  assert.equal(body.tenantId, null);
  assert.equal((await admin.get(`${PERMISSIONS}/${body.id}`)).body.code, "audit:books");
  const clerk = await t.actor({ tenantId: t.platformTenantId, permissions: ADMINISTERS });
  assert.equal((await create("audit:desks", clerk)).body.tenantId, t.platformTenantId);
});

Deno.test("a code is action:resource; both parts may have digits, hyphens, dots and underscores", async () => {
  const wrong = ["read", "Read:users", "read:-x", `a:${"b".repeat(99)}`, "switch:any-group-tenant"];
  for (const code of wrong) refused(await create(code), 400, "VALIDATION_ERROR", code);
  for (const code of ["read:big_data", "approve:order.line", "3d-print:2nd.floor_", `a:${"b".repeat(98)}`]) {
    await idOf(create(code));
    assert.equal((await admin.get(`${PERMISSIONS}/by-code/${code}`)).body.code, code);
    refused(await create(code), 409, "PERMISSION_ALREADY_EXISTS");
  }
});

Deno.test("a code exists either in the catalog or in tenants, never in both", async () => {
  refused(await create("read:users"), 409, "PERMISSION_ALREADY_EXISTS");
  await idOf(create("sign:letters"));
  refused(await create("sign:letters"), 409, "PERMISSION_ALREADY_EXISTS");
  await idOf(create("sign:letters", stranger));
  refused(await create("sign:letters", t.systemAdmin), 409, "PERMISSION_ALREADY_EXISTS");
  const answers = await Promise.all(
    [admin, t.systemAdmin, admin, stranger].map((by) => create("race:it", by)),
  );
  refused(answers.filter(({ status }) => status !== 201), 409, "PERMISSION_ALREADY_EXISTS");
  const owners = pluck([...await sql`select tenant_id from permissions where code = 'race:it'`], "tenantId");
  assert.equal(new Set(owners).size, owners.length);
  assert.ok(!owners.includes(null) || owners.length === 1, `owners: ${owners}`);
});

Deno.test("built-in permissions cannot be deleted; catalog ones are changed only from the platform tenant", async () => {
  const { body: { id: system } } = await admin.get(`${PERMISSIONS}/by-code/read:users`);
  const changes = async (by: HttpClient, id: string) => [
    await by.put(`${PERMISSIONS}/${id}`, { category: "Maps" }),
    await by.delete(`${PERMISSIONS}/${id}`),
  ];
  for (const by of [admin, t.systemAdmin]) {
    refused(await changes(by, system), 409, "PERMISSION_SYSTEM_PROTECTED_CONFLICT");
  }
  const shared = await idOf(create("share:maps", t.systemAdmin));
  refused(await changes(admin, shared), 403, "CROSS_TENANT_FORBIDDEN");
  for (const { status } of await changes(t.systemAdmin, shared)) assert.equal(status, 200);
});

Deno.test("a permission assigned to a role cannot be deleted; after a deletion its code is free", async () => {
  const id = await idOf(create("carry:loads"));
  const { body: role } = await admin.post("/api/v1/roles", { name: "Carrier", permissionIds: [id] });
  assert.equal((await admin.get(`${PERMISSIONS}/${id}`)).body.roleCount, 1);
  refused(await admin.delete(`${PERMISSIONS}/${id}`), 409, "PERMISSION_ASSIGNED_CONFLICT");
  await admin.delete(`/api/v1/roles/${role.id}/permissions/${id}`);
  await accepted(admin.delete(`${PERMISSIONS}/${id}`), 200);
  const gone = [
    await admin.get(`${PERMISSIONS}/${id}`),
    await admin.get(`${PERMISSIONS}/by-code/carry:loads`),
    await admin.post(`/api/v1/roles/${role.id}/permissions/${id}`),
    await admin.delete(`${PERMISSIONS}/${id}`),
  ];
  refused(gone, 404, "PERMISSION_NOT_FOUND");
  await idOf(create("carry:loads"));
  const { body: { items } } = await admin.get(`${PERMISSIONS}?search=carry&includeDeleted=true`);
  assert.equal(items.length, 2);
  for (const item of items) assert.equal(item.deletedAt !== null, item.id === id, "deleted ones are marked");
});

Deno.test("roleCount counts the tenant's own roles; with admin:system all roles", async () => {
  const own = await admin.get(`${PERMISSIONS}/by-code/read:users`);
  assert.equal(own.body.roleCount, 2, "Admin and Visitor of one tenant");
  const all = await t.systemAdmin.get(`${PERMISSIONS}/by-code/read:users`);
  const [{ n }] = await sql<[{ n: number }]>`
    select count(*) as n from role_permissions where permission_id = ${all.body.id}`;
  assert.ok(all.body.roleCount > 2);
  assert.equal(all.body.roleCount, n);
});

Deno.test("the catalog is grouped by category, and counts matching permissions", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  await idOf(create("open:doors", owner, { category: "ＵＳＥＲＳ" }));
  const { body } = await owner.get(`${PERMISSIONS}/catalog?pageSize=100`);
  const users = body.items.find((group: { category: string }) => group.category === "Users");
  const verbs = ["act-as", "create", "delete", "erase", "export"].map((verb) => `${verb}:users`);
  assert.deepEqual(codes(users), [...verbs, "open:doors", "read:users", "update:users"]);
  assert.equal(users.permissionCount, 8);
  const found = await owner.get(`${PERMISSIONS}/catalog?search=doors`);
  assert.deepEqual([found.body.totalCount, found.body.items[0].permissionCount], [1, 1]);
});

Deno.test("categories are suggested, those that start with the text first", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  for (const [at, category] of ["Área de venda", "Venda", "Vendas", "VENDA"].entries()) {
    await idOf(create(`a:n${at}`, owner, { category }));
  }
  const suggest = async (query: string) =>
    column(await owner.get(`${PERMISSIONS}/catalog/categories?${query}`), "category");
  assert.deepEqual(await suggest("search=VEND"), ["Venda", "Vendas", "Área de venda"]);
  assert.deepEqual(await suggest("search=area"), ["Área de venda"]);
  assert.equal((await suggest("limit=2")).length, 2);
  assert.deepEqual(await suggest("search=%25"), []);
});

Deno.test("a permission assigned during its deletion is either assigned or deleted, never both", async () => {
  const { body: role } = await admin.post("/api/v1/roles", { name: "Racer" });
  const id = await idOf(create("race:delete"));
  const [assigned, deleted] = await Promise.all([
    admin.post(`/api/v1/roles/${role.id}/permissions/${id}`),
    admin.delete(`${PERMISSIONS}/${id}`),
  ]);
  assert.deepEqual([assigned.status, deleted.status], assigned.status === 200 ? [200, 409] : [404, 200]);
});
