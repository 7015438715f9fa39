import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { bearer, PASSWORD, person, signIn } from "./people.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const [mine, second, deactivated, closed, foreign] = await Promise.all(
  Array.from({ length: 5 }, () => t.tenant()),
);
const user = await person(t, { links: [mine!, second!, deactivated!, closed!] });
await sql`update user_tenants set is_active = false where user_id = ${user.id} and tenant_id = ${deactivated!}`;
await sql`update tenants set is_active = false where id = ${closed!}`;
const global = bearer(t, await signIn(t, user.email, PASSWORD, { global: true }));
const scoped = bearer(t, await signIn(t, user.email));

Deno.test("an administrator of the platform creates a tenant and a role in it by the documented steps", async () => {
  const admin = await person(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const platform = bearer(t, await signIn(t, admin.email));
  const tenant = await platform.post("/api/v1/tenants", { name: `Acme ${admin.id}` });
  assert.equal(tenant.status, 201);
  const inAcme = { "x-tenant-id": tenant.body.id };
  const astray = await platform.post("/api/v1/roles", { name: `Clerk ${admin.id}` }, inAcme);
  assert.deepEqual([astray.status, astray.body.tenantName], [201, "Platform"]);
  assert.equal(astray.headers.get("steward-ignored-headers"), "X-Tenant-ID");
  const { body: roles } = await platform.get(`/api/v1/admin/tenants/${tenant.body.id}/roles?search=Admin`);
  const catalog = roles.items.find(({ name }: { name: string }) => name === "Admin");
  const link = { tenantId: tenant.body.id, roleIds: [catalog.id], isDefault: false };
  const linked = await platform.post(`/api/v1/admin/users/${admin.id}/tenants`, link);
  assert.equal(linked.status, 201);
  assert.equal((await platform.get("/auth/me")).body.code, "SESSION_INVALIDATED");
  const global = bearer(t, await signIn(t, admin.email, undefined, { global: true }));
  const role = await global.post("/api/v1/roles", { name: "Clerk" }, inAcme);
  assert.deepEqual([role.status, role.body.tenantName], [201, tenant.body.name]);
  assert.equal(role.headers.get("steward-ignored-headers"), null);
  const none = await global.post("/api/v1/roles", { name: "Clerk" });
  assert.deepEqual([none.status, none.body.code], [403, "FORBIDDEN"]);
  const user = await person(t);
  const assign = { tenantId: tenant.body.id, roleIds: [astray.body.id], isDefault: false };
  const refused = await global.post(`/api/v1/admin/users/${user.id}/tenants`, assign);
  assert.equal(refused.body.code, "ROLE_NOT_FOUND");
  assert.match(
    refused.body.detail,
    /Tenant "Acme .*" \(.*\) has no role .*belongs to one tenant/,
  );
});

Deno.test("a global token names its tenant by header", async () => {
  const { status, body } = await global.with({ "x-tenant-id": second!.toUpperCase() }).get("/auth/me");
  assert.equal(status, 200);
  assert.equal(body.tenant.id, second);
  assert.ok(body.permissions.includes("read:users"));
  assert.equal((await global.with({ "x-tenant-id": second! }).get("/api/v1/users")).status, 200);
});

Deno.test("a global token names its tenant by query, also together with an equal header", async () => {
  assert.equal((await global.get(`/auth/me?tenantId=${mine}`)).body.tenant.id, mine);
  const both = await global.with({ "x-tenant-id": mine! }).get(`/auth/me?tenantId=${mine}`);
  assert.equal(both.body.tenant.id, mine);
  assert.equal((await global.get(`/auth/me?tenantId=${mine}&tenantId=${mine}`)).status, 200);
  assert.equal(
    (await global.get(`/auth/me?tenant%49d=${second}`)).body.tenant.id,
    second,
    "however it is written",
  );
});

Deno.test("a global token without a tenant has no permissions and is rejected on tenant-scoped routes", async () => {
  const { body } = await global.get("/auth/me");
  assert.equal(body.tenant, null);
  assert.deepEqual(body.permissions, []);
  const users = await global.get("/api/v1/users");
  assert.equal(users.status, 403);
  assert.equal(users.body.code, "FORBIDDEN");
  assert.equal((await global.with({ "x-tenant-id": "" }).get("/api/v1/users")).body.code, "FORBIDDEN");
});

Deno.test("unlinked, unknown, deactivated and closed tenants get the same 403", async () => {
  for (const id of [foreign!, newId(), deactivated!, closed!]) {
    for (
      const answer of [
        await global.with({ "x-tenant-id": id }).get("/auth/me"),
        await global.get(`/api/v1/users?tenantId=${id}`),
      ]
    ) {
      assert.equal(answer.status, 403);
      assert.equal(answer.body.code, "TENANT_FORBIDDEN");
    }
  }
});

Deno.test("admin:system gives no access to a tenant without a link", async () => {
  const admin = await t.actor({ role: "SystemAdmin", global: true });
  const answer = await admin.with({ "x-tenant-id": foreign! }).get("/api/v1/users");
  assert.equal(answer.status, 403);
  assert.equal(answer.body.code, "TENANT_FORBIDDEN");
});

Deno.test("a malformed tenant, and two different ones, are rejected as invalid", async () => {
  const answers = [
    await global.with({ "x-tenant-id": "mine" }).get("/auth/me"),
    await global.get("/auth/me?tenantId=1"),
    await global.with({ "x-tenant-id": mine! }).get(`/auth/me?tenantId=${second}`),
    await global.get(`/auth/me?tenantId=${mine}&tenantId=${second}`),
    await global.with({ "x-tenant-id": `${mine}, ${second}` }).get("/auth/me"),
  ];
  for (const { status, body } of answers) {
    assert.equal(status, 400);
    assert.equal(body.code, "VALIDATION_ERROR");
    assert.match(body.errors[0], /^tenantId: /);
  }
});

Deno.test("an invalid token is rejected as such, whatever tenant it names", async () => {
  const answer = await signIn(t, user.email, PASSWORD, { global: true });
  await bearer(t, answer).post("/auth/logout");
  const headers = { "x-tenant-id": "mine" };
  assert.equal((await bearer(t, answer).with(headers).get("/auth/me")).body.code, "TOKEN_REVOKED");
});

Deno.test("header and query are ignored when the token has a tenant, even if malformed", async () => {
  for (const id of [second!, foreign!, "no-uuid"]) {
    const { status, body } = await scoped.with({ "x-tenant-id": id }).get(`/auth/me?tenantId=${id}`);
    assert.equal(status, 200);
    assert.equal(body.tenant.id, mine);
  }
});

Deno.test("on admin routes the query's tenantId is a filter, and the header still sets the tenant", async () => {
  const admin = await t.actor({ role: "SystemAdmin", global: true });
  const filtered = await admin.get(`/api/v1/admin/users?tenantId=${foreign}`);
  assert.equal(filtered.status, 200);
  assert.equal(filtered.body.totalCount, 0);
  const { body } = await admin.with({ "x-tenant-id": foreign! }).get("/api/v1/admin/users");
  assert.equal(body.code, "TENANT_FORBIDDEN");
});

Deno.test("without a tenant only platform-reach permissions of the platform tenant count", async () => {
  const admin = await t.actor({ role: "SystemAdmin", global: true });
  assert.deepEqual((await admin.get("/auth/me")).body.permissions, ["admin:system"]);
  const ordinary = await t.actor({ role: "Admin", tenantId: t.platformTenantId, global: true });
  assert.deepEqual((await ordinary.get("/auth/me")).body.permissions, []);
  assert.equal((await ordinary.get("/api/v1/admin/users")).body.code, "MISSING_PERMISSION");
  const elsewhere = await t.actor({ permissions: ["manage:all-users"], global: true });
  assert.deepEqual((await elsewhere.get("/auth/me")).body.permissions, []);
});
