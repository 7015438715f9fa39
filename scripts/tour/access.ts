import assert from "node:assert/strict";
import { type Story, Visitor } from "./story.ts";

const PERMISSIONS = ["read:users", "upload:files", "read:files", "send:notifications"];
const PASSWORD = "a-long-enough-password";

/** Access: a tenant, a role, two users; who may do what. */
export async function accessSteps(story: Story): Promise<void> {
  story.chapter("Access administration");
  const email = Deno.env.get("BOOTSTRAP_ADMIN_EMAIL") ?? "admin@steward.local";
  const password = Deno.env.get("BOOTSTRAP_ADMIN_PASSWORD") ?? "steward-admin-dev";
  const run = crypto.randomUUID().slice(0, 8);

  await story.step("the administrator signs in", async () => {
    const { accessToken } = await story.nobody.expect(200, "POST", "/api/v1/auth/login", { email, password });
    story.administrator = new Visitor(story.url, accessToken);
  });
  const { administrator } = story;
  const tenant = await story.step(
    "makes a tenant",
    async () =>
      await administrator.expect(201, "POST", "/api/v1/tenants", { name: `Acme ${run}`, type: "Standard" }),
  );
  const insider = await story.step("joins it as its administrator", async () => {
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
    const again = await story.nobody.expect(200, "POST", "/api/v1/auth/login", { email, password });
    story.administrator = new Visitor(story.url, again.accessToken);
    const inTenant = await story.administrator.expect(200, "POST", "/auth/switch-tenant", {
      tenantId: tenant.id,
    });
    return new Visitor(story.url, inTenant.accessToken);
  });
  const role = await story.step(`makes a role with ${PERMISSIONS.join(", ")}`, async () => {
    const permissionIds = await Promise.all(
      PERMISSIONS.map(async (code) =>
        (await insider.expect(200, "GET", `/api/v1/permissions/by-code/${code}`)).id
      ),
    );
    return await insider.expect(201, "POST", "/api/v1/roles", {
      name: "Clerk",
      description: "Keeps files",
      permissionIds,
    });
  });
  await story.step("makes two users: Zoë with that role, Otto with none", async () => {
    const make = async (name: string, roleIds: string[]) =>
      await story.administrator.expect(201, "POST", "/api/v1/admin/users", {
        email: `${name}.${run}@example.test`,
        password: PASSWORD,
        firstName: name === "zoe" ? "Zoë" : "Otto",
        lastName: "Tour",
        isActive: true,
        tenants: roleIds.length > 0 ? [{ tenantId: tenant.id, roleIds, isDefault: true }] : [],
      });
    const zoe = await make("zoe", [role.id]);
    await make("otto", []);
    story.memberId = zoe.id;
    story.memberEmail = zoe.email;
  });
  await story.step("Zoë signs in and sees exactly those permissions", async () => {
    const signedIn = await story.nobody.expect(200, "POST", "/api/v1/auth/login", {
      email: story.memberEmail,
      password: PASSWORD,
    });
    assert.deepEqual(signedIn.permissions, PERMISSIONS.toSorted());
    assert.equal(signedIn.tenant.id, tenant.id);
    story.member = new Visitor(story.url, signedIn.accessToken);
    await story.member.expect(200, "GET", "/api/v1/users");
    await story.member.refused(403, "MISSING_PERMISSION", "GET", "/api/v1/roles");
  });
  await story.step("Otto, an outsider, is refused with 403; a forged token with 401", async () => {
    const otto = await story.nobody.expect(200, "POST", "/api/v1/auth/login", {
      email: `otto.${run}@example.test`,
      password: PASSWORD,
    });
    const outsider = new Visitor(story.url, otto.accessToken);
    await outsider.refused(403, "FORBIDDEN", "GET", "/api/v1/users");
    await outsider.refused(403, "TENANT_FORBIDDEN", "POST", "/auth/switch-tenant", { tenantId: tenant.id });
    const forged = new Visitor(story.url, otto.accessToken.slice(0, -12) + "A".repeat(12));
    await forged.refused(401, "TOKEN_INVALID", "GET", "/api/v1/users");
  });
}
