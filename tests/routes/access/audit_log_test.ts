import assert from "node:assert/strict";
import { v7 } from "uuid";
import { has, pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { ADMIN, BCRYPT, createUser } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const log = async (by: Actor, query = "") => {
  const { status, body } = await by.get(`/api/v1/audit-log?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
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

Deno.test("personal values lie beside the rows, which cannot be changed in any column", async () => {
  const id = await made();
  const row = async () =>
    (await sql`select before, after, ip, to_jsonb(a)::text as text from audit_log a
    where target_id = ${id}`)[0];
  const [seen] = (await log(admin, `targetId=${id}`)).items;
  assert.equal(seen.after.firstName, "Ana");
  assert.equal(seen.valuesErasedAt, null);
  const stored = await row();
  assert.ok(!stored?.text.includes("Ana") && !stored?.text.includes(seen.after.email), stored?.text);
  assert.equal(stored?.ip, null);
  assert.equal(stored?.after.isActive, true, "other values stay in the row");
  const [{ id: rowId }] = await sql<[{ id: string }]>`select id from audit_log where target_id = ${id}`;
  const forged = ["action = 'x'", "before = null", "after = null", "ip = '::1'", "values_apart = false"];
  await requireAppendOnly(rowId, forged);
  await assert.rejects(sql`truncate audit_log`, /append-only/);
  await assert.rejects(sql`delete from audit_log`, /append-only/);
});

Deno.test("from a row of an earlier version, values can only be removed", async () => {
  const id = crypto.randomUUID();
  await sql`insert into audit_log (id, tenant_id, action, target_type, target_id, after, ip)
    values (${id}, ${admin.tenantId}, 'user.update', 'user', ${id}, '{"firstName": "Old", "isActive": true}', '::1')`;
  const [seen] = (await log(admin, `targetId=${id}`)).items;
  assert.deepEqual([seen.after, seen.ip], [{ firstName: "Old", isActive: true }, "::1"]);
  const forged = [
    "action = 'x', after = null",
    `after = '{"firstName": "New"}'`,
    `after = '{"firstName": "Old", "isActive": true, "more": 1}'`,
    "before = '{}'",
    "ip = '::2'",
    "values_apart = true",
    "actor_id = gen_random_uuid()",
  ];
  await requireAppendOnly(id, forged);
  await sql`update audit_log set after = '{"isActive": true}', ip = null where id = ${id}`;
  const [rest] = (await log(admin, `targetId=${id}`)).items;
  assert.deepEqual([rest.after, rest.ip], [{ isActive: true }, null]);
});

Deno.test("an entry names the users, roles and tenants in it, but none of other tenants", async () => {
  const owner = await t.actor({ role: "Admin" });
  const user = await createUser(owner, { firstName: "Bruno", lastName: "Dias" });
  const { body: role } = await owner.post("/api/v1/roles", { name: "Billing" });
  await owner.put(`/api/v1/users/${user}/roles`, { roleIds: [role.id] });
  const { items: [entry] } = await log(owner, `targetId=${user}&action=user.set-roles`);
  assert.equal(entry.names[user], "Bruno Dias");
  assert.equal(entry.names[role.id], "Billing");
  assert.ok(entry.names[owner.userId]);
  const other = await t.actor({ tenantId: owner.tenantId ?? "", permissions: ["manage:webhooks"] });
  const endpoint = { url: "https://x.test/", eventTypes: "*" };
  const hook = await accepted(other.post("/api/v1/webhook-endpoints", endpoint));
  await accepted(other.post(`/api/v1/webhook-endpoints/${hook.id}/pause`, {}));
  const { items: [pause] } = await log(owner, `targetId=${hook.id}&action=webhookEndpoint.pause`);
  assert.equal(pause.names[hook.id], "https://x.test/", "other things have names too");
  assert.ok(entry.names[owner.tenantId ?? ""]);
  const foreign = await t.actor({ permissions: ["read:users"] });
  await sql`insert into audit_log (id, tenant_id, action, target_type, target_id, after)
    values (${crypto.randomUUID()}, ${foreign.tenantId}, 'role.update', 'role', ${role.id},
      ${JSON.stringify({ who: user, tenant: owner.tenantId })}::text::jsonb)`;
  const { items: [theirs] } = await log(foreign, `targetId=${role.id}`);
  assert.deepEqual(theirs.names, { [foreign.tenantId ?? ""]: theirs.names[foreign.tenantId ?? ""] });
});

Deno.test("entries of a period are found by their time, also just before and after its start", async () => {
  const own = await t.actor({ permissions: ["read:users"] });
  const start = new Date(Date.now() - 3_600_000);
  const at = async (ms: number) => {
    const time = new Date(start.getTime() + ms);
    await sql`insert into audit_log (id, at, tenant_id, action, target_type, target_id)
      values (${v7({ msecs: time.getTime() + 5_000 })}, ${time}, ${own.tenantId}, 'x.update', 'x', ${
      String(ms)
    })`;
  };
  for (const ms of [-1, 0, 1]) await at(ms);
  const { items } = await log(own, `fromDate=${start.toISOString()}`);
  assert.deepEqual(pluck(items, "targetId"), ["1", "0"]);
});
