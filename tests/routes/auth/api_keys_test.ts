import assert from "node:assert/strict";
import { bootstrap } from "../../../domain/access/bootstrap.ts";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { instanceSettings } from "../../support/instance_settings.ts";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

// Three instances on one database: `here` makes the changes, `there` is notified of them, `limited` counts requests.
const shared = await instanceSettings();
const here = await setup(shared);
const there = await setup(shared);
const limited = await setup({ ...shared, RATE_LIMIT_PER_MINUTE: "10" });
Deno.test.afterAll(() => Promise.all([here, there, limited].map((t) => t.stop())).then(() => {}));
const { sql } = here.steward.platform;
const PATH = "/api/v1/api-keys";
const USERS = "/api/v1/users";

const caller = (key: string, at = here) => new HttpClient(at.url, key);
const outcome = async (answer: Promise<{ status: number; body: { code?: string } }>) => {
  const { status, body } = await answer;
  return `${status} ${body.code ?? ""}`.trim();
};

async function maker(permissions = ["read:users", "create:users", "read:roles"]): Promise<Actor> {
  return await here.actor({ permissions: ["manage:api-keys", ...permissions] });
}

async function makeKey(by: Actor, permissions: string[], more: Record<string, unknown> = {}) {
  const { status, body } = await by.post(PATH, { name: "Sync", permissions, ...more });
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: string; key: string; start: string };
}

/** Waits until another instance has the change, for at most the second it may take. */
async function withinASecond(isSo: () => Promise<boolean>): Promise<void> {
  await until(isSo, Boolean, { withinMs: 1_000 });
}

Deno.test("a key acts as its creator in one tenant, with only its own permissions", async () => {
  const by = await maker();
  const other = await here.tenant();
  const { key, id, start } = await makeKey(by, ["read:users"]);
  assert.match(key, /^sk_[\w-]{43}$/);
  assert.ok(key.startsWith(start) && start.length === 9);
  const { status, body } = await caller(key).get(USERS);
  assert.equal(status, 200);
  assert.equal(body.items[0].id, by.userId);
  assert.equal(await outcome(caller(key).get("/api/v1/roles")), "403 MISSING_PERMISSION");
  const named = (tenant: string) => caller(key).get(USERS, { "x-tenant-id": tenant });
  assert.equal(await outcome(named(other)), "403 TENANT_FORBIDDEN");
  assert.equal(await outcome(named("nowhere")), "400 VALIDATION_ERROR");
  assert.equal((await named(by.tenantId!.toUpperCase())).body.items[0].id, by.userId);
  const [row] = await sql<
    { hash: string }[]
  >`select encode(hash, 'hex') as hash from api_keys where id = ${id}`;
  assert.ok(row && !key.includes(row.hash));
});

Deno.test("the key itself is only in the answer that creates it, and in no log", async () => {
  const by = await maker();
  const { key, id } = await makeKey(by, ["read:users"], { name: "Once" });
  await caller(key).get(USERS);
  const shown = [await by.get(PATH), await by.get(`${PATH}/${id}`), await by.get("/api/v1/audit-log")];
  for (const { status, body } of shown) {
    assert.equal(status, 200);
    assert.ok(!JSON.stringify(body).includes(key));
  }
  assert.ok(here.logs.every((line) => !line.includes(key)));
  const again = { "idempotency-key": "one" };
  const first = await by.post(PATH, { name: "a", permissions: ["read:users"] }, again);
  assert.equal(first.status, 400, "answers with a key are not kept");
  assert.match(first.body.errors["Idempotency-Key"][0], /a secret/);
  const [kept] = await sql<{ count: number }[]>`select count(*)::int as count from idempotency_keys`;
  assert.equal(kept?.count, 0);
});

