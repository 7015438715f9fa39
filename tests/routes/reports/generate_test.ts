import assert from "node:assert/strict";
import { generateNow as generateWithin } from "../../../domain/reports/generation/generate_now.ts";
import { Slots } from "../../../domain/reports/threads/reports.ts";
import { has, invalid, nulls, pluck, refused } from "../../support/answers.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  branded,
  CSV,
  drawnReport,
  fetchDocument,
  generateNow,
  HTML,
  INFECTED,
  reached,
  REPORTS,
  setupSharedReports,
  STATUS,
} from "./support.ts";

const t = await setupSharedReports();
const { platform } = t;
const { objects } = platform;
const analyst = await t.actor({ permissions: ["read:users"] });
const request = (body: Record<string, unknown>, by = analyst) => by.post(`${REPORTS}/generate`, body);
const cells = (parameters = {}) => request({ templateId: "cells", format: CSV, parameters });
const count = async () => (await analyst.get(`${REPORTS}/history`)).body.totalCount;
const last = async (templateId: string): Promise<string> =>
  (await analyst.get(`${REPORTS}/history?templateId=${templateId}`)).body.items[0].id;
const within = (limitMs: number, templateId: string, parameters: Record<string, unknown>) => {
  const { userId, tenantId } = analyst;
  const caller = { userId, tenantId, permissions: new Set<string>(), traceId: "" };
  const given = { templateId, format: CSV, parameters, requestedBy: null, delivery: null };
  return generateWithin(platform, caller, given as Parameters<typeof generateWithin>[2], limitMs);
};
const tooLarge = { code: "REPORT_TOO_LARGE_FOR_SYNC", status: 400 };

Deno.test("the detail shows everything known about an execution", async () => {
  const request = { parameters: { content: "ünï" }, requestedBy: "Quarterly close" };
  const { id, storedFileId } = await generateNow(analyst, "cells", request);
  const { body } = await analyst.get(`${REPORTS}/${id}`);
  has(body, {
    ...nulls("scheduleId errorMessage"),
    parametersJson: '{"content":"ünï","level":"low","includeChildTenants":false}',
    storedFileId,
    contentType: "text/csv",
    requestedBy: "Quarterly close",
    rowCount: 2,
    downloadCount: 0,
    deliveries: [],
  });
  assert.equal(Date.parse(body.expiresAt) - Date.parse(body.completedAt), 90 * 86_400_000);
});

Deno.test("a report is printed in the language and time zone of the tenant's settings", async () => {
  const by = await t.actor({ permissions: ["read:users", "send:notifications"] });
  const set = (change: Record<string, unknown>) => by.put("/api/v1/notification-settings", change);
  invalid(await set({ defaultLocale: "pt-BR", timeZoneId: "Brasilia" }), "timeZoneId");
  const settings = { defaultLocale: "pt-BR", timeZoneId: "America/Sao_Paulo" };
  assert.deepEqual((await set(settings)).body, settings);
  assert.deepEqual((await set({ defaultLocale: "pt-BR" })).body, settings, "left out, the time zone stays");
  const { body } = await request({ templateId: "users", format: HTML }, by);
  const html = new TextDecoder().decode((await fetchDocument(by, body.id)).bytes);
  assert.match(html, /<dt>Gerado em<\/dt><dd>\d\d\/\d\d\/\d{4}, [\d:]{8} America\/Sao_Paulo<\/dd>/);
  for (const text of ["<h1>Usuários</h1>", ">Último login</th>", ">Usuários por papéis<"]) {
    assert.ok(html.includes(text), text);
  }
  assert.equal((await set({ defaultLocale: null, timeZoneId: null })).body.timeZoneId, null);
});

Deno.test("errors are checked in the order template, permission, format, parameters", async () => {
  const visitor = await t.actor();
  const bad = { format: 3, parameters: { isActive: "yes" } };
  refused(await request({ ...bad, templateId: "nothing" }, visitor), 404, "REPORT_TEMPLATE_NOT_FOUND");
  refused(await request({ ...bad, templateId: "users" }, visitor), 403, "MISSING_PERMISSION");
  invalid(await request({ ...bad, templateId: "users" }), "parameters.isActive");
});

