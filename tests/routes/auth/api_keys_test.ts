import assert from "node:assert/strict";
import { newSecret } from "../../../domain/shared/secrets.ts";
import type { HttpClient } from "../../support/http.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { until } from "../../support/until.ts";
import { program, USERS } from "./service_accounts.ts";

const { here, there, settings } = await setupTwoInstances();
const { sql } = here.steward.platform;
const { systemAdmin } = here;
const PATH = "/api/v1/api-keys";
const ESCALATED = "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED";
const MISSING = "403 MISSING_PERMISSION";

const makerOf = (...permissions: string[]) =>
  here.actor({ permissions: ["manage:api-keys", ...permissions] });
const maker = () => makerOf("read:users", "create:users", "read:roles");

interface MadeKey {
  id: string;
  key: string;
  start: string;
  caller: HttpClient;
}

async function makeKey(by: Actor, permissions = ["read:users"], more = {}): Promise<MadeKey> {
  const made = await accepted(by.post(PATH, { name: "Sync", permissions, ...more }), 201);
  return { ...made, caller: program(here, made.key) };
}

Deno.test("a key acts as its creator in one tenant, with only its own permissions", async () => {
  const by = await maker();
  const { key, id, start, caller } = await makeKey(by);
  assert.match(key, /^sk_[\w-]{43}$/);
  assert.ok(key.startsWith(start) && start.length === 9);
  assert.equal((await accepted(caller.get(USERS))).items[0].id, by.userId);
  await refused(MISSING, caller.get("/api/v1/roles"));
  const named = (tenant: string) => caller.get(USERS, { "x-tenant-id": tenant });
  const elsewhere = await here.tenant();
  await refused("403 TENANT_FORBIDDEN", named(elsewhere));
  await accepted(named(by.tenantId!.toUpperCase()));
  const [row] = await sql`select encode(hash, 'hex') as hash from api_keys where id = ${id}`;
  assert.ok(row && !key.includes(row.hash));
  await sql`insert into user_tenants (user_id, tenant_id) values (${by.userId}, ${elsewhere})`;
  const seen = async (reader: HttpClient) =>
    (await accepted(reader.get(`${USERS}/${by.userId}/tenants`))).map((link: { tenantId: string }) =>
      link.tenantId
    );
  assert.deepEqual(await seen(by), [by.tenantId, elsewhere]);
  assert.deepEqual(await seen(caller), [by.tenantId], "even if its creator would see more");
});

Deno.test("the key itself is only in the answer that creates it, and in no log; the audit log shows which key acted", async () => {
  const by = await maker();
  const { key, id, caller } = await makeKey(by, ["create:users", "read:users"]);
  const user = { email: `${crypto.randomUUID()}@example.test`, password: "correct horse battery staple" };
  await accepted(caller.post(USERS, user), 201);
  const shown = [await accepted(by.get(PATH)), await accepted(by.get(`${PATH}/${id}`))];
  await accepted(by.delete(`${PATH}/${id}`));
  const { items } = await accepted(by.get("/api/v1/audit-log"));
  assert.ok(![...shown, items, here.logs].some((each) => JSON.stringify(each).includes(key)));
  const rows = items.map((item: Record<string, string>) => [item.action, item.actorId, item.apiKeyId]);
  assert.deepEqual(rows, [
    ["apiKey.revoke", by.userId, null],
    ["user.create", by.userId, id],
    ["apiKey.create", by.userId, null],
  ]);
});

Deno.test("callers cannot give a key permissions they do not hold, nor a lifetime of more than two years", async () => {
  const by = await makerOf("read:users");
  const create = (actor: Actor, permissions: string[], more = {}) =>
    actor.post(PATH, { name: "x", permissions, ...more });
  await refused(ESCALATED, create(by, ["read:users", "delete:users"]), create(by, ["no:such"]));
  await refused("404 PERMISSION_NOT_FOUND", create(systemAdmin, ["no:such"]));
  await refused(ESCALATED, create(systemAdmin, ["purge:files"]));
  const { caller } = await makeKey(systemAdmin);
  await accepted(caller.get(USERS));
  await refused(MISSING, caller.get("/api/v1/admin/users"));
  const until = (days: number) => ({ expiresAt: new Date(Date.now() + days * 86_400_000).toISOString() });
  for (const days of [-1, 733]) {
    const answer = await create(by, ["read:users"], until(days));
    assert.deepEqual(Object.keys(answer.body.errors), ["expiresAt"]);
  }
  await accepted(create(by, ["read:users"], until(730)), 201);
});

