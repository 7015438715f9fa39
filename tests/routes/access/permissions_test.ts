import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { refused } from "./answers.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const { sql } = t.steward.platform;
const PERMISSIONS = "/api/v1/permissions";
const ADMINISTERS = ["read:permissions", "create:permissions", "update:permissions", "delete:permissions"];
const admin = await t.actor({ permissions: [...ADMINISTERS, "create:roles", "update:roles"] });
const stranger = await t.actor({ permissions: ADMINISTERS });

const create = (code: string, by: HttpClient = admin, rest = {}) =>
  by.post(PERMISSIONS, { code, category: "Tests", ...rest });
async function idOf(answer: Promise<HttpAnswer>): Promise<string> {
  const { status, body } = await answer;
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}
const codes = ({ body }: HttpAnswer) => body.items.map((item: { code: string }) => item.code);
async function catalogId(code: string): Promise<string> {
  return (await admin.get(`${PERMISSIONS}/by-code/${code}`)).body.id;
}

Deno.test("a permission created in a tenant belongs to it, is found by id and code, and is audited", async () => {
  const answer = await create("approve:invoices", admin, {
    description: " Approve them ",
    category: " Finance ",
  });
  assert.equal(answer.status, 201);
  const { id, createdAt, updatedAt, ...rest } = answer.body;
  assert.equal(createdAt, updatedAt);
  assert.deepEqual(rest, {
    code: "approve:invoices",
    description: "Approve them",
    category: "Finance",
    reach: "Tenant",
    tenantId: admin.tenantId,
    isSystem: false,
    roleCount: 0,
    defaultRoles: [],
    deletedAt: null,
  });
  for (const path of [answer.headers.get("location") ?? "", `${PERMISSIONS}/by-code/approve%3Ainvoices`]) {
    const read = await admin.get(path);
    assert.deepEqual([read.body, read.headers.get("etag")], [answer.body, '"1"']);
  }
  const audit = await sql`select action from audit_log where target_id = ${id}`;
  assert.deepEqual(audit.map((row) => row.action), ["permission.create"]);
});

Deno.test("a permission created with admin:system in the platform tenant belongs to the catalog, otherwise to that tenant", async () => {
  const { body } = await create("audit:books", t.systemAdmin);
  assert.equal(body.tenantId, null);
  assert.equal(
    (await admin.get(`${PERMISSIONS}/${body.id}`)).body.code,
    "audit:books",
    "every tenant sees it",
  );
  const clerk = await t.actor({ tenantId: t.platformTenantId, permissions: ADMINISTERS });
  assert.equal((await create("audit:desks", clerk)).body.tenantId, t.platformTenantId);
  refused(await admin.get(`${PERMISSIONS}/by-code/audit:desks`), 404, "PERMISSION_NOT_FOUND");
});

Deno.test("a code is action:resource or has dots; every invalid field is named", async () => {
  for (
    const code of [
      "",
      "read",
      "Read:users",
      "read:users:all",
      "read:",
      ":users",
      "1read:x",
      "read:_x",
      "read: x",
      "réad:x",
      "a:b\n",
      "a:" + "b".repeat(99),
      "orders.",
      ".orders",
      "orders..approve",
      "orders.Approve",
      "orders.1st",
      "orders.approve:all",
      "approve:orders.all",
      "a." + "b".repeat(99),
      null,
      5,
      "switch:any-group-tenant",
    ]
  ) refused(await create(code as string), 400, "VALIDATION_ERROR");
  for (
    const rest of [{ category: "" }, { category: null }, { category: 1 }, { description: "x".repeat(501) }]
  ) {
    refused(await create("fits:well", admin, rest), 400, "VALIDATION_ERROR");
  }
  const { body } = await admin.post(PERMISSIONS, {});
  assert.deepEqual(body.errors.map((error: string) => error.split(":")[0]), ["code", "category"]);
});

Deno.test("a code with dots is a code of its own", async () => {
  const dotted = await create("orders.lines.approve-all");
  assert.equal(dotted.status, 201, JSON.stringify(dotted.body));
  await idOf(create("orders.approve"));
  await idOf(create("approve:orders"));
  assert.equal((await admin.get(`${PERMISSIONS}/by-code/orders.approve`)).body.code, "orders.approve");
  refused(await create("orders.approve"), 409, "PERMISSION_ALREADY_EXISTS");
});

