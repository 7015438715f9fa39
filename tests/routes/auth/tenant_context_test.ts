import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { bearer, PASSWORD, person, signedIn, signIn, withToken } from "./people.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const ME = "/auth/me";

const [mine = "", second = "", deactivated = "", closed = "", foreign = ""] = await Promise.all(
  Array.from({ length: 5 }, () => t.tenant()),
);
const user = await signedIn(t, { links: [mine, second, deactivated, closed] });
await sql`update user_tenants set is_active = false where user_id = ${user.id} and tenant_id = ${deactivated}`;
await sql`update tenants set is_active = false where id = ${closed}`;
const globalOf = async ({ email }: { email: string }) =>
  bearer(t, await signIn(t, email, PASSWORD, { global: true }));
const global = await globalOf(user);
const inTenant = (id: string) => ({ "x-tenant-id": id });

Deno.test("an administrator of the platform creates a tenant and a role in it by the documented steps", async () => {
  const admin = await signedIn(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const tenant = await accepted(admin.me.post("/api/v1/tenants", { name: `Acme ${admin.id}` }), 201);
  const [inAcme, clerk] = [inTenant(tenant.id), { name: `Clerk ${admin.id}` }];
  const astray = await admin.me.post("/api/v1/roles", clerk, inAcme);
  assert.equal((await accepted(astray, 201)).tenantName, "Platform");
  assert.equal(astray.headers.get("steward-ignored-headers"), "X-Tenant-ID");
  const roles = await accepted(admin.me.get(`/api/v1/admin/tenants/${tenant.id}/roles?search=Admin`));
  const catalog = roles.items.find(({ name }: { name: string }) => name === "Admin");
  const links = (id: string) => `/api/v1/admin/users/${id}/tenants`;
  const link = { tenantId: tenant.id, roleIds: [catalog.id], isDefault: false };
  await accepted(admin.me.post(links(admin.id), link), 201);
  const global = await globalOf(admin);
  const role = await global.post("/api/v1/roles", clerk, inAcme);
  assert.equal((await accepted(role, 201)).tenantName, tenant.name);
  assert.equal(role.headers.get("steward-ignored-headers"), null);
  const wrong = await global.post(links((await person(t)).id), { ...link, roleIds: [astray.body.id] });
  await refused("404 ROLE_NOT_FOUND", wrong);
  assert.match(wrong.body.detail, /Tenant "Acme .*" \(.*\) has no role .*belongs to one tenant/);
});

Deno.test("a global token names its tenant by header or query, or by both if they are equal", async () => {
  const { tenant, permissions } = await accepted(global.get(ME, inTenant(second.toUpperCase())));
  assert.equal(tenant.id, second);
  assert.ok(permissions.includes("read:users"));
  await accepted(global.get("/api/v1/users", inTenant(second)));
  const requests: [string, Record<string, string>][] = [
    [`tenantId=${mine}`, {}],
    [`tenantId=${mine}`, inTenant(mine)],
    [`tenantId=${mine}&tenantId=${mine}`, {}],
    [`tenant%49d=${mine}`, {}],
  ];
  for (const [query, headers] of requests) {
    assert.equal((await accepted(global.get(`${ME}?${query}`, headers))).tenant.id, mine, query);
  }
});

Deno.test("unlinked, unknown, deactivated and closed tenants get the same 403, also with admin:system", async () => {
  for (const id of [foreign, newId(), deactivated, closed]) {
    const answers = [global.get(ME, inTenant(id)), global.get(`/api/v1/users?tenantId=${id}`)];
    await refused("403 TENANT_FORBIDDEN", ...answers);
  }
  const admin = await t.actor({ role: "SystemAdmin", global: true });
  await refused("403 TENANT_FORBIDDEN", admin.get("/api/v1/users", inTenant(foreign)));
});

Deno.test("a malformed tenant, and two different ones, are rejected as invalid, but after an invalid token", async () => {
  const wrong: [string, Record<string, string>][] = [
    ["", inTenant("mine")],
    ["tenantId=1", {}],
    [`tenantId=${second}`, inTenant(mine)],
    [`tenantId=${mine}&tenantId=${second}`, {}],
    ["", inTenant(`${mine}, ${second}`)],
  ];
  for (const [query, headers] of wrong) {
    const answer = await global.get(`${ME}?${query}`, headers);
    await refused("400 VALIDATION_ERROR", answer);
    assert.match(answer.body.errors[0], /^tenantId: /);
  }
  const ended = await globalOf(user);
  await accepted(ended.post("/auth/logout"));
  await refused("401 TOKEN_REVOKED", ended.get(ME, inTenant("mine")));
});

Deno.test("header and query are ignored when the token has a tenant, even if malformed", async () => {
  for (const id of [second, foreign, "no-uuid"]) {
    const { tenant } = await accepted(user.me.get(`${ME}?tenantId=${id}`, inTenant(id)));
    assert.equal(tenant.id, mine);
  }
  const lists = ["jobs", "jobs/batches", "recurring-jobs", "audit-log", "roles"];
  for (const list of lists) {
    for (const id of [foreign, "a%00b"]) {
      const answer = await user.me.get(`/api/v1/${list}?tenantId=${id}`);
      await accepted(answer);
      assert.equal(answer.headers.get("steward-ignored-members"), null);
    }
  }
});

Deno.test("without a tenant only platform-reach permissions of the platform tenant count", async () => {
  const permissionsOf = async (actor: Parameters<typeof t.actor>[0]) => {
    const { token } = await t.actor({ ...actor, global: true });
    const client = withToken(t, token ?? "");
    return { client, permissions: (await accepted(client.get(ME))).permissions };
  };
  assert.deepEqual((await permissionsOf({ role: "SystemAdmin" })).permissions, ["admin:system"]);
  const ordinary = await permissionsOf({ role: "Admin", tenantId: t.platformTenantId });
  assert.deepEqual(ordinary.permissions, ["read:files", "upload:files"], "for product files");
  await refused("403 MISSING_PERMISSION", ordinary.client.get("/api/v1/admin/users"));
  assert.deepEqual((await permissionsOf({ permissions: ["manage:all-users"] })).permissions, []);
});