Deno.test("invalid, unknown and hostile parameters are named by field, and are only data", async () => {
  const wrong = { level: "middle", ratio: "1", day: "31.12.2026", owner: "me", contents: "x" };
  invalid(await cells(wrong), ...Object.keys(wrong).map((name) => `parameters.${name}`));
  invalid(await request({ templateId: "lines", format: CSV }), "parameters.rows");
  invalid(await cells({ content: "a\0b" }), "parameters.content");
  const content = `'); drop table users; -- ${"😀".repeat(300)}`;
  assert.equal((await cells({ content })).status, 201);
  const parameters = `{"__proto__":{"content":"x"},"constructor":1}`;
  const body = `{"templateId":"cells","format":3,"parameters":${parameters}}`;
  const polluted = await analyst.post(`${REPORTS}/generate`, body);
  refused(polluted, 400, "VALIDATION_ERROR");
  assert.ok("parameters.constructor" in polluted.body.errors);
});

Deno.test("a group's report shows its children on request, which others of the group may not make or see", async () => {
  const group = await t.tenant({ type: "Group" });
  const child = await t.tenant({ parentTenantId: group });
  const lead = await t.actor({ tenantId: group, permissions: ["read:users", "read:group-data"] });
  const local = await t.actor({ tenantId: group, permissions: ["read:users"] });
  const inChild = await t.actor({ tenantId: child, permissions: ["read:users"] });
  const everyone = { includeChildTenants: true };
  const rows = async (by: Actor, parameters = {}) => {
    const { id } = await generateNow(by, "users", { parameters });
    return [id, (await by.get(`${REPORTS}/${id}`)).body.rowCount];
  };
  assert.equal((await rows(lead))[1], 2);
  assert.equal(await rows(inChild, everyone).catch(() => null), null, "a tenant without children");
  const [id, count] = await rows(lead, everyone);
  assert.equal(count, 3);
  const forbidden = await request({ templateId: "users", format: CSV, parameters: everyone }, local);
  refused(forbidden, 403, "MISSING_PERMISSION");
  for (const path of [id, `${id}/download`]) {
    refused(await local.get(`${REPORTS}/${path}`), 403, "MISSING_PERMISSION");
  }
  assert.equal((await local.get(`${REPORTS}/history`)).body.totalCount, 1, "only the one without children");
});

Deno.test("the filters of the users report hold", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ tenantId, role: "Admin" });
  const visitor = await t.actor({ tenantId, role: "Visitor" });
  await platform.sql`update users set is_active = false where id = ${visitor.userId}`;
  const cases: [Record<string, unknown>, number][] = [
    [{}, 2],
    [{ isActive: false }, 1],
    [{ roleName: "visitor" }, 1],
    [{ createdFrom: "2000-01-01", createdTo: "2000-01-02" }, 0],
    [{ createdFrom: "2000-01-01" }, 2],
  ];
  for (const [parameters, rows] of cases) {
    assert.equal((await drawnReport(t, admin, "users", parameters)).rows, rows, JSON.stringify(parameters));
  }
});

Deno.test("a generation beyond the time limit is stopped, including its query", async () => {
  await assert.rejects(within(150, "slow", { rows: 10_000 }), tooLarge);
  const running = () =>
    platform.sql`select from pg_stat_activity
      where datname = current_database() and application_name = 'steward-reports' and state = 'active'`;
  await until(running, ({ length }) => length === 0, { what: "the end of the query" });
  const detail = await reached(analyst, await last("slow"), STATUS.Failed);
  assert.match(detail.errorMessage, /not ready within 0\.15 s/);
});

Deno.test("a slow store does not delay the answer beyond the limit, and a document stored late is not that of the report", async () => {
  const { write } = objects;
  const stored = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  using _late = t.replace(({ objects }) => objects, {
    write: async (...given: Parameters<typeof write>) => {
      const object = await write.apply(objects, given);
      stored.resolve();
      await answer.promise;
      return object;
    },
  });
  const waiting = within(500, "lines", { rows: 7 });
  await Promise.race([stored.promise, waiting.catch(() => {})]);
  await assert.rejects(waiting, tooLarge);
  answer.resolve();
  assert.equal((await reached(analyst, await last("lines"), STATUS.Failed)).storedFileId, null);
});

