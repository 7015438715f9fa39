import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { auditOf, names, refused } from "./answers.ts";
import { ADMINISTERS, ROLES, rolesOf } from "./roles.ts";

const t = await setupShared();

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
  const { permissions: _, ...shown } = rest;
  const counts = { userCount: 0, permissionCount: 2, deletedAt: null };
  assert.deepEqual(read.body, { id, ...shown, createdAt, updatedAt, ...counts });
  assert.equal(read.headers.get("etag"), '"1"');
  assert.deepEqual(await auditOf(t, id), ["role.create"]);
});

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
  const id = await newRole("Racing");
  const [given, deleted] = await Promise.allSettled([holder(admin, id), admin.delete(`${ROLES}/${id}`)]);
  assert.equal(deleted.status, "fulfilled");
  const isDeleted = deleted.status === "fulfilled" && deleted.value.status === 200;
  assert.notEqual(given.status === "fulfilled", isDeleted);
});

Deno.test("roles are searched without case and accents, summarized, and looked up", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  const one = await newRole("Ação", [], owner);
  const two = await newRole("beta 100%", [permission("read:users")], owner);
  for (const role of [one, one, two]) await holder(owner, role);
  const list = async (query: string) => names(await owner.get(`${ROLES}?isSystemRole=false&${query}`));
  assert.deepEqual(await list("search=ACAO"), ["Ação"]);
  assert.deepEqual(await list("search=0%25"), ["beta 100%"]);
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
});
