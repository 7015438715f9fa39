import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { setupShared } from "../../support/setup.ts";
import { auditOf, names, refused } from "./answers.ts";
import { ADMINISTERS, ROLES, rolesOf } from "./roles.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const { sql } = t.steward.platform;
const { admin, stranger, create, newRole, permission, holder } = await rolesOf(t);

Deno.test("a role is created with permissions, found at its Location, and audited", async () => {
  const answer = await create({
    name: " Clerk ",
    description: "Files things",
    permissionIds: [
      permission("read:files"),
      permission("read:users"),
      permission("read:files").toUpperCase(),
    ],
  });
  assert.equal(answer.status, 201);
  const { id, createdAt, updatedAt, ...rest } = answer.body;
  assert.deepEqual(rest, {
    tenantId: admin.tenantId,
    tenantName: `Tenant ${admin.tenantId}`,
    name: "Clerk",
    description: "Files things",
    isSystemRole: false,
    permissions: [
      { id: permission("read:files"), code: "read:files" },
      { id: permission("read:users"), code: "read:users" },
    ],
  });
  const read = await admin.get(answer.headers.get("location") ?? "");
  assert.deepEqual(read.body, {
    id,
    tenantId: admin.tenantId,
    tenantName: `Tenant ${admin.tenantId}`,
    name: "Clerk",
    description: "Files things",
    isSystemRole: false,
    createdAt,
    updatedAt,
    userCount: 0,
    permissionCount: 2,
    deletedAt: null,
  });
  assert.equal(read.headers.get("etag"), '"1"');
  assert.deepEqual(await auditOf(t, id), ["role.create"]);
});

Deno.test("an invalid body is rejected", async () => {
  for (
    const body of [
      {},
      { name: "" },
      { name: 5 },
      { name: "x".repeat(101) },
      { name: "a\0" },
      { name: "x", description: "x".repeat(501) },
      { name: "x", permissionIds: "all" },
      { name: "x", permissionIds: ["nope"] },
      [],
    ]
  ) refused(await admin.post(ROLES, body), 400, "VALIDATION_ERROR");
  refused(await create({ name: "x", permissionIds: [newId()] }), 404, "PERMISSION_NOT_FOUND");
});

Deno.test("a role name is unique in its tenant and the catalog, whatever its letter case, form and invisible characters", async () => {
  await newRole("Caixa");
  for (const name of ["CAIXA", "visitor", "Ca\u200bixa", "Ｃａｉｘａ"]) {
    refused(await create({ name }), 409, "ROLE_ALREADY_EXISTS");
  }
  assert.equal(
    (await create({ name: "Caixa" }, stranger)).status,
    201,
    "another tenant's names do not count",
  );
  const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name: "Contested" })));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  const gone = await newRole("Passing");
  await admin.delete(`${ROLES}/${gone}`);
  await newRole("Passing");
});

Deno.test("roles of another tenant are not found on any route", async () => {
  const id = await newRole("Private", [permission("read:users")]);
  const grant = `permissions/${permission("read:files")}`;
  const strip = (
    { status, body: { traceId: _, instance: __, detail, ...rest } }: HttpAnswer,
    named: string,
  ) => ({
    status,
    detail: detail.replace(named, "ID"),
    ...rest,
  });
  const probes = (role: string) => [
    () => stranger.get(`${ROLES}/${role}`),
    () => stranger.put(`${ROLES}/${role}`, { name: "Taken" }),
    () => stranger.delete(`${ROLES}/${role}`),
    () => stranger.post(`${ROLES}/${role}/${grant}`),
    () => stranger.delete(`${ROLES}/${role}/${grant}`),
  ];
  const none = newId();
  for (const [index, probe] of probes(id).entries()) {
    const answer = await probe();
    refused(answer, 404, "ROLE_NOT_FOUND");
    assert.deepEqual(strip(answer, id), strip(await probes(none)[index]?.() as HttpAnswer, none));
  }
  assert.equal((await stranger.get(`${ROLES}/lookup?ids=${id}`)).body.totalCount, 0);
  assert.ok(!names(await stranger.get(ROLES)).includes("Private"));
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
  refused(await admin.delete(`${ROLES}/${id}`, { "if-match": '"9"' }), 412, "PRECONDITION_FAILED");
  const deleted = await admin.delete(`${ROLES}/${id}`);
  assert.deepEqual([deleted.status, deleted.body], [200, ""]);
  refused(await admin.get(`${ROLES}/${id}`), 404, "ROLE_NOT_FOUND");
  refused(await admin.delete(`${ROLES}/${id}`), 404, "ROLE_NOT_FOUND");
  assert.ok(!names(await admin.get(`${ROLES}?search=held`)).includes("Held"));
  const { body: { items: [held] } } = await admin.get(`${ROLES}?search=held&includeDeleted=true`);
  assert.equal(held.name, "Held");
  assert.equal(held.deletedAt, held.updatedAt, "deleted ones are marked");
});

