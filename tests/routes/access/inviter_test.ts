import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";
import { idOf, mailedTokens, refused } from "./answers.ts";
import { ADMIN, newEmail } from "./users.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const PASSWORD = "a quite new password";

/** Invites somebody with the role of `owner`. @returns how to accept the newest link */
async function invited(by: Actor, roleId = by.roleId) {
  const email = newEmail();
  const id = await idOf(by.post("/api/v1/users/invite", { email, roleIds: [roleId] }));
  const tokens = (count: number) => mailedTokens(t, email, count);
  return { id, email, tokens };
}
const accept = (token = "") =>
  t.nobody.post("/api/v1/auth/invitations/accept", { token, password: PASSWORD });
const read = (token = "") => t.nobody.post("/api/v1/auth/invitations/read", { token });

Deno.test("an invitation gives nothing once its inviter lost a permission of its roles", async () => {
  const inviter = await t.actor({ permissions: [...ADMIN, "read:roles"] });
  const owner = await t.actor({ tenantId: inviter.tenantId!, permissions: [...ADMIN, "read:roles"] });
  const { id, email, tokens } = await invited(inviter, owner.roleId);
  const [token] = await tokens(1);
  assert.equal((await read(token)).status, 200);
  await owner.put(`/api/v1/users/${inviter.userId}/roles`, { roleIds: [] });
  for (const attempt of [accept, read]) {
    const answer = await attempt(token);
    refused(answer, 403, "INVITATION_INVITER_FORBIDDEN");
    assert.ok(!answer.body.detail.includes("read:roles"), "who is no member does not learn permissions");
  }
  assert.equal((await sql`select from users where email = ${email}`).length, 0);
  assert.equal((await owner.get(`/api/v1/users/invitations/${id}`)).body.status, "Pending");
  const again = await owner.post(`/api/v1/users/invitations/${id}/resend`, undefined);
  assert.equal(again.body.invitedBy, owner.userId, "who sends it again is the inviter");
  const newest = (await tokens(2)).find((each) => each !== token);
  assert.equal((await accept(newest)).status, 200);
});

Deno.test("nor once the inviter is deactivated, deleted or unlinked, or may no longer invite", async () => {
  const owner = await t.actor({ permissions: ADMIN });
  const tenantId = owner.tenantId!;
  const ends: Record<string, (inviter: Actor) => Promise<unknown>> = {
    deactivated: ({ userId }) => owner.post(`/api/v1/users/${userId}/deactivate`),
    deleted: ({ userId }) => owner.delete(`/api/v1/users/${userId}`),
    unlinked: ({ userId }) => sql`delete from user_tenants where user_id = ${userId}`,
    "without create:users": ({ roleId }) =>
      sql`delete from role_permissions where role_id = ${roleId}
        and permission_id = (select id from permissions where code = 'create:users' and tenant_id is null)`,
  };
  for (const [name, end] of Object.entries(ends)) {
    const inviter = await t.actor({ tenantId, permissions: ADMIN });
    const [token] = await (await invited(inviter, (await t.actor({ tenantId })).roleId)).tokens(1);
    await end(inviter);
    assert.equal((await accept(token)).body.code, "INVITATION_INVITER_FORBIDDEN", name);
  }
});

Deno.test("invitations of service accounts work until the account is revoked", async () => {
  const admin = t.systemAdmin;
  const tenantId = await t.tenant();
  const role = await t.actor({ tenantId, permissions: ["read:users"] });
  const onboarding = { name: "Onboarding", permissions: ADMIN, tenants: [tenantId] };
  const account = await admin.post("/api/v1/service-accounts", onboarding);
  assert.equal(account.status, 201, JSON.stringify(account.body));
  const program = t.nobody.with({ authorization: `Bearer ${account.body.secret}`, "x-tenant-id": tenantId });
  const [first] = await (await invited(program as Actor, role.roleId)).tokens(1);
  assert.equal((await accept(first)).status, 200);
  const [second] = await (await invited(program as Actor, role.roleId)).tokens(1);
  assert.equal((await admin.delete(`/api/v1/service-accounts/${account.body.id}`)).status, 204);
  refused(await accept(second), 403, "INVITATION_INVITER_FORBIDDEN");
});
