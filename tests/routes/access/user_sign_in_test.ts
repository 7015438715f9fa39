import assert from "node:assert/strict";
import { has } from "../../support/answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { PASSWORD, person, signIn } from "../auth/people.ts";
import { tokenOf } from "../auth/mails.ts";
import { auditOf, isSignedIn, refused } from "./answers.ts";
import { ADMIN, insertLink } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

Deno.test("a user's sessions can be listed and ended, one or all", async () => {
  const clerk = await t.actor({ permissions: ["read:users", "update:users"] });
  const home = { tenantId: clerk.tenantId ?? "" };
  for (const [by, base] of [[t.systemAdmin, "/api/v1/admin/users"], [clerk, "/api/v1/users"]] as const) {
    const [user, other] = [await t.actor(home), await t.actor(home)];
    const path = `${base}/${user.userId}/sessions`;
    const { body: [session, ...more] } = await by.get(path);
    assert.deepEqual([session.isCurrent, more], [false, []]);
    refused(await by.delete(`${base}/${other.userId}/sessions/${session.id}`), 404, "SESSION_NOT_FOUND");
    assert.ok(await isSignedIn(user), "the session is not of the user in the path");
    assert.equal((await by.delete(`${path}/${session.id}`)).status, 200);
    assert.ok(!await isSignedIn(user));
    refused(await by.delete(`${path}/${session.id}`), 404, "SESSION_NOT_FOUND");
    assert.deepEqual((await by.delete(path)).body, { ended: 0 });
    assert.deepEqual((await by.delete(`${base}/${other.userId}/sessions`)).body, { ended: 1 });
  }
});

Deno.test("an administrator of one tenant unlocks its own users and their devices", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const { id, email } = await person(t, { links: [tenantId] });
  const { deviceToken } = (await signIn(t, email)).body;
  for (let n = 0; n < 5; n++) {
    await signIn(t, email, "wrong");
    await signIn(t, email, "wrong", { deviceToken });
  }
  const isLocked = async () => (await admin.get(`/api/v1/users/${id}`)).body.isLockedOut;
  assert.equal(await isLocked(), true);
  for (let time = 0; time < 2; time++) {
    assert.equal((await admin.post(`/api/v1/users/${id}/unlock`)).status, 200);
  }
  assert.equal(await isLocked(), false);
  for (const more of [{}, { deviceToken }]) {
    assert.equal((await signIn(t, email, PASSWORD, more)).status, 200);
  }
});

Deno.test("unlocking, and the sessions, need platform reach if other active tenants share the user", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const { id } = await person(t, { links: [tenantId, await t.tenant()] });
  const lock = () =>
    sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${id}`;
  await lock();
  const unlock = () => admin.post(`/api/v1/users/${id}/unlock`);
  const sessions = `/api/v1/users/${id}/sessions`;
  const attempts = [await unlock(), await admin.get(sessions), await admin.delete(sessions)];
  refused(attempts, 403, "CROSS_TENANT_FORBIDDEN");
  const path = `/api/v1/admin/users/${id}`;
  assert.equal((await t.systemAdmin.get(path)).body.isLockedOut, true);
  assert.equal((await t.systemAdmin.post(`${path}/unlock`)).status, 200);
  has((await t.systemAdmin.get(path)).body, { isLockedOut: false, lockoutExpiresAt: null });
  await lock();
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id <> ${tenantId}`;
  assert.equal((await unlock()).status, 200, "a deactivated link elsewhere does not count");
});

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const sendLink = (by: Actor, id: string, family = "users") =>
  by.post(`/api/v1/${family}/${id}/password-reset`);

Deno.test("an administrator has a reset link mailed to the owner, who chooses the password", async () => {
  const subject = await t.actor({ tenantId });
  const token = await tokenOf(t, subject.email, async () => {
    const answer = await sendLink(admin, subject.userId);
    assert.deepEqual([answer.status, answer.body], [202, ""]);
    return answer;
  });
  assert.ok(await isSignedIn(subject), "nothing changes until the link is used");
  const newPassword = "chosen by the owner";
  assert.equal((await t.nobody.post("/auth/reset-password", { token, newPassword })).status, 204);
  assert.equal((await signIn(t, subject.email, newPassword)).status, 200);
  assert.deepEqual(await auditOf(t, subject.userId), ["user.send-password-reset", "user.reset-password"]);
});

Deno.test("a reset link is sent only by who may change the user, and not to an inactive or a deleted one", async () => {
  const outsider = await t.actor();
  await insertLink(t, outsider.userId, tenantId);
  refused(await sendLink(admin, outsider.userId), 403, "CROSS_TENANT_FORBIDDEN");
  const manager = await t.actor({ permissions: ["manage:all-users"] });
  assert.ok(await tokenOf(t, outsider.email, () => sendLink(manager, outsider.userId, "admin/users")));
  const inactive = await t.actor({ tenantId });
  await sql`update users set is_active = false where id = ${inactive.userId}`;
  const attempts = [
    sendLink(admin, inactive.userId),
    sendLink(t.systemAdmin, inactive.userId, "admin/users"),
  ];
  refused(await Promise.all(attempts), 409, "USER_INACTIVE_CONFLICT");
  await sql`update users set deleted_at = now() where id = ${inactive.userId}`;
  refused(await sendLink(admin, inactive.userId), 404, "USER_NOT_FOUND");
});
