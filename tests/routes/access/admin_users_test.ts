import assert from "node:assert/strict";
import { type Actor, setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const newUuid = () => crypto.randomUUID();
const BCRYPT = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
const manager = await t.actor({ permissions: ["manage:all-users", "read:users", "read:roles"] });
const path = (id: string) => `/api/v1/admin/users/${id}`;

async function role(tenantId: string, permissions: string[] = []): Promise<string> {
  const id = newUuid();
  await sql`insert into roles (id, tenant_id, name) values (${id}, ${tenantId}, ${`Role ${id}`})`;
  await sql`insert into role_permissions (role_id, permission_id)
    select ${id}, id from permissions where tenant_id is null and code = any(${permissions}::text[])`;
  return id;
}
async function made(tenants: unknown[] = []): Promise<string> {
  const { status, body } = await t.systemAdmin.post("/api/v1/admin/users", {
    email: `${newUuid()}@example.test`,
    password: BCRYPT,
    isPasswordEncrypted: true,
    firstName: "Ana",
    lastName: "Silva",
    tenants,
  });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}
/** The tenant links without dates, as a PUT accepts them. */
const matrixOf = async (id: string) => (await t.systemAdmin.get(path(id))).body.tenants;
const rows = async (id: string) =>
  (await sql`select l.tenant_id, l.created_at from user_tenants l where user_id = ${id} order by tenant_id`)
    .map((row) => ({ ...row }));
const versionOf = async (id: string) =>
  (await sql<{ v: number }[]>`select security_version as v from users where id = ${id}`)[0]?.v;

Deno.test("create answers a UserDto; the full user can be read and sent back unchanged", async () => {
  const [a, b] = [await t.tenant(), await t.tenant()];
  const roleA = await role(a);
  const tenants = [{ tenantId: a, roleIds: [roleA, roleA], isDefault: true }, { tenantId: b }];
  const created = await t.systemAdmin.post("/api/v1/admin/users", {
    email: "flow@example.test",
    password: "correct horse battery",
    firstName: "Flo",
    tenants,
  });
  assert.equal(created.status, 201);
  assert.equal(created.headers.get("location"), path(created.body.id));
  assert.deepEqual(created.body.roles, [], "no role in the token's tenant");
  assert.ok(!("tenants" in created.body));
  const read = await t.systemAdmin.get(path(created.body.id));
  assert.deepEqual(read.body.tenants, [
    { tenantId: a, roleIds: [roleA], isDefault: true, isActive: true, externalId: null },
    { tenantId: b, roleIds: [], isDefault: false, isActive: true, externalId: null },
  ]);
  const put = await t.systemAdmin.put(path(created.body.id), read.body);
  assert.deepEqual(put.body, read.body);
  assert.equal(put.headers.get("etag"), read.headers.get("etag"), "nothing differs, nothing is written");
  assert.equal(await versionOf(created.body.id), 1);
});

Deno.test("create rejects unknown tenants and foreign roles, and checks escalation and capacity", async () => {
  const tenantId = await t.tenant();
  const strong = await role(tenantId, ["purge:files"]);
  const code = async (tenants: unknown, by: Actor = t.systemAdmin) =>
    (await by.post("/api/v1/admin/users", {
      email: `${newUuid()}@example.test`,
      password: BCRYPT,
      isPasswordEncrypted: true,
      tenants,
    })).body.code;
  assert.equal(await code([{ tenantId: newUuid(), roleIds: [strong] }]), "TENANT_NOT_FOUND");
  assert.equal(await code([{ tenantId, roleIds: [await role(await t.tenant())] }]), "ROLE_NOT_FOUND");
  assert.equal(await code([{ tenantId, roleIds: [strong] }], manager), "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal(
    await code([{ tenantId, isDefault: true }, { tenantId: await t.tenant(), isDefault: true }]),
    "VALIDATION_ERROR",
  );
  await sql`update tenants set max_users = 1 where id = ${tenantId}`;
  assert.equal(await code([{ tenantId, isActive: false }]), undefined);
  assert.equal(await code([{ tenantId, roleIds: [strong] }]), undefined);
  assert.equal(await code([{ tenantId }]), "TENANT_CAPACITY_REACHED");
});

Deno.test("tenants of a PUT: absent or null keeps the links, an empty list removes them, a list replaces them", async () => {
  const [a, b, c] = [await t.tenant(), await t.tenant(), await t.tenant()];
  const [roleA, roleB, roleC] = [await role(a), await role(b), await role(c)];
  const id = await made([{ tenantId: a, roleIds: [roleA], isDefault: true }, {
    tenantId: b,
    roleIds: [roleB],
  }]);
  const before = await matrixOf(id);
  const kept = await rows(id);
  for (const body of [{ firstName: "Bea" }, { tenants: null }]) {
    const answer = await t.systemAdmin.put(path(id), body);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.tenants, before);
  }
  assert.equal(await versionOf(id), 1, "names end no token");

  const replaced = await t.systemAdmin.put(path(id), {
    tenants: [{ tenantId: b, roleIds: [] }, { tenantId: c, roleIds: [roleC], isDefault: true }],
  });
  assert.deepEqual(replaced.body.tenants, [
    { tenantId: b, roleIds: [], isDefault: false, isActive: true, externalId: null },
    { tenantId: c, roleIds: [roleC], isDefault: true, isActive: true, externalId: null },
  ]);
  assert.deepEqual(
    (await rows(id)).find((row) => row.tenantId === b),
    kept.find((row) => row.tenantId === b),
    "a link that stays keeps its date",
  );
  assert.equal(await versionOf(id), 2);
  const emptied = await t.systemAdmin.put(path(id), { tenants: [] });
  assert.deepEqual(emptied.body.tenants, []);
  assert.equal((await sql`select from user_tenant_roles where user_id = ${id}`).length, 0);
  assert.equal(await versionOf(id), 3);
});

