import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { refused } from "./answers.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const CHECK = "/api/v1/access/check";
const UNKNOWN = crypto.randomUUID();

interface Asked {
  userId: string;
  tenantId: string;
  permission: string;
}

async function check(by: HttpClient, ...checks: Asked[]): Promise<[boolean, number][]> {
  const { status, body } = await by.post(CHECK, { checks });
  assert.equal(status, 200, JSON.stringify(body));
  return body.results.map((
    { allowed, version }: { allowed: boolean; version: number },
  ) => [allowed, version]);
}

const about = ({ userId, tenantId }: Actor, permission: string): Asked => ({
  userId,
  tenantId: tenantId ?? "",
  permission,
});

async function account(tenants: string[] | "all", permissions = ["check:access"]): Promise<HttpClient> {
  const { status, body } = await t.systemAdmin.post("/api/v1/service-accounts", {
    name: "Checker",
    permissions,
    tenants,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return new HttpClient(t.url, body.secret);
}

Deno.test("the answers are those of the user's roles in the tenant, in the order of the checks", async () => {
  const asker = await t.actor({ permissions: ["check:access"] });
  const tenantId = asker.tenantId ?? "";
  const reader = await t.actor({ tenantId, permissions: ["read:users", "read:files"] });
  const other = await t.actor({ permissions: ["read:users"] });
  const results = await check(
    asker,
    about(reader, "read:users"),
    about(reader, "delete:users"),
    about(reader, "read:files"),
    about(reader, "no-such.code"),
    about(reader, "read:users"),
    about(asker, "check:access"),
    { userId: UNKNOWN, tenantId, permission: "read:users" },
    { userId: other.userId, tenantId, permission: "read:users" },
    about(other, "read:users"),
    { userId: reader.userId, tenantId: UNKNOWN, permission: "read:users" },
  );
  assert.deepEqual(results, [
    [true, 1],
    [false, 1],
    [true, 1],
    [false, 1],
    [true, 1],
    [true, 1],
    [false, 0],
    [false, 0],
    [false, 0],
    [false, 0],
  ]);
  assert.deepEqual(await check(asker), []);
});

Deno.test("a custom permission with dots is checked by its code", async () => {
  const admin = await t.actor({
    permissions: ["check:access", "create:permissions", "create:roles", "update:users"],
  });
  const { body: permission } = await admin.post("/api/v1/permissions", {
    code: "orders.approve",
    category: "Orders",
  });
  const { body: role } = await admin.post("/api/v1/roles", { name: "Buyer", permissionIds: [permission.id] });
  const user = await t.actor({ tenantId: admin.tenantId ?? "" });
  const asked = [about(user, "orders.approve"), about(user, "approve:orders")];
  assert.deepEqual(await check(admin, ...asked), [[false, 1], [false, 1]]);
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    values (${user.userId}, ${user.tenantId}, ${role.id})`;
  assert.deepEqual(await check(admin, ...asked), [[true, 1], [false, 1]]);
});

Deno.test("admin:system includes every permission but those of the file module", async () => {
  const checks = ["read:users", "orders.approve", "read:files", "purge:files", "admin:system"];
  const results = await check(t.systemAdmin, ...checks.map((permission) => about(t.systemAdmin, permission)));
  assert.deepEqual(results.map(([allowed]) => allowed), [true, true, false, false, true]);
  const tenantId = await t.tenant();
  await sql`insert into user_tenants (user_id, tenant_id) values (${t.systemAdmin.userId}, ${tenantId})`;
  const checker = await account([tenantId]);
  assert.deepEqual(
    await check(checker, { userId: t.systemAdmin.userId, tenantId, permission: "read:users" }),
    [[false, 1]],
    "it counts only in the platform tenant, like for tokens",
  );
});

Deno.test("nothing is allowed with an inactive or deleted user, link, tenant, role or permission", async () => {
  const checker = await account("all");
  const changes: [string, (user: Actor) => Promise<unknown>, number][] = [
    ["user", ({ userId }) => sql`update users set is_active = false where id = ${userId}`, 1],
    ["deleted user", ({ userId }) => sql`update users set deleted_at = now() where id = ${userId}`, 0],
    ["link", ({ userId }) => sql`update user_tenants set is_active = false where user_id = ${userId}`, 1],
    ["tenant", ({ tenantId }) => sql`update tenants set is_active = false where id = ${tenantId}`, 1],
    [
      "deleted tenant",
      ({ tenantId }) => sql`update tenants set deleted_at = now() where id = ${tenantId}`,
      1,
    ],
    ["role", ({ roleId }) => sql`delete from role_permissions where role_id = ${roleId}`, 1],
    ["link gone", ({ userId }) => sql`delete from user_tenants where user_id = ${userId}`, 0],
  ];
  for (const [name, change, version] of changes) {
    const user = await t.actor({ permissions: ["read:users"] });
    assert.deepEqual(await check(checker, about(user, "read:users")), [[true, 1]], name);
    await change(user);
    assert.deepEqual(await check(checker, about(user, "read:users")), [[false, version]], name);
  }
});

Deno.test("a service account asks about its tenants, with X-Tenant-ID about one; `all` is without the platform's", async () => {
  const [first, second, third] = await Promise.all(
    [1, 2, 3].map(() => t.actor({ permissions: ["read:users"] })),
  );
  assert.ok(first && second && third);
  const asked = [first, second, third, t.systemAdmin].map((user) => about(user, "read:users"));
  const both = await account([first.tenantId ?? "", second.tenantId ?? ""]);
  const allowed = async (by: HttpClient) => (await check(by, ...asked)).map(([allowed]) => allowed);
  assert.deepEqual(await allowed(both), [true, true, false, false]);
  assert.deepEqual(await allowed(both.with({ "x-tenant-id": second.tenantId ?? "" })), [
    false,
    true,
    false,
    false,
  ]);
  refused(
    await both.with({ "x-tenant-id": third.tenantId ?? "" }).post(CHECK, { checks: [] }),
    403,
    "TENANT_FORBIDDEN",
  );
  assert.deepEqual(await allowed(await account("all")), [true, true, true, false]);
});

Deno.test("a lost role is seen by the next check, with the new version", async () => {
  const admin = await t.actor({ permissions: ["check:access", "update:users"] });
  const user = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:users"] });
  assert.deepEqual(await check(admin, about(user, "read:users")), [[true, 1]]);
  const { status } = await admin.put(`/api/v1/users/${user.userId}/roles`, { roleIds: [] });
  assert.equal(status, 200);
  assert.deepEqual(await check(admin, about(user, "read:users")), [[false, 2]]);
});

Deno.test("the check needs check:access, a tenant, and 0 to 500 well-formed checks, in this order", async () => {
  const asker = await t.actor({ permissions: ["check:access"] });
  const one = about(asker, "check:access");
  refused(await t.nobody.post(CHECK, { checks: [one] }), 401, "TOKEN_MISSING");
  const without = await t.actor({ permissions: ["read:users"] });
  refused(await without.post(CHECK, {}), 403, "MISSING_PERMISSION");
  const global = await t.actor({ permissions: ["check:access"], global: true });
  refused(await global.post(CHECK, {}), 403, "FORBIDDEN");
  const incapable = await account("all", ["read:users"]);
  refused(await incapable.post(CHECK, {}), 403, "MISSING_PERMISSION");
  const malformed = [
    {},
    { checks: null },
    { checks: {} },
    { checks: Array(501).fill(one) },
    { checks: [one, null] },
    { checks: [{ ...one, userId: "me" }] },
    { checks: [{ ...one, tenantId: null }] },
    { checks: [{ ...one, permission: "" }] },
    { checks: [{ ...one, permission: "x".repeat(101) }] },
    { checks: [{ ...one, permission: ["check:access"] }] },
    { checks: [{ ...one, permission: "a\u0000b" }] },
  ];
  for (const body of malformed) refused(await asker.post(CHECK, body), 400, "VALIDATION_ERROR");
  assert.equal((await check(asker, ...Array(500).fill(one))).length, 500);
  const [odd] = await check(asker, { ...one, permission: "' or 1=1 --{}," });
  assert.deepEqual(odd, [false, 1]);
});
