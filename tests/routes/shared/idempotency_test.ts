import assert from "node:assert/strict";
import { transact } from "../../../infra/postgres/postgres.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { newUser } from "../access/users.ts";

const t = await setupShared({}, { inThisProcess: true });
const { sql } = t.steward.platform;

const keyed = (key: string = crypto.randomUUID()) => ({ "idempotency-key": key });
const countOf = async (email: string) =>
  Number((await sql`select count(*) as count from users where email = ${email}`)[0]?.count);

Deno.test("a repeat is the same request with another spelling of path or key, and has the first one's headers", async () => {
  const admin = await t.actor({ role: "Admin" });
  const [body, key] = [newUser(), keyed()];
  const first = await admin.post("/api/v1/users", body, key);
  const again = await admin.post("/api/v1/users/", body, keyed(`"${key["idempotency-key"]}"`));
  assert.deepEqual(await accepted(again, 201), first.body);
  for (const name of ["location", "content-type", "etag"]) {
    assert.equal(again.headers.get(name), first.headers.get(name), name);
  }
  assert.notEqual(again.headers.get("traceresponse"), first.headers.get("traceresponse"));
  assert.equal(await countOf(body.email), 1);
  const other = await admin.post("/api/v1/users", body, keyed());
  assert.equal(other.body.code, "USER_ALREADY_EXISTS", "another key is another request");
  const query = await admin.post("/api/v1/users?x=1", body, key);
  assert.equal(query.body.code, "IDEMPOTENCY_KEY_REUSED_UNPROCESSABLE", "the query is part of the request");
});

Deno.test("a key belongs to its caller, tenant and route", async () => {
  const key = keyed();
  const role = { name: "Clerk", description: null, permissionIds: [] };
  const [tenantId, permissions] = [await t.tenant(), ["create:roles", "create:users", "manage:api-keys"]];
  const [one, two] = [await t.actor({ permissions, tenantId }), await t.actor({ role: "Admin" })];
  for (const by of [one, two]) await accepted(by.post("/api/v1/roles", role, key), 201);
  const ofKey = { name: "Key", permissions: ["create:roles"] };
  const { body: { key: secret } } = await one.post("/api/v1/api-keys", ofKey);
  const colleague = await t.actor({ role: "Admin", tenantId });
  for (const other of [colleague, t.nobody.with({ authorization: `Bearer ${secret}` })]) {
    assert.equal((await other.post("/api/v1/roles", role, key)).body.code, "ROLE_ALREADY_EXISTS");
  }
  assert.equal((await one.post("/api/v1/users", newUser(), key)).status, 201);
  const elsewhere = await t.tenant();
  await sql`insert into user_tenants (user_id, tenant_id) values (${one.userId}, ${elsewhere})`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${one.userId}, ${elsewhere}, id from roles where tenant_id = ${elsewhere} and name = 'Admin'`;
  const there = await t.signedIn({ ...one, tenantId: elsewhere } as Actor);
  const made = await there.post("/api/v1/roles", role, key);
  assert.deepEqual([made.status, made.headers.get("idempotency-replayed")], [201, null]);
});

Deno.test("a malformed key is rejected before the body is read", async () => {
  const admin = await t.actor({ role: "Admin" });
  for (const key of ["", "ä", "x".repeat(256)]) {
    const { status, body } = await admin.post("/api/v1/users", "{", { "idempotency-key": key });
    assert.equal(status, 400, key);
    assert.match(body.errors[0], /^Idempotency-Key: /);
  }
  assert.equal((await admin.post("/api/v1/users", newUser(), keyed("x".repeat(255)))).status, 201);
});

Deno.test("a replay needs the token and the permission of the request itself", async () => {
  const actor = await t.actor({ permissions: ["create:roles"] });
  const role = { name: "Clerk", description: null, permissionIds: [] };
  const key = keyed();
  assert.equal((await actor.post("/api/v1/roles", role, key)).status, 201);
  assert.equal((await t.nobody.post("/api/v1/roles", role, key)).body.code, "TOKEN_MISSING");
  await transact(sql, async (tx) => {
    await tx`delete from role_permissions where role_id = ${actor.roleId}`;
    t.steward.platform.rights.invalidateAfterCommit(tx, "everyone");
  });
  const refused = await actor.post("/api/v1/roles", role, key);
  assert.equal(refused.body.code, "MISSING_PERMISSION");
});

Deno.test("of many simultaneous equal requests one does the work, and none repeats it", async () => {
  const admin = await t.actor({ role: "Admin" });
  const [body, key] = [newUser(), keyed()];
  const answers = await Promise.all(Array.from({ length: 4 }, () => admin.post("/api/v1/users", body, key)));
  const fresh = answers.filter((a) => a.status === 201 && !a.headers.has("idempotency-replayed"));
  assert.equal(fresh.length, 1);
  for (const answer of answers) {
    if (answer.status === 201) assert.deepEqual(answer.body, fresh[0]?.body);
    else {
      assert.equal(answer.body.code, "IDEMPOTENCY_KEY_IN_USE_CONFLICT", JSON.stringify(answer.body));
      assert.equal(answer.headers.get("retry-after"), "1");
    }
  }
  assert.equal(await countOf(body.email), 1);
});

Deno.test("a request that dies during its work leaves neither half of its work nor a stuck key", async () => {
  const admin = await t.actor({ role: "Admin" });
  const [body, key] = [newUser(), keyed()];
  const blocked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const blocking = transact(sql, async (tx) => {
    await tx`lock table users in share mode`; // reads work, writes wait
    blocked.resolve();
    await release.promise;
  });
  await blocked.promise;
  const dying = admin.post("/api/v1/users", body, key);
  const waiting = () =>
    sql<{ pid: number }[]>`select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like 'insert into users%'`;
  const [blockedOne] = await until(waiting, ({ length }) => length > 0);
  const meanwhile = await admin.post("/api/v1/users", body, key);
  assert.equal(meanwhile.body.code, "IDEMPOTENCY_KEY_IN_USE_CONFLICT");
  await sql`select pg_terminate_backend(${blockedOne?.pid ?? 0})`;
  assert.equal((await dying).status, 503);
  // Postgres reports the end of a connection before it releases its locks.
  const ended = () => sql`select from pg_stat_activity where pid = ${blockedOne?.pid ?? 0}`;
  await until(ended, ({ length }) => length === 0);
  release.resolve();
  await blocking;
  assert.equal(await countOf(body.email), 0);
  const again = await admin.post("/api/v1/users", body, key); // a 503 is not replayed
  await accepted(again, 201);
  assert.equal(again.headers.get("idempotency-replayed"), null);
  assert.equal(await countOf(body.email), 1);
});

Deno.test("a key is deleted after 24 hours", async () => {
  const admin = await t.actor({ role: "Admin" });
  const [body, key] = [newUser(), keyed()];
  assert.equal((await admin.post("/api/v1/users", body, key)).status, 201);
  await sql`update idempotency_keys set created_at = created_at - interval '25 hours'`;
  assert.equal((await admin.post("/api/v1/users", body, key)).body.code, "USER_ALREADY_EXISTS");
  assert.equal((await admin.post("/api/v1/users", newUser(), key)).status, 201);
});
