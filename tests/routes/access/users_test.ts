import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { atOnce, codes, column, refused, statuses } from "./answers.ts";
import { ADMIN, createUser, insertLink } from "./users.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const path = (id: string) => `/api/v1/users/${id}`;
/** Links a user to a new tenant. */
async function linkElsewhere(userId: string): Promise<string> {
  const id = await t.tenant();
  await insertLink(t, userId, id);
  return id;
}
const versionOf = async (userId: string) =>
  (await sql<{ v: number }[]>`select security_version as v from users where id = ${userId}`)[0]?.v;

Deno.test("users outside the token's tenant are not found, whatever is sent, also by a system administrator", async () => {
  const outsider = await t.actor({ permissions: ADMIN });
  const id = await createUser(admin);
  const { email } = (await admin.get(path(id))).body;
  refused(
    await outsider.put(path(id), { firstName: "Mallory" }, { "if-match": '"99"' }),
    404,
    "USER_NOT_FOUND",
  );
  refused(await outsider.get(path(`by-email/${email}`)), 404, "USER_NOT_FOUND");
  refused(await outsider.get(path("by-email/nobody@example.test")), 404, "USER_NOT_FOUND");
  refused(await t.systemAdmin.get(path(id)), 404, "USER_NOT_FOUND");
});

Deno.test("an update keeps omitted members, and ends tokens only if it changes isActive", async () => {
  const id = await createUser(admin, { phoneNumber: "+351123", appIds: ["crm"] });
  const put = (body: object, headers = {}) => admin.put(path(id), body, headers);
  const changed = await put({ firstName: " Bea ", lastName: null, phoneNumber: null });
  const { firstName, lastName, phoneNumber, appIds } = changed.body;
  assert.deepEqual([firstName, lastName, phoneNumber, appIds], ["Bea", "", null, ["crm"]]);
  assert.equal(changed.headers.get("etag"), '"2"');
  assert.equal(await versionOf(id), 1);
  assert.equal(
    (await put({ firstName: "Bea" })).headers.get("etag"),
    '"2"',
    "nothing differs, nothing is written",
  );
  assert.equal((await put({ isActive: false })).body.isActive, false);
  assert.equal(await versionOf(id), 2);
  refused(await put({ firstName: "Cea" }, { "if-match": '"2"' }), 412, "PRECONDITION_FAILED");
  const answers = await atOnce(6, (n) => put({ firstName: `N${n}` }, { "if-match": '"3"' }));
  assert.deepEqual(statuses(answers), [200, 412, 412, 412, 412, 412]);
  refused(await admin.delete(path(id), { "if-match": '"3"' }), 412, "PRECONDITION_FAILED");
  assert.equal((await admin.delete(path(id), { "if-match": '"4"' })).status, 200);
});

