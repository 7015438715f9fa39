import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { auditOf, refused } from "./answers.ts";
import { catalogRole, insertLink } from "./users.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const path = (userId: string) => `/api/v1/users/${userId}/roles`;

Deno.test("replacing a user's roles in the tenant ends the user's tokens", async () => {
  const admin = await t.actor({ role: "Admin" });
  const user = await t.actor({ role: "Visitor", tenantId: admin.tenantId ?? "" });
  const elsewhere = await t.actor({ permissions: ["read:roles"] });
  await insertLink(t, user.userId, elsewhere.tenantId, elsewhere.roleId);
  const wanted = await catalogRole(t, "Admin", admin.tenantId);
  const { status, body } = await admin.put(path(user.userId), { roleIds: [wanted, wanted] });
  assert.equal(status, 200);
  assert.deepEqual(body.map(({ name }: { name: string }) => name), ["Admin"]);
  assert.equal((await user.get("/api/v1/roles")).status, 401);
  const kept = await sql`select from user_tenant_roles where user_id = ${user.userId}`;
  assert.equal(kept.length, 2, "the other tenant's role is left alone");
  assert.equal((await admin.put(path(user.userId), { roleIds: [wanted] })).status, 200);
  assert.equal((await auditOf(t, user.userId)).length, 1, "the same roles again change nothing");
  assert.deepEqual((await admin.put(path(user.userId), { roleIds: [] })).body, []);
});

Deno.test("roles beyond the caller's permissions or of other tenants are rejected", async () => {
  const admin = await t.actor({ permissions: ["read:users", "update:users"] });
  const user = await t.actor({ permissions: [], tenantId: admin.tenantId ?? "" });
  const put = (roleId: string | null) => admin.put(path(user.userId), { roleIds: [roleId] });
  refused(
    await put(await catalogRole(t, "Admin", admin.tenantId)),
    403,
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  );
  refused(await put((await t.actor({ role: "Visitor" })).roleId), 404, "ROLE_NOT_FOUND");
});

Deno.test("a rejected assignment names the missing permissions and who can give them", async () => {
  const owner = await t.actor({ role: "Admin" });
  const { tenantId } = owner;
  const user = await t.actor({ permissions: [], tenantId: tenantId! });
  const [{ id: permissionId } = { id: "" }] = await sql<{ id: string }[]>`
    insert into permissions (id, tenant_id, code, category)
    values (gen_random_uuid(), ${tenantId}, 'approve:orders', 'Orders') returning id`;
  const made = await owner.post("/api/v1/roles", { name: "Approver", permissionIds: [permissionId] });
  assert.equal(made.status, 201, "a caller with update:roles may add any tenant-reach permission to a role");
  const give = () => owner.put(path(user.userId), { roleIds: [made.body.id] });
  const alone = await give();
  refused(alone, 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.deepEqual(alone.body.errors, ["approve:orders: the caller does not hold it"]);
  assert.match(
    alone.body.detail,
    /have the permissions approve:orders, .* roles: any holder of admin:system\. /,
  );
  const able = await t.actor({ permissions: ["update:users"], tenantId: tenantId! });
  const unable = await t.actor({ permissions: ["read:users"], tenantId: tenantId! });
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select id, ${tenantId}, ${made.body.id} from unnest(${[able.userId, unable.userId]}::uuid[]) id`;
  const named = `Users who may assign the roles: ${able.email}, any holder of admin:system.`;
  assert.ok((await give()).body.detail.includes(named));
  // The fix that the error suggests: add the missing permission to a role of the caller, then sign in again.
  const ownRole = await catalogRole(t, "Admin", tenantId);
  assert.equal((await owner.post(`/api/v1/roles/${ownRole}/permissions/${permissionId}`)).status, 200);
  const again = await t.actor({ role: "Admin", tenantId: tenantId! });
  assert.equal((await again.put(path(user.userId), { roleIds: [made.body.id] })).status, 200);
  const blind = await t.actor({ permissions: ["update:users"], tenantId: tenantId! });
  const answer = await blind.put(path(unable.userId), { roleIds: [ownRole] });
  assert.ok(!answer.body.detail.includes("@"), "emails of users need read:users");
});

Deno.test("roles are listed with their permissions, or only those with given ids", async () => {
  const admin = await t.actor({ role: "Admin" });
  const visitor = await catalogRole(t, "Visitor", admin.tenantId);
  const { body } = await admin.get(`/api/v1/roles/with-permissions?ids=${visitor}`);
  assert.equal(body.totalCount, 1);
  assert.ok(body.items[0].permissions.some(({ code }: { code: string }) => code === "read:roles"));
  const all = (await admin.get("/api/v1/roles/with-permissions?pageSize=100")).body;
  assert.ok(all.totalCount >= 3);
  const system = (await admin.get("/api/v1/roles/with-permissions?isSystemRole=false")).body;
  assert.equal(system.totalCount, 0);
});
