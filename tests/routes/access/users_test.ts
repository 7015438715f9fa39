import assert from "node:assert/strict";
import { type Actor, setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const ADMIN = ["read:users", "create:users", "update:users", "delete:users"];
const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const newUuid = () => crypto.randomUUID();
const PASSWORD = "correct horse battery";

const newUser = (o: Record<string, unknown> = {}) => ({
  email: `${newUuid()}@example.test`,
  password: PASSWORD,
  firstName: "Ana",
  lastName: "Ünal",
  ...o,
});
async function made(o: Record<string, unknown> = {}, by: Actor = admin): Promise<string> {
  const { status, body } = await by.post("/api/v1/users", newUser(o));
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}
/** Links a user to one more tenant, straight in the database. */
async function linkElsewhere(userId: string, isActive = true): Promise<string> {
  const id = await t.tenant();
  await sql`insert into user_tenants (user_id, tenant_id, is_active) values (${userId}, ${id}, ${isActive})`;
  return id;
}
const versionOf = async (userId: string) =>
  (await sql<{ v: number }[]>`select security_version as v from users where id = ${userId}`)[0]?.v;

Deno.test("a user is created in the caller's tenant, read by id and by email in any case", async () => {
  const body = newUser({
    email: "Maria.Silva@Example.test",
    phoneNumber: "+351 910 000 000",
    appIds: ["crm", "crm"],
  });
  const created = await admin.post("/api/v1/users", body);
  assert.equal(created.status, 201);
  assert.equal(created.headers.get("location"), `/api/v1/users/${created.body.id}`);
  assert.deepEqual(Object.keys(created.body).sort(), [
    "appIds",
    "createdAt",
    "email",
    "firstName",
    "id",
    "isActive",
    "isLockedOut",
    "lastLoginAt",
    "lastName",
    "lockoutExpiresAt",
    "phoneNumber",
    "roles",
    "updatedAt",
  ]);
  assert.equal(created.body.email, "Maria.Silva@Example.test");
  assert.deepEqual(created.body.appIds, ["crm"]);
  assert.equal(created.body.isLockedOut, false);
  const read = await admin.get(`/api/v1/users/${created.body.id}`);
  assert.deepEqual(read.body, created.body);
  assert.equal(read.headers.get("etag"), '"1"');
  const byEmail = await admin.get("/api/v1/users/by-email/MARIA.silva%40example.test");
  assert.deepEqual(byEmail.body, created.body);
  const tenants = await admin.get(`/api/v1/users/${created.body.id}/tenants`);
  assert.equal(tenants.body.length, 1);
  assert.equal(tenants.body[0].tenantId, tenantId);
  assert.equal(tenants.body[0].isDefault, true);
  const signedIn = await t.nobody.post("/api/v1/auth/login", {
    email: "maria.silva@example.test",
    password: PASSWORD,
  });
  assert.equal(signedIn.status, 200);
  assert.equal(signedIn.body.tenant.id, tenantId);
});

Deno.test("an email is taken in any letter case, across tenants, and after its user is deleted", async () => {
  const email = `${newUuid()}@example.test`;
  const id = await made({ email });
  const outsider = await t.actor({ permissions: ADMIN });
  const taken = await outsider.post("/api/v1/users", newUser({ email: email.toUpperCase() }));
  assert.equal(taken.status, 409);
  assert.equal(taken.body.code, "USER_ALREADY_EXISTS");
  assert.equal((await admin.delete(`/api/v1/users/${id}`)).status, 200);
  assert.equal((await admin.post("/api/v1/users", newUser({ email }))).body.code, "USER_ALREADY_EXISTS");
  const racing = `${newUuid()}@example.test`;
  const answers = await Promise.all(
    [1, 2, 3].map(() => admin.post("/api/v1/users", newUser({ email: racing }))),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, 409, 409]);
});

Deno.test("bodies that do not fit are refused field by field", async () => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ email: "no-address" }, /^email: /],
    [{ email: undefined }, /^email: /],
    [{ email: 7 }, /^email: /],
    [{ password: undefined }, /^password: /],
    [{ password: "short-one" }, /^password: expected 10 to 128 characters, found 9/],
    [{ password: "x".repeat(129) }, /^password: expected 10 to 128/],
    [
      { email: "long.enough@example.test", password: "Long.Enough@example.test" },
      /^password: must not be the email/,
    ],
    [{ firstName: "x".repeat(101) }, /^firstName: /],
    [{ firstName: ["a"] }, /^firstName: /],
    [{ appIds: "crm" }, /^appIds: /],
    [{ appIds: [""] }, /^appIds\.0: /],
    [{ isActive: "true" }, /^isActive: /],
    [{ lastName: "a\0b" }, /NUL/],
    [{ lastName: "\ud800" }, /well-formed/],
    [{ tenants: {} }, /^tenants: /],
    [{ tenants: [{ tenantId }, { tenantId: tenantId.toUpperCase() }] }, /^tenants: .*more than once/],
  ];
  for (const [change, expected] of cases) {
    const answer = await admin.post("/api/v1/users", newUser(change));
    assert.equal(answer.status, 400, JSON.stringify(change));
    assert.equal(answer.body.code, "VALIDATION_ERROR");
    assert.match(answer.body.errors.join("\n"), expected);
  }
});

