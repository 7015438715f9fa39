import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { generateTokenKey } from "../../../infra/tokens.ts";
import type { HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";

// Three instances of one service on one database: `here` makes the changes, `there` hears of them by LISTEN, `far`
// cannot listen and must notice by itself.
const shared = {
  DATABASE_URL: await createTestDatabase(),
  TOKEN_KEYS: JSON.stringify([await generateTokenKey()]),
  PUBLIC_URL: "http://steward.test",
};
const here = await setup(shared);
const there = await setup(shared);
const far = await setup({ ...shared, DATABASE_LISTEN: "false" });
Deno.test.afterAll(() => Promise.all([here, there, far].map((t) => t.stop())).then(() => {}));
const { sql } = here.steward.platform;

const code = async (client: HttpClient) => (await client.get("/auth/me")).body.code ?? "OK";
const at = (t: typeof here, actor: Actor): HttpClient =>
  t.nobody.with({ authorization: `Bearer ${actor.token}` });

/** Makes a change, then says which of the actors' tokens it has ended for the very next request. */
async function ended(
  actors: Record<string, Actor>,
  change: () => Promise<{ status: number; body?: unknown }>,
) {
  for (const actor of Object.values(actors)) assert.equal(await code(actor), "OK");
  const { status, body } = await change();
  assert.ok(status >= 200 && status < 300, `${status} ${JSON.stringify(body)}`);
  const codes = await Promise.all(Object.values(actors).map(code));
  return Object.keys(actors).filter((_, index) => codes[index] === "SESSION_INVALIDATED");
}

async function cast() {
  const tenantId = await here.tenant();
  const first = await here.actor({ tenantId, permissions: ["read:users"] });
  const same = await here.actor({ tenantId, role: "Visitor" });
  const fellow = await here.actor({ tenantId, permissions: [] });
  const outsider = await here.actor({ permissions: ["read:users"] });
  await sql`delete from user_tenant_roles where user_id = ${fellow.userId}`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    values (${fellow.userId}, ${tenantId}, ${first.roleId})`;
  return { first, fellow, same, outsider };
}

async function permissionIds(...codes: string[]): Promise<string[]> {
  const rows = await sql<
    { id: string }[]
  >`select id from permissions where tenant_id is null and code = any(${codes})`;
  return rows.map((row) => row.id);
}

/** A caller of the cast's tenant who may change its roles and users. */
const administrator = (actors: { first: Actor }) =>
  here.actor({ tenantId: actors.first.tenantId!, role: "Admin" });

Deno.test("changing a role's permissions ends the tokens of everyone who holds it, and of nobody else", async () => {
  const actors = await cast();
  const admin = await administrator(actors);
  const body = { permissionIds: await permissionIds("read:users", "read:roles") };
  const path = `/api/v1/roles/${actors.first.roleId}`;
  assert.deepEqual(await ended(actors, () => admin.put(path, body)), ["first", "fellow"]);
  assert.equal(await code(admin), "OK");
});

Deno.test("granting and revoking one permission of a role do the same", async () => {
  const [permissionId] = await permissionIds("read:roles");
  const actors = await cast();
  const path = `/api/v1/roles/${actors.first.roleId}/permissions/${permissionId}`;
  const admin = await administrator(actors);
  assert.deepEqual(await ended(actors, () => admin.post(path)), ["first", "fellow"]);
  const again = await cast();
  const other = await administrator(again);
  const [held] = await permissionIds("read:users");
  const revoke = `/api/v1/roles/${again.first.roleId}/permissions/${held}`;
  assert.deepEqual(await ended(again, () => other.delete(revoke)), ["first", "fellow"]);
});

Deno.test("a link added to a user, and a replaced matrix, end the tokens of that user alone", async () => {
  const actors = await cast();
  const tenantId = await here.tenant();
  const [role] = await sql<
    { id: string }[]
  >`select id from roles where tenant_id = ${tenantId} and name = 'Visitor'`;
  const link = { tenantId, roleIds: [role?.id], isDefault: false };
  const path = `/api/v1/admin/users/${actors.first.userId}`;
  assert.deepEqual(await ended(actors, () => here.systemAdmin.post(`${path}/tenants`, link)), ["first"]);
  const again = await cast();
  const replace = () =>
    here.systemAdmin.put(`/api/v1/admin/users/${again.fellow.userId}`, { tenants: [link] });
  assert.deepEqual(await ended(again, replace), ["fellow"]);
});

Deno.test("a change of names ends no token", async () => {
  const actors = await cast();
  const path = `/api/v1/admin/users/${actors.first.userId}`;
  assert.deepEqual(await ended(actors, () => here.systemAdmin.put(path, { firstName: "Renamed" })), []);
});

Deno.test("deactivating and deleting a user end that user's tokens", async () => {
  const actors = await cast();
  const admin = await administrator(actors);
  const path = `/api/v1/users/${actors.first.userId}`;
  assert.deepEqual(await ended(actors, () => admin.post(`${path}/deactivate`)), ["first"]);
  assert.equal((await admin.post(`${path}/activate`)).status, 200);
  assert.equal(await code(actors.first), "SESSION_INVALIDATED");
  const { first: _, ...rest } = actors;
  const remove = () => here.systemAdmin.delete(`/api/v1/admin/users/${actors.fellow.userId}`);
  assert.deepEqual(await ended(rest, remove), ["fellow"]);
});

Deno.test("deactivating a tenant ends the tokens of everyone linked to it", async () => {
  const actors = await cast();
  const { tenantId } = actors.first;
  const [tenant] = await sql<{ name: string }[]>`select name from tenants where id = ${tenantId}`;
  const change = () =>
    here.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { name: tenant?.name, isActive: false });
  assert.deepEqual(await ended(actors, change), ["first", "fellow", "same"]);
});

Deno.test("a change here is effective within a second on an instance that listens and on one that cannot", async () => {
  const actors = await cast();
  for (const t of [there, far]) {
    assert.equal(await code(at(t, actors.first)), "OK");
    assert.equal(await code(at(t, actors.outsider)), "OK");
  }
  const admin = await administrator(actors);
  const changed = admin.put(`/api/v1/roles/${actors.first.roleId}`, { permissionIds: [] });
  assert.equal((await changed).status, 200);
  const since = performance.now();
  for (const t of [there, far]) {
    while (await code(at(t, actors.first)) === "OK") {
      assert.ok(performance.now() - since < 1_000, "the change is not effective yet");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(await code(at(t, actors.first)), "SESSION_INVALIDATED");
    assert.equal(await code(at(t, actors.outsider)), "OK");
  }
});

Deno.test("the listening instance has heard of a change when it is answered, many at once included", async () => {
  const actor = await here.actor();
  for (let round = 0; round < 5; round++) {
    const leaving = await here.actor();
    assert.equal(await code(at(there, leaving)), "OK");
    assert.equal((await leaving.post("/auth/logout")).status, 204);
    assert.equal(await code(at(there, leaving)), "TOKEN_REVOKED");
  }
  const crowd = await Promise.all(Array.from({ length: 20 }, () => here.actor()));
  await Promise.all(crowd.map(async (leaving) => {
    assert.equal(await code(at(there, leaving)), "OK");
    assert.equal((await leaving.post("/auth/logout")).status, 204);
    assert.equal(await code(at(there, leaving)), "TOKEN_REVOKED");
  }));
  assert.equal(await code(actor), "OK");
});

Deno.test("a token given by one instance is good on another at once, also right after a change", async () => {
  const actor = await here.actor();
  assert.equal(await code(at(there, actor)), "OK");
  const stale = await there.nobody.with({ authorization: `Bearer ${actor.token}` }).get("/auth/sessions");
  assert.equal(stale.status, 200);
  // A second session of the same user, with a version `there` has not seen yet.
  await sql`update users set security_version = security_version + 1 where id = ${actor.userId}`;
  const sessionId = newId();
  await sql`insert into sessions (id, user_id, expires_at) values (${sessionId}, ${actor.userId}, now() + interval '1 hour')`;
  const token = await here.steward.platform.tokens.sign({
    sub: actor.userId,
    sid: sessionId,
    tenantId: actor.tenantId,
    ver: 2,
  });
  assert.equal(await code(there.nobody.with({ authorization: `Bearer ${token}` })), "OK");
});