Deno.test("a key loses permissions at once when its creator loses them", async () => {
  const by = await maker();
  const { caller } = await makeKey(by, ["read:users", "create:users"]);
  await accepted(caller.get(USERS));
  const [permission] = await sql`select id from permissions where code = 'read:users'`;
  const admin = await here.actor({ tenantId: by.tenantId ?? "", role: "Admin" });
  await accepted(admin.delete(`/api/v1/roles/${by.roleId}/permissions/${permission?.id}`));
  await refused(MISSING, caller.get(USERS));
  await refused("400 VALIDATION_ERROR", caller.post(USERS, {})); // the rest stays
});

Deno.test("a key stops working when its creator is deactivated or unlinked, or the tenant is not active", async () => {
  const user = ({ userId }: Actor) => `/api/v1/admin/users/${userId}`;
  const changes = [
    (by: Actor) => systemAdmin.put(user(by), { isActive: false }),
    (by: Actor) => systemAdmin.put(user(by), { tenants: [] }),
    (by: Actor) => systemAdmin.delete(user(by)),
    (by: Actor) => systemAdmin.put(`/api/v1/tenants/${by.tenantId}`, { isActive: false }),
  ];
  for (const change of changes) {
    const by = await maker();
    const { caller } = await makeKey(by);
    await accepted(caller.get(USERS));
    await accepted(change(by));
    await refused("401 SESSION_INVALIDATED", caller.get(USERS));
  }
});

Deno.test("a revoked key is rejected at once on all instances, an expired one is distinguished from an unknown one", async () => {
  const by = await maker();
  const { key, id, caller } = await makeKey(by);
  const path = `${PATH}/${id}`;
  const both = [caller, program(there, key)];
  for (const each of both) await accepted(each.get(USERS));
  await accepted(by.delete(path), 204);
  await refused("401 TOKEN_REVOKED", ...both.map((each) => each.get(USERS)));
  await refused("404 API_KEY_NOT_FOUND", by.get(`${PATH}/${crypto.randomUUID()}`));
  const revoked = await accepted(by.get(path));
  assert.equal(revoked.revokedBy, by.userId);
  await accepted(by.delete(path), 204); // revoking again changes nothing
  assert.deepEqual(await accepted(by.get(path)), revoked);
  assert.deepEqual((await accepted(by.get(PATH))).items, []);
  assert.equal((await accepted(by.get(`${PATH}?includeDeleted=true`))).items.length, 1);

  const late = await makeKey(by, ["read:users"], {
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
  });
  await sql`update api_keys set expires_at = now() - interval '1 second' where id = ${late.id}`;
  await refused("401 TOKEN_EXPIRED", late.caller.get(USERS));
  const unknown = [`sk_${newSecret()}`, "sk_", `${key}x`, key.toUpperCase()];
  await refused("401 TOKEN_INVALID", ...unknown.map((each) => program(here, each).get(USERS)));
});

Deno.test("the last use is stored at most once a minute; for a key no session is the current one", async () => {
  const by = await makerOf("read:users", "manage:all-users");
  const { key, id, caller } = await makeKey(by, ["read:users", "manage:all-users"]);
  const used = async () => (await accepted(by.get(`${PATH}/${id}`))).lastUsedAt;
  assert.equal(await used(), null);
  await accepted(caller.get(USERS));
  await until(used);
  const first = await used();
  const sessions = await accepted(caller.get(`/api/v1/admin/users/${by.userId}/sessions`));
  assert.deepEqual(sessions.map((session: { isCurrent: boolean }) => session.isCurrent), [false]);
  await accepted(program(there, key).get(USERS));
  assert.equal(await used(), first);
  assert.equal((await accepted(by.get(`${PATH}/${id}`))).lastUsedIp, "127.0.0.1");
});

Deno.test("an Idempotency-Key belongs to the key that sent it, not to its creator", async () => {
  const by = await makerOf("manage:settings");
  const [one, two] = [await makeKey(by, ["manage:settings"]), await makeKey(by, ["manage:settings"])];
  const put = ({ caller }: MadeKey, key: string) =>
    caller.post("/api/v1/settings", { key, value: "1" }, { "idempotency-key": "same" });
  const first = await put(one, "a");
  const repeated = await put(one, "a");
  assert.equal(repeated.headers.get("idempotency-replayed"), "true");
  assert.equal(repeated.body.id, first.body.id);
  await accepted(put(two, "b"), 201);
});

Deno.test("each key has its own rate limit", async () => {
  const by = await maker();
  const [one, two] = [await makeKey(by), await makeKey(by)];
  const limited = await setup({ ...settings, RATE_LIMIT_PER_MINUTE: "10" });
  try {
    const ask = ({ key }: MadeKey) => outcome(program(limited, key).get(USERS));
    const answers = new Set(await Promise.all(Array.from({ length: 11 }, () => ask(one))));
    assert.deepEqual([...answers].sort(), ["200", "429 RATE_LIMITED"]);
    assert.equal(await ask(two), "200");
  } finally {
    await limited.stop();
  }
});