Deno.test("a code exists either in the catalog or in tenants, never in both", async () => {
  refused(await create("admin:system"), 409, "PERMISSION_ALREADY_EXISTS");
  refused(await create("read:users"), 409, "PERMISSION_ALREADY_EXISTS");
  await idOf(create("sign:letters"));
  refused(await create("sign:letters"), 409, "PERMISSION_ALREADY_EXISTS");
  await idOf(create("sign:letters", stranger));
  refused(await create("sign:letters", t.systemAdmin), 409, "PERMISSION_ALREADY_EXISTS");
  for (let round = 0; round < 4; round++) {
    const code = `race:round-${round}`;
    const answers = await Promise.all(
      [admin, t.systemAdmin, admin, stranger, t.systemAdmin].map((by) => create(code, by)),
    );
    assert.ok(
      answers.every(({ status, body }) => status === 201 || body.code === "PERMISSION_ALREADY_EXISTS"),
    );
    const rows = await sql<
      { tenantId: string | null }[]
    >`select tenant_id from permissions where code = ${code}`;
    const owners = rows.map((row) => row.tenantId);
    assert.equal(new Set(owners).size, owners.length);
    assert.ok(!owners.includes(null) || owners.length === 1, `owners: ${owners}`);
  }
});

Deno.test("description and category can be changed; omitted members stay", async () => {
  const id = await idOf(create("edit:texts", admin, { description: "Old" }));
  const put = (body: unknown, headers = {}, by = admin) => by.put(`${PERMISSIONS}/${id}`, body, headers);
  const first = await put({ category: "Texts", code: "ignored:code" });
  assert.deepEqual([first.body.category, first.body.description, first.body.code], [
    "Texts",
    "Old",
    "edit:texts",
  ]);
  assert.equal((await put({ description: null })).body.description, null);
  assert.equal((await put({})).headers.get("etag"), '"3"');
  refused(await put({ category: "Late" }, { "if-match": '"2"' }), 412, "PRECONDITION_FAILED");
  refused(await put({ category: " " }), 400, "VALIDATION_ERROR");
  refused(await put({ category: "Mine" }, {}, stranger), 404, "PERMISSION_NOT_FOUND");
});

Deno.test("built-in permissions cannot be deleted; catalog ones are changed only from the platform tenant", async () => {
  const system = await catalogId("read:users");
  for (const caller of [admin, t.systemAdmin]) {
    refused(
      await caller.put(`${PERMISSIONS}/${system}`, { category: "x" }),
      409,
      "PERMISSION_SYSTEM_PROTECTED_CONFLICT",
    );
    refused(await caller.delete(`${PERMISSIONS}/${system}`), 409, "PERMISSION_SYSTEM_PROTECTED_CONFLICT");
  }
  const shared = await idOf(create("share:maps", t.systemAdmin));
  refused(await admin.put(`${PERMISSIONS}/${shared}`, { category: "x" }), 403, "CROSS_TENANT_FORBIDDEN");
  refused(await admin.delete(`${PERMISSIONS}/${shared}`), 403, "CROSS_TENANT_FORBIDDEN");
  assert.equal((await t.systemAdmin.put(`${PERMISSIONS}/${shared}`, { category: "Maps" })).status, 200);
  assert.equal((await t.systemAdmin.delete(`${PERMISSIONS}/${shared}`)).status, 200);
});

