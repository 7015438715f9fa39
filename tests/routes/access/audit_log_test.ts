import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { ADMIN, BCRYPT, createUser } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const log = (by: Actor, query = "") => accepted(by.get(`/api/v1/audit-log?${query}`), 200);
const made = () => createUser(admin);

Deno.test("every change of a user is audited: actor, tenant, action, before and after, trace and address", async () => {
  const id = await made();
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traced = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
  await admin.put(`/api/v1/users/${id}`, { firstName: "Bea" }, traced);
  await admin.post(`/api/v1/users/${id}/deactivate`);
  await admin.delete(`/api/v1/users/${id}`);
  const { items, totalCount } = await log(admin, `targetId=${id}`);
  assert.equal(totalCount, 4);
  assert.deepEqual(pluck(items, "action"), ["user.delete", "user.update", "user.update", "user.create"]);
  const [, , renamed, created] = items;
  has(renamed, {
    actorId: admin.userId,
    actorEmail: admin.email,
    tenantId: admin.tenantId,
    targetType: "user",
    before: { firstName: "Ana" },
    after: { firstName: "Bea" },
    traceId: trace,
    ip: "127.0.0.1",
  });
  assert.ok(!JSON.stringify(created).includes(BCRYPT));
});

Deno.test("a tenant reads its own rows; admin:system reads all, or one tenant's", async () => {
  const id = await made();
  const other = await t.actor({ permissions: ["read:users"] });
  for (const query of ["", `tenantId=${admin.tenantId}`]) {
    assert.equal((await log(other, query)).totalCount, 0);
  }
  assert.equal((await log(t.systemAdmin, `targetId=${id}`)).totalCount, 1);
  const { items } = await log(t.systemAdmin, `tenantId=${admin.tenantId}&pageSize=100`);
  assert.deepEqual([...new Set(pluck(items, "tenantId"))], [admin.tenantId]);
  const global = await t.actor({ role: "SystemAdmin", global: true });
  assert.equal((await log(global, `targetId=${id}`)).totalCount, 1);
});

Deno.test("administration across tenants is audited for the affected tenant, or for the service alone", async () => {
  const id = await made();
  const target = await t.actor({ permissions: ["read:users"] });
  const link = { tenantId: target.tenantId, roleIds: [target.roleId] };
  await t.systemAdmin.post(`/api/v1/admin/users/${id}/tenants`, link);
  const [row] = (await log(target)).items;
  assert.equal(row.action, "user.link");
  assert.equal(row.actorId, t.systemAdmin.userId);
  assert.equal(row.actorEmail, null, "an actor from elsewhere is an id");
  await t.systemAdmin.put(`/api/v1/admin/users/${id}`, { firstName: "Cea" });
  const platformReader = await t.actor({ tenantId: t.platformTenantId, permissions: ["read:users"] });
  assert.equal((await log(platformReader, `targetId=${id}`)).totalCount, 0);
  const [entry] = (await log(t.systemAdmin, `targetId=${id}`)).items;
  assert.deepEqual([entry.tenantId, entry.actorEmail], [null, t.systemAdmin.email]);
});

async function requireAppendOnly(id: string, changes: string[]): Promise<void> {
  for (const change of changes) {
    const update = sql.unsafe(`update audit_log set ${change} where id = '${id}'`);
    await assert.rejects(update, /append-only/, change);
  }
}

Deno.test("personal values lie beside the rows, which cannot be changed in any column; from a row of an earlier version they can only be removed", async () => {
  const id = await made();
  const [seen] = (await log(admin, `targetId=${id}`)).items;
  assert.deepEqual([seen.after.firstName, seen.valuesErasedAt], ["Ana", null]);
  const [stored] = await sql`select id, after, ip, to_jsonb(a)::text as text from audit_log a
    where target_id = ${id}`;
  assert.ok(!stored?.text.includes("Ana") && !stored?.text.includes(seen.after.email), stored?.text);
  assert.equal(stored?.ip, null);
  assert.equal(stored?.after.isActive, true, "other values stay in the row");
  const forged = ["action = 'x'", "before = null", "after = null", "ip = '::1'", "values_apart = false"];
  await requireAppendOnly(stored?.id, forged);
  await assert.rejects(sql`truncate audit_log`, /append-only/);
  await assert.rejects(sql`delete from audit_log`, /append-only/);

  const old = crypto.randomUUID();
  const after = { firstName: "Old", isActive: true };
  await sql`insert into audit_log (id, tenant_id, action, target_type, target_id, after, ip)
    values (${old}, ${admin.tenantId}, 'user.update', 'user', ${old}, ${
    JSON.stringify(after)
  }::text::jsonb, '::1')`;
  const shown = async () => pluck((await log(admin, `targetId=${old}`)).items, "after", "ip");
  assert.deepEqual(await shown(), [[after, "::1"]]);
  const more = [
    "after = null, action = 'x'",
    `after = '{"firstName": "New"}'`,
    `after = '{"firstName": "Old", "isActive": true, "more": 1}'`,
    "before = '{}'",
    "ip = '::2'",
    "values_apart = true",
    "actor_id = gen_random_uuid()",
  ];
  await requireAppendOnly(old, more);
  await sql`update audit_log set after = '{"isActive": true}', ip = null where id = ${old}`;
  assert.deepEqual(await shown(), [[{ isActive: true }, null]]);
});

Deno.test("an entry names the users, roles and tenants in it, but none of other tenants", async () => {
  const owner = await t.actor({ role: "Admin" });
  const tenant = owner.tenantId ?? "";
  const user = await createUser(owner, { firstName: "Bruno", lastName: "Dias" });
  const { body: role } = await owner.post("/api/v1/roles", { name: "Billing" });
  await owner.put(`/api/v1/users/${user}/roles`, { roleIds: [role.id] });
  const { items: [entry] } = await log(owner, `targetId=${user}&action=user.set-roles`);
  assert.deepEqual([entry.names[user], entry.names[role.id]], ["Bruno Dias", "Billing"]);
  assert.ok(entry.names[owner.userId] && entry.names[tenant]);
  const other = await t.actor({ tenantId: tenant, permissions: ["manage:webhooks"] });
  const { body: hook } = await other.post("/api/v1/webhook-endpoints", {
    url: "https://x.test/",
    eventTypes: "*",
  });
  await other.post(`/api/v1/webhook-endpoints/${hook.id}/pause`, {});
  const { items: [pause] } = await log(owner, `targetId=${hook.id}&action=webhookEndpoint.pause`);
  assert.equal(pause.names[hook.id], "https://x.test/", "other things have names too");
  const foreign = await t.actor({ permissions: ["read:users"] });
  await sql`insert into audit_log (id, tenant_id, action, target_type, target_id, after)
    values (${crypto.randomUUID()}, ${foreign.tenantId}, 'role.update', 'role', ${role.id},
      ${JSON.stringify({ who: user, tenant })}::text::jsonb)`;
  const { items: [theirs] } = await log(foreign, `targetId=${role.id}`);
  assert.deepEqual(Object.keys(theirs.names), [foreign.tenantId]);
});
