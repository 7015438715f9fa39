import assert from "node:assert/strict";
import { BUILT_IN_REPORTS } from "../../../domain/reports/templates/mod.ts";
import { has, pluck, refused } from "../../support/answers.ts";
import { HttpClient } from "../../support/http.ts";
import type { Actor } from "../../support/setup.ts";
import {
  CSV,
  drawnReport,
  EMAIL,
  generateLater,
  generateNow,
  reached,
  REPORTS,
  setupSharedReports,
  STATUS,
} from "./support.ts";

const t = await setupSharedReports();
const { sql } = t;

/** The rows of a report as objects by column title. The cells of these tests contain no quotes. */
async function rowsOf(by: Actor, templateId: string, parameters = {}): Promise<Record<string, string>[]> {
  const { text } = await drawnReport(t, by, templateId, parameters);
  const [head = "", ...lines] = text.trimEnd().split("\r\n");
  const titles = head.split(",");
  return lines.map((line) => {
    const cells = line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? [];
    return Object.fromEntries(titles.map((title, i) => [title, (cells[i] ?? "").replace(/,$/, "")]));
  });
}
const generate = (by: Actor, templateId: string, parameters = {}) =>
  by.post(`${REPORTS}/generate`, { templateId, format: CSV, parameters });
async function jobOf(executionId: string): Promise<string> {
  const [job] = await sql<{ id: string }[]>`
    select id from jobs where serialized_args = ${JSON.stringify({ executionId })}`;
  await t.settled(job?.id ?? "");
  return job?.id ?? "";
}

/** Makes an administrator of a new tenant who has a mailed report, a failed one and a download. */
async function busyAdmin(name: string) {
  const admin = await t.actor({ tenantId: await t.tenant({ name }), role: "Admin" });
  const delivery = { method: EMAIL, recipients: [`${admin.userId}@example.test`] };
  const { id } = await generateLater(admin, { delivery });
  const { id: failed } = await generateLater(admin, { templateId: "failing" });
  await reached(admin, id, STATUS.Delivered);
  await reached(admin, failed, STATUS.Failed);
  await admin.get(`${REPORTS}/${id}/download`);
  return { admin, mailed: `${admin.userId}@example.test`, failedJob: await jobOf(failed) };
}

Deno.test("there are ten built-in reports, and the caller sees those whose rows they may read", async () => {
  assert.equal(BUILT_IN_REPORTS.length, 10);
  const listed = async (by: Actor) => {
    const { body } = await by.get(REPORTS);
    const all = pluck(body, "templateId");
    return BUILT_IN_REPORTS.filter(({ id }) => !all.includes(id)).map(({ id }) => id);
  };
  assert.deepEqual(await listed(t.systemAdmin), ["file-inventory"], "which also needs read:files");
  assert.deepEqual(await listed(await t.actor({ role: "Admin" })), ["tenants-overview", "archived-rows"]);
  refused(await generate(t.systemAdmin, "file-inventory"), 403, "MISSING_PERMISSION");
});

Deno.test("every printed text of a built-in report has a translation", () => {
  for (const { translations, name, title, subtitle, parameters, parts } of BUILT_IN_REPORTS) {
    const ofParts = parts.flatMap((part) =>
      part.kind === "chart"
        ? [part.chart.title]
        : [part.table.chart?.title, ...Object.values(part.table.columns).map((column) => column.title)]
    );
    const ofParameters = Object.values(parameters.shape).map((shape) => shape.meta()?.title);
    for (const text of [name, title, subtitle, ...ofParameters, ...ofParts]) {
      if (text !== undefined) assert.ok(translations.pt?.[String(text)], String(text));
    }
  }
});

Deno.test("a report has its columns and filters, and no rows of another tenant with the same activity", async () => {
  await busyAdmin("Isolated B");
  const { admin, mailed, failedJob } = await busyAdmin("Isolated A");
  for (const { id } of BUILT_IN_REPORTS.filter(({ isGlobal, readsArchive }) => !isGlobal && !readsArchive)) {
    const rows = await rowsOf(admin, id);
    assert.ok(rows.length > 0, id);
    assert.deepEqual(new Set(pluck(rows, "Tenant")), new Set(["Isolated A"]), id);
    refused(await generate(admin, id, { includeChildTenants: true }), 403, "MISSING_PERMISSION");
  }
  const generating = "steward.report-generate";
  const attempts = await rowsOf(admin, "job-executions", { jobTypeName: generating });
  assert.deepEqual(pluck(attempts, "Outcome").sort(), ["Failed", "Succeeded"]);
  assert.ok(attempts.every((row) => Number(row["Duration (ms)"]) >= 0));
  const letters = await rowsOf(admin, "dead-letters", { onlyOpen: true });
  const error = "The query failed (SQLSTATE 22012).";
  has(letters, [{ "Job type": generating, "Last error": error, Job: failedJob }]);
  const messages = await rowsOf(admin, "notification-deliveries", { channel: "Email" });
  has(messages, [{ Recipient: mailed, Outcome: "Sent", Template: "report-ready" }]);
  const files = await rowsOf(admin, "file-inventory", { profile: "report", status: "Available" });
  has(files, [{ "Uploaded by": admin.email, "Content type": "text/plain" }]);
});

