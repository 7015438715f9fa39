import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { setupShared } from "../../support/setup.ts";
import { insertLink, insertRole } from "./users.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const RIGHTS = ["read:users", "read:roles", "update:roles", "create:roles", "read:permissions"];
const idsOf = async (...codes: string[]): Promise<string[]> =>
  (await sql`select id from permissions where code = any(${codes}::text[]) and tenant_id is null`).map((
    { id },
  ) => id);

Deno.test("a preview names who gains and loses what, and changes nothing", async () => {
  const admin = await t.actor({ permissions: RIGHTS });
  const tenantId = admin.tenantId ?? "";
  const role = await t.actor({ tenantId, permissions: ["read:roles", "read:tenants"] });
  // Also has read:tenants by another role, so loses nothing.
  const second = await t.actor({ tenantId, permissions: [] });
  for (const id of [role.roleId, await insertRole(t, tenantId, ["read:tenants"])]) {
    await insertLink(t, second.userId, tenantId, id);
  }
  const path = `/api/v1/roles/${role.roleId}`;
  const before = await admin.get(path);

  const { status, body } = await admin.post(`${path}/preview`, {
    permissionIds: await idsOf("read:roles", "read:users"),
  });
  assert.equal(status, 200);
  assert.deepEqual(pluck(body.added, "code", "userCount"), [["read:users", 2]]);
  assert.deepEqual(pluck(body.removed, "code", "userCount"), [["read:tenants", 1]]);
  assert.deepEqual([body.userCount, body.affectedCount], [2, 2]);
  const of = (id: string) => body.users.find((user: { id: string }) => user.id === id);
  assert.deepEqual([of(role.userId).gains, of(role.userId).loses], [["read:users"], ["read:tenants"]]);
  assert.deepEqual([of(second.userId).gains, of(second.userId).loses], [["read:users"], []]);
  assert.equal(of(role.userId).email, role.email);
  assert.deepEqual(await admin.get(path).then(({ body }) => body), before.body);

  const onlyCovered =
    (await admin.post(`${path}/preview`, { permissionIds: await idsOf("read:roles") })).body;
  assert.equal(onlyCovered.affectedCount, 1);
  assert.deepEqual(onlyCovered.users.map(({ id }: { id: string }) => id), [role.userId]);
});

Deno.test("a preview counts the sessions that the change would end", async () => {
  const admin = await t.actor({ permissions: RIGHTS });
  const holder = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:roles"] });
  const path = `/api/v1/roles/${holder.roleId}`;
  const [open] =
    await sql`select count(*)::int as n from sessions where user_id = ${holder.userId} and revoked_at is null`;
  assert.ok(open?.n > 0);
  const wanted = { permissionIds: await idsOf("read:tenants") };
  assert.equal((await admin.post(`${path}/preview`, wanted)).body.sessionCount, open?.n);
  assert.equal((await admin.put(path, wanted)).status, 200);
  assert.equal((await holder.get("/api/v1/tenants")).body.code, "SESSION_INVALIDATED");
  const after = (await admin.post(`${path}/preview`, { permissionIds: [] })).body;
  assert.equal(after.sessionCount, 0, "sessions that have ended are not counted");
});

Deno.test("the same permissions affect nobody; an unknown one is refused", async () => {
  const admin = await t.actor({ permissions: RIGHTS });
  const holder = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:roles"] });
  const path = `/api/v1/roles/${holder.roleId}/preview`;
  const same = (await admin.post(path, { permissionIds: await idsOf("read:roles") })).body;
  const nobody = { affectedCount: 0, sessionCount: 0, users: [] };
  has(same, { added: [], removed: [], userCount: 1, ...nobody });
  const unknown = await admin.post(path, { permissionIds: [crypto.randomUUID()] });
  assert.equal(unknown.body.code, "PERMISSION_NOT_FOUND");
});

Deno.test("without read:users a preview counts users and names none", async () => {
  const admin = await t.actor({ permissions: ["update:roles"] });
  const holder = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["read:roles"] });
  const { body } = await admin.post(`/api/v1/roles/${holder.roleId}/preview`, { permissionIds: [] });
  assert.deepEqual([body.affectedCount, body.users], [1, []]);
});
