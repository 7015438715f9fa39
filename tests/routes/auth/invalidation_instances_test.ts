import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { accepted, outcome } from "../../support/outcomes.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { setupTwoInstances } from "../../support/two_instances.ts";
import { until } from "../../support/until.ts";
import { withToken } from "./people.ts";

// `there` is notified by LISTEN of the changes that `here` makes, `far` cannot listen and must notice them itself.
const { here, there, settings } = await setupTwoInstances();
const far = await setup({ ...settings, DATABASE_LISTEN: "false" });
Deno.test.afterAll(() => far.stop());
const sql = mainPool(here.steward.platform.sql);

const at = (t: typeof here, { token }: Pick<Actor, "token">) =>
  outcome(withToken(t, token ?? "").get("/auth/me"));

Deno.test("a change takes effect on an instance that listens when it is answered, and soon on one that cannot", async () => {
  const readers = () => here.actor({ permissions: ["read:users"] });
  const [first, outsider, ...crowd] = [await readers(), await readers(), await readers(), await readers()];
  for (const t of [there, far]) {
    for (const actor of [first, outsider, ...crowd]) assert.equal(await at(t, actor), "200");
  }
  const admin = await here.actor({ tenantId: first.tenantId!, role: "Admin" });
  await accepted(admin.put(`/api/v1/roles/${first.roleId}`, { permissionIds: [] }));
  assert.equal(await at(there, first), "401 SESSION_INVALIDATED");
  await Promise.all(crowd.map(async (leaving) => {
    await accepted(leaving.post("/auth/logout"), 204);
    assert.equal(await at(there, leaving), "401 TOKEN_REVOKED", "also of many at once");
  }));
  await until(async () => await at(far, first) === "401 SESSION_INVALIDATED");
  for (const t of [there, far]) assert.equal(await at(t, outsider), "200");
});

Deno.test("a token from one instance is valid on another at once, also right after a change", async () => {
  const { userId, tenantId, token } = await here.actor();
  assert.equal(await at(there, { token }), "200");
  // a second session of the same user, with a version that `there` does not know yet
  await sql`update users set security_version = security_version + 1 where id = ${userId}`;
  const sid = newId();
  await sql`insert into sessions (id, user_id, security_version, expires_at)
    values (${sid}, ${userId}, 2, now() + interval '1 hour')`;
  const { tokens } = here.steward.platform;
  assert.equal(await at(there, { token: await tokens.sign({ sub: userId, sid, tenantId, ver: 2 }) }), "200");
});
