import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import type { Actor } from "../../support/setup.ts";
import { CSV, fetchDocument, setupReports } from "./support.ts";
import { until } from "../../support/until.ts";

const t = await setupReports();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

/** The rows of a report as objects by column title. The cells of these tests contain no quotes. */
async function rowsOf(by: Actor, templateId: string, parameters = {}): Promise<Record<string, string>[]> {
  const { status, body } = await by.post("/api/v1/reports/generate", { templateId, format: CSV, parameters });
  assert.equal(status, 201, `${templateId}: ${JSON.stringify(body)} ${t.logs.at(-2)}`);
  const [head = "", ...lines] = new TextDecoder().decode((await fetchDocument(by, body.id)).bytes).trimEnd()
    .split("\r\n");
  const titles = head.split(",");
  return lines.map((line) => {
    const cells = line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? [];
    return Object.fromEntries(titles.map((title, i) => [title, (cells[i] ?? "").replace(/,$/, "")]));
  });
}

Deno.test("there are nine built-in reports, and each of them runs", async () => {
  const { body } = await t.systemAdmin.get("/api/v1/reports");
  const own = [
    "cells",
    "everything",
    "export-only",
    "failing",
    "foreign",
    "lines",
    "moody",
    "regional",
    "slow",
    "trickle",
  ];
  const ids = body.map((item: { templateId: string }) => item.templateId).filter((id: string) =>
    !own.includes(id)
  );
  assert.deepEqual(ids, [
    ...["users", "access-matrix", "role-permissions", "audit-log", "job-executions", "dead-letters"],
    ...["notification-deliveries", "tenants-overview"], // file-inventory also needs read:files
  ]);
  for (const templateId of ids) await rowsOf(t.systemAdmin, templateId);
  assert.equal(
    body.find((item: { templateId: string }) => item.templateId === "tenants-overview").isGlobal,
    true,
  );
});

Deno.test("groups and totals of built-in reports are in their html documents", async () => {
  const admin = await t.actor({ role: "Admin" });
  const html = async (by: Actor, templateId: string) => {
    const { status, body } = await by.post("/api/v1/reports/generate", { templateId, format: 4 });
    assert.equal(status, 201, `${templateId}: ${JSON.stringify(body)}`);
    return new TextDecoder().decode((await fetchDocument(by, body.id)).bytes);
  };
  assert.match(await html(admin, "access-matrix"), new RegExp(`scope="rowgroup">Email: ${admin.email}</th>`));
  assert.match(await html(admin, "role-permissions"), /scope="rowgroup">Role: Visitor<\/th>/);
  assert.match(
    await html(t.systemAdmin, "tenants-overview"),
    /<tfoot>\n<tr class="sum l0"><th [^>]*>Total<\/th>/,
  );
});

Deno.test("the access matrix lists who holds which permission through which role", async () => {
  const tenantId = await t.tenant({ name: "Matrix" });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const visitor = await t.actor({ tenantId, role: "Visitor" });
  const rows = await rowsOf(admin, "access-matrix");
  assert.equal(rows.filter((row) => row.Email === admin.email).length, 13);
  assert.deepEqual(rows.filter((row) => row.Email === visitor.email).map((row) => row.Permission), [
    ...["read:files", "read:permissions", "read:roles", "read:tenants", "read:users"],
  ]);
  assert.deepEqual(new Set(rows.map((row) => row.Tenant)), new Set(["Matrix"]));
  const deleters = await rowsOf(admin, "access-matrix", { permission: "delete:users" });
  assert.deepEqual(deleters.map((row) => [row.Email, row.Role, row.Effective]), [[
    admin.email,
    "Admin",
    "true",
  ]]);
  await sql`update users set is_active = false where id = ${visitor.userId}`;
  assert.equal((await rowsOf(admin, "access-matrix", { roleName: "Visitor" })).length, 0);
  const all = await rowsOf(admin, "access-matrix", { roleName: "Visitor", onlyEffective: false });
  assert.deepEqual(new Set(all.map((row) => row.Effective)), new Set(["false"]));
});

Deno.test("role permissions list every role, also those without permissions", async () => {
  const admin = await t.actor({ role: "Admin" });
  const rows = await rowsOf(admin, "role-permissions");
  assert.deepEqual([...new Set(rows.map((row) => row.Role))], ["Admin", "GroupAdmin", "Visitor"]);
  assert.deepEqual(
    new Set(rows.filter((row) => row.Role === "Admin").map((row) => row.Users)),
    new Set(["1"]),
  );
  const bare = await t.actor({ tenantId: admin.tenantId ?? "", permissions: [] });
  const own = await rowsOf(admin, "role-permissions", { isSystemRole: false });
  assert.deepEqual(own.map((row) => [row.Role, row.Permission, row.Users]), [[
    `Role ${bare.roleId}`,
    "",
    "1",
  ]]);
});

