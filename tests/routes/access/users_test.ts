import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { ADMIN, createUser, newUser } from "./users.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const newUuid = () => crypto.randomUUID();
const made = (o: Record<string, unknown> = {}) => createUser(admin, o);
/** Links a user to another tenant directly in the database. */
async function linkElsewhere(userId: string, isActive = true): Promise<string> {
  const id = await t.tenant();
  await sql`insert into user_tenants (user_id, tenant_id, is_active) values (${userId}, ${id}, ${isActive})`;
  return id;
}
const versionOf = async (userId: string) =>
  (await sql<{ v: number }[]>`select security_version as v from users where id = ${userId}`)[0]?.v;

Deno.test("users outside the token's tenant are not found", async () => {
  const outsider = await t.actor({ permissions: ADMIN });
  const id = await made();
  const { email } = (await admin.get(`/api/v1/users/${id}`)).body;
  for (const asked of [id, newUuid()]) {
    const answers = [
      await outsider.get(`/api/v1/users/${asked}`),
      await outsider.put(`/api/v1/users/${asked}`, { firstName: "Mallory" }),
      await outsider.put(`/api/v1/users/${asked}`, { firstName: "Mallory" }, { "if-match": '"99"' }),
      await outsider.delete(`/api/v1/users/${asked}`),
      await outsider.post(`/api/v1/users/${asked}/activate`),
      await outsider.post(`/api/v1/users/${asked}/deactivate`),
      await outsider.get(`/api/v1/users/${asked}/permissions`),
      await outsider.get(`/api/v1/users/${asked}/roles`),
      await outsider.get(`/api/v1/users/${asked}/tenants`),
      await outsider.get(`/api/v1/users/by-email/${asked === id ? email : "nobody@example.test"}`),
    ];
    assert.deepEqual([...new Set(answers.map((answer) => `${answer.status} ${answer.body.code}`))], [
      "404 USER_NOT_FOUND",
    ]);
  }
  assert.equal((await admin.get(`/api/v1/users/${id}`)).body.firstName, "Ana");
  assert.equal((await t.systemAdmin.get(`/api/v1/users/${id}`)).body.code, "USER_NOT_FOUND");
});

Deno.test("an update keeps omitted members, and ends tokens only if it changes isActive", async () => {
  const id = await made({ phoneNumber: "123", appIds: ["crm"] });
  const changed = await admin.put(`/api/v1/users/${id}`, {
    firstName: " Bea ",
    lastName: null,
    phoneNumber: null,
  });
  assert.equal(changed.status, 200);
  assert.equal(changed.headers.get("etag"), '"2"');
  assert.equal(changed.body.firstName, "Bea");
  assert.equal(changed.body.lastName, "", "null takes it away");
  assert.equal(changed.body.phoneNumber, null);
  assert.deepEqual(changed.body.appIds, ["crm"]);
  assert.equal(await versionOf(id), 1);
  const same = await admin.put(`/api/v1/users/${id}`, { firstName: "Bea" });
  assert.equal(same.headers.get("etag"), '"2"', "nothing differs, nothing is written");
  const off = await admin.put(`/api/v1/users/${id}`, { isActive: false });
  assert.equal(off.body.isActive, false);
  assert.equal(await versionOf(id), 2);
  const stale = await admin.put(`/api/v1/users/${id}`, { firstName: "Cea" }, { "if-match": '"2"' });
  assert.equal(stale.status, 412);
  assert.equal(stale.body.code, "PRECONDITION_FAILED");
  const fresh = await admin.put(`/api/v1/users/${id}`, { firstName: "Cea" }, { "if-match": '"3"' });
  assert.equal(fresh.status, 200);
  assert.equal(
    (await admin.delete(`/api/v1/users/${id}`, { "if-match": '"3"' })).body.code,
    "PRECONDITION_FAILED",
  );
  assert.equal((await admin.delete(`/api/v1/users/${id}`, { "if-match": '"4"' })).status, 200);
});

