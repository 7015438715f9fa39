import assert from "node:assert/strict";
import { generateJob } from "../../../domain/reports/generate_job.ts";
import { beginRun, failRun, FILE_SCOPE, type Run } from "../../../domain/reports/run.ts";
import { has, invalid, pluck, refused } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { until } from "../../support/until.ts";
import { CSV, EMAIL, REPORTS, STATUS, STORAGE, WEBHOOK } from "./constants.ts";
import { downloadUrl, generateLater, reached, setupSharedReports } from "./support.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;
const analyst = await t.actor({ permissions: ["read:users"] });
const read = async (id: string) => (await analyst.get(`${REPORTS}/${id}`)).body;
const slowReport = (rows = 10_000) => generateLater(analyst, { templateId: "slow", parameters: { rows } });

/** Counts the running queries of reports. */
const queriesRunning = async () =>
  (await sql`select from pg_stat_activity
    where datname = current_database() and application_name = 'steward-reports' and state = 'active'`).length;
const jobOf = async (executionId: string): Promise<string> =>
  (await sql`select id from jobs where serialized_args = ${JSON.stringify({ executionId })}`)[0]?.id;
/** The number of files that a run holds. */
const heldByRun = async (runId = "") =>
  (await sql`select from file_references where owner_id = ${runId} and released_at is null`).length;
const filesHeldBy = async (executionId: string) =>
  (await sql`select from file_references r join report_executions e on e.run_id::text = r.owner_id
    where r.scope = ${FILE_SCOPE} and e.id = ${executionId} and r.released_at is null`).length;
/** A completed execution, with its document. */
async function completed(): Promise<string> {
  const { id } = await generateLater(analyst);
  await reached(analyst, id, STATUS.Completed);
  assert.equal(await filesHeldBy(id), 1);
  return id;
}
/** Sets an execution to Generating without a document, as a process leaves it that dies after storing. */
async function interrupt(id: string): Promise<Run> {
  const [run] = await sql<Run[]>`
    update report_executions set status = ${STATUS.Generating}, stored_file_id = null where id = ${id} returning *`;
  return run ?? assert.fail();
}

Deno.test("a report is accepted, tracked and completed", async () => {
  const { status, body, headers } = await analyst.post(`${REPORTS}/generate-async`, {
    templateId: "users",
    format: CSV,
    delivery: { method: 1 },
  });
  assert.equal(status, 202);
  const { id } = body;
  const statusUrl = `${REPORTS}/${id}`;
  assert.deepEqual(body, { id, trackingId: id, status: STATUS.Queued, statusUrl });
  assert.equal(headers.get("location"), statusUrl);
  has(await reached(analyst, id, STATUS.Completed), { rowCount: 1, deliveries: [] });
  await downloadUrl(analyst, id);
  assert.equal((await read(id)).downloadCount, 1);
});

Deno.test("cancelling the job of a queued report cancels the report at once, also while all work is paused", async () => {
  const operator = await t.actor({ role: "SystemAdmin", tenantId: t.platformTenantId, global: true });
  const queue = "/api/v1/jobs/queues/default";
  assert.equal((await operator.post(`${queue}/pause`)).body.pause.scope, "all");
  try {
    const { id } = await generateLater(analyst);
    assert.equal((await analyst.post(`/api/v1/jobs/${await jobOf(id)}/cancel`)).status, 200);
    const report = await read(id);
    has(report, { status: STATUS.Cancelled, errorMessage: "Its job was cancelled." });
    assert.ok(report.completedAt);
  } finally {
    await operator.post(`${queue}/resume`);
  }
});

Deno.test("requests are rejected as by generate, and invalid delivery options are named by field", async () => {
  const request = (more: Record<string, unknown>) =>
    analyst.post(`${REPORTS}/generate-async`, { templateId: "cells", format: CSV, ...more });
  refused(await request({ templateId: "none" }), 404, "REPORT_TEMPLATE_NOT_FOUND");
  invalid(await request({ format: 7 }), "format");
  const many = Array.from({ length: 51 }, (_, i) => `a${i}@b.test`);
  const cases: [Record<string, unknown>, ...string[]][] = [
    [{}, "method"],
    [{ method: 5 }, "method"],
    [{ method: "Email" }, "method"],
    [{ method: EMAIL }, "recipients"],
    [{ method: EMAIL, recipients: ["a@b.test", "nobody", "x@y\n.test"] }, "recipients.1", "recipients.2"],
    [{ method: EMAIL, recipients: many }, "recipients"],
    [{ method: STORAGE }, "targetPath"],
    [{ method: STORAGE, targetPath: "../up.csv" }, "targetPath"],
    [{ method: STORAGE, targetPath: "{tenant}/x.csv" }, "targetPath"],
    [{ method: WEBHOOK }, "webhookUrl"],
    [{ method: WEBHOOK, webhookUrl: "ftp://x.test/" }, "webhookUrl"],
    [{ method: WEBHOOK, webhookUrl: "https://u:p@x.test/" }, "webhookUrl"],
  ];
  for (const [delivery, ...members] of cases) {
    invalid(await request({ delivery }), ...members.map((member) => `delivery.${member}`));
  }
});

