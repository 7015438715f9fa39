// API keys and service accounts: most rules are the same for both.
import assert from "node:assert/strict";
import { pluck } from "../../support/answers.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { until } from "../../support/until.ts";
import { newUser } from "../access/users.ts";
import { postForm } from "../oauth/flow.ts";
import { inTenant, PATH as ACCOUNTS, program, USERS } from "./service_accounts.ts";

const { here, there } = await setupTwoInstances();
const { systemAdmin } = here;
const { sql } = here.steward.platform;
const DAY_MS = 86_400_000;
const REVOKED = "401 TOKEN_REVOKED";
const MISSING = "403 MISSING_PERMISSION";
const ESCALATED = "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED";
const KEYS = "/api/v1/api-keys";

const KINDS = [
  {
    path: KEYS,
    table: "api_keys",
    action: "apiKey",
    missing: "404 API_KEY_NOT_FOUND",
    conflict: "409 API_KEY_REVOKED_CONFLICT",
  },
  {
    path: ACCOUNTS,
    table: "service_accounts",
    action: "serviceAccount",
    missing: "404 SERVICE_ACCOUNT_NOT_FOUND",
    conflict: "409 SERVICE_ACCOUNT_REVOKED_CONFLICT",
  },
];
const MANAGE = ["manage:api-keys", "manage:service-accounts"];
const maker = (tenantId?: string) =>
  here.actor({ permissions: [...MANAGE, "read:users", "create:users"], ...tenantId ? { tenantId } : {} });
const ends = (days: number) => ({ expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() });

/** Asks for a key or account that reads users in the tenant of `owner`, unless `more` says otherwise. */
const create = (by: Actor, path: string, more = {}, owner = by) => {
  const account = path === ACCOUNTS ? { tenants: [owner.tenantId] } : {};
  return by.post(path, { name: "Sync", permissions: ["read:users"], ...account, ...more });
};

/** Creates a key or account; `secret` is in the member that its answer has. */
async function make(by: Actor, path: string, more = {}) {
  const made = await accepted(create(by, path, more), 201);
  const secret: string = made.key ?? made.secret;
  return { ...made, one: `${path}/${made.id}`, secret, caller: program(here, secret) };
}

const users = (by: Actor, secret: string, at: TestService = here) =>
  program(at, secret).get(USERS, inTenant(by.tenantId));
const usersAtBoth = (by: Actor, secret: string) => [users(by, secret), users(by, secret, there)];
const acceptedAtBoth = (by: Actor, secret: string) =>
  Promise.all(usersAtBoth(by, secret).map((call) => accepted(call)));

/** Lets a time of the key be over, as if it had passed. */
async function pass(table: string, column: string, id: string): Promise<void> {
  await sql`update ${sql(table)} set ${sql(column)} = now() - interval '1 second' where id = ${id}`;
  for (const { steward } of [here, there]) steward.platform.rights.invalidate([id]);
}

async function rotate(by: Actor, one: string, overlapSeconds: number) {
  const rotated = await accepted(by.post(`${one}/rotate`, { overlapSeconds }), 200);
  return { ...rotated, secret: rotated.key ?? rotated.secret };
}

Deno.test("keys and accounts act in their tenant with only their own permissions; the secret is only in the first answer; the audit log names who acted", async () => {
  for (const { path, table, action } of KINDS) {
    const by = await maker();
    const { id, one, secret, start, caller } = await make(by, path, {
      permissions: ["read:users", "create:users"],
    });
    assert.match(secret, /^sk_[\w-]{43}$/);
    assert.ok(secret.startsWith(start) && start.length === 9);
    assert.equal((await accepted(users(by, secret))).items[0].id, by.userId);
    await refused(MISSING, caller.get("/api/v1/roles", inTenant(by.tenantId)));
    const elsewhere = [await here.tenant(), crypto.randomUUID(), here.platformTenantId];
    await refused("403 TENANT_FORBIDDEN", ...elsewhere.map((tenant) => caller.get(USERS, inTenant(tenant))));
    await accepted(caller.post(USERS, newUser(), inTenant(by.tenantId?.toUpperCase() ?? "")), 201);
    const [row] = await sql`select encode(hash, 'hex') as hash from ${sql(table)} where id = ${id}`;
    const shown = [row, await accepted(by.get(path)), await accepted(by.get(one))];
    await accepted(by.delete(one));
    const { items } = await accepted(by.get("/api/v1/audit-log"));
    assert.ok(![...shown, items, here.logs].some((each) => JSON.stringify(each).includes(secret)));
    const [member, actor, named] = path === KEYS
      ? ["apiKeyId", by.userId, id]
      : ["serviceAccount", id, "Sync"];
    assert.deepEqual(pluck(items, "action", "actorId", member), [
      [`${action}.revoke`, by.userId, null],
      ["user.create", actor, named],
      [`${action}.create`, by.userId, null],
    ]);
  }
});