Deno.test("when links are replaced, isDefault false keeps the default, and removing a link removes its default", async () => {
  const [a, b] = [await t.tenant(), await t.tenant()];
  const id = await made([{ tenantId: a, isDefault: true }, { tenantId: b }]);
  const defaults = async (tenants: unknown[]) =>
    (await t.systemAdmin.put(path(id), { tenants })).body.tenants.filter((link: { isDefault: boolean }) =>
      link.isDefault
    )
      .map((link: { tenantId: string }) => link.tenantId);
  assert.deepEqual(await defaults([{ tenantId: a, isDefault: false }, { tenantId: b, isDefault: false }]), [
    a,
  ]);
  assert.deepEqual(await defaults([{ tenantId: a }, { tenantId: b, isDefault: true }]), [b]);
  assert.deepEqual(await defaults([{ tenantId: a }]), []);
});

Deno.test("a deactivated link is still a link", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  const link = { tenantId: subject.tenantId, roleIds: [subject.roleId] };
  const off = await t.systemAdmin.put(path(subject.userId), { tenants: [{ ...link, isActive: false }] });
  assert.deepEqual(off.body.tenants, [{ ...link, isDefault: true, isActive: false, externalId: null }]);
  assert.equal((await subject.get("/api/v1/users")).body.code, "SESSION_INVALIDATED");
  const again = await t.systemAdmin.post(`${path(subject.userId)}/tenants`, link);
  assert.equal(again.body.code, "USER_ALREADY_ASSIGNED");
  const tenants = await t.systemAdmin.get(`${path(subject.userId)}/tenants`);
  assert.equal(tenants.body[0].isActive, false);
  assert.equal(tenants.body[0].isTenantActive, true);
});