Deno.test("a failing query ends the execution as Failed without further attempts", async () => {
  const { id } = await generateLater(analyst, { templateId: "failing" });
  const detail = await reached(analyst, id, STATUS.Failed);
  assert.equal(detail.errorMessage, "The query failed (SQLSTATE 22012).");
  refused(await analyst.get(`${REPORTS}/${id}/download`), 409, "REPORT_NOT_AVAILABLE");
});

Deno.test("a query made with another client fails the report instead of returning no rows", async () => {
  for (const parameters of [{ url: platform.config.DATABASE_URL }, {}]) {
    const { id } = await generateLater(analyst, { templateId: "foreign", parameters });
    const { errorMessage } = await reached(analyst, id, STATUS.Failed);
    const reason = /^The report template has an error: the query of report "foreign" was not made/;
    assert.match(errorMessage, reason);
  }
});

Deno.test("deleting a Generating report cancels it and stops its query", async () => {
  const { id } = await slowReport();
  await reached(analyst, id, STATUS.Generating);
  await until(queriesRunning, (running) => running === 1);
  refused(await analyst.get(`${REPORTS}/${id}/download`), 409, "REPORT_NOT_AVAILABLE");
  assert.equal((await analyst.delete(`${REPORTS}/${id}`)).status, 204);
  assert.equal((await read(id)).code, "REPORT_NOT_FOUND");
  await until(queriesRunning, (running) => running === 0);
  const { body: history } = await analyst.get(`${REPORTS}/history?status=6&includeDeleted=true`);
  assert.ok(pluck(history.items, "id").includes(id));
  assert.equal(await filesHeldBy(id), 0);
});

Deno.test("deleting a Queued report cancels it, and its job then does nothing", async () => {
  const blockers = [await slowReport(), await slowReport()];
  await until(queriesRunning, (running) => running === 2);
  const { id } = await generateLater(analyst);
  assert.equal((await read(id)).status, STATUS.Queued);
  for (const each of [id, ...pluck(blockers, "id")]) {
    assert.equal((await analyst.delete(`${REPORTS}/${each}`)).status, 204);
  }
  assert.equal(await t.settled(await jobOf(id)), "Succeeded");
  const [row] = await sql`select status, stored_file_id from report_executions where id = ${id}`;
  has(row, { status: STATUS.Cancelled, storedFileId: null });
});

Deno.test("a run after a crash takes over, and only one file is kept", async () => {
  const id = await completed();
  const { storedFileId } = await read(id);
  const { runId } = await interrupt(id);
  const context = jobContext(platform, { attempt: 2 });
  await generateJob.run({ executionId: id }, context);
  assert.notEqual((await reached(analyst, id, STATUS.Completed)).storedFileId, storedFileId);
  assert.equal(await heldByRun(runId), 0, "the first run's file is left to collection");
  assert.equal(await filesHeldBy(id), 1);
  const again = await generateJob.run({ executionId: id }, context);
  assert.deepEqual(again, { generated: false }, "again changes nothing");
});

Deno.test("a run that crashed after its execution was cancelled, or that failed after storing, keeps no file", async () => {
  const cancelled = await completed();
  // As a process leaves it that dies between storing and completing, while the execution is deleted:
  await sql`update report_executions set status = ${STATUS.Cancelled}, deleted_at = now(), stored_file_id = null
    where id = ${cancelled}`;
  const nothing = await generateJob.run({ executionId: cancelled }, jobContext(platform));
  assert.deepEqual(nothing, { generated: false });
  assert.equal(await filesHeldBy(cancelled), 0);

  const failed = await completed();
  assert.ok(await failRun(platform, await interrupt(failed), "it could not be completed"));
  assert.equal(await filesHeldBy(failed), 0);
});

Deno.test("a late run neither completes nor keeps its file", async () => {
  const { id } = await slowReport(60);
  await reached(analyst, id, STATUS.Generating);
  const [late] = await sql<{ runId: string }[]>`select run_id from report_executions where id = ${id}`;
  const newer = await beginRun(platform, id);
  assert.notEqual(newer?.runId, late?.runId);
  assert.equal(await t.settled(await jobOf(id)), "Succeeded");
  assert.equal((await read(id)).status, STATUS.Generating);
  assert.equal(await heldByRun(late?.runId), 0);
});
