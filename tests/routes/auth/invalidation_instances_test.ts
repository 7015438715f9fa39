import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { instanceSettings } from "../../support/instance_settings.ts";
import type { HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";

// Three instances on one database: `here` makes the changes, `there` is notified by LISTEN, `far` cannot listen and
// must notice changes itself.
const shared = await instanceSettings();
const here = await setup(shared);
const there = await setup(shared);
const far = await setup({ ...shared, DATABASE_LISTEN: "false" });
Deno.test.afterAll(() => Promise.all([here, there, far].map((t) => t.stop())).then(() => {}));
const sql = mainPool(here.steward.platform.sql);

const code = async (client: HttpClient) => (await client.get("/auth/me")).body.code ?? "OK";
const at = (t: typeof here, actor: Actor): HttpClient =>
  t.nobody.with({ authorization: `Bearer ${actor.token}` });

Deno.test("a change takes effect within a second on an instance that listens and on one that cannot", async () => {
  const first = await here.actor({ permissions: ["read:users"] });
  const outsider = await here.actor({ permissions: ["read:users"] });
  for (const t of [there, far]) {
    assert.equal(await code(at(t, first)), "OK");
    assert.equal(await code(at(t, outsider)), "OK");
  }
  const admin = await here.actor({ tenantId: first.tenantId!, role: "Admin" });
  const changed = admin.put(`/api/v1/roles/${first.roleId}`, { permissionIds: [] });
  assert.equal((await changed).status, 200);
  const since = performance.now();
  for (const t of [there, far]) {
    while (await code(at(t, first)) === "OK") {
      assert.ok(performance.now() - since < 1_000, "the change is not effective yet");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(await code(at(t, first)), "SESSION_INVALIDATED");
    assert.equal(await code(at(t, outsider)), "OK");
  }
});

Deno.test("a listening instance knows of a change when the change is answered, also with many at once", async () => {
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

Deno.test("a token from one instance is valid on another at once, also right after a change", async () => {
  const actor = await here.actor();
  assert.equal(await code(at(there, actor)), "OK");
  const stale = await there.nobody.with({ authorization: `Bearer ${actor.token}` }).get("/auth/sessions");
  assert.equal(stale.status, 200);
  // A second session of the same user, with a version that `there` does not know yet.
  await sql`update users set security_version = security_version + 1 where id = ${actor.userId}`;
  const sessionId = newId();
  await sql`insert into sessions (id, user_id, security_version, expires_at)
    values (${sessionId}, ${actor.userId}, 2, now() + interval '1 hour')`;
  const token = await here.steward.platform.tokens.sign({
    sub: actor.userId,
    sid: sessionId,
    tenantId: actor.tenantId,
    ver: 2,
  });
  assert.equal(await code(there.nobody.with({ authorization: `Bearer ${token}` })), "OK");
});
