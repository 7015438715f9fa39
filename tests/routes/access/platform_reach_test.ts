import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { isSignedIn, refused } from "./answers.ts";
import { ADMIN, insertLink } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const platform = t.platformTenantId;
const clerk = await t.actor({ tenantId: platform, role: "Admin" });
const eraser = await t.actor({ tenantId: platform, permissions: ["erase:users"] });
const manager = await t.actor({ tenantId: platform, permissions: ["manage:all-users"] });
const newSystemAdmin = () => t.actor({ role: "SystemAdmin" });

const inTenant = (by: Actor, id: string, roleId: string | null) => ({
  change: () => by.put(`/api/v1/users/${id}`, { firstName: "Other" }),
  "deactivate by PUT": () => by.put(`/api/v1/users/${id}`, { isActive: false }),
  deactivate: () => by.post(`/api/v1/users/${id}/deactivate`),
  activate: () => by.post(`/api/v1/users/${id}/activate`),
  delete: () => by.delete(`/api/v1/users/${id}`),
  unlock: () => by.post(`/api/v1/users/${id}/unlock`),
  "send a reset link": () => by.post(`/api/v1/users/${id}/password-reset`),
  "remove factors": () => by.delete(`/api/v1/users/${id}/factors`),
  "replace roles": () => by.put(`/api/v1/users/${id}/roles`, { roleIds: [roleId] }),
});

const anywhere = (by: Actor, id: string) => ({
  change: () => by.put(`/api/v1/admin/users/${id}`, { firstName: "Other" }),
  "remove all links": () => by.put(`/api/v1/admin/users/${id}`, { tenants: [] }),
  deactivate: () => by.put(`/api/v1/admin/users/${id}`, { isActive: false }),
  delete: () => by.delete(`/api/v1/admin/users/${id}`),
  unlock: () => by.post(`/api/v1/admin/users/${id}/unlock`),
  "send a reset link": () => by.post(`/api/v1/admin/users/${id}/password-reset`),
  "list sessions": () => by.get(`/api/v1/admin/users/${id}/sessions`),
  "end sessions": () => by.delete(`/api/v1/admin/users/${id}/sessions`),
  "remove factors": () => by.delete(`/api/v1/admin/users/${id}/factors`),
  erase: () => by.post(`/api/v1/admin/users/${id}/erase`, { reason: "asked" }),
});

Deno.test("who lacks admin:system changes no system administrator, by any route", async () => {
  const target = await newSystemAdmin();
  const state = () =>
    sql`select version, is_active, deleted_at, first_name, erased_at from users where id = ${target.userId}`;
  const [before] = await state();
  const attempts = [
    ...Object.entries(inTenant(clerk, target.userId, clerk.roleId)),
    ...Object.entries(anywhere(manager, target.userId)),
  ];
  const erasure = await eraser.post(`/api/v1/users/${target.userId}/erase`, { reason: "asked" });
  refused(erasure, 403, "MISSING_PERMISSION");
  for (const [name, attempt] of attempts) {
    const answer = await attempt();
    refused(answer, 403, "MISSING_PERMISSION");
    assert.match(answer.body.detail, /the user holds admin:system, which the caller does not hold/, name);
  }
  assert.deepEqual((await state())[0], before);
  assert.ok(await isSignedIn(target));
  const links = await sql`select from password_resets where user_id = ${target.userId}`;
  assert.equal(links.length, 0);
});

Deno.test("a system administrator, and who has the same platform reach, may change them", async () => {
  const target = await newSystemAdmin();
  const other = await t.actor({ tenantId: platform, permissions: ["manage:all-users"] });
  const sessions = ["list sessions", "end sessions"] as const;
  const allowed = ["change", "unlock", ...sessions, "send a reset link", "delete"] as const;
  for (const name of allowed) {
    assert.ok((await anywhere(t.systemAdmin, target.userId)[name]()).status < 300, name);
    assert.ok((await anywhere(manager, other.userId)[name]()).status < 300, name);
  }
});

Deno.test("a tenant still removes the link of a system administrator to itself", async () => {
  const target = await newSystemAdmin();
  const admin = await t.actor({ permissions: ADMIN });
  await insertLink(t, target.userId, admin.tenantId, admin.roleId);
  refused(await admin.post(`/api/v1/users/${target.userId}/deactivate`), 403, "CROSS_TENANT_FORBIDDEN");
  assert.equal((await admin.put(`/api/v1/users/${target.userId}/roles`, { roleIds: [] })).status, 200);
  assert.equal((await admin.delete(`/api/v1/users/${target.userId}`)).status, 200);
  refused(await admin.get(`/api/v1/users/${target.userId}`), 404, "USER_NOT_FOUND");
});
