import assert from "node:assert/strict";
import { inTenant, makeAccount, MANAGE, outcome, PATH, setupTwo, USERS } from "./service_accounts.ts";

const { here, there, program, usersOf, maker, stop } = await setupTwo();
Deno.test.afterAll(stop);
const { sql } = here.steward.platform;
const { systemAdmin, platformTenantId } = here;

Deno.test("a service account of one tenant acts there and nowhere else, with only its own permissions", async () => {
  const by = await maker();
  const { id, clientId, secret, start } = await makeAccount(by);
  assert.match(secret, /^sk_[\w-]{43}$/);
  assert.match(clientId, /^sa_[\w-]{22}$/);
  assert.ok(secret.startsWith(start));
  const { status, body } = await program(secret).get(USERS, inTenant(by.tenantId));
  assert.deepEqual([status, body.items[0].id], [200, by.userId]);
  assert.equal(await usersOf(secret, await here.tenant()), "403 TENANT_FORBIDDEN");
  assert.equal(await usersOf(secret, crypto.randomUUID()), "403 TENANT_FORBIDDEN");
  assert.equal(await usersOf(secret, platformTenantId), "403 TENANT_FORBIDDEN");
  assert.equal(await usersOf(secret, "nowhere"), "400 VALIDATION_ERROR");
  assert.equal(await outcome(program(secret).get(USERS)), "403 FORBIDDEN", "the tenant must be named");
  const roles = program(secret).get("/api/v1/roles", inTenant(by.tenantId));
  assert.equal(await outcome(roles), "403 MISSING_PERMISSION");
  const [row] = await sql<{ hash: string }[]>`
    select encode(hash, 'hex') as hash from service_accounts where id = ${id}`;
  assert.ok(row && !secret.includes(row.hash));
});

Deno.test("an account of all tenants acts in new tenants at once, not in the platform tenant, without any link", async () => {
  const { secret } = await makeAccount(systemAdmin, { tenants: "all" });
  const { body: before } = await systemAdmin.post("/api/v1/tenants", { name: "Later", type: "Standard" });
  assert.equal(await usersOf(secret, before.id), "200");
  assert.equal(await usersOf(secret, before.id, there), "200");
  assert.equal(await usersOf(secret, platformTenantId), "403 TENANT_FORBIDDEN");
  assert.equal(await usersOf(secret, crypto.randomUUID()), "403 TENANT_FORBIDDEN");
  const { body: after } = await systemAdmin.post("/api/v1/tenants", {
    name: "Later still",
    type: "Standard",
  });
  assert.equal(await usersOf(secret, after.id), "200", "a new tenant does not end it");
  assert.equal(await usersOf(secret, before.id), "200");
});

Deno.test("switching a tenant off stops an account there at once on every instance, also in a tenant without users", async () => {
  const [empty, other] = [await here.tenant(), await here.tenant()];
  const { secret } = await makeAccount(systemAdmin, { tenants: [empty, other] });
  const { secret: everywhere } = await makeAccount(systemAdmin, { tenants: "all" });
  const switchTo = async (isActive: boolean) =>
    assert.equal((await systemAdmin.put(`/api/v1/tenants/${empty}`, { isActive })).status, 200);
  for (const each of [secret, everywhere]) {
    assert.deepEqual([await usersOf(each, empty), await usersOf(each, empty, there)], ["200", "200"]);
    await switchTo(false);
    assert.deepEqual(
      [await usersOf(each, empty), await usersOf(each, empty, there), await usersOf(each, other)],
      ["403 TENANT_FORBIDDEN", "403 TENANT_FORBIDDEN", "200"],
    );
    await switchTo(true);
    assert.equal(await usersOf(each, empty), "200");
  }
  assert.equal((await systemAdmin.delete(`/api/v1/tenants/${empty}`)).status, 200);
  assert.equal(await usersOf(everywhere, empty, there), "403 TENANT_FORBIDDEN");
});