Deno.test("a permission assigned to a role cannot be deleted; after a deletion its code is free", async () => {
  const id = await idOf(create("carry:loads"));
  const { body: role } = await admin.post("/api/v1/roles", { name: "Carrier", permissionIds: [id] });
  assert.equal((await admin.get(`${PERMISSIONS}/${id}`)).body.roleCount, 1);
  refused(await admin.delete(`${PERMISSIONS}/${id}`), 409, "PERMISSION_ASSIGNED_CONFLICT");
  await admin.delete(`/api/v1/roles/${role.id}/permissions/${id}`);
  refused(await admin.delete(`${PERMISSIONS}/${id}`, { "if-match": '"7"' }), 412, "PRECONDITION_FAILED");
  const deleted = await admin.delete(`${PERMISSIONS}/${id}`);
  assert.deepEqual([deleted.status, deleted.body], [200, ""]);
  for (const path of [`${PERMISSIONS}/${id}`, `${PERMISSIONS}/by-code/carry:loads`]) {
    refused(await admin.get(path), 404, "PERMISSION_NOT_FOUND");
  }
  refused(await admin.post(`/api/v1/roles/${role.id}/permissions/${id}`), 404, "PERMISSION_NOT_FOUND");
  refused(await admin.delete(`${PERMISSIONS}/${id}`), 404, "PERMISSION_NOT_FOUND");
  await idOf(create("carry:loads"));
  const { body: { items } } = await admin.get(`${PERMISSIONS}?search=carry&includeDeleted=true`);
  assert.equal(items.length, 2);
  for (const item of items) assert.equal(item.deletedAt !== null, item.id === id, "deleted ones are marked");
});

Deno.test("a permission assigned during its deletion is either assigned or deleted, never both", async () => {
  const { body: role } = await admin.post("/api/v1/roles", { name: "Racer" });
  for (let round = 0; round < 6; round++) {
    const id = await idOf(create(`race:delete-${round}`));
    const [assigned, deleted] = await Promise.all([
      admin.post(`/api/v1/roles/${role.id}/permissions/${id}`),
      admin.delete(`${PERMISSIONS}/${id}`),
    ]);
    assert.deepEqual(
      [assigned.status, deleted.status],
      assigned.status === 200 ? [200, 409] : [404, 200],
      JSON.stringify([assigned.body, deleted.body]),
    );
  }
});

Deno.test("a permission of another tenant is not found", async () => {
  const id = await idOf(create("hide:things"));
  const strip = (
    { status, body: { traceId: _, instance: __, detail, ...rest } }: HttpAnswer,
    named: string,
  ) => ({
    status,
    detail: detail.replaceAll(named, "ID"),
    ...rest,
  });
  const probes = (named: string) => [
    () => stranger.get(`${PERMISSIONS}/${named}`),
    () => stranger.put(`${PERMISSIONS}/${named}`, { category: "x" }),
    () => stranger.delete(`${PERMISSIONS}/${named}`),
  ];
  const none = newId();
  for (const [index, probe] of probes(id).entries()) {
    assert.deepEqual(strip(await probe(), id), strip(await probes(none)[index]?.() as HttpAnswer, none));
  }
  refused(await stranger.get(`${PERMISSIONS}/by-code/hide:things`), 404, "PERMISSION_NOT_FOUND");
  assert.ok(!codes(await stranger.get(`${PERMISSIONS}?pageSize=100`)).includes("hide:things"));
});