Deno.test("nobody gives permissions that they do not hold, nor a lifetime of more than two years", async () => {
  const by = await maker();
  for (const { path } of KINDS) {
    const give = (actor: Actor, ...permissions: string[]) => create(actor, path, { permissions }, by);
    await refused(ESCALATED, give(by, "read:users", "delete:users"), give(by, "no:such"));
    await refused("404 PERMISSION_NOT_FOUND", give(systemAdmin, "no:such"));
    await refused(ESCALATED, give(systemAdmin, "purge:files"));
    for (const days of [-1, 733]) {
      const { body } = await create(by, path, ends(days));
      assert.deepEqual(Object.keys(body.errors), ["expiresAt"]);
    }
    await accepted(create(by, path, ends(730)), 201);
  }
});

Deno.test("keys and accounts show their last use, stored at most once a minute, and are refused after their end", async () => {
  for (const { path, table } of KINDS) {
    const by = await maker();
    const { expiresAt } = ends(1);
    const { id, one, secret } = await make(by, path, { expiresAt });
    const used = async () => (await accepted(by.get(one))).lastUsedAt;
    assert.equal(await used(), null);
    await accepted(users(by, secret));
    const first = await until(used);
    await accepted(users(by, secret, there));
    assert.equal(await used(), first);
    const { items: [listed] } = await accepted(by.get(path));
    const { lastUsedIp, formerSecretUntil } = listed;
    assert.deepEqual([listed.expiresAt, lastUsedIp, formerSecretUntil], [expiresAt, "127.0.0.1", null]);
    assert.deepEqual(await accepted(by.get(one)), listed);
    await pass(table, "expires_at", id);
    await refused("401 TOKEN_EXPIRED", ...usersAtBoth(by, secret));
    const unknown = [`sk_${newSecret()}`, "sk_", `${secret}x`, secret.toUpperCase()];
    await refused("401 TOKEN_INVALID", ...unknown.map((each) => users(by, each)));
  }
});

Deno.test("a revoked key or account is refused at once on all instances, and can neither be changed nor rotated", async () => {
  for (const { path, conflict } of KINDS) {
    const by = await maker();
    const { one, secret } = await make(by, path);
    const calls = usersAtBoth(by, secret).map((call) => outcome(call));
    await accepted(by.delete(one), 204); // races with requests: each succeeds or is refused
    for (const call of calls) assert.ok(["200", REVOKED].includes(await call), await call);
    await refused(REVOKED, ...usersAtBoth(by, secret));
    const revoked = await accepted(by.get(one));
    assert.equal(revoked.revokedBy, by.userId);
    await accepted(by.delete(one), 204);
    assert.deepEqual(await accepted(by.get(one)), revoked, "revoking again changes nothing");
    const changes = [by.post(`${one}/rotate`), ...path === ACCOUNTS ? [by.put(one, { name: "y" })] : []];
    await refused(conflict, ...changes);
    assert.deepEqual((await accepted(by.get(path))).items, []);
    assert.equal((await accepted(by.get(`${path}?includeDeleted=true`))).items.length, 1);
  }
});

Deno.test("after a rotation both secrets are good until the overlap ends; the next rotation ends the first one", async () => {
  for (const { path, table, action } of KINDS) {
    const by = await maker();
    const { id, one, secret: first } = await make(by, path);
    await acceptedAtBoth(by, first);
    const etag = (await by.get(one)).headers.get("etag");
    const second = await rotate(by, one, 3600);
    assert.ok(Date.parse(second.formerSecretUntil) - Date.now() > 3_000_000);
    const shown = await by.get(one);
    assert.equal(shown.body.formerSecretUntil, second.formerSecretUntil);
    assert.notEqual(shown.headers.get("etag"), etag);
    assert.ok(second.secret.startsWith(shown.body.start));
    for (const secret of [first, second.secret]) await acceptedAtBoth(by, secret);

    const third = await rotate(by, one, 60);
    await refused("401 TOKEN_INVALID", ...usersAtBoth(by, first));
    for (const secret of [second.secret, third.secret]) await acceptedAtBoth(by, secret);
    await pass(table, "former_until", id);
    await refused(REVOKED, ...usersAtBoth(by, second.secret));
    await acceptedAtBoth(by, third.secret);
    assert.equal((await accepted(by.get(one))).formerSecretUntil, null);

    const { items } = await accepted(by.get(`/api/v1/audit-log?action=${action}.rotate&targetId=${id}`));
    const until = [third, second].map(({ formerSecretUntil }) => ({ formerSecretUntil }));
    assert.deepEqual(pluck(items, "after").flat(), until);

    const fourth = await accepted(by.post(`${one}/rotate`));
    await refused("401 TOKEN_INVALID", ...usersAtBoth(by, third.secret));
    await rotate(by, one, 3600);
    await accepted(by.delete(one), 204);
    await refused(REVOKED, ...usersAtBoth(by, fourth.key ?? fourth.secret));
  }
});