Deno.test("the audit log shows the tenant's changes, newest first", async () => {
  const admin = await t.actor({ role: "Admin" });
  const deleted = await admin.post("/api/v1/reports/generate", { templateId: "cells", format: CSV });
  await admin.delete(`/api/v1/reports/${deleted.body.id}`);
  const rows = await rowsOf(admin, "audit-log", { action: "report.delete" });
  assert.deepEqual(rows.map((row) => [row.Actor, row["Target type"], row.Target]), [
    [admin.email, "report", deleted.body.id],
  ]);
  assert.equal((await rowsOf(admin, "audit-log", { to: "2001-01-01" })).length, 0);
  assert.equal(
    (await rowsOf(await t.actor({ role: "Admin" }), "audit-log", { action: "report.delete" })).length,
    0,
  );
});

Deno.test("the audit log names the API key that acted as a user", async () => {
  const maker = await t.actor({ permissions: ["manage:api-keys", "read:users"] });
  const made = await maker.post("/api/v1/api-keys", { name: "Nightly sync", permissions: ["read:users"] });
  const key = new HttpClient(t.url, made.body.key);
  const { body } = await key.post("/api/v1/reports/generate", { templateId: "cells", format: CSV });
  await key.delete(`/api/v1/reports/${body.id}`);
  const [change] = await rowsOf(maker, "audit-log", { action: "report.delete" });
  assert.deepEqual([change?.Actor, change?.["API key"]], [maker.email, "Nightly sync"]);
  const [making] = await rowsOf(maker, "audit-log", { action: "apiKey.create" });
  assert.deepEqual([making?.Actor, making?.["API key"]], [maker.email, ""]);
});

Deno.test("an impossible date is rejected by name; the first and last dates of Postgres are accepted", async () => {
  const admin = await t.actor({ role: "Admin" });
  const outcome = async (from: string) => {
    const request = { templateId: "audit-log", format: CSV, parameters: { from, to: from } };
    const { status, body } = await admin.post("/api/v1/reports/generate", request);
    return [status, ...Object.keys(body.errors ?? {})];
  };
  const named = [400, "parameters.from", "parameters.to"];
  assert.deepEqual(await outcome("2026-02-30"), named);
  assert.deepEqual(await outcome("0000-12-31"), named);
  assert.deepEqual(await outcome("0001-01-01"), [201]);
  assert.deepEqual(await outcome("9999-12-31"), [201]);
});

Deno.test("users and keys of other tenants appear only as ids, whatever they changed or uploaded here", async () => {
  const admin = await t.actor({ role: "Admin" });
  const stranger = await t.actor({ permissions: ["manage:api-keys", "read:users"] });
  const { body: key } = await stranger.post("/api/v1/api-keys", {
    name: "Theirs",
    permissions: ["read:users"],
  });
  await admin.post("/api/v1/reports/generate", { templateId: "cells", format: CSV });
  await sql`insert into audit_log (id, actor_id, tenant_id, action, target_type, target_id, api_key_id)
    values (uuidv7(), ${stranger.userId}, ${admin.tenantId}, 'tenant.update', 'tenant', ${admin.tenantId}, ${key.id})`;
  await sql`update files set created_by = ${stranger.userId} where tenant_id = ${admin.tenantId}`;
  const [change] = await rowsOf(admin, "audit-log", { action: "tenant.update" });
  assert.deepEqual([change?.Actor, change?.["API key"]], [stranger.userId, key.id]);
  const uploaders = (await rowsOf(admin, "file-inventory")).map((row) => row["Uploaded by"]);
  assert.ok(uploaders.includes(stranger.userId) && !uploaders.includes(stranger.email));
});