Deno.test("a user who is active in other tenants can be changed only with permission for all users", async () => {
  const id = await createUser(admin);
  const elsewhere = await linkElsewhere(id);
  const attempts = async (by: Actor) => [
    await by.put(path(id), { firstName: "Mallory" }),
    await by.post(`${path(id)}/deactivate`),
    await by.post(`${path(id)}/activate`),
  ];
  refused(await attempts(admin), 403, "CROSS_TENANT_FORBIDDEN");
  const reaching = await t.actor({ tenantId, permissions: [...ADMIN, "manage:all-users"] });
  assert.deepEqual(statuses(await attempts(reaching)), [200, 200, 200]);
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id = ${elsewhere}`;
  assert.equal((await admin.put(path(id), { firstName: "Own" })).status, 200);
});

Deno.test("activating and deactivating end only that user's tokens", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:users"] });
  const change = async (action: string) => {
    const { status, body } = await admin.post(`${path(subject.userId)}/${action}`);
    assert.deepEqual([status, body], [200, ""]);
  };
  assert.equal((await subject.get("/api/v1/users")).status, 200);
  await change("deactivate");
  refused(await subject.get("/api/v1/users"), 401, "SESSION_INVALIDATED");
  await change("deactivate");
  await change("activate");
  assert.equal((await admin.get(path(subject.userId))).body.isActive, true);
  refused(await subject.get("/api/v1/users"), 401, "SESSION_INVALIDATED", "the old token stays dead");
  assert.equal((await admin.get("/api/v1/users")).status, 200);
});

Deno.test("callers can neither delete nor deactivate themselves", async () => {
  const self = await t.actor({ tenantId, permissions: [...ADMIN, "manage:all-users"] });
  const own = path(self.userId);
  const attempts = [
    await self.delete(own),
    await self.post(`${own}/deactivate`),
    await self.put(own, { isActive: false }),
    await self.delete(`/api/v1/admin/users/${self.userId}`),
    await self.put(`/api/v1/admin/users/${self.userId}`, { isActive: false }),
  ];
  refused(attempts, 409, "USER_SELF_CONFLICT");
  assert.equal((await self.put(own, { firstName: "Me" })).status, 200);
});

Deno.test("DELETE unlinks the user from the tenant, and deletes the user with the last link", async () => {
  const id = await createUser(admin);
  const elsewhere = await linkElsewhere(id);
  const before = await versionOf(id);
  const gone = await admin.delete(path(id));
  assert.deepEqual([gone.status, gone.body], [200, ""]);
  refused(await admin.get(path(id)), 404, "USER_NOT_FOUND");
  const left = await t.systemAdmin.get(`/api/v1/admin/users/${id}`);
  assert.deepEqual(left.body.tenants.map((link: { tenantId: string }) => link.tenantId), [elsewhere]);
  assert.notEqual(await versionOf(id), before);

  const theirs = await t.actor({ tenantId: elsewhere, permissions: ADMIN });
  assert.equal((await theirs.delete(path(id))).status, 200);
  refused(await t.systemAdmin.get(`/api/v1/admin/users/${id}`), 404, "USER_NOT_FOUND");
  refused(await theirs.delete(path(id)), 404, "USER_NOT_FOUND");
  assert.ok(!column(await theirs.get("/api/v1/users"), "id").includes(id));
  assert.ok(column(await theirs.get("/api/v1/users?includeDeleted=true"), "id").includes(id));
  const [tenant] = await sql`select user_count from tenants where id = ${elsewhere}`;
  assert.equal(tenant?.userCount, 1);
});

Deno.test("permissions and roles are those of the token's tenant; a deactivated link gives none", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:roles", "read:files"] });
  await linkElsewhere(subject.userId);
  const [role, ...more] = (await admin.get(`${path(subject.userId)}/roles`)).body;
  assert.deepEqual([role.tenantId, more], [tenantId, []]);
  assert.deepEqual(codes(role), ["read:files", "read:roles"]);
  const permissions = async () => (await admin.get(`${path(subject.userId)}/permissions`)).body;
  assert.deepEqual(await permissions(), ["read:files", "read:roles"]);
  await sql`update user_tenants set is_active = false where user_id = ${subject.userId} and tenant_id = ${tenantId}`;
  assert.deepEqual(await permissions(), []);
});

Deno.test("anyone who may read users in one of a user's tenants sees all tenants of the user", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:users"] });
  const elsewhere = await linkElsewhere(subject.userId);
  for (const by of [admin, subject]) {
    const { body } = await by.get(`${path(subject.userId)}/tenants`);
    assert.deepEqual(body.map((link: { tenantId: string }) => link.tenantId), [tenantId, elsewhere]);
  }
});

Deno.test("the routes of the former tenant-access matrix do not exist", async () => {
  for (const users of ["/api/v1/users", "/api/v1/admin/users"]) {
    const matrix = `${users}/${crypto.randomUUID()}/tenant-access`;
    refused([await t.systemAdmin.get(matrix), await t.systemAdmin.put(matrix, {})], 404, "ROUTE_NOT_FOUND");
  }
});
