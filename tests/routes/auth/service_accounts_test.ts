import assert from "node:assert/strict";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { inTenant, makeAccount, MANAGE, PATH, program, USERS } from "./service_accounts.ts";

const { here, there } = await setupTwoInstances();
const { systemAdmin, platformTenantId } = here;
const FORBIDDEN = "403 TENANT_FORBIDDEN";
const ESCALATED = "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED";
const UNKNOWN = "404 SERVICE_ACCOUNT_NOT_FOUND";

const makerOf = (...permissions: string[]) => here.actor({ permissions: [MANAGE, ...permissions] });
const maker = () => makerOf("read:users", "create:users", "read:roles");
const usersOf = (secret: string, tenant: string | null, at = here) =>
  program(at, secret).get(USERS, inTenant(tenant));

/** Fails unless both instances answer requests of the account in this way. */
async function assertBoth(
  expected: string,
  ask: (at: TestService) => ReturnType<typeof usersOf>,
): Promise<void> {
  for (const at of [here, there]) assert.equal(await outcome(ask(at)), expected);
}
const usersAtBoth = (expected: string, secret: string, tenant: string | null) =>
  assertBoth(expected, (at) => usersOf(secret, tenant, at));

Deno.test("an account must name the tenant, and is not tied to the user who made it", async () => {
  const by = await maker();
  const { clientId, secret } = await makeAccount(by);
  assert.match(clientId, /^sa_[\w-]{22}$/);
  await refused("403 FORBIDDEN", program(here, secret).get(USERS));
  await accepted(systemAdmin.delete(`/api/v1/admin/users/${by.userId}`));
  await accepted(usersOf(secret, by.tenantId));
});

Deno.test("an account of all tenants acts in new tenants at once, not in the platform tenant, without any link", async () => {
  const { secret } = await makeAccount(systemAdmin, { tenants: "all" });
  const newTenant = async () => {
    const tenant = { name: crypto.randomUUID(), type: "Standard" };
    return (await accepted(systemAdmin.post("/api/v1/tenants", tenant))).id;
  };
  const before = await newTenant();
  await usersAtBoth("200", secret, before);
  await refused(FORBIDDEN, usersOf(secret, platformTenantId), usersOf(secret, crypto.randomUUID()));
  await accepted(usersOf(secret, await newTenant())); // a new tenant does not end it
  await accepted(usersOf(secret, before));
});

Deno.test("switching a tenant off stops an account there at once on every instance, also in a tenant without users", async () => {
  const [empty, other] = [await here.tenant(), await here.tenant()];
  const path = `/api/v1/tenants/${empty}`;
  const { secret } = await makeAccount(systemAdmin, { tenants: [empty, other] });
  const { secret: everywhere } = await makeAccount(systemAdmin, { tenants: "all" });
  for (const each of [secret, everywhere]) {
    await usersAtBoth("200", each, empty);
    await accepted(systemAdmin.put(path, { isActive: false }));
    await usersAtBoth(FORBIDDEN, each, empty);
    await accepted(usersOf(each, other));
    await accepted(systemAdmin.put(path, { isActive: true }));
    await accepted(usersOf(each, empty));
  }
  await accepted(systemAdmin.delete(path));
  await usersAtBoth(FORBIDDEN, everywhere, empty);
});

Deno.test("other tenants, and all tenants, need admin:system", async () => {
  const [by, other] = [await maker(), await here.tenant()];
  const create = (actor: Actor, tenants: unknown) =>
    actor.post(PATH, { name: "x", permissions: ["read:users"], tenants });
  const more = ["all", [other], [by.tenantId, other], [crypto.randomUUID()], [platformTenantId]];
  await refused("403 CROSS_TENANT_FORBIDDEN", ...more.map((tenants) => create(by, tenants)));
  await refused("404 TENANT_NOT_FOUND", create(systemAdmin, [other, crypto.randomUUID()]));
  await refused("403 FORBIDDEN", create(await here.actor({ permissions: [MANAGE], global: true }), "all"));
  const { secret } = await makeAccount(systemAdmin, { tenants: [other, by.tenantId] });
  for (const tenant of [other, by.tenantId]) await accepted(usersOf(secret, tenant));
});

Deno.test("permissions with platform reach count without a tenant, on the routes of all tenants", async () => {
  const tenant = await here.tenant();
  const make = async (...permissions: string[]) =>
    (await makeAccount(systemAdmin, { permissions, tenants: "all" })).secret;
  const secret = await make("manage:all-users", "read:users");
  const all = (headers = {}) => program(here, secret).get("/api/v1/admin/users", headers);
  await accepted(all());
  await refused("403 MISSING_PERMISSION", all(inTenant(tenant)));
  await accepted(usersOf(secret, tenant));
  const operator = await make("admin:system");
  await accepted(program(here, operator).get("/api/v1/jobs"));
  await refused("403 MISSING_PERMISSION", usersOf(operator, tenant)); // not inside a tenant
  const account = { name: "x", permissions: ["manage:all-users"], tenants: [tenant] };
  assert.deepEqual(Object.keys((await systemAdmin.post(PATH, account)).body.errors), ["permissions"]);
});