Deno.test("other tenants and all tenants need admin:system", async () => {
  const by = await maker();
  const other = await here.tenant();
  const good = { name: "x", permissions: ["read:users"] };
  for (const tenants of ["all", [other], [by.tenantId, other], [crypto.randomUUID()], [platformTenantId]]) {
    assert.equal(
      await outcome(by.post(PATH, { ...good, tenants })),
      "403 CROSS_TENANT_FORBIDDEN",
      `${tenants}`,
    );
  }
  const unknown = { ...good, tenants: [other, crypto.randomUUID()] };
  assert.equal(await outcome(systemAdmin.post(PATH, unknown)), "404 TENANT_NOT_FOUND");
  const global = await here.actor({ permissions: [MANAGE], global: true });
  assert.equal(await outcome(global.post(PATH, { ...good, tenants: "all" })), "403 FORBIDDEN");
  const { secret } = await makeAccount(systemAdmin, { tenants: [other, by.tenantId] });
  assert.deepEqual([await usersOf(secret, other), await usersOf(secret, by.tenantId)], ["200", "200"]);
});

Deno.test("a maker cannot give permissions they do not hold", async () => {
  const by = await maker(["read:users"]);
  const tenants = [by.tenantId];
  const more = { name: "x", permissions: ["read:users", "delete:users"], tenants };
  assert.equal(await outcome(by.post(PATH, more)), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const unheard = { name: "x", permissions: ["no:such"], tenants };
  assert.equal(await outcome(by.post(PATH, unheard)), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal(await outcome(systemAdmin.post(PATH, unheard)), "404 PERMISSION_NOT_FOUND");
  const ofFiles = { name: "x", permissions: ["purge:files"], tenants: "all" };
  assert.equal(await outcome(systemAdmin.post(PATH, ofFiles)), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const reaching = { name: "x", permissions: ["manage:all-users"], tenants };
  const refused = await systemAdmin.post(PATH, reaching);
  assert.deepEqual([refused.status, Object.keys(refused.body.errors)], [400, ["permissions"]]);
});

Deno.test("permissions with platform reach count without a tenant, on the routes of all tenants", async () => {
  const { secret } = await makeAccount(systemAdmin, {
    permissions: ["manage:all-users", "read:users"],
    tenants: "all",
  });
  const admin = "/api/v1/admin/users";
  assert.equal(await outcome(program(secret).get(admin)), "200");
  const tenant = await here.tenant();
  assert.equal(await outcome(program(secret).get(admin, inTenant(tenant))), "403 MISSING_PERMISSION");
  assert.equal(await usersOf(secret, tenant), "200");
  const { secret: operator } = await makeAccount(systemAdmin, {
    permissions: ["admin:system"],
    tenants: "all",
  });
  assert.equal(await outcome(program(operator).get("/api/v1/jobs")), "200");
  assert.equal(await usersOf(operator, tenant), "403 MISSING_PERMISSION", "not inside a tenant");
});

Deno.test("an account is not tied to the user who made it", async () => {
  const by = await maker();
  const { secret } = await makeAccount(by);
  const deleted = await systemAdmin.delete(`/api/v1/admin/users/${by.userId}`);
  assert.ok(deleted.status < 300);
  assert.equal(await usersOf(secret, by.tenantId), "200");
});

Deno.test("creating needs the permission, a name, permissions and tenants; an Idempotency-Key is refused", async () => {
  const by = await maker();
  const without = await here.actor({ permissions: ["read:users"] });
  for (const method of ["GET", "POST"]) {
    assert.equal(await outcome(without.send(method, PATH)), "403 MISSING_PERMISSION");
  }
  const good = { name: "x", permissions: ["read:users"], tenants: [by.tenantId] };
  const bad: [Record<string, unknown>, string][] = [
    [{ ...good, name: " " }, "name"],
    [{ ...good, name: "x".repeat(201) }, "name"],
    [{ ...good, permissions: [] }, "permissions"],
    [{ ...good, permissions: "read:users" }, "permissions"],
    [{ ...good, tenants: undefined }, "tenants"],
    [{ ...good, tenants: [] }, "tenants"],
    [{ ...good, tenants: "some" }, "tenants"],
    [{ ...good, tenants: ["x"] }, "tenants"],
    [{ ...good, tenant: [by.tenantId] }, "tenant"],
  ];
  for (const [body, field] of bad) {
    const refused = await by.post(PATH, body);
    assert.equal(refused.body.code, "VALIDATION_ERROR", JSON.stringify(body));
    assert.ok(JSON.stringify(refused.body.errors).includes(field));
  }
  const keyed = await by.post(PATH, good, { "idempotency-key": "one" });
  assert.equal(keyed.status, 400);
  assert.match(keyed.body.errors["Idempotency-Key"][0], /a secret/);
});

Deno.test("programs cannot manage accounts, nor use routes for a user in person", async () => {
  const by = await maker();
  const { secret } = await makeAccount(by, { permissions: [MANAGE, "read:users"] });
  const personal: [string, string][] = [
    ["GET", PATH],
    ["POST", PATH],
    ["GET", "/api/v1/api-keys"],
    ["GET", "/api/v1/auth/me"],
    ["POST", "/api/v1/auth/switch-tenant"],
    ["GET", `/api/v1/user-notifications?userId=${by.userId}`],
  ];
  for (const [method, path] of personal) {
    const refused = await program(secret).send(method, path, undefined, inTenant(by.tenantId));
    assert.deepEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], `${method} ${path}`);
  }
});

Deno.test("each tenant manages only its own accounts; a system administrator manages all", async () => {
  const by = await maker();
  const stranger = await maker();
  const { id } = await makeAccount(by, { name: "Gámma" });
  await makeAccount(by, { name: "alpha" });
  const { id: shared } = await makeAccount(systemAdmin, { tenants: [by.tenantId, stranger.tenantId] });
  const names = async (query: string) =>
    (await by.get(`${PATH}?${query}`)).body.items.map((item: { name: string }) => item.name);
  assert.deepEqual(await names("sortBy=name"), ["alpha", "Gámma"]);
  assert.deepEqual(await names("search=gamma"), ["Gámma"]);
  assert.deepEqual(await names("sortBy=name&pageSize=1&page=2"), ["Gámma"]);
  for (const [actor, account] of [[stranger, id], [by, shared]] as const) {
    const path = `${PATH}/${account}`;
    for (
      const answer of [
        actor.get(path),
        actor.put(path, { name: "x" }),
        actor.post(`${path}/rotate`),
        actor.delete(path),
      ]
    ) {
      assert.equal(await outcome(answer), "404 SERVICE_ACCOUNT_NOT_FOUND");
    }
  }
  assert.equal((await systemAdmin.get(`${PATH}/${id}`)).status, 200);
  assert.equal((await systemAdmin.get(`${PATH}/${shared}`)).body.tenants.length, 2);
});

Deno.test("the audit log names the account that acted, and shows what was done to it; no log has its secret", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by, {
    name: "Importer",
    permissions: ["create:users", "read:users"],
  });
  const made = await program(secret).post(USERS, {
    email: `${crypto.randomUUID()}@example.test`,
    password: "correct horse battery staple",
    firstName: "By",
    lastName: "Account",
  }, inTenant(by.tenantId));
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await by.put(`${PATH}/${id}`, { name: "Importer 2" });
  await by.post(`${PATH}/${id}/rotate`);
  await systemAdmin.delete(`${PATH}/${id}`);
  const { items } = (await by.get("/api/v1/audit-log")).body;
  const entries = items.map((
    item: Record<string, string>,
  ) => [item.action, item.actorId, item.serviceAccount]);
  assert.deepEqual(entries, [
    ["serviceAccount.revoke", systemAdmin.userId, null],
    ["serviceAccount.rotate", by.userId, null],
    ["serviceAccount.update", by.userId, null],
    ["user.create", id, "Importer 2"],
    ["serviceAccount.create", by.userId, null],
  ]);
  const used = await by.get(`${PATH}/${id}`);
  assert.equal(used.body.lastUsedIp, "127.0.0.1");
  assert.ok(!JSON.stringify([items, used.body]).includes(secret));
  assert.ok(here.logs.every((line) => !line.includes(secret)));
});

Deno.test("jobs that run with the rights of a user are refused to an account; other jobs name it as their maker", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by);
  const enqueued = await program(secret).post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
  }, { ...inTenant(by.tenantId), "idempotency-key": "once" });
  assert.equal(enqueued.status, 201, JSON.stringify(enqueued.body));
  assert.equal(enqueued.body.createdBy, id);
  const report = program(secret).post("/api/v1/jobs", {
    jobTypeName: "steward.report",
    serializedArgs: JSON.stringify({ templateId: "users", format: 3 }),
  }, inTenant(by.tenantId));
  assert.equal(await outcome(report), "403 FORBIDDEN");
});
