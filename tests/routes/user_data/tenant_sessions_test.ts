import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { bearer, person, signIn } from "../auth/people.ts";
import { done } from "./support.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const admin = t.systemAdmin;

Deno.test("erasing an inactive tenant ends no session of its users in other tenants", async () => {
  const name = `Seal${crypto.randomUUID().slice(0, 8)}`;
  const [erased, other] = [await t.tenant({ name }), await t.tenant()];
  const maker = await t.actor({
    tenantId: erased,
    permissions: ["create:roles", "update:roles", "read:users"],
  });
  const who = await person(t, { links: [other, erased] });
  const [permission] = await sql`select id from permissions where code = 'read:users' and tenant_id is null`;
  for (const role of ["Sealers", "Others"]) {
    const { body } = await maker.post("/api/v1/roles", { name: role, permissionIds: [] });
    await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${who.id}, ${erased}, ${body.id})`;
    const changed = await maker.put(`/api/v1/roles/${body.id}`, { permissionIds: [permission?.id] });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
  }
  assert.equal((await admin.put(`/api/v1/tenants/${erased}`, { isActive: false })).status, 200);
  const session = await signIn(t, who.email);
  await done(admin, `/api/v1/admin/tenants/${erased}/erase`, { reason: "left", name });
  t.steward.platform.rights.invalidate([who.id]);
  assert.equal((await sql`select from user_tenants where tenant_id = ${erased}`).length, 0);
  assert.equal((await bearer(t, session).get("/api/v1/auth/me")).status, 200);
  const { refreshToken } = session.body;
  assert.equal((await t.nobody.post("/api/v1/auth/refresh", { refreshToken })).status, 200);
  const told =
    await sql`select from events where type = 'user.access-changed' and data ->> 'userId' = ${who.id}`;
  assert.equal(told.length, 0, "those of the erased tenant are deleted, and the other tells of no change");
});