Deno.test("lists filter by category, reach, system and search, and sort as requested", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  await idOf(create("read:maps", owner, { category: "Geografia", description: "Vê os mapas de São Tomé" }));
  await idOf(create("draw:maps", owner, { category: "geografia" }));
  const list = (query: string) => owner.get(`${PERMISSIONS}?${query}`);
  assert.deepEqual(codes(await list("category=GEOGRAFIA")), ["draw:maps", "read:maps"]);
  assert.deepEqual(codes(await list("search=sao%20tome")), ["read:maps"]);
  assert.deepEqual(codes(await list("isSystem=false&sortBy=createdAt&search=maps")), [
    "read:maps",
    "draw:maps",
  ]);
  assert.deepEqual(codes(await list("reach=platform")), [
    "admin:system",
    "manage:all-tenants",
    "manage:all-users",
  ]);
  assert.deepEqual(codes(await list("search=maps&sortBy=code&sortDirection=Descending")), [
    "read:maps",
    "draw:maps",
  ]);
  const { body } = await list("pageSize=1&page=2&sortBy=category");
  assert.deepEqual([body.items.length, body.hasNext, body.hasPrevious], [1, true, true]);
  for (const query of ["reach=x", "isSystem=x", "sortBy=reach", "pageSize=101"]) {
    refused(await list(query), 400, "VALIDATION_ERROR");
  }
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

Deno.test("the catalog is grouped by category, paged by group, and counts matching permissions", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  await idOf(create("open:doors", owner, { category: "Users" }));
  const { body } = await owner.get(`${PERMISSIONS}/catalog?pageSize=100`);
  const users = body.items.find((group: { category: string }) => group.category === "Users");
  assert.equal(users.permissionCount, 7);
  assert.deepEqual(users.permissions.map((item: { code: string }) => item.code), [
    "create:users",
    "delete:users",
    "erase:users",
    "export:users",
    "open:doors",
    "read:users",
    "update:users",
  ]);
  assert.deepEqual(Object.keys(users.permissions[0]).sort(), [
    "category",
    "code",
    "createdAt",
    "defaultRoles",
    "deletedAt",
    "description",
    "id",
    "isSystem",
    "reach",
    "roleCount",
    "tenantId",
    "updatedAt",
  ]);
  const found = await owner.get(`${PERMISSIONS}/catalog?search=doors`);
  assert.deepEqual([found.body.totalCount, found.body.items[0].permissionCount], [1, 1]);
  const pages = await Promise.all(
    Array.from(
      { length: body.totalCount },
      (_, n) => owner.get(`${PERMISSIONS}/catalog?pageSize=1&page=${n + 1}`),
    ),
  );
  assert.deepEqual(
    pages.flatMap((page) => page.body.items.map((group: { category: string }) => group.category)),
    body.items.map((group: { category: string }) => group.category),
  );
  const fullest = await owner.get(
    `${PERMISSIONS}/catalog?sortBy=permissionCount&sortDirection=Descending&pageSize=1`,
  );
  const most = Math.max(...body.items.map((group: { permissionCount: number }) => group.permissionCount));
  assert.equal(fullest.body.items[0].permissionCount, most);
});

Deno.test("categories are suggested, those that start with the text first", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  for (const [code, category] of [["a:one", "Área de venda"], ["a:two", "Venda"], ["a:three", "Vendas"]]) {
    await idOf(create(code ?? "", owner, { category }));
  }
  const suggest = async (query: string) =>
    (await owner.get(`${PERMISSIONS}/catalog/categories?${query}`)).body.items.map(
      (item: { category: string }) => item.category,
    );
  assert.deepEqual(await suggest("search=VEND"), ["Venda", "Vendas", "Área de venda"]);
  assert.deepEqual(await suggest("search=area"), ["Área de venda"]);
  assert.equal((await suggest("limit=2")).length, 2);
  assert.deepEqual(await suggest("search=%25"), []);
  refused(await owner.get(`${PERMISSIONS}/catalog/categories?limit=51`), 400, "VALIDATION_ERROR");
});

Deno.test("every route rejects a caller without its permission and an anonymous caller", async () => {
  const id = await idOf(create("guard:gates"));
  const routes: [string, (caller: HttpClient) => Promise<HttpAnswer>][] = [
    ...["", "/catalog", "/catalog/categories", `/${id}`, "/by-code/guard:gates"].map((
      path,
    ): [string, (caller: HttpClient) => Promise<HttpAnswer>] => [
      "read:permissions",
      (c) => c.get(PERMISSIONS + path),
    ]),
    ["create:permissions", (c) => c.post(PERMISSIONS, {})],
    ["create:permissions", (c) => c.get(`${PERMISSIONS}/import/template`)],
    ["create:permissions", (c) => c.post(`${PERMISSIONS}/import`, {})],
    ["create:permissions", (c) => c.post(`${PERMISSIONS}/import/file`, new FormData())],
    ["update:permissions", (c) => c.put(`${PERMISSIONS}/${id}`, {})],
    ["delete:permissions", (c) => c.delete(`${PERMISSIONS}/${id}`)],
  ];
  for (const needed of ADMINISTERS) {
    const caller = await t.actor({
      tenantId: admin.tenantId ?? "",
      permissions: ADMINISTERS.filter((code) => code !== needed),
    });
    for (const [, call] of routes.filter(([code]) => code === needed)) {
      refused(await call(caller), 403, "MISSING_PERMISSION");
      refused(await call(t.nobody), 401, "TOKEN_MISSING");
    }
  }
});