Deno.test("a replacement of links that breaks a rule changes nothing", async () => {
  const [a, b] = [await t.tenant(), await t.tenant()];
  const strong = await role(b, ["purge:files"]);
  const id = await made([{ tenantId: a }]);
  const before = [await matrixOf(id), await versionOf(id)];
  const full = await t.tenant();
  await made([{ tenantId: full }]);
  await sql`update tenants set max_users = 1 where id = ${full}`;
  const code = async (tenants: unknown[], by: Actor = t.systemAdmin) =>
    (await by.put(path(id), { firstName: "Changed", tenants })).body.code;
  assert.equal(await code([{ tenantId: newUuid() }]), "TENANT_NOT_FOUND");
  assert.equal(await code([{ tenantId: a, roleIds: [strong] }]), "ROLE_NOT_FOUND");
  assert.equal(
    await code([{ tenantId: b, roleIds: [strong] }], manager),
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  );
  assert.equal(await code([{ tenantId: b }, { tenantId: full }]), "TENANT_CAPACITY_REACHED");
  assert.equal(await code([{ tenantId: b }, { tenantId: b }]), "VALIDATION_ERROR");
  assert.equal(
    await code([{ tenantId: b, roleIds: Array.from({ length: 51 }, newUuid) }]),
    "VALIDATION_ERROR",
  );
  assert.deepEqual([await matrixOf(id), await versionOf(id)], before);
  assert.equal((await t.systemAdmin.get(path(id))).body.firstName, "Ana");
});

Deno.test("a caller can keep a user's roles without holding their permissions, but cannot add them back", async () => {
  const tenantId = await t.tenant();
  const strong = await role(tenantId, ["purge:files"]);
  const id = await made([{ tenantId, roleIds: [strong] }]);
  const put = (tenants: unknown[]) => manager.put(path(id), { tenants });
  assert.equal((await put([{ tenantId, roleIds: [strong], isDefault: true }])).status, 200);
  assert.equal((await put([{ tenantId, roleIds: [strong], isActive: false }])).status, 200);
  assert.equal(
    (await put([{ tenantId, roleIds: [strong] }])).body.code,
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  );
});

Deno.test("after simultaneous replacements the links are those of one of them", async () => {
  const [a, b] = [await t.tenant(), await t.tenant()];
  const id = await made();
  const answers = await Promise.all(
    Array.from(
      { length: 10 },
      (_, at) => t.systemAdmin.put(path(id), { tenants: [{ tenantId: at % 2 ? a : b, isDefault: true }] }),
    ),
  );
  assert.deepEqual([...new Set(answers.map((answer) => answer.status))], [200]);
  assert.equal((await matrixOf(id)).length, 1);
  const [counts] = await sql`select sum(user_count)::int as n from tenants where id in (${a}, ${b})`;
  assert.equal(counts?.n, 1);
});

Deno.test("a deleted user is not found, cannot act and takes no place", async () => {
  const subject = await t.actor({ permissions: ["read:users"] });
  assert.equal(
    (await t.systemAdmin.delete(path(subject.userId), { "if-match": '"9"' })).body.code,
    "PRECONDITION_FAILED",
  );
  const gone = await t.systemAdmin.delete(path(subject.userId));
  assert.equal(gone.status, 200);
  assert.equal(gone.body, "");
  assert.equal((await subject.get("/api/v1/users")).body.code, "SESSION_INVALIDATED");
  for (
    const answer of [
      await t.systemAdmin.get(path(subject.userId)),
      await t.systemAdmin.put(path(subject.userId), { firstName: "x" }),
      await t.systemAdmin.put(path(subject.userId), { tenants: [] }),
      await t.systemAdmin.delete(path(subject.userId)),
      await t.systemAdmin.get(`${path(subject.userId)}/tenants`),
      await t.systemAdmin.get(`${path(subject.userId)}/access?permission=read:users`),
    ]
  ) assert.equal(answer.body.code, "USER_NOT_FOUND");
  const [tenant] = await sql`select user_count from tenants where id = ${subject.tenantId}`;
  assert.equal(tenant?.userCount, 0);
});

Deno.test("callers can neither delete nor deactivate themselves", async () => {
  assert.equal((await manager.delete(path(manager.userId))).body.code, "USER_SELF_CONFLICT");
  assert.equal(
    (await manager.put(path(manager.userId), { isActive: false })).body.code,
    "USER_SELF_CONFLICT",
  );
});