/** Leaves one slot, which is taken until `release`. */
async function takeTheSlot(settings: object) {
  const slots = new Slots(1);
  const release = await slots.take(null, new AbortController().signal);
  const restore = t.replace(({ reports }) => reports, { slots, ...settings });
  return { slots, release, [Symbol.dispose]: restore };
}

Deno.test("requests wait for a slot for a time and up to a number; others get Retry-After, and nothing is written", async () => {
  using taken = await takeTheSlot({ maxWaiting: 4 });
  const waiting = [cells(), cells()];
  await until(() => taken.slots.waiting === 2);
  const before = await count();
  const atOnce = await cells();
  refused(atOnce, 503, "REPORT_BUSY_UNAVAILABLE", /2 others of the tenant wait already/);
  assert.equal(atOnce.headers.get("retry-after"), "10");
  using again = await takeTheSlot({ slotWaitMs: 50 });
  const late = await cells();
  refused(late, 503, "REPORT_BUSY_UNAVAILABLE");
  assert.ok(Number(late.headers.get("retry-after")) > 0);
  assert.equal(await count(), before);
  again.release();
  taken.release();
  assert.deepEqual(pluck(await Promise.all(waiting), "status"), [201, 201]);
  assert.equal((await cells()).status, 201);
});

Deno.test("a synchronous report whose document is infected ends Failed", async () => {
  using _infected = t.replace(({ scanner }) => scanner, { scan: () => Promise.resolve(INFECTED) });
  const { id, status } = await generateNow(analyst);
  assert.equal(status, STATUS.Completed);
  const { errorMessage } = await reached(analyst, id, STATUS.Failed);
  assert.equal(errorMessage, "The document is Infected. It did not pass its scan.");
  refused(await analyst.get(`${REPORTS}/${id}/download`), 409, "REPORT_NOT_AVAILABLE");
});

Deno.test("a system administrator without a tenant reports on every tenant, and tenants never see that report", async () => {
  const service = await t.actor({ role: "SystemAdmin", global: true });
  const { id } = await generateNow(service, "users");
  assert.ok((await service.get(`${REPORTS}/${id}`)).body.rowCount > 5, "users of all tenants");
  refused(await t.systemAdmin.get(`${REPORTS}/${id}`), 404, "REPORT_NOT_FOUND");
  const global = await t.actor({ permissions: ["read:users"], global: true });
  refused(await global.get(REPORTS), 403, "FORBIDDEN");
});

const TITLES =
  "Email,First name,Last name,Phone,Active,Link active,Locked out,Roles,Last sign-in,Created,Tenant";
const FORMATS = [
  [1, "pdf", "application/pdf", "%PDF-1."],
  [2, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "PK\u0003\u0004"],
  [3, "csv", "text/csv", `\ufeff${TITLES}\r\n`],
  [4, "html", "text/html", "<!DOCTYPE html>"],
] as const;

Deno.test("a report is generated during the request in each of four formats, passes the scan and can be downloaded", async () => {
  const admin = await t.actor({ role: "Admin" });
  for (const { templateId, supportedFormats } of (await admin.get(REPORTS)).body) {
    assert.deepEqual(supportedFormats, templateId === "export-only" ? [3] : [1, 2, 3, 4]);
  }
  for (const [format, extension, contentType, begin] of FORMATS) {
    const { status, body, headers } = await request({ templateId: "users", format }, admin);
    const { id, fileName, storedFileId } = body;
    assert.deepEqual([status, headers.get("location")], [201, `${REPORTS}/${id}`]);
    has(body, { status: STATUS.Completed, reportName: "Users" });
    assert.match(fileName, new RegExp(`^users-\\d{8}-\\d{6}\\.${extension}$`));
    assert.match(body.generationDuration, /^00:00:\d\d\.\d{3}$/);
    has((await admin.get(`${REPORTS}/${id}`)).body, { contentType, requestedBy: admin.email });
    const { bytes, headers: stored } = await fetchDocument(admin, id);
    assert.equal(bytes.length, body.fileSizeBytes);
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    assert.ok(text.startsWith(begin), extension);
    if (format === CSV) {
      assert.ok(text.includes(`\r\n${admin.email},Test,Actor,,true,true,false,Admin,,2`), text);
    }
    assert.equal(stored.get("content-type"), "application/octet-stream");
    assert.match(stored.get("content-disposition") ?? "", new RegExp(`^attachment.*${fileName}`));
    has((await admin.get(`/api/v1/files/${storedFileId}`)).body, { status: "Available", profile: "report" });
  }
});