Deno.test("who may not create a key or account cannot get its new secret", async () => {
  for (const { path, missing } of KINDS) {
    const by = await maker();
    const { one, secret } = await make(by, path);
    const tenantId = by.tenantId ?? "";
    const send = (client: HttpClient) => client.post(`${one}/rotate`, { overlapSeconds: 60 });
    await refused(ESCALATED, send(await here.actor({ permissions: MANAGE, tenantId })));
    await refused(missing, send(await maker()));
    await refused("403 FORBIDDEN", send(program(here, secret)));
    await acceptedAtBoth(by, secret);
    const colleague = send(await maker(tenantId));
    if (path === KEYS) await refused(ESCALATED, colleague); // it would act as another user
    else await accepted(colleague);
  }
});

Deno.test("tokens of an account are good as long as the secret that they were issued for, and no longer than the account", async () => {
  const by = await maker();
  const expiresAt = new Date(Date.now() + 300_000).toISOString();
  const { one, id, clientId, secret } = await make(by, ACCOUNTS, { expiresAt });
  const form = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
  const exchange = (): Promise<HttpAnswer> => postForm(here, "/oauth/token", form);
  const first = await accepted(exchange());
  assert.ok(first.expires_in > 0 && first.expires_in <= 300);
  await accepted(by.put(one, { expiresAt: null }));
  await rotate(by, one, 120);
  const again = await accepted(exchange());
  assert.ok(again.expires_in > 0 && again.expires_in <= 120, "a former secret gives shorter tokens");
  for (const { access_token } of [first, again]) await acceptedAtBoth(by, access_token);
  await pass("service_accounts", "former_until", id);
  await refused(REVOKED, users(by, first.access_token), users(by, again.access_token));
  assert.equal((await exchange()).status, 401);
});

Deno.test("an account's end can be moved; a later one needs all of its permissions", async () => {
  const by = await maker();
  const { one, id, secret } = await make(by, ACCOUNTS);
  const manager = await here.actor({ permissions: MANAGE, tenantId: by.tenantId ?? "" });
  for (const days of [-1, 733]) await refused("400 VALIDATION_ERROR", by.put(one, ends(days)));
  assert.ok((await accepted(manager.put(one, ends(1)))).expiresAt, "an earlier end gives nothing");
  await refused(ESCALATED, manager.put(one, ends(2)), manager.put(one, { expiresAt: null }));
  await pass("service_accounts", "expires_at", id);
  await refused("401 TOKEN_EXPIRED", users(by, secret));
  await accepted(manager.put(one, { name: "Renamed" }));
  assert.equal((await accepted(by.put(one, { expiresAt: null }))).expiresAt, null);
  await acceptedAtBoth(by, secret);
});

Deno.test("a key shows of its creator only the tenant of the key, no session as the current one, and no wider rights", async () => {
  const by = await here.actor({ permissions: [...MANAGE, "read:users", "manage:all-users"] });
  const { caller } = await make(by, KEYS, { permissions: ["read:users", "manage:all-users"] });
  await sql`insert into user_tenants (user_id, tenant_id) values (${by.userId}, ${await here.tenant()})`;
  const seen = async (reader: HttpClient) =>
    pluck(await accepted(reader.get(`${USERS}/${by.userId}/tenants`)), "tenantId");
  assert.equal((await seen(by)).length, 2);
  assert.deepEqual(await seen(caller), [by.tenantId]);
  const sessions = await accepted(caller.get(`/api/v1/admin/users/${by.userId}/sessions`));
  assert.deepEqual(pluck(sessions, "isCurrent"), [false]);
  const ofSystem = await make(systemAdmin, KEYS);
  await accepted(ofSystem.caller.get(USERS));
  await refused(MISSING, ofSystem.caller.get("/api/v1/admin/users"));
});

Deno.test("a key loses what its creator loses, at once, and works no more once the creator is deactivated or unlinked, or the tenant is not active", async () => {
  const clerk = await maker();
  const { caller: key } = await make(clerk, KEYS, { permissions: ["read:users", "create:users"] });
  await accepted(key.get(USERS));
  const [permission] = await sql`select id from permissions where code = 'read:users'`;
  const admin = await here.actor({ tenantId: clerk.tenantId ?? "", role: "Admin" });
  await accepted(admin.delete(`/api/v1/roles/${clerk.roleId}/permissions/${permission?.id}`));
  await refused(MISSING, key.get(USERS));
  await refused("400 VALIDATION_ERROR", key.post(USERS, {})); // the rest stays
  const user = ({ userId }: Actor) => `/api/v1/admin/users/${userId}`;
  const changes = [
    (by: Actor) => systemAdmin.put(user(by), { isActive: false }),
    (by: Actor) => systemAdmin.put(user(by), { tenants: [] }),
    (by: Actor) => systemAdmin.delete(user(by)),
    (by: Actor) => systemAdmin.put(`/api/v1/tenants/${by.tenantId}`, { isActive: false }),
  ];
  for (const change of changes) {
    const by = await maker();
    const { caller } = await make(by, KEYS);
    await accepted(caller.get(USERS));
    await accepted(change(by));
    await refused("401 SESSION_INVALIDATED", caller.get(USERS));
  }
});