Deno.test("isPasswordEncrypted takes argon2 and bcrypt hashes as given, and nothing else", async () => {
  const bcrypt = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
  const argon2 =
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA$RdescudvJCsgt3ub+b8dWRWJTmaaJObGWrGyNh5vXmw";
  for (const password of [bcrypt, argon2]) {
    const id = await made({ password, isPasswordEncrypted: true });
    const [row] = await sql`select password_hash from users where id = ${id}`;
    assert.equal(row?.passwordHash, password);
  }
  const refused = [
    PASSWORD,
    "$1$salt$hash",
    bcrypt.slice(0, -1),
    bcrypt.replace("$12$", "$31$"),
    argon2.replace("m=65536", "m=4194304"),
    argon2.replace("argon2id", "scrypt"),
    `${argon2}\n`,
  ];
  for (const password of refused) {
    const answer = await admin.post("/api/v1/users", newUser({ password, isPasswordEncrypted: true }));
    assert.equal(answer.status, 400);
    assert.match(answer.body.errors[0], /^password: /);
  }
  const plain = await made({ password: bcrypt });
  const [row] = await sql`select password_hash from users where id = ${plain}`;
  assert.match(row?.passwordHash, /^\$argon2id\$/, "without the flag a hash is a password like any other");
});

Deno.test("passwords and hashes are in no answer, audit row or log line", async () => {
  const id = await made();
  const [audit] = await sql`select after::text as after from audit_log where target_id = ${id}`;
  const [row] = await sql`select password_hash from users where id = ${id}`;
  for (
    const text of [JSON.stringify((await admin.get(`/api/v1/users/${id}`)).body), audit?.after, t.logs.join()]
  ) {
    assert.ok(!text.includes(PASSWORD) && !text.includes(row?.passwordHash));
  }
});

Deno.test("creating with roles keeps to the caller's rights, tenant and capacity", async () => {
  const roleId = newUuid();
  await sql`insert into roles (id, tenant_id, name) values (${roleId}, ${tenantId}, 'Reader')`;
  await sql`insert into role_permissions select ${roleId}, id from permissions where code = 'read:users'`;
  const { body } = await admin.post("/api/v1/users", newUser({ tenants: [{ tenantId, roleIds: [roleId] }] }));
  assert.deepEqual(body.roles, ["Reader"]);
  const code = async (tenants: unknown, by: Actor = admin) =>
    (await by.post("/api/v1/users", newUser({ tenants }))).body.code;

  const elsewhere = await t.tenant();
  assert.equal(await code([{ tenantId: elsewhere }]), "CROSS_TENANT_FORBIDDEN");
  assert.equal(await code([{ tenantId: newUuid() }]), "CROSS_TENANT_FORBIDDEN");
  assert.equal(await code([{ tenantId, roleIds: [newUuid()] }]), "ROLE_NOT_FOUND");
  const [visitor] = await sql`select id from roles where tenant_id = ${tenantId} and name = 'Visitor'`;
  assert.equal(await code([{ tenantId, roleIds: [visitor?.id] }]), "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const reaching = await t.actor({ permissions: ["create:users", "manage:all-users"] });
  assert.equal(await code([{ tenantId: newUuid() }], reaching), "TENANT_NOT_FOUND");
  assert.equal(await code([{ tenantId: elsewhere, roleIds: [] }], reaching), undefined);

  const full = await t.actor({ permissions: ADMIN });
  await sql`update tenants set max_users = 1 where id = ${full.tenantId}`;
  const refused = await full.post("/api/v1/users", newUser());
  assert.equal(refused.status, 400);
  assert.equal(refused.body.code, "TENANT_CAPACITY_REACHED");
});

Deno.test("20 simultaneous creations never overshoot the capacity", async () => {
  const full = await t.actor({ permissions: ADMIN });
  await sql`update tenants set max_users = 6 where id = ${full.tenantId}`;
  const password = "$2b$12$EXRkfkdmXn2gzds2SSitu.MW9.gAVqa9eLS1//RYtYCmB1eLHg.9q";
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      () => full.post("/api/v1/users", newUser({ password, isPasswordEncrypted: true })),
    ),
  );
  assert.equal(answers.filter((answer) => answer.status === 201).length, 5);
});

Deno.test("users outside the token's tenant are not found, as if they did not exist", async () => {
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

Deno.test("an update sets what is sent, leaves the rest, and ends no token but for activity", async () => {
  const id = await made({ phoneNumber: "123", appIds: ["crm"] });
  const changed = await admin.put(`/api/v1/users/${id}`, {
    firstName: " Bea ",
    lastName: null,
    phoneNumber: null,
  });
  assert.equal(changed.status, 200);
  assert.equal(changed.headers.get("etag"), '"2"');
  assert.equal(changed.body.firstName, "Bea");
  assert.equal(changed.body.lastName, "Ünal");
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

Deno.test("a user who is active in other tenants is changed with reach over users only", async () => {
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

Deno.test("activating and deactivating end the user's tokens and no one else's", async () => {
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

Deno.test("callers neither delete nor deactivate themselves", async () => {
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

Deno.test("DELETE takes the user out of the tenant, and deletes them with their last link", async () => {
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

Deno.test("other tenants of a user are told to the user and to reach over users only", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:users"] });
  const elsewhere = await linkElsewhere(subject.userId);
  const seen = async (by: Actor) =>
    (await by.get(`/api/v1/users/${subject.userId}/tenants`)).body.map((link: { tenantId: string }) =>
      link.tenantId
    );
  assert.deepEqual(await seen(admin), [tenantId]);
  assert.deepEqual(await seen(subject), [tenantId, elsewhere]);
  assert.deepEqual(await seen(await t.actor({ tenantId, permissions: ["read:users", "manage:all-users"] })), [
    tenantId,
    elsewhere,
  ]);
});

Deno.test("each route needs its permission and a tenant's context", async () => {
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

Deno.test("the routes of the old tenant-access matrix do not exist", async () => {
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
