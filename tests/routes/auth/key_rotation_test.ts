import assert from "node:assert/strict";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { until } from "../../support/until.ts";
import { program, USERS } from "./service_accounts.ts";

const { here, there } = await setupTwoInstances();
const { sql } = here.steward.platform;
const DAY_MS = 86_400_000;
const REVOKED = "401 TOKEN_REVOKED";
const ESCALATED = "403 ROLE_ASSIGNMENT_ESCALATION_BLOCKED";

/** API keys and service accounts, which have the same abilities. */
const KINDS = [
  {
    path: "/api/v1/api-keys",
    table: "api_keys",
    missing: "404 API_KEY_NOT_FOUND",
    conflict: "409 API_KEY_REVOKED_CONFLICT",
    action: "apiKey",
  },
  {
    path: "/api/v1/service-accounts",
    table: "service_accounts",
    missing: "404 SERVICE_ACCOUNT_NOT_FOUND",
    conflict: "409 SERVICE_ACCOUNT_REVOKED_CONFLICT",
    action: "serviceAccount",
  },
];
const MANAGE = ["manage:api-keys", "manage:service-accounts"];
const maker = (tenantId?: string) =>
  here.actor({ permissions: [...MANAGE, "read:users"], ...tenantId ? { tenantId } : {} });

/** Creates a key or account that reads users; `secret` is in the member that its answer has. */
async function make(by: Actor, path: string, more = {}) {
  const account = path.endsWith("accounts") ? { tenants: [by.tenantId] } : {};
  const body = { name: "Sync", permissions: ["read:users"], ...account, ...more };
  const made = await accepted(by.post(path, body), 201);
  return { ...made, one: `${path}/${made.id}`, secret: made.key ?? made.secret };
}

const users = (by: Actor, secret: string, at: TestService = here) =>
  program(at, secret).get(USERS, { "x-tenant-id": by.tenantId ?? "" });
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

Deno.test("a key and an account show their last use and end, and are refused after it", async () => {
  for (const { path, table } of KINDS) {
    const by = await maker();
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    const { id, one, secret } = await make(by, path, { expiresAt });
    await accepted(users(by, secret));
    await until(async () => (await accepted(by.get(one))).lastUsedAt);
    const { items: [listed] } = await accepted(by.get(path));
    assert.deepEqual([listed.expiresAt, listed.lastUsedIp, listed.formerSecretUntil], [
      expiresAt,
      "127.0.0.1",
      null,
    ]);
    assert.deepEqual(await accepted(by.get(one)), listed);
    await pass(table, "expires_at", id);
    await refused("401 TOKEN_EXPIRED", ...usersAtBoth(by, secret));
  }
});

Deno.test("after a rotation both secrets are good until the overlap ends; the next rotation ends the first one", async () => {
  for (const { path, table, action } of KINDS) {
    const by = await maker();
    const { id, one, secret: first } = await make(by, path);
    await acceptedAtBoth(by, first);
    const etag = (await by.get(one)).headers.get("etag");
    const before = Date.now();
    const second = await rotate(by, one, 3600);
    assert.ok(Date.parse(second.formerSecretUntil) - before > 3_000_000);
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

    const fourth = await accepted(by.post(`${one}/rotate`));
    await refused("401 TOKEN_INVALID", ...usersAtBoth(by, third.secret));
    const { items } = await accepted(by.get(`/api/v1/audit-log?action=${action}.rotate&targetId=${id}`));
    assert.deepEqual(items.map(({ after }: { after: unknown }) => after), [
      { formerSecretUntil: null },
      { formerSecretUntil: third.formerSecretUntil },
      { formerSecretUntil: second.formerSecretUntil },
    ]);
    await rotate(by, one, 3600);
    await accepted(by.delete(one), 204);
    await refused(REVOKED, ...usersAtBoth(by, fourth.key ?? fourth.secret));
  }
});

Deno.test("who may not create a key cannot get its new secret, nor anyone that of a revoked one", async () => {
  for (const { path, missing, conflict, table } of KINDS) {
    const by = await maker();
    const { one, id, secret } = await make(by, path);
    const { tenantId } = by;
    const given = { overlapSeconds: 60 };
    const holderOf = (permissions: string[]) => here.actor({ permissions, ...tenantId ? { tenantId } : {} });
    const send = (client: HttpClient, body: unknown = given) => client.post(`${one}/rotate`, body);
    await refused("403 MISSING_PERMISSION", send(await holderOf(["read:users"])));
    await refused(ESCALATED, send(await holderOf(MANAGE)));
    await refused(missing, send(await maker()));
    await refused("403 FORBIDDEN", send(program(here, secret)));
    for (const overlapSeconds of [-1, 604_801, 1.5]) {
      await refused("400 VALIDATION_ERROR", send(by, { overlapSeconds }));
    }
    await refused("412 PRECONDITION_FAILED", by.post(`${one}/rotate`, given, { "if-match": '"9"' }));
    await acceptedAtBoth(by, secret);
    const colleague = send(await maker(tenantId ?? ""));
    if (table === "api_keys") await refused(ESCALATED, colleague); // it would act as another user
    else await accepted(colleague);
    await accepted(by.delete(one), 204);
    await refused(conflict, send(by));
    assert.equal(
      (await sql`select from ${sql(table)} where id = ${id} and revoked_at is not null`).length,
      1,
    );
  }
});

Deno.test("tokens of an account are good as long as the secret that they were issued for, and no longer than the account", async () => {
  const by = await maker();
  const path = "/api/v1/service-accounts";
  const { one, id, clientId, secret } = await make(by, path, {
    expiresAt: new Date(Date.now() + 300_000).toISOString(),
  });
  const exchange = (client_secret: string): Promise<HttpAnswer> => {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret,
    });
    return here.nobody.post("/oauth/token", form.toString(), {
      "content-type": "application/x-www-form-urlencoded",
    });
  };
  const first = await accepted(exchange(secret));
  assert.ok(first.expires_in > 0 && first.expires_in <= 300);
  await accepted(by.put(one, { expiresAt: null }));
  await rotate(by, one, 120);
  const again = await accepted(exchange(secret));
  assert.ok(again.expires_in > 0 && again.expires_in <= 120, "a former secret gives shorter tokens");
  for (const { access_token } of [first, again]) await acceptedAtBoth(by, access_token);
  await pass("service_accounts", "former_until", id);
  await refused(REVOKED, users(by, first.access_token), users(by, again.access_token));
  assert.equal((await exchange(secret)).status, 401);
});

Deno.test("an account's end can be moved; a later one needs all of its permissions", async () => {
  const by = await maker();
  const path = "/api/v1/service-accounts";
  const { one, id, secret } = await make(by, path);
  const ends = (days: number) => ({ expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() });
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