Deno.test("of simultaneous updates with one If-Match exactly one succeeds", async () => {
  const id = await made();
  const answers = await Promise.all(
    Array.from(
      { length: 6 },
      (_, at) => admin.put(`/api/v1/users/${id}`, { firstName: `N${at}` }, { "if-match": '"1"' }),
    ),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 412, 412, 412, 412, 412]);
});

Deno.test("a user who is active in other tenants can be changed only with permission for all users", async () => {
  const id = await made();
  const elsewhere = await linkElsewhere(id);
  const attempts = (by: Actor) => [
    () => by.put(`/api/v1/users/${id}`, { firstName: "Mallory" }),
    () => by.post(`/api/v1/users/${id}/deactivate`),
    () => by.post(`/api/v1/users/${id}/activate`),
  ];
  for (const attempt of attempts(admin)) {
    const answer = await attempt();
    assert.equal(answer.status, 403);
    assert.equal(answer.body.code, "CROSS_TENANT_FORBIDDEN");
  }
  const reaching = await t.actor({ tenantId, permissions: [...ADMIN, "manage:all-users"] });
  for (const attempt of attempts(reaching)) assert.equal((await attempt()).status, 200);
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id = ${elsewhere}`;
  assert.equal((await admin.put(`/api/v1/users/${id}`, { firstName: "Own" })).status, 200);
});

Deno.test("activating and deactivating end only that user's tokens", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:users"] });
  assert.equal((await subject.get("/api/v1/users")).status, 200);
  const off = await admin.post(`/api/v1/users/${subject.userId}/deactivate`);
  assert.equal(off.status, 200);
  assert.equal(off.body, "");
  assert.equal((await subject.get("/api/v1/users")).body.code, "SESSION_INVALIDATED");
  assert.equal((await admin.post(`/api/v1/users/${subject.userId}/deactivate`)).status, 200, "twice is once");
  assert.equal((await admin.post(`/api/v1/users/${subject.userId}/activate`)).status, 200);
  assert.equal((await admin.get(`/api/v1/users/${subject.userId}`)).body.isActive, true);
  assert.equal(
    (await subject.get("/api/v1/users")).body.code,
    "SESSION_INVALIDATED",
    "the old token stays dead",
  );
  assert.equal((await admin.get("/api/v1/users")).status, 200);
});

Deno.test("callers can neither delete nor deactivate themselves", async () => {
  const self = await t.actor({ tenantId, permissions: ADMIN });
  for (
    const answer of [
      await self.delete(`/api/v1/users/${self.userId}`),
      await self.post(`/api/v1/users/${self.userId}/deactivate`),
      await self.put(`/api/v1/users/${self.userId}`, { isActive: false }),
    ]
  ) {
    assert.equal(answer.status, 409);
    assert.equal(answer.body.code, "USER_SELF_CONFLICT");
  }
  assert.equal((await self.put(`/api/v1/users/${self.userId}`, { firstName: "Me" })).status, 200);
});

Deno.test("DELETE unlinks the user from the tenant, and deletes the user with the last link", async () => {
  const id = await made();
  const elsewhere = await linkElsewhere(id);
  const before = await versionOf(id);
  const gone = await admin.delete(`/api/v1/users/${id}`);
  assert.equal(gone.status, 200);
  assert.equal(gone.body, "");
  assert.equal((await admin.get(`/api/v1/users/${id}`)).body.code, "USER_NOT_FOUND");
  const left = await t.systemAdmin.get(`/api/v1/admin/users/${id}`);
  assert.deepEqual(left.body.tenants.map((link: { tenantId: string }) => link.tenantId), [elsewhere]);
  assert.notEqual(await versionOf(id), before);

  const theirs = await t.actor({ tenantId: elsewhere, permissions: ADMIN });
  assert.equal((await theirs.delete(`/api/v1/users/${id}`)).status, 200);
  assert.equal((await t.systemAdmin.get(`/api/v1/admin/users/${id}`)).body.code, "USER_NOT_FOUND");
  assert.equal((await theirs.delete(`/api/v1/users/${id}`)).body.code, "USER_NOT_FOUND");
  const ids = async (query: string) =>
    (await theirs.get(`/api/v1/users?${query}`)).body.items.map((user: { id: string }) => user.id);
  assert.ok(!(await ids("")).includes(id));
  assert.ok((await ids("includeDeleted=true")).includes(id));
  const [tenant] = await sql`select user_count from tenants where id = ${elsewhere}`;
  assert.equal(tenant?.userCount, 1);
});

Deno.test("permissions and roles are those of the token's tenant; a deactivated link gives none", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:roles", "read:files"] });
  await linkElsewhere(subject.userId);
  const roles = await admin.get(`/api/v1/users/${subject.userId}/roles`);
  assert.equal(roles.body.length, 1);
  assert.equal(roles.body[0].tenantId, tenantId);
  assert.deepEqual(roles.body[0].permissions.map((p: { code: string }) => p.code), [
    "read:files",
    "read:roles",
  ]);
  const permissions = () => admin.get(`/api/v1/users/${subject.userId}/permissions`);
  assert.deepEqual((await permissions()).body, ["read:files", "read:roles"]);
  await sql`update user_tenants set is_active = false where user_id = ${subject.userId} and tenant_id = ${tenantId}`;
  assert.deepEqual((await permissions()).body, []);
});

Deno.test("anyone who may read users in one of a user's tenants sees all tenants of the user", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:users"] });
  const elsewhere = await linkElsewhere(subject.userId);
  const seen = async (by: Actor) =>
    (await by.get(`/api/v1/users/${subject.userId}/tenants`)).body.map((link: { tenantId: string }) =>
      link.tenantId
    );
  assert.deepEqual(await seen(admin), [tenantId, elsewhere]);
  assert.deepEqual(await seen(subject), [tenantId, elsewhere]);
  assert.deepEqual(await seen(await t.actor({ tenantId, permissions: ["read:users", "manage:all-users"] })), [
    tenantId,
    elsewhere,
  ]);
});

Deno.test("each route needs its permission and a tenant", async () => {
  const id = await made();
  const routes: [string, string, string, unknown?][] = [
    ["read:users", "GET", "/api/v1/users"],
    ["read:users", "GET", `/api/v1/users/${id}`],
    ["read:users", "GET", "/api/v1/users/by-email/x"],
    ["create:users", "POST", "/api/v1/users", newUser()],
    ["update:users", "PUT", `/api/v1/users/${id}`, {}],
    ["delete:users", "DELETE", `/api/v1/users/${id}`],
    ["read:users", "GET", `/api/v1/users/${id}/permissions`],
    ["read:users", "GET", `/api/v1/users/${id}/roles`],
    ["read:users", "GET", `/api/v1/users/${id}/tenants`],
    ["update:users", "POST", `/api/v1/users/${id}/activate`],
    ["update:users", "POST", `/api/v1/users/${id}/deactivate`],
  ];
  const global = await t.actor({ permissions: ADMIN, global: true });
  for (const needed of new Set(ADMIN)) {
    const lacking = await t.actor({
      tenantId,
      permissions: ADMIN.filter((permission) => permission !== needed),
    });
    for (const [permission, method, path, body] of routes) {
      if (permission !== needed) continue;
      const answer = await lacking.send(method, path, body);
      assert.equal(answer.body.code, "MISSING_PERMISSION", `${method} ${path}`);
      assert.match(answer.body.detail, new RegExp(needed));
      assert.equal((await global.send(method, path, body)).body.code, "FORBIDDEN", `${method} ${path}`);
      assert.equal((await t.nobody.send(method, path, body)).body.code, "TOKEN_MISSING", `${method} ${path}`);
    }
  }
  assert.equal((await admin.get("/api/v1/users/not-a-uuid")).body.code, "VALIDATION_ERROR");
});

Deno.test("the routes of the former tenant-access matrix do not exist", async () => {
  for (const path of ["/api/v1/users", "/api/v1/admin/users"]) {
    for (const method of ["GET", "PUT"]) {
      const answer = await t.systemAdmin.send(
        method,
        `${path}/${newUuid()}/tenant-access`,
        method === "PUT" ? {} : undefined,
      );
      assert.equal(answer.body.code, "ROUTE_NOT_FOUND");
    }
  }
});