Deno.test("job executions, dead letters, messages and files are those of the tenant", async () => {
  const admin = await t.actor({ role: "Admin" });
  const other = await t.actor({ role: "Admin" });
  const { body } = await admin.post("/api/v1/reports/generate-async", {
    templateId: "cells",
    format: CSV,
    delivery: { method: 2, recipients: ["someone@example.test"] },
  });
  await until(() => admin.get(`/api/v1/reports/${body.id}`), (answer) => answer.body.status === 5);
  const { body: failing } = await admin.post("/api/v1/reports/generate-async", {
    templateId: "failing",
    format: CSV,
  });
  await until(() => admin.get(`/api/v1/reports/${failing.id}`), (answer) => answer.body.status === 4);
  const [job] = await sql<{ id: string }[]>`
    select id from jobs where serialized_args = ${JSON.stringify({ executionId: failing.id })}`;
  await t.settled(job?.id ?? "");

  const attempts = await rowsOf(admin, "job-executions", { jobTypeName: "steward.report-generate" });
  assert.deepEqual(attempts.map((row) => row.Outcome), ["Failed", "Succeeded"]);
  assert.ok(attempts.every((row) => Number(row["Duration (ms)"]) >= 0));
  const letters = await rowsOf(admin, "dead-letters", { onlyOpen: true });
  assert.deepEqual(letters.map((row) => [row["Job type"], row["Last error"], row.Job]), [
    ["steward.report-generate", "The query failed (SQLSTATE 22012).", job?.id],
  ]);
  const messages = await rowsOf(admin, "notification-deliveries", { channel: "Email" });
  assert.deepEqual(messages.map((row) => [row.Recipient, row.Outcome, row.Template]), [
    ["someone@example.test", "Sent", "report-ready"],
  ]);
  const files = await rowsOf(admin, "file-inventory", { profile: "report", status: "Available" });
  assert.ok(files.length >= 4 && files.every((row) => row["Uploaded by"] === admin.email));
  assert.ok(files.every((row) => row["Content type"]?.startsWith("text/")));
  assert.equal((await rowsOf(other, "dead-letters")).length, 0);
  assert.equal((await rowsOf(other, "notification-deliveries")).length, 0);
});

Deno.test("only system administrators can run the tenants overview, with or without a tenant", async () => {
  const tenantId = await t.tenant({ name: "Overseen" });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const refused = await admin.post("/api/v1/reports/generate", {
    templateId: "tenants-overview",
    format: CSV,
  });
  assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"]);
  const rows = await rowsOf(t.systemAdmin, "tenants-overview", { type: "Standard" });
  const overseen = rows.find((row) => row.Tenant === "Overseen");
  assert.deepEqual([overseen?.Users, overseen?.Roles, overseen?.Capacity], ["1", "3", ""]);
  assert.ok(rows.length > 3);
});

Deno.test("admin:system alone does not allow the file inventory", async () => {
  const refused = await t.systemAdmin.post("/api/v1/reports/generate", {
    templateId: "file-inventory",
    format: CSV,
  });
  assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"]);
});

Deno.test("no report shows rows of another tenant, with the same activity in both", async () => {
  const names = ["Isolated A", "Isolated B"];
  const admins = [];
  for (const name of names) {
    const admin = await t.actor({ tenantId: await t.tenant({ name }), role: "Admin" });
    const { body } = await admin.post("/api/v1/reports/generate-async", {
      templateId: "cells",
      format: CSV,
      delivery: { method: 2, recipients: [`${admin.userId}@example.test`] },
    });
    const { body: failing } = await admin.post("/api/v1/reports/generate-async", {
      templateId: "failing",
      format: CSV,
    });
    await until(() => admin.get(`/api/v1/reports/${body.id}`), (answer) => answer.body.status === 5);
    await until(() => admin.get(`/api/v1/reports/${failing.id}`), (answer) => answer.body.status === 4);
    const [job] = await sql<{ id: string }[]>`
      select id from jobs where serialized_args = ${JSON.stringify({ executionId: failing.id })}`;
    await t.settled(job?.id ?? "");
    await admin.get(`/api/v1/reports/${body.id}/download`);
    admins.push(admin);
  }
  const templates = [
    ...["users", "access-matrix", "role-permissions", "audit-log", "job-executions", "dead-letters"],
    ...["notification-deliveries", "file-inventory"],
  ];
  for (const templateId of templates) {
    for (const [index, admin] of admins.entries()) {
      const rows = await rowsOf(admin, templateId);
      assert.ok(rows.length > 0, templateId);
      assert.deepEqual(new Set(rows.map((row) => row.Tenant)), new Set([names[index]]), templateId);
      const refused = await admin.post("/api/v1/reports/generate", {
        templateId,
        format: CSV,
        parameters: { includeChildTenants: true },
      });
      assert.deepEqual([refused.status, refused.body.code], [403, "MISSING_PERMISSION"], templateId);
    }
  }
});
