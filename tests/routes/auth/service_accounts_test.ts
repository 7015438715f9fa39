import assert from "node:assert/strict";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";

// Two instances on one database: `here` makes the changes, `there` is notified of them.
const shared = {
  DATABASE_URL: await createTestDatabase(),
  TOKEN_KEYS: JSON.stringify([await generateTokenKey()]),
  PUBLIC_URL: "http://steward.test",
};
const here = await setup(shared);
const there = await setup(shared);
Deno.test.afterAll(() => Promise.all([here, there].map((t) => t.stop())).then(() => {}));
const { sql } = here.steward.platform;
const { systemAdmin, platformTenantId } = here;
const PATH = "/api/v1/service-accounts";
const USERS = "/api/v1/users";
const MANAGE = "manage:service-accounts";

type Answer = Promise<{ status: number; body: { code?: string } }>;
const outcome = async (answer: Answer) => {
  const { status, body } = await answer;
  return `${status} ${body?.code ?? ""}`.trim();
};
const program = (secret: string, at = here) => new HttpClient(at.url, secret);
const inTenant = (tenant: string | null) => ({ "x-tenant-id": tenant ?? "" });
const usersOf = (secret: string, tenant: string | null, at = here) =>
  outcome(program(secret, at).get(USERS, inTenant(tenant)));

const maker = (permissions = ["read:users", "create:users", "read:roles"]) =>
  here.actor({ permissions: [MANAGE, ...permissions] });

async function makeAccount(by: Actor, more: Record<string, unknown> = {}) {
  const account = { name: "Sync", permissions: ["read:users"], tenants: [by.tenantId], ...more };
  const { status, body } = await by.post(PATH, account);
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: string; clientId: string; secret: string; start: string };
}

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

Deno.test("PUT is effective at once on all instances, keeps omitted members, and honours If-Match", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by, { permissions: ["read:users", "read:roles"] });
  const rolesOf = (at: typeof here) =>
    outcome(program(secret, at).get("/api/v1/roles", inTenant(by.tenantId)));
  assert.deepEqual([await rolesOf(here), await rolesOf(there)], ["200", "200"]);
  const path = `${PATH}/${id}`;
  const { headers } = await by.get(path);
  const changed = await by.put(path, { permissions: ["read:users"] }, {
    "if-match": headers.get("etag") ?? "",
  });
  assert.deepEqual([changed.status, changed.body.name, changed.body.permissions], [200, "Sync", [
    "read:users",
  ]]);
  assert.deepEqual([await rolesOf(here), await rolesOf(there)], [
    "403 MISSING_PERMISSION",
    "403 MISSING_PERMISSION",
  ]);
  const stale = by.put(path, { name: "y" }, { "if-match": headers.get("etag") ?? "" });
  assert.equal(await outcome(stale), "412 PRECONDITION_FAILED");
  const same = await by.put(path, { permissions: ["read:users", "read:users"], tenants: [by.tenantId] });
  assert.equal(same.headers.get("etag"), changed.headers.get("etag"), "nothing changed");
  assert.equal(await outcome(by.put(path, { tenants: "all" })), "403 CROSS_TENANT_FORBIDDEN");
  const blocked = by.put(path, { permissions: ["read:users", "delete:users"] });
  assert.equal(await outcome(blocked), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal(
    await outcome(systemAdmin.put(path, { tenants: [crypto.randomUUID()] })),
    "404 TENANT_NOT_FOUND",
  );
  assert.equal(
    await outcome(systemAdmin.put(path, { permissions: ["no:such"] })),
    "404 PERMISSION_NOT_FOUND",
  );
  assert.equal((await systemAdmin.put(path, { tenants: "all" })).body.tenants, "all");
  assert.equal(await outcome(by.get(path)), "404 SERVICE_ACCOUNT_NOT_FOUND", "now it also acts elsewhere");
});

