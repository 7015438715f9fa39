import assert from "node:assert/strict";
import { has, pluck, refused } from "../../support/answers.ts";
import { CSV, REPORTS, STATUS } from "./constants.ts";
import { drawnReport, fetchDocument, generateNow, setupSharedReports } from "./support.ts";

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
  for (const { templateId, supportedFormats } of (await admin.get(REPORTS)).body) {
    assert.deepEqual(supportedFormats, templateId === "export-only" ? [3] : [1, 2, 3, 4]);
  }
  for (const [format, extension, contentType, begin] of FORMATS) {
    const { id, status, fileName, storedFileId } = await generateNow(admin, "users", { format });
    assert.equal(status, STATUS.Completed);
    assert.ok(fileName.endsWith(`.${extension}`));
    assert.equal((await admin.get(`${REPORTS}/${id}`)).body.contentType, contentType);
    const { bytes, headers } = await fetchDocument(admin, id);
    assert.ok(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).startsWith(begin), extension);
    assert.equal(headers.get("content-type"), "application/octet-stream");
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

Deno.test("a query that fails after its first rows fails every format, reveals no internals and leaves no file", async () => {
  const actor = await t.actor();
  for (const [format] of FORMATS) {
    await assert.rejects(drawnReport(t, actor, "failing", {}, format), { code: "22012" });
  }
  const answer = await actor.post(`${REPORTS}/generate`, { templateId: "failing", format: CSV });
  refused(answer, 500, "INTERNAL_ERROR");
  const { items: [failed, ...more] } = (await actor.get(`${REPORTS}/history`)).body;
  assert.equal(more.length, 0);
  const errorMessage = "The query failed (SQLSTATE 22012).";
  has((await actor.get(`${REPORTS}/${failed.id}`)).body, { status: STATUS.Failed, errorMessage });
  const held = await t.steward.platform.sql`select status from files where tenant_id = ${actor.tenantId}`;
  assert.ok(pluck(held, "status").every((status) => status === "Pending"));
});
