import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { auditOf, isSignedIn, mailedTokens, refused } from "./answers.ts";
import { ADMIN } from "./users.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const send = (caller: typeof admin, id: string, family = "users") =>
  caller.post(`/api/v1/${family}/${id}/password-reset`, undefined);

const tokenFor = async (email: string) => (await mailedTokens(t, email))[0] ?? "";

Deno.test("an administrator has a reset link mailed to the owner, who chooses the password", async () => {
  const subject = await t.actor({ tenantId });
  const answer = await send(admin, subject.userId);
  assert.equal(answer.status, 202);
  assert.equal(answer.body, "");
  assert.ok(await isSignedIn(subject), "nothing changes until the link is used");
  const token = await tokenFor(subject.email);
  const newPassword = "chosen by the owner";
  assert.equal((await t.nobody.post("/auth/reset-password", { token, newPassword })).status, 204);
  const login = await t.nobody.post("/auth/login", { email: subject.email, password: newPassword });
  assert.equal(login.status, 200);
  assert.deepEqual(await auditOf(t, subject.userId), ["user.send-password-reset", "user.reset-password"]);
});

Deno.test("the reach is that of changing the user", async () => {
  const outsider = await t.actor();
  await sql`insert into user_tenants (user_id, tenant_id) values (${outsider.userId}, ${tenantId})`;
  refused(await send(admin, outsider.userId), 403, "CROSS_TENANT_FORBIDDEN");
  const manager = await t.actor({ permissions: ["manage:all-users"] });
  assert.equal((await send(manager, outsider.userId, "admin/users")).status, 202);
  assert.notEqual(await tokenFor(outsider.email), "");
});

Deno.test("no link is sent to an inactive or a deleted user", async () => {
  const inactive = await t.actor({ tenantId });
  await sql`update users set is_active = false where id = ${inactive.userId}`;
  refused(await send(admin, inactive.userId), 409, "USER_INACTIVE_CONFLICT");
  refused(await send(t.systemAdmin, inactive.userId, "admin/users"), 409, "USER_INACTIVE_CONFLICT");
  await sql`update users set deleted_at = now() where id = ${inactive.userId}`;
  refused(await send(admin, inactive.userId), 404, "USER_NOT_FOUND");
  refused(await send(t.systemAdmin, inactive.userId, "admin/users"), 404, "USER_NOT_FOUND");
  assert.deepEqual(await auditOf(t, inactive.userId), []);
});
