import assert from "node:assert/strict";
import { ApiCaller, type Tour } from "./tour.ts";

const PERMISSIONS = ["read:users", "upload:files", "read:files", "send:notifications"];
const PASSWORD = "a-long-enough-password";

/** Access: creates a tenant, a role and two users, and checks their permissions. */
export async function accessSteps(tour: Tour): Promise<void> {
  tour.section("Access administration");
  const email = Deno.env.get("BOOTSTRAP_ADMIN_EMAIL") ?? "admin@steward.local";
  const password = Deno.env.get("BOOTSTRAP_ADMIN_PASSWORD") ?? "steward-admin-dev";
  const run = crypto.randomUUID().slice(0, 8);

  await tour.step("the administrator signs in", async () => {
    const { accessToken } = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", {
      email,
      password,
    });
    tour.administrator = new ApiCaller(tour.url, accessToken);
  });
  const { administrator } = tour;
  const tenant = await tour.step(
    "creates a tenant",
    async () =>
      await administrator.expect(201, "POST", "/api/v1/tenants", { name: `Acme ${run}`, type: "Standard" }),
  );
  const tenantAdmin = await tour.step("joins it as its administrator", async () => {
    const me = await administrator.expect(200, "GET", "/api/v1/auth/me");
    const roles = await administrator.expect(
      200,
      "GET",
      `/api/v1/admin/tenants/${tenant.id}/roles?search=Admin`,
    );
    const admin = roles.items.find((role: { name: string }) => role.name === "Admin");
    await administrator.expect(201, "POST", `/api/v1/admin/users/${me.user.id}/tenants`, {
      tenantId: tenant.id,
      roleIds: [admin.id],
      isDefault: false,
    });
    await administrator.refused(401, "SESSION_INVALIDATED", "GET", "/api/v1/auth/me");
    const again = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", { email, password });
    tour.administrator = new ApiCaller(tour.url, again.accessToken);
    const inTenant = await tour.administrator.expect(200, "POST", "/auth/switch-tenant", {
      tenantId: tenant.id,
    });
    return new ApiCaller(tour.url, inTenant.accessToken);
  });
  const role = await tour.step(`creates a role with ${PERMISSIONS.join(", ")}`, async () => {
    const permissionIds = await Promise.all(
      PERMISSIONS.map(async (code) =>
        (await tenantAdmin.expect(200, "GET", `/api/v1/permissions/by-code/${code}`)).id
      ),
    );
    return await tenantAdmin.expect(201, "POST", "/api/v1/roles", {
      name: "Clerk",
      description: "Keeps files",
      permissionIds,
    });
  });
  await tour.step("creates two users: Zoë with that role, Otto without a role", async () => {
    const create = async (name: string, roleIds: string[]) =>
      await tour.administrator.expect(201, "POST", "/api/v1/admin/users", {
        email: `${name}.${run}@example.test`,
        password: PASSWORD,
        firstName: name === "zoe" ? "Zoë" : "Otto",
        lastName: "Tour",
        isActive: true,
        tenants: roleIds.length > 0 ? [{ tenantId: tenant.id, roleIds, isDefault: true }] : [],
      });
    const zoe = await create("zoe", [role.id]);
    await create("otto", []);
    tour.memberId = zoe.id;
    tour.memberEmail = zoe.email;
  });
  await tour.step("Zoë signs in and has exactly those permissions", async () => {
    const signedIn = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", {
      email: tour.memberEmail,
      password: PASSWORD,
    });
    assert.deepEqual(signedIn.permissions, PERMISSIONS.toSorted());
    assert.equal(signedIn.tenant.id, tenant.id);
    tour.member = new ApiCaller(tour.url, signedIn.accessToken);
    await tour.member.expect(200, "GET", "/api/v1/users");
    await tour.member.refused(403, "MISSING_PERMISSION", "GET", "/api/v1/roles");
  });
  await tour.step("Otto is refused with 403; a forged token with 401", async () => {
    const otto = await tour.anonymous.expect(200, "POST", "/api/v1/auth/login", {
      email: `otto.${run}@example.test`,
      password: PASSWORD,
    });
    const outsider = new ApiCaller(tour.url, otto.accessToken);
    await outsider.refused(403, "FORBIDDEN", "GET", "/api/v1/users");
    await outsider.refused(403, "TENANT_FORBIDDEN", "POST", "/auth/switch-tenant", { tenantId: tenant.id });
    const forged = new ApiCaller(tour.url, otto.accessToken.slice(0, -12) + "A".repeat(12));
    await forged.refused(401, "TOKEN_INVALID", "GET", "/api/v1/users");
  });
}
