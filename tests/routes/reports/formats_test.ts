import assert from "node:assert/strict";
import { fetchDocument, setupSharedReports, STATUS } from "./support.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());
const FORMATS = [
  [1, "pdf", "application/pdf", "%PDF-1."],
  [2, "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "PK\u0003\u0004"],
  [3, "csv", "text/csv", "\ufeffEmail,First name"],
  [4, "html", "text/html", "<!DOCTYPE html>"],
] as const;

Deno.test("every built-in report is created in all four formats, and each document passes the scan", async () => {
  const admin = await t.actor({ role: "Admin" });
  const { body: templates } = await admin.get("/api/v1/reports");
  for (const { templateId, supportedFormats } of templates) {
    assert.deepEqual(supportedFormats, templateId === "export-only" ? [3] : [1, 2, 3, 4]);
  }
  for (const [format, extension, contentType, begin] of FORMATS) {
    const { status, body } = await admin.post("/api/v1/reports/generate", { templateId: "users", format });
    assert.deepEqual([status, body.status], [201, STATUS.Completed], JSON.stringify(body));
    assert.ok(body.fileName.endsWith(`.${extension}`));
    assert.equal((await admin.get(`/api/v1/reports/${body.id}`)).body.contentType, contentType);
    const { bytes, headers } = await fetchDocument(admin, body.id);
    assert.ok(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).startsWith(begin), extension);
    assert.equal(headers.get("content-type"), "application/octet-stream");
    const file = await admin.get(`/api/v1/files/${body.storedFileId}`);
    assert.deepEqual([file.body.status, file.body.profile], ["Available", "report"]);
  }
});

Deno.test("a format that the template does not offer is rejected, when generating and when scheduling", async () => {
  const admin = await t.actor({ role: "Admin" });
  const request = { templateId: "export-only", format: 1, name: "x", cronExpression: "0 0 * * *" };
  for (const path of ["generate", "generate-async", "schedules"]) {
    const { status, body } = await admin.post(`/api/v1/reports/${path}`, request);
    assert.deepEqual([status, body.code], [400, "REPORT_FORMAT_NOT_SUPPORTED"], path);
  }
});

Deno.test("a report wider than a page and longer than a sheet's batch is complete in every format", async () => {
  const admin = await t.actor({ role: "Admin" });
  for (const [format] of FORMATS) {
    const { body } = await admin.post("/api/v1/reports/generate", {
      templateId: "lines",
      format,
      parameters: { rows: 2_345, width: 90 },
    });
    const { body: detail } = await admin.get(`/api/v1/reports/${body.id}`);
    assert.deepEqual([detail.status, detail.rowCount], [STATUS.Completed, 2_345]);
  }
});

Deno.test("a query that fails after its first rows ends every format as Failed and leaves no file", async () => {
  const admin = await t.actor({ role: "Admin" });
  for (const [format] of FORMATS) {
    assert.equal(
      (await admin.post("/api/v1/reports/generate", { templateId: "failing", format })).status,
      500,
    );
  }
  const { body } = await admin.get("/api/v1/reports/history?templateId=failing");
  assert.deepEqual(body.items.map((item: { status: number }) => item.status), Array(4).fill(STATUS.Failed));
  const held = await t.steward.platform.sql`select from files f where f.tenant_id = ${admin.tenantId}
    and f.status <> 'Pending'`;
  assert.equal(held.length, 0);
});