Deno.test("rotating replaces the secret at once; who lacks a permission of the account cannot get its secret", async () => {
  const by = await maker();
  const { id, clientId, secret } = await makeAccount(by);
  assert.deepEqual([await usersOf(secret, by.tenantId), await usersOf(secret, by.tenantId, there)], [
    "200",
    "200",
  ]);
  const path = `${PATH}/${id}/rotate`;
  const weaker = await here.actor({ tenantId: by.tenantId ?? "", permissions: [MANAGE] });
  assert.equal(await outcome(weaker.post(path)), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.equal(await outcome(by.post(path, undefined, { "if-match": '"9"' })), "412 PRECONDITION_FAILED");
  assert.equal(await outcome(by.post(path, undefined, { "idempotency-key": "k" })), "400 VALIDATION_ERROR");
  const { status, body } = await by.post(path);
  assert.deepEqual([status, body.id, body.clientId], [200, id, clientId]);
  for (const at of [here, there]) {
    assert.equal(await usersOf(secret, by.tenantId, at), "401 TOKEN_INVALID");
    assert.equal(await usersOf(body.secret, by.tenantId, at), "200");
  }
});

Deno.test("the secret can be replaced after a tenant or a permission of the account was deleted", async () => {
  const [one, two] = [await here.tenant(), await here.tenant()];
  const code = `approve:r${crypto.randomUUID()}`;
  const permission = await systemAdmin.post("/api/v1/permissions", { code, category: "Own" });
  assert.equal(permission.status, 201, JSON.stringify(permission.body));
  const { id, secret } = await makeAccount(systemAdmin, {
    permissions: ["read:users", code],
    tenants: [one, two],
  });
  assert.equal((await systemAdmin.delete(`/api/v1/permissions/${permission.body.id}`)).status, 200);
  assert.equal((await systemAdmin.delete(`/api/v1/tenants/${two}`)).status, 200);
  const { status, body } = await systemAdmin.post(`${PATH}/${id}/rotate`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(await usersOf(secret, one), "401 TOKEN_INVALID");
  assert.equal(await usersOf(body.secret, one), "200");
});

Deno.test("a revoked account is refused at once on all instances, and can neither be changed nor rotated", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by);
  assert.deepEqual([await usersOf(secret, by.tenantId), await usersOf(secret, by.tenantId, there)], [
    "200",
    "200",
  ]);
  assert.equal(await outcome(by.delete(`${PATH}/${id}`, { "if-match": '"9"' })), "412 PRECONDITION_FAILED");
  assert.equal((await by.delete(`${PATH}/${id}`)).status, 204);
  for (const at of [here, there]) assert.equal(await usersOf(secret, by.tenantId, at), "401 TOKEN_REVOKED");
  const { body } = await by.get(`${PATH}/${id}`);
  assert.equal(body.revokedBy, by.userId);
  assert.equal((await by.delete(`${PATH}/${id}`)).status, 204);
  assert.deepEqual((await by.get(`${PATH}/${id}`)).body, body);
  assert.equal(await outcome(by.put(`${PATH}/${id}`, { name: "y" })), "409 SERVICE_ACCOUNT_REVOKED_CONFLICT");
  assert.equal(await outcome(by.post(`${PATH}/${id}/rotate`)), "409 SERVICE_ACCOUNT_REVOKED_CONFLICT");
  assert.deepEqual((await by.get(PATH)).body.items, []);
  assert.equal((await by.get(`${PATH}?includeDeleted=true`)).body.items.length, 1);
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

Deno.test("an account that is moved leaves an audit row in its old tenant and in its new one", async () => {
  const [one, two] = [await maker(), await maker()];
  const { id } = await makeAccount(one);
  const move = await systemAdmin.put(`${PATH}/${id}`, { tenants: [two.tenantId] });
  assert.equal(move.status, 200, JSON.stringify(move.body));
  const rowsOf = async (by: Actor) =>
    (await by.get(`/api/v1/audit-log?action=serviceAccount.update`)).body.items
      .filter(({ targetId }: { targetId: string }) => targetId === id)
      .map(({ before, after }: Record<string, { tenants: string[] }>) => [before?.tenants, after?.tenants]);
  const moved = [[one.tenantId], [two.tenantId]];
  assert.deepEqual([await rowsOf(one), await rowsOf(two)], [[moved], [moved]]);
  await systemAdmin.put(`${PATH}/${id}`, { tenants: "all" });
  assert.deepEqual(
    await rowsOf(two),
    [[[two.tenantId], "all"], moved],
    "also if it acts in more tenants now",
  );
});

Deno.test("a deleted permission is lost at once, and does not prevent that its account is moved", async () => {
  const permissions = ["create:permissions", "delete:permissions"];
  const by = await here.actor({ tenantId: platformTenantId, role: "SystemAdmin", permissions });
  const { status, body } = await by.post("/api/v1/permissions", {
    code: "weigh:parcels",
    category: "Parcels",
  });
  assert.equal(status, 201, JSON.stringify(body));
  const tenantId = await here.tenant();
  const { id } = await makeAccount(by, { permissions: ["read:users", "weigh:parcels"], tenants: [tenantId] });
  const held = async ({ steward }: typeof here) =>
    [...(await steward.platform.rights.keys.permissionsIn(id, tenantId))?.permissions ?? []].sort();
  assert.deepEqual([await held(here), await held(there)], Array(2).fill(["read:users", "weigh:parcels"]));
  assert.equal((await by.delete(`/api/v1/permissions/${body.id}`)).status, 200);
  assert.deepEqual([await held(here), await held(there)], Array(2).fill(["read:users"]));
  const moved = await by.put(`${PATH}/${id}`, { tenants: [await here.tenant()] });
  assert.deepEqual([moved.status, moved.body.permissions], [200, ["read:users"]]);
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

Deno.test("requests with an account race with its revocation: each succeeds or is refused", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by);
  const calls = Array.from({ length: 40 }, (_, n) => usersOf(secret, by.tenantId, n % 2 ? here : there));
  const [revoked] = await Promise.all([by.delete(`${PATH}/${id}`), ...calls]);
  assert.equal(revoked.status, 204);
  for (const call of calls) assert.ok(["200", "401 TOKEN_REVOKED"].includes(await call), await call);
  assert.equal(await usersOf(secret, by.tenantId, there), "401 TOKEN_REVOKED");
});