Deno.test("callers cannot give a key permissions they do not hold", async () => {
  const by = await maker(["read:users"]);
  const permissions = ["read:users", "delete:users"];
  assert.equal(
    await outcome(by.post(PATH, { name: "x", permissions })),
    "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  );
  const unheard = { name: "x", permissions: ["no:such"] };
  assert.equal(await outcome(by.post(PATH, unheard)), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const { systemAdmin } = here;
  assert.equal(await outcome(systemAdmin.post(PATH, unheard)), "404 PERMISSION_NOT_FOUND");
  const ofFiles = { name: "x", permissions: ["purge:files"] };
  assert.equal(await outcome(systemAdmin.post(PATH, ofFiles)), "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  const { key } = await makeKey(systemAdmin, ["read:users"]);
  assert.equal(await outcome(caller(key).get(USERS)), "200");
  assert.equal(await outcome(caller(key).get("/api/v1/admin/users")), "403 MISSING_PERMISSION");
});

Deno.test("creating a key needs the permission, a name, at least one permission to give, and a limited lifetime", async () => {
  const by = await maker();
  const without = await here.actor({ permissions: ["read:users"] });
  assert.equal(await outcome(without.post(PATH, {})), "403 MISSING_PERMISSION");
  const ahead = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const good = { name: "x", permissions: ["read:users"] };
  const bad: [Record<string, unknown>, string][] = [
    [{ ...good, name: " " }, "name"],
    [{ ...good, name: "x".repeat(201) }, "name"],
    [{ ...good, name: "a\0b" }, "name"],
    [{ ...good, permissions: [] }, "permissions"],
    [{ ...good, permissions: "read:users" }, "permissions"],
    [{ ...good, expiresAt: ahead(-1) }, "expiresAt"],
    [{ ...good, expiresAt: ahead(732) }, "expiresAt"],
    [{ ...good, expiresAt: 7 }, "expiresAt"],
  ];
  for (const [body, field] of bad) {
    const refused = await by.post(PATH, body);
    assert.equal(refused.body.code, "VALIDATION_ERROR", JSON.stringify(body));
    const named = JSON.stringify(refused.body.errors);
    assert.ok(named.includes(field), named);
  }
  assert.equal((await by.post(PATH, { ...good, expiresAt: ahead(730) })).status, 201);
});

Deno.test("a key loses permissions at once when its creator loses them", async () => {
  const by = await maker();
  const { key } = await makeKey(by, ["read:users", "create:users"]);
  assert.equal(await outcome(caller(key).get(USERS)), "200");
  const [permission] = await sql<{ id: string }[]>`select id from permissions where code = 'read:users'`;
  const admin = await here.actor({ tenantId: by.tenantId ?? "", role: "Admin" });
  const path = `/api/v1/roles/${by.roleId}/permissions/${permission?.id}`;
  assert.ok((await admin.delete(path)).status < 300);
  assert.equal(await outcome(caller(key).get(USERS)), "403 MISSING_PERMISSION");
  assert.equal(await outcome(caller(key).post(USERS, {})), "400 VALIDATION_ERROR", "the rest stays");
});

Deno.test("a key stops working when its creator is deactivated or unlinked, or the tenant is not active", async () => {
  const changes: ((by: Actor) => Promise<{ status: number }>)[] = [
    (by) => here.systemAdmin.put(`/api/v1/admin/users/${by.userId}`, { isActive: false }),
    (by) => here.systemAdmin.put(`/api/v1/admin/users/${by.userId}`, { tenants: [] }),
    (by) => here.systemAdmin.delete(`/api/v1/admin/users/${by.userId}`),
    (by) => here.systemAdmin.put(`/api/v1/tenants/${by.tenantId}`, { isActive: false }),
  ];
  for (const change of changes) {
    const by = await maker();
    const { key } = await makeKey(by, ["read:users"]);
    assert.equal(await outcome(caller(key).get(USERS)), "200");
    const { status } = await change(by);
    assert.ok(status < 300, `${status}`);
    assert.equal(await outcome(caller(key).get(USERS)), "401 SESSION_INVALIDATED");
  }
});

Deno.test("a revoked key is rejected at once here and within a second on other instances; revoking again changes nothing", async () => {
  const by = await maker();
  const { key, id } = await makeKey(by, ["read:users"]);
  assert.equal(await outcome(caller(key).get(USERS)), "200");
  assert.equal(await outcome(caller(key, there).get(USERS)), "200");
  assert.equal((await by.delete(`${PATH}/${id}`)).status, 204);
  assert.equal(await outcome(caller(key).get(USERS)), "401 TOKEN_REVOKED");
  await withinASecond(async () => await outcome(caller(key, there).get(USERS)) === "401 TOKEN_REVOKED");
  const { body } = await by.get(`${PATH}/${id}`);
  assert.equal(body.revokedBy, by.userId);
  assert.equal((await by.delete(`${PATH}/${id}`)).status, 204);
  assert.deepEqual((await by.get(`${PATH}/${id}`)).body, body);
});

Deno.test("an expired key is distinguished from an unknown one", async () => {
  const by = await maker();
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const { key, id } = await makeKey(by, ["read:users"], { expiresAt });
  await sql`update api_keys set expires_at = now() - interval '1 second' where id = ${id}`;
  assert.equal(await outcome(caller(key).get(USERS)), "401 TOKEN_EXPIRED");
  for (const unknown of [`sk_${newSecret()}`, "sk_", `${key}x`, key.toUpperCase()]) {
    assert.equal(await outcome(caller(unknown).get(USERS)), "401 TOKEN_INVALID");
  }
});

Deno.test("routes for the user in person answer every key with FORBIDDEN, whatever its permissions", async () => {
  const by = await maker();
  const { key } = await makeKey(by, ["manage:api-keys", "read:users"]);
  const personal: [string, string][] = [
    ["GET", "/api/v1/auth/me"],
    ["PUT", "/api/v1/auth/me"],
    ["POST", "/api/v1/auth/change-password"],
    ["GET", "/api/v1/auth/sessions"],
    ["POST", "/api/v1/auth/switch-tenant"],
    ["POST", "/api/v1/auth/logout"],
    ["GET", `/api/v1/user-notifications?userId=${by.userId}`],
    ["GET", `/api/v1/user-notifications/stream?userId=${by.userId}`],
    ["GET", `/api/v1/user-notifications/devices?userId=${by.userId}`],
    ["GET", PATH],
    ["POST", PATH],
  ];
  for (const [method, path] of personal) {
    const refused = await caller(key).send(method, path);
    assert.deepEqual([refused.status, refused.body.code], [403, "FORBIDDEN"], `${method} ${path}`);
  }
  const own =
    /\/auth\/(me|sessions|change|switch|logout)|user-notifications|notification-preferences|api-keys/;
  for (const spec of ENDPOINTS) {
    if (!spec.access.needsCaller || !own.test(spec.path)) continue;
    const refused = await caller(key).send(spec.method.toUpperCase(), spec.path);
    assert.equal(refused.body.code, "FORBIDDEN", spec.id);
  }
});

Deno.test("a key sees only its own tenant, even if its creator would see more", async () => {
  const by = await maker();
  const { key } = await makeKey(by, ["read:users"]);
  const elsewhere = await here.tenant();
  await sql`insert into user_tenants (user_id, tenant_id) values (${by.userId}, ${elsewhere})`;
  const seen = async (reader: HttpClient) =>
    (await reader.get(`${USERS}/${by.userId}/tenants`)).body.map((link: { tenantId: string }) =>
      link.tenantId
    );
  assert.deepEqual(await seen(by), [by.tenantId, elsewhere]);
  assert.deepEqual(await seen(caller(key)), [by.tenantId]);
});

Deno.test("for a key no session is the current one", async () => {
  const by = await maker(["manage:all-users"]);
  const { key } = await makeKey(by, ["manage:all-users"]);
  const { status, body } = await caller(key).get(`/api/v1/admin/users/${by.userId}/sessions`);
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual(body.map((session: { isCurrent: boolean }) => session.isCurrent), [false]);
});

Deno.test("the audit log shows which key acted, and who created and revoked it", async () => {
  const by = await maker();
  const { key, id } = await makeKey(by, ["create:users", "read:users"]);
  const email = `${crypto.randomUUID()}@example.test`;
  const made = await caller(key).post(USERS, {
    email,
    password: "correct horse battery staple",
    firstName: "By",
    lastName: "Key",
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await by.delete(`${PATH}/${id}`);
  const { items } = (await by.get("/api/v1/audit-log")).body;
  const entries = items.map((item: Record<string, string>) => [item.action, item.actorId, item.apiKeyId]);
  assert.deepEqual(entries, [
    ["apiKey.revoke", by.userId, null],
    ["user.create", by.userId, id],
    ["apiKey.create", by.userId, null],
  ]);
});

Deno.test("the last use is stored at most once a minute", async () => {
  const by = await maker();
  const { key, id } = await makeKey(by, ["read:users"]);
  const used = async () => (await by.get(`${PATH}/${id}`)).body.lastUsedAt;
  assert.equal(await used(), null);
  await caller(key).get(USERS);
  await withinASecond(async () => await used() !== null);
  const first = await used();
  for (let n = 0; n < 5; n++) await caller(key).get(USERS);
  await caller(key, there).get(USERS);
  assert.equal(await used(), first);
  assert.equal((await by.get(`${PATH}/${id}`)).body.lastUsedIp, "127.0.0.1");
});

Deno.test("lists are paged, sorted and searched; revoked keys are shown on request", async () => {
  const by = await maker();
  const ids = [];
  for (const name of ["Beta", "alpha", "Gámma"]) ids.push((await makeKey(by, ["read:users"], { name })).id);
  await by.delete(`${PATH}/${ids[0]}`);
  const names = async (query: string) =>
    (await by.get(`${PATH}?${query}`)).body.items.map((item: { name: string }) => item.name);
  assert.deepEqual(await names("sortBy=name"), ["alpha", "Gámma"]);
  assert.deepEqual(await names("sortBy=name&includeDeleted=true&sortDirection=Descending"), [
    "Gámma",
    "Beta",
    "alpha",
  ]);
  assert.deepEqual(await names("search=gamma"), ["Gámma"]);
  assert.deepEqual(await names("pageSize=1&page=2&sortBy=name"), ["Gámma"]);
  const stranger = await maker();
  for (const method of ["GET", "DELETE"]) {
    const { status, body } = await stranger.send(method, `${PATH}/${ids[1]}`);
    assert.deepEqual([status, body.code], [404, "API_KEY_NOT_FOUND"]);
  }
});

Deno.test("an Idempotency-Key belongs to the key that sent it, not to its creator", async () => {
  const by = await maker(["manage:settings", "read:users"]);
  const one = await makeKey(by, ["manage:settings"]);
  const two = await makeKey(by, ["manage:settings"]);
  const header = { "idempotency-key": "same" };
  const first = await caller(one.key).post("/api/v1/settings", { key: "a", value: "1" }, header);
  const repeated = await caller(one.key).post("/api/v1/settings", { key: "a", value: "1" }, header);
  assert.equal(repeated.headers.get("idempotency-replayed"), "true");
  assert.equal(repeated.body.id, first.body.id);
  const other = await caller(two.key).post("/api/v1/settings", { key: "b", value: "1" }, header);
  assert.equal(other.status, 201);
});

Deno.test("each key has its own rate limit", async () => {
  const by = await maker();
  const [one, two] = [await makeKey(by, ["read:users"]), await makeKey(by, ["read:users"])];
  const asks = async (key: string) => (await caller(key, limited).get(USERS)).status;
  const statuses = await Promise.all(Array.from({ length: 20 }, () => asks(one.key)));
  assert.ok(statuses.includes(200) && statuses.includes(429), `${statuses}`);
  assert.equal(await asks(two.key), 200);
});

Deno.test("the catalog has the permission, and no built-in role gives it", async () => {
  await bootstrap({ sql, config: here.steward.platform.config });
  const rows = await sql<{ code: string; roles: number }[]>`
    select p.code, (select count(*)::int from role_permissions rp join roles r on r.id = rp.role_id
      where rp.permission_id = p.id and r.is_system) as roles
    from permissions p where p.code in ('manage:api-keys', 'manage:webhooks') order by p.code`;
  assert.deepEqual([...rows], [{ code: "manage:api-keys", roles: 0 }, { code: "manage:webhooks", roles: 0 }]);
});