Deno.test("a role assigned during its deletion is either assigned or deleted, never both", async () => {
  for (let round = 0; round < 8; round++) {
    const id = await newRole(`Racing ${round}`);
    const [given, deleted] = await Promise.allSettled([holder(admin, id), admin.delete(`${ROLES}/${id}`)]);
    assert.equal(deleted.status, "fulfilled");
    const isDeleted = deleted.status === "fulfilled" && deleted.value.status === 200;
    assert.notEqual(given.status === "fulfilled", isDeleted);
  }
});

Deno.test("lists filter before they count, and sort by name, creation and number of holders", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  const one = await newRole("Ação", [], owner);
  const two = await newRole("beta 100%", [permission("read:users")], owner);
  for (const role of [one, one, two]) await holder(owner, role);
  const list = (query: string) => owner.get(`${ROLES}?isSystemRole=false&${query}`);
  const own = `Role ${owner.roleId}`;
  assert.deepEqual(names(await list("sortBy=createdAt")), [own, "Ação", "beta 100%"]);
  const byCount = await list("sortBy=userCount&sortDirection=Descending&pageSize=1");
  assert.deepEqual([names(byCount), byCount.body.items[0].userCount, byCount.body.totalCount], [
    ["Ação"],
    2,
    3,
  ]);
  assert.deepEqual(
    names(await list("sortBy=userCount&sortDirection=Descending&pageSize=1&page=2")).length,
    1,
  );
  assert.deepEqual(names(await list("search=ACAO")), ["Ação"]);
  assert.deepEqual(names(await list("search=0%25")), ["beta 100%"]);
  assert.equal((await list("search=nothing")).body.totalPages, 0);
  assert.equal((await owner.get(`${ROLES}?isSystemRole=TRUE`)).body.totalCount, 3);
  assert.equal((await owner.get(ROLES)).body.totalCount, 6);
  for (const query of ["sortBy=permissionCount", "isSystemRole=1", "pageSize=101", "page=-1"]) {
    refused(await owner.get(`${ROLES}?${query}`), 400, "VALIDATION_ERROR");
  }
  assert.deepEqual((await owner.get(`${ROLES}/summary`)).body, {
    totalRoles: 6,
    systemRoles: 3,
    customRoles: 3,
    rolesWithoutUsers: 2,
    usersWithRoles: 4,
  });
  const lookup = await owner.get(`${ROLES}/lookup?includeSystemRoles=false&search=beta`);
  assert.deepEqual(lookup.body.items, [{ id: two, name: "beta 100%", description: null }]);
  assert.equal((await owner.get(`${ROLES}/lookup?ids=${one},${two}&ids=${newId()}`)).body.totalCount, 2);
  assert.equal((await owner.get(`${ROLES}/lookup`)).body.totalCount, 6);
  for (const query of ["pageSize=51", `ids=${Array.from({ length: 51 }, newId)}`, "includeSystemRoles=x"]) {
    refused(await owner.get(`${ROLES}/lookup?${query}`), 400, "VALIDATION_ERROR");
  }
});

Deno.test("a lookup of fifty ids returns all on one page", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  const made = await Promise.all(Array.from({ length: 30 }, (_, n) => newRole(`R ${n}`, [], owner)));
  const { body } = await owner.get(`${ROLES}/lookup?ids=${made}`);
  assert.deepEqual([body.pageSize, body.items.length], [50, 30]);
  const paged = await owner.get(`${ROLES}/lookup?ids=${made}&pageSize=10`);
  assert.deepEqual([paged.body.pageSize, paged.body.items.length], [10, 10]);
  assert.equal((await owner.get(`${ROLES}/lookup`)).body.pageSize, 20);
  const tenants = await t.systemAdmin.get(`/api/v1/admin/tenants/lookup?ids=${owner.tenantId}`);
  assert.deepEqual([tenants.body.pageSize, tenants.body.items.length], [50, 1]);
});

Deno.test("every route rejects a caller without its permission and an anonymous caller", async () => {
  const { tenantId } = admin;
  const id = await newRole("Guarded");
  const grant = `${ROLES}/${id}/permissions/${permission("read:users")}`;
  const routes: [string, (caller: HttpClient) => Promise<HttpAnswer>][] = [
    ["read:roles", (c) => c.get(ROLES)],
    ["read:roles", (c) => c.get(`${ROLES}/summary`)],
    ["read:roles", (c) => c.get(`${ROLES}/lookup`)],
    ["read:roles", (c) => c.get(`${ROLES}/${id}`)],
    ["create:roles", (c) => c.post(ROLES, {})],
    ["update:roles", (c) => c.put(`${ROLES}/${id}`, {})],
    ["delete:roles", (c) => c.delete(`${ROLES}/${id}`)],
    ["update:roles", (c) => c.post(grant)],
    ["update:roles", (c) => c.delete(grant)],
  ];
  for (const needed of new Set(routes.map(([code]) => code))) {
    const others = ADMINISTERS.filter((code) => code !== needed);
    const caller = await t.actor({ tenantId: tenantId ?? "", permissions: [...others, "manage:all-users"] });
    for (const [, call] of routes.filter(([code]) => code === needed)) {
      refused(await call(caller), 403, "MISSING_PERMISSION");
      refused(await call(t.nobody), 401, "TOKEN_MISSING");
    }
  }
});
