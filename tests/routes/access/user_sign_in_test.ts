import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { PASSWORD, person, signIn } from "../auth/people.ts";
import { auditOf, refused } from "./answers.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("a locked user can be unlocked once, which resets the failed sign-ins", async () => {
  const user = await t.actor({ role: "Visitor" });
  await sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${user.userId}`;
  await sql`insert into failed_sign_ins (subject, failed_at, last_failed_at)
    values (${`user:${user.userId}`}, array[now()], now())`;
  for (let time = 0; time < 2; time++) {
    const { status } = await t.systemAdmin.post(`/api/v1/admin/users/${user.userId}/unlock`);
    assert.equal(status, 200);
  }
  const { body } = await t.systemAdmin.get(`/api/v1/admin/users/${user.userId}`);
  assert.equal(body.isLockedOut, false);
  assert.equal(body.lockoutExpiresAt, null);
  assert.deepEqual(await auditOf(t, user.userId), ["user.unlock"]);
  const failures = await sql`select from failed_sign_ins where subject = ${`user:${user.userId}`}`;
  assert.equal(failures.length, 0);
});

Deno.test("a user's sessions can be listed and ended, one or all", async () => {
  const user = await t.actor({ role: "Visitor" });
  const path = `/api/v1/admin/users/${user.userId}/sessions`;
  const { body: sessions } = await t.systemAdmin.get(path);
  assert.equal(sessions.length, 1);
  assert.equal(sessions[0].isCurrent, false);
  assert.equal((await user.get("/api/v1/users")).status, 200);
  assert.equal((await t.systemAdmin.delete(`${path}/${sessions[0].id}`)).status, 200);
  assert.equal((await user.get("/api/v1/users")).status, 401);
  const again = await t.systemAdmin.delete(`${path}/${sessions[0].id}`);
  assert.equal(again.body.code, "SESSION_NOT_FOUND");
  const none = await t.systemAdmin.delete(path);
  assert.deepEqual([none.status, none.body], [200, { ended: 0 }]);
  const other = await t.actor({ role: "Visitor" });
  const all = await t.systemAdmin.delete(`/api/v1/admin/users/${other.userId}/sessions`);
  assert.deepEqual(all.body, { ended: 1 });
  assert.deepEqual(await auditOf(t, other.userId), ["user.end-sessions"]);
});

Deno.test("another user's session cannot be ended under this user's id, and an unknown user has none", async () => {
  const [user, other] = [await t.actor({ role: "Visitor" }), await t.actor({ role: "Visitor" })];
  const at = (id: string, rest: string) => `/api/v1/admin/users/${id}/${rest}`;
  const { body: [session] } = await t.systemAdmin.get(at(other.userId, "sessions"));
  const wrong = await t.systemAdmin.delete(at(user.userId, `sessions/${session.id}`));
  refused(wrong, 404, "SESSION_NOT_FOUND");
  assert.equal((await other.get("/api/v1/users")).status, 200);
  const unknown = crypto.randomUUID();
  const answers = [
    await t.systemAdmin.get(at(unknown, "sessions")),
    await t.systemAdmin.delete(at(unknown, "sessions")),
    await t.systemAdmin.post(at(unknown, "unlock")),
  ];
  refused(answers, 404, "USER_NOT_FOUND");
});

Deno.test("an administrator of one tenant unlocks its own users, with an audit row of the tenant", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const { id, email } = await person(t, { links: [tenantId] });
  const signedIn = await signIn(t, email);
  const { deviceToken } = signedIn.body;
  for (let n = 0; n < 5; n++) {
    await signIn(t, email, "wrong");
    await signIn(t, email, "wrong", { deviceToken });
  }
  assert.equal((await admin.get(`/api/v1/users/${id}`)).body.isLockedOut, true);
  for (let time = 0; time < 2; time++) {
    assert.equal((await admin.post(`/api/v1/users/${id}/unlock`)).status, 200);
  }
  assert.equal((await admin.get(`/api/v1/users/${id}`)).body.isLockedOut, false);
  assert.equal((await signIn(t, email)).status, 200);
  const byDevice = await signIn(t, email, PASSWORD, { deviceToken });
  assert.equal(byDevice.status, 200, "its devices are unlocked too");
  const rows =
    await sql`select actor_id, tenant_id from audit_log where target_id = ${id} and action = 'user.unlock'`;
  assert.deepEqual(rows.map((row) => ({ ...row })), [{ actorId: admin.userId, tenantId }]);
});

Deno.test("unlocking needs platform reach if other active tenants share the user", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const shared = await person(t, { links: [tenantId, await t.tenant()] });
  const unlock = () => admin.post(`/api/v1/users/${shared.id}/unlock`);
  await sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${shared.id}`;
  refused(await unlock(), 403, "CROSS_TENANT_FORBIDDEN");
  const [user] = await sql`select lockout_expires_at > now() as locked from users where id = ${shared.id}`;
  assert.equal(user?.locked, true);
  await sql`update user_tenants set is_active = false where user_id = ${shared.id} and tenant_id <> ${tenantId}`;
  assert.equal((await unlock()).status, 200, "a deactivated link elsewhere does not count");
});

Deno.test("an administrator of the tenant lists and ends sessions of the tenant's own users", async () => {
  const admin = await t.actor({ permissions: ["read:users", "update:users"] });
  const user = await t.actor({ tenantId: admin.tenantId ?? "" });
  const path = `/api/v1/users/${user.userId}/sessions`;
  const listed = (await admin.get(path)).body;
  assert.equal(listed.length, 1);
  assert.equal((await admin.delete(`${path}/${listed[0].id}`)).status, 200);
  assert.equal((await user.get("/api/v1/auth/me")).status, 401);
  const again = await admin.delete(`${path}/${listed[0].id}`);
  assert.equal(again.body.code, "SESSION_NOT_FOUND");
  assert.deepEqual((await admin.delete(path)).body, { ended: 0 });
  const [row] = await sql`select tenant_id from audit_log
    where action = 'user.end-sessions' and target_id = ${user.userId}`;
  assert.equal(row?.tenantId, admin.tenantId);
});

Deno.test("sessions of users who are active elsewhere are closed to a tenant's administrator", async () => {
  const admin = await t.actor({ permissions: ["read:users", "update:users"] });
  const shared = await t.actor({ tenantId: admin.tenantId ?? "" });
  await sql`insert into user_tenants (user_id, tenant_id) values (${shared.userId}, ${await t.tenant()})`;
  const path = `/api/v1/users/${shared.userId}/sessions`;
  refused([await admin.get(path), await admin.delete(path)], 403, "CROSS_TENANT_FORBIDDEN");
});