Deno.test("a format that the template does not offer is rejected, when generating and when scheduling", async () => {
  const admin = await t.actor();
  const request = { templateId: "export-only", format: 1, name: "x", cronExpression: "0 0 * * *" };
  for (const path of ["generate", "generate-async", "schedules"]) {
    refused(await admin.post(`${REPORTS}/${path}`, request), 400, "REPORT_FORMAT_NOT_SUPPORTED");
  }
});

Deno.test("a query that fails after its first rows fails the report, reveals no internals and leaves no file", async () => {
  const actor = await t.actor();
  await assert.rejects(drawnReport(t, actor, "failing", {}, 1), { code: "22012" });
  const answer = await actor.post(`${REPORTS}/generate`, { templateId: "failing", format: CSV });
  refused(answer, 500, "INTERNAL_ERROR");
  const { items: [failed, ...more] } = (await actor.get(`${REPORTS}/history`)).body;
  assert.equal(more.length, 0);
  const errorMessage = "The query failed (SQLSTATE 22012).";
  has((await actor.get(`${REPORTS}/${failed.id}`)).body, { status: STATUS.Failed, errorMessage });
  const held = await t.sql`select status from files where tenant_id = ${actor.tenantId}`;
  assert.ok(pluck(held, "status").every((status) => status === "Pending"));
});

Deno.test("html has the parts in order, with groups, exact totals, the tenant's looks and charts in words", async () => {
  const { text: html, rows } = await drawnReport(t, await branded(t), "everything", {}, HTML);
  assert.equal(rows, 28, "the rows of all tables");
  const headings = [...html.matchAll(/<h([12])>(.*?)<\/h/g)].map(([, level, text]) => `${level} ${text}`);
  const parts = ["By month of 2026", "Invoices", "Amount by region", "Balances", "Balances"];
  assert.deepEqual(headings, ["1 Invoices of 2026", ...parts.map((title) => `2 ${title}`)]);
  const image =
    /<img src="data:image\/png;base64,[A-Za-z0-9+/=]+" width="400" height="100" alt="Acme &amp; Co">/;
  assert.match(html, image);
  const total =
    /<tfoot>\n<tr class="sum l0"><th colspan="4" scope="row">Total<\/th><td class="n">3,002.40<\/td>/;
  assert.match(html, total);
  const texts = [
    "--head: #0b6e4f; --head-text: #ffffff;",
    "<footer>1 Road, Lisbon</footer>",
    "@page { size: A4 portrait;",
    `<th colspan="5" scope="rowgroup">Region: &lt;East&gt; &amp; &quot;West&quot;</th>`,
    `<th colspan="5" scope="rowgroup">Region: (none)</th>`,
    `<td class="n">12,345,678,901,234.46</td>`, // the sum is not a double
    "(none): 1,290.6; &lt;East&gt; &amp; &quot;West&quot;: 930.6; South: 570.6; North: 210.6",
  ];
  for (const text of texts) assert.ok(html.includes(text), text);
  assert.equal(html.match(/<svg role="img" aria-labelledby=/g)?.length, 3);
  assert.ok(!/<script|https?:\/\/(?!www\.w3\.org)/.test(html));
});

Deno.test("csv has the rows of all tables, and nothing else", async () => {
  const { text } = await drawnReport(t, await branded(t), "everything", { rows: 1 }, CSV);
  const invoices = [
    "Region,Customer,Number,Issued on,Sent,Paid,Amount",
    "North,Customer 1,1,2026-01-02,2026-01-01T01:00:01.500Z,false,10.10",
  ];
  const balances = ["Account,Balance", "Bank,0.10", "Cash,0.20", "Loans,-0.40", "Large,12345678901234.56"];
  assert.equal(text, [...invoices, "", ...balances, ""].join("\r\n"));
});

Deno.test("a time limit that ends before the work begins stops it too, whatever the store does", async () => {
  const never = Promise.withResolvers<never>();
  using _never = t.replace(({ objects }) => objects, { write: () => never.promise });
  await assert.rejects(within(0, "lines", { rows: 7 }), tooLarge);
  never.reject(new Error("the store is gone"));
});