Deno.test("the access matrix lists who holds which permission through which role", async () => {
  const tenantId = await t.tenant({ name: "Matrix" });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const visitor = await t.actor({ tenantId, role: "Visitor" });
  const rows = await rowsOf(admin, "access-matrix");
  const of = ({ email }: Actor) => pluck(rows.filter((row) => row.Email === email), "Permission");
  assert.equal(of(admin).length, 13);
  const visitors = ["read:files", "read:permissions", "read:roles", "read:tenants", "read:users"];
  assert.deepEqual(of(visitor), visitors);
  const deleters = await rowsOf(admin, "access-matrix", { permission: "delete:users" });
  assert.deepEqual(pluck(deleters, "Email", "Role", "Effective"), [[admin.email, "Admin", "true"]]);
  await sql`update users set is_active = false where id = ${visitor.userId}`;
  assert.equal((await rowsOf(admin, "access-matrix", { roleName: "Visitor" })).length, 0);
  const all = await rowsOf(admin, "access-matrix", { roleName: "Visitor", onlyEffective: false });
  assert.deepEqual(new Set(pluck(all, "Effective")), new Set(["false"]));
});

Deno.test("role permissions list every role, also those without permissions", async () => {
  const admin = await t.actor({ role: "Admin" });
  const rows = await rowsOf(admin, "role-permissions");
  assert.deepEqual([...new Set(pluck(rows, "Role"))], ["Admin", "GroupAdmin", "Visitor"]);
  const users = pluck(rows.filter(({ Role }) => Role === "Admin"), "Users");
  assert.deepEqual(new Set(users), new Set(["1"]));
  const bare = await t.actor({ tenantId: admin.tenantId ?? "", permissions: [] });
  const own = await rowsOf(admin, "role-permissions", { isSystemRole: false });
  assert.deepEqual(pluck(own, "Role", "Permission", "Users"), [[`Role ${bare.roleId}`, "", "1"]]);
});

Deno.test("the audit log shows the tenant's changes, newest first, and the API key that acted as a user", async () => {
  const admin = await t.actor({ permissions: ["manage:api-keys", "read:users", "read:roles"] });
  const made = await admin.post("/api/v1/api-keys", { name: "Nightly sync", permissions: ["read:users"] });
  const key = new HttpClient(t.url, made.body.key);
  const ids: string[] = [];
  for (const by of [admin, key]) {
    const { id } = await generateNow(by);
    await by.delete(`${REPORTS}/${id}`);
    ids.unshift(id);
  }
  const rows = await rowsOf(admin, "audit-log", { action: "report.delete" });
  assert.deepEqual(pluck(rows, "Actor", "Target type", "Target", "API key"), [
    [admin.email, "report", ids[0], "Nightly sync"],
    [admin.email, "report", ids[1], ""],
  ]);
  const [making] = await rowsOf(admin, "audit-log", { action: "apiKey.create" });
  assert.deepEqual([making?.Actor, making?.["API key"]], [admin.email, ""]);
  assert.equal((await rowsOf(admin, "audit-log", { to: "2001-01-01" })).length, 0);
});

Deno.test("an impossible date is rejected by name; the first and last dates of Postgres are accepted", async () => {
  const admin = await t.actor({ role: "Admin" });
  const days = { "2026-02-30": 400, "0000-12-31": 400, "0001-01-01": 201, "9999-12-31": 201 };
  for (const [day, expected] of Object.entries(days)) {
    const { status, body } = await generate(admin, "audit-log", { from: day, to: day });
    assert.equal(status, expected, day);
    const named = expected === 400 ? ["parameters.from", "parameters.to"] : [];
    assert.deepEqual(Object.keys(body.errors ?? {}), named, day);
  }
});

Deno.test("users and keys of other tenants appear only as ids, whatever they changed or uploaded here", async () => {
  const admin = await t.actor({ role: "Admin" });
  const stranger = await t.actor({ permissions: ["manage:api-keys", "read:users"] });
  const theirs = { name: "Theirs", permissions: ["read:users"] };
  const { body: key } = await stranger.post("/api/v1/api-keys", theirs);
  await generateNow(admin);
  await sql`insert into audit_log (id, actor_id, tenant_id, action, target_type, target_id, api_key_id)
    values (uuidv7(), ${stranger.userId}, ${admin.tenantId}, 'tenant.update', 'tenant', ${admin.tenantId}, ${key.id})`;
  await sql`update files set created_by = ${stranger.userId} where tenant_id = ${admin.tenantId}`;
  const [change] = await rowsOf(admin, "audit-log", { action: "tenant.update" });
  assert.deepEqual([change?.Actor, change?.["API key"]], [stranger.userId, key.id]);
  assert.deepEqual(pluck(await rowsOf(admin, "file-inventory"), "Uploaded by"), [stranger.userId]);
});

Deno.test("only system administrators can run the tenants overview, with or without a tenant", async () => {
  const admin = await t.actor({ tenantId: await t.tenant({ name: "Overseen" }), role: "Admin" });
  refused(await generate(admin, "tenants-overview"), 403, "MISSING_PERMISSION");
  const rows = await rowsOf(t.systemAdmin, "tenants-overview", { type: "Standard" });
  has(rows.find((row) => row.Tenant === "Overseen"), { Users: "1", Roles: "3", Capacity: "" });
  assert.ok(rows.length > 3);
});