Deno.test("an account of several tenants is managed by a system administrator only", async () => {
  const by = await maker();
  const { id } = await makeAccount(systemAdmin, { tenants: [by.tenantId, await here.tenant()] });
  const one = `${PATH}/${id}`;
  await refused(UNKNOWN, by.get(one), by.put(one, { name: "x" }), by.post(`${one}/rotate`), by.delete(one));
  assert.equal((await accepted(systemAdmin.get(one))).tenants.length, 2);
});

Deno.test("jobs that run with the rights of a user are refused to an account; other jobs name it as their maker", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by);
  const enqueue = (jobTypeName: string, args = {}, headers = {}) => {
    const job = { jobTypeName, serializedArgs: JSON.stringify(args) };
    return program(here, secret).post("/api/v1/jobs", job, { ...inTenant(by.tenantId), ...headers });
  };
  const job = await accepted(enqueue("steward.echo", {}, { "idempotency-key": "once" }), 201);
  assert.equal(job.createdBy, id);
  await refused("403 FORBIDDEN", enqueue("steward.report", { templateId: "users", format: 3 }));
});

Deno.test("an account loses a deleted permission and a deleted tenant at once, and can then get a new secret", async () => {
  const [kept, lost] = [await here.tenant(), await here.tenant()];
  const own = { code: `approve:r${crypto.randomUUID()}`, category: "Own" };
  const made = await accepted(systemAdmin.post("/api/v1/permissions", own), 201);
  const grants = { permissions: ["read:users", own.code], tenants: [kept, lost] };
  const account = await makeAccount(systemAdmin, grants);
  await usersAtBoth("200", account.secret, lost);
  await accepted(systemAdmin.delete(`/api/v1/permissions/${made.id}`));
  for (const { steward } of [here, there]) {
    const held = await steward.platform.rights.keys.permissionsIn(account.id, kept);
    assert.deepEqual([...held?.permissions ?? []], ["read:users"]);
  }
  await accepted(systemAdmin.delete(`/api/v1/tenants/${lost}`));
  await usersAtBoth(FORBIDDEN, account.secret, lost);
  const next = await accepted(systemAdmin.post(`${PATH}/${account.id}/rotate`));
  await refused("401 TOKEN_INVALID", usersOf(account.secret, kept));
  await accepted(usersOf(next.secret, kept));
});

Deno.test("an account that is moved leaves an audit row in its old tenant and in its new one", async () => {
  const [one, two] = [await maker(), await maker()];
  const { id } = await makeAccount(one);
  const move = (tenants: unknown) => accepted(systemAdmin.put(`${PATH}/${id}`, { tenants }));
  const rowsOf = async (by: Actor) =>
    (await accepted(by.get(`/api/v1/audit-log?action=serviceAccount.update&targetId=${id}`))).items
      .map(({ before, after }: Record<string, { tenants: string[] }>) => [before?.tenants, after?.tenants]);
  await move([two.tenantId]);
  const moved = [[one.tenantId], [two.tenantId]];
  assert.deepEqual([await rowsOf(one), await rowsOf(two)], [[moved], [moved]]);
  await move("all");
  assert.deepEqual(
    await rowsOf(two),
    [[[two.tenantId], "all"], moved],
    "also if it acts in more tenants then",
  );
});

Deno.test("PUT is effective at once on all instances and checks what it gives like a new account", async () => {
  const by = await maker();
  const { id, secret } = await makeAccount(by, { permissions: ["read:users", "read:roles"] });
  const rolesAtBoth = (expected: string) =>
    assertBoth(expected, (at) => program(at, secret).get("/api/v1/roles", inTenant(by.tenantId)));
  await rolesAtBoth("200");
  const put = (change: object, actor = by) => actor.put(`${PATH}/${id}`, change);
  const changed = await put({ permissions: ["read:users"] });
  assert.deepEqual([changed.body.name, changed.body.permissions], ["Sync", ["read:users"]]);
  await rolesAtBoth("403 MISSING_PERMISSION");
  await refused("403 CROSS_TENANT_FORBIDDEN", put({ tenants: "all" }));
  await refused(ESCALATED, put({ permissions: ["read:users", "delete:users"] }));
  await refused("404 TENANT_NOT_FOUND", put({ tenants: [crypto.randomUUID()] }, systemAdmin));
  await refused("404 PERMISSION_NOT_FOUND", put({ permissions: ["no:such"] }, systemAdmin));
  assert.equal((await accepted(put({ tenants: "all" }, systemAdmin))).tenants, "all");
  await refused(UNKNOWN, by.get(`${PATH}/${id}`)); // now it also acts elsewhere
});
