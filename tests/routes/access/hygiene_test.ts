import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { pluck } from "../../support/answers.ts";
import { column } from "./answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { browseAt } from "../console/plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const emailsOf = async (by: Actor, path: string): Promise<string[]> =>
  column(await by.get(path), "email").sort();
const namesOf = async (by: Actor, path: string): Promise<string[]> =>
  column(await by.get(path), "name").sort();

const addFactor = (userId: string, isConfirmed: boolean) =>
  sql`insert into user_factors (id, user_id, kind, name, confirmed_at, secret)
    values (${newId()}, ${userId}, 'totp', 'Phone', ${isConfirmed ? new Date() : null}, 'x')`;

Deno.test("users are found by their second factor, rights and last sign-in, in one tenant and in all", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenantId = admin.tenantId ?? "";
  const visitor = await t.actor({ role: "Visitor", tenantId });
  const waiting = await t.actor({ role: "Visitor", tenantId });
  await addFactor(visitor.userId, true);
  await addFactor(waiting.userId, false);
  await sql`update users set last_login_at = now() - interval '91 days' where id = ${visitor.userId}`;
  await sql`update users set last_login_at = null, created_at = now() - interval '91 days' where id = ${waiting.userId}`;
  const found = {
    "hasSecondFactor=true": [visitor],
    "hasSecondFactor=false": [admin, waiting],
    "isAdministrator=true": [admin],
    "isAdministrator=false": [visitor, waiting],
    "notSignedInForDays=90": [visitor, waiting],
    "notSignedInForDays=92": [],
    "isAdministrator=true&hasSecondFactor=false": [admin],
  };
  for (const [query, users] of Object.entries(found)) {
    const emails = users.map(({ email }) => email).sort();
    assert.deepEqual(await emailsOf(admin, `/api/v1/users?${query}`), emails, query);
    const everywhere = `/api/v1/admin/users?tenantId=${tenantId}&${query}`;
    assert.deepEqual(await emailsOf(t.systemAdmin, everywhere), emails, query);
  }
  const everywhere = (isAdministrator: boolean, { email }: Actor) =>
    emailsOf(t.systemAdmin, `/api/v1/admin/users?isAdministrator=${isAdministrator}&search=${email}`);
  for (const one of [admin, t.systemAdmin]) assert.deepEqual(await everywhere(true, one), [one.email]);
  assert.deepEqual(await everywhere(true, visitor), []);
  assert.deepEqual(await everywhere(false, visitor), [visitor.email]);
});

Deno.test("keys and service accounts are found that are unused or expire soon", async () => {
  const admin = await t.actor({ permissions: ["manage:api-keys", "manage:service-accounts", "read:users"] });
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  for (const path of ["api-keys", "service-accounts"]) {
    const make = async (name: string, expiresAt: string | null) => {
      const tenants = path === "api-keys" ? {} : { tenants: [admin.tenantId] };
      const body = { name, permissions: ["read:users"], expiresAt, ...tenants };
      return (await admin.post(`/api/v1/${path}`, body)).body.id;
    };
    const unused = await make("unused", null);
    await make("soon", inDays(7));
    await make("later", inDays(60));
    const used = await make("used", null);
    const table = sql(path.replace("-", "_"));
    await sql`update ${table} set created_at = now() - interval '61 days',
      last_used_at = case when id = ${used} then now() end where id = any(${[unused, used]}::uuid[])`;
    assert.deepEqual(await namesOf(admin, `/api/v1/${path}?unusedForDays=60`), ["unused"]);
    assert.deepEqual(await namesOf(admin, `/api/v1/${path}?expiresWithinDays=30`), ["soon"]);
  }
});

Deno.test("users are moved to another role after a preview of who gains and loses what", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenantId = admin.tenantId ?? "";
  const codes = ["read:users", "manage:webhooks"];
  const clerk = await t.actor({ tenantId, permissions: codes });
  const both = await t.actor({ tenantId, permissions: ["read:users"] });
  const visitor = await sql<{ id: string }[]>`
    select id from roles where tenant_id = ${tenantId} and name = 'Visitor'`;
  const roleId = visitor[0]?.id ?? "";
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${both.userId}, ${tenantId}, ${roleId})`;
  const outsider = await t.actor({ permissions: codes });
  const userIds = [clerk, both, outsider].map(({ userId }) => userId);
  const preview = (body: object) => admin.post(`/api/v1/roles/${roleId}/preview-move`, body);
  const { body: all } = await preview({ userIds });
  assert.deepEqual([all.userCount, all.sessionCount], [2, 2], "the outsider is left out");
  const lost = pluck(all.removed, "code", "userCount");
  assert.deepEqual(lost.find(([code]) => code === "manage:webhooks"), ["manage:webhooks", 1]);
  const { body: some } = await preview({ userIds, fromRoleId: clerk.roleId });
  assert.deepEqual([some.userCount, some.users[0].email], [1, clerk.email]);
  const manager = await t.actor({ tenantId, permissions: ["update:users"] });
  const adminRole = await manager.post(`/api/v1/roles/${admin.roleId}/preview-move`, { userIds });
  assert.equal(adminRole.body.code, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");

  const browser = await browseAt(t, admin, "users");
  const ticked = { [clerk.email]: true, [both.email]: true, [admin.email]: false };
  await browser.press("Move to another role", ticked);
  await browser.press("Move to another role (2)", { "New role in": "Visitor" });
  browser.page.shows("sessions end", "Permissions lost", "manage:webhooks", clerk.email);
  await browser.press("Move to another role (2)");
  browser.page.shows("done for 2");
  assert.deepEqual(pluck((await admin.get(`/api/v1/users/${both.userId}/roles`)).body, "id"), [roleId]);
});