Deno.test("every admin route needs a token and admin:system or manage:all-users", async () => {
  const admin = await t.actor({ role: "Admin" });
  const id = admin.userId;
  const routes: [string, string, unknown?][] = [
    ["GET", "/api/v1/admin/users"],
    ["POST", "/api/v1/admin/users", {}],
    ["GET", path(id)],
    ["PUT", path(id), {}],
    ["DELETE", path(id)],
    ["GET", `${path(id)}/tenants`],
    ["POST", `${path(id)}/tenants`, {}],
    ["GET", `${path(id)}/access`],
  ];
  for (const [method, route, body] of routes) {
    const refused = await admin.send(method, route, body);
    assert.equal(`${refused.status} ${refused.body.code}`, "403 MISSING_PERMISSION", `${method} ${route}`);
    assert.equal((await t.nobody.send(method, route, body)).body.code, "TOKEN_MISSING");
  }
  const globalAdmin = await t.actor({ role: "SystemAdmin", global: true });
  assert.equal((await globalAdmin.get("/api/v1/admin/users")).status, 200);
  assert.equal(
    (await globalAdmin.get(`/api/v1/admin/users?tenantId=${newUuid()}`)).status,
    200,
    "only a filter here",
  );
});

Deno.test("no route can remove admin:system from its last active holder", async () => {
  const others = await sql`select h.user_id from user_tenant_roles h join roles r on r.id = h.role_id
    where r.name = 'SystemAdmin' and h.user_id <> ${t.systemAdmin.userId}`;
  for (const { userId } of others) {
    assert.equal((await t.systemAdmin.delete(path(userId))).status, 200);
  }
  const last = t.systemAdmin.userId;
  const platform = t.platformTenantId;
  const account = { name: "Operations", permissions: ["admin:system"], tenants: "all" };
  const { body: { secret } } = await t.systemAdmin.post("/api/v1/service-accounts", account);
  const program = t.nobody.with({ authorization: `Bearer ${secret}` }); // holds it too, and is no user
  const attempts = [
    () => program.delete(path(last)),
    () => program.put(path(last), { isActive: false }),
    () => program.put(path(last), { tenants: [] }),
    () => program.put(path(last), { tenants: [{ tenantId: platform, roleIds: [] }] }),
    () => program.post(`${path(last)}/erase`, { reason: "asked" }),
    () => t.systemAdmin.put(path(last), { tenants: [] }),
    () => t.systemAdmin.put(`/api/v1/users/${last}/roles`, { roleIds: [] }),
  ];
  for (const attempt of attempts) {
    const answer = await attempt();
    assert.equal(answer.status, 409);
    assert.equal(answer.body.code, "LAST_SYSTEM_ADMIN_CONFLICT");
  }
  assert.equal(
    (await t.systemAdmin.get("/api/v1/admin/users")).status,
    200,
    "the token was not ended either",
  );
});

Deno.test("if two administrators remove each other at once, one stays", async () => {
  for (const how of ["delete", "deactivate", "mixed"]) {
    const [one, two] = [await t.actor({ role: "SystemAdmin" }), await t.actor({ role: "SystemAdmin" })];
    await sql`update users set is_active = false where id in (
      select h.user_id from user_tenant_roles h join roles r on r.id = h.role_id and r.name = 'SystemAdmin')
      and id not in (${one.userId}, ${two.userId})`;
    const remove = (by: Actor, victim: Actor, deletes: boolean) =>
      deletes ? by.delete(path(victim.userId)) : by.put(path(victim.userId), { isActive: false });
    const answers = await Promise.all([
      remove(one, two, how !== "deactivate"),
      remove(two, one, how === "delete"),
    ]);
    assert.equal(
      answers.filter((answer) => answer.status === 200).length,
      1,
      JSON.stringify(answers.map((a) => a.body)),
    );
    const left = await sql`select from users u join user_tenant_roles h on h.user_id = u.id
      join roles r on r.id = h.role_id and r.name = 'SystemAdmin' where u.is_active and u.deleted_at is null`;
    assert.equal(left.length, 1);
    await sql`update users set is_active = true where id = ${t.systemAdmin.userId}`;
  }
});
