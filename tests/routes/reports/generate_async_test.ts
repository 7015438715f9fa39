import assert from "node:assert/strict";
import { generateJob } from "../../../domain/reports/generate_job.ts";
import { storeServiceFile } from "../../../domain/files/service_files.ts";
import { beginRun, failRun, FILE_SCOPE, type Run } from "../../../domain/reports/run.ts";
import { jobContext } from "../../support/job_context.ts";
import { CSV, downloadUrl, reached, setupReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const t = await setupReports({ REPORT_CONCURRENCY: "2" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const analyst = await t.actor({ permissions: ["read:users"] });
const start = (body: Record<string, unknown>, by = analyst) =>
  by.post("/api/v1/reports/generate-async", body);

/** Counts the running queries of reports. */
const queriesRunning = async () =>
  (await sql`select from pg_stat_activity
    where datname = current_database() and application_name = 'steward-reports' and state = 'active'`).length;
const filesHeldBy = async (executionId: string) =>
  (await sql`select from file_references r join report_executions e on e.run_id::text = r.owner_id
    where r.scope = ${FILE_SCOPE} and e.id = ${executionId} and r.released_at is null`).length;

Deno.test("a report is accepted, tracked and completed", async () => {
  const { status, body, headers } = await start({ templateId: "users", format: CSV });
  assert.equal(status, 202);
  assert.deepEqual(body, {
    id: body.id,
    trackingId: body.id,
    status: STATUS.Queued,
    statusUrl: `/api/v1/reports/${body.id}`,
  });
  assert.equal(headers.get("location"), body.statusUrl);
  const detail = await reached(analyst, body.id, STATUS.Completed);
  assert.equal(detail.rowCount, 1);
  await downloadUrl(analyst, body.id);
  const counted = await analyst.get(body.statusUrl);
  assert.equal(counted.body.downloadCount, 1);
});

Deno.test("cancelling the job of a queued report cancels the report at once, also while all work is paused", async () => {
  const requester = await t.actor({ permissions: ["read:users"] });
  const operator = await t.actor({ role: "SystemAdmin", tenantId: t.platformTenantId, global: true });
  const queue = "/api/v1/jobs/queues/default";
  assert.equal((await operator.post(`${queue}/pause`)).body.pause.scope, "all");
  try {
    const { body } = await start({ templateId: "users", format: CSV }, requester);
    const jobs = await requester.get("/api/v1/jobs?searchTerm=steward.report-generate&status=Enqueued");
    const job = jobs.body.items.find(({ serializedArgs }: { serializedArgs: string }) =>
      serializedArgs.includes(body.id)
    );
    assert.equal((await requester.post(`/api/v1/jobs/${job.id}/cancel`)).status, 200);
    const { body: report } = await requester.get(body.statusUrl);
    assert.deepEqual([report.status, report.errorMessage], [STATUS.Cancelled, "Its job was cancelled."]);
    assert.ok(report.completedAt);
  } finally {
    await operator.post(`${queue}/resume`);
  }
});

Deno.test("if a proxy serves the API below a path, the links in the answer and Location begin with it", async () => {
  const behind = await setupReports({
    PUBLIC_URL: "https://example.test/back-office/",
    JOB_CONCURRENCY: "0",
  });
  try {
    const actor = await behind.actor();
    const burst = { parameter: "rows", items: [{ value: 1 }, { value: 2 }] };
    const { body, headers } = await actor.post("/api/v1/reports/generate-async", {
      templateId: "lines",
      format: CSV,
      burst,
    });
    assert.equal(body.statusUrl, `/back-office/api/v1/reports/${body.id}`);
    assert.equal(headers.get("location"), body.statusUrl);
    assert.equal(body.burstUrl, `/back-office/api/v1/reports/history?burstId=${body.burstId}`);
  } finally {
    await behind.stop();
  }
});

Deno.test("delivery by download leaves the execution Completed", async () => {
  const { body } = await start({ templateId: "cells", format: CSV, delivery: { method: 1 } });
  const detail = await reached(analyst, body.id, STATUS.Completed);
  assert.deepEqual(detail.deliveries, []);
});

Deno.test("requests are rejected as by generate, and invalid delivery options are named by field", async () => {
  const codeOf = async (body: Record<string, unknown>) => (await start(body)).body.code;
  assert.equal(await codeOf({ templateId: "none", format: CSV }), "REPORT_TEMPLATE_NOT_FOUND");
  assert.equal(await codeOf({ templateId: "users", format: 7 }), "VALIDATION_ERROR");
  const fields = async (delivery: unknown) => {
    const { status, body } = await start({ templateId: "cells", format: CSV, delivery });
    assert.equal(status, 400, JSON.stringify(delivery));
    return Object.keys(body.errors).sort();
  };
  assert.deepEqual(await fields({}), ["delivery.method"]);
  assert.deepEqual(await fields({ method: 5 }), ["delivery.method"]);
  assert.deepEqual(await fields({ method: "Email" }), ["delivery.method"]);
  assert.deepEqual(await fields({ method: 2 }), ["delivery.recipients"]);
  assert.deepEqual(await fields({ method: 2, recipients: ["a@b.test", "nobody", "x@y\n.test"] }), [
    ...["delivery.recipients.1", "delivery.recipients.2"],
  ]);
  assert.deepEqual(
    await fields({ method: 2, recipients: Array.from({ length: 51 }, (_, i) => `a${i}@b.test`) }),
    [
      "delivery.recipients",
    ],
  );
  assert.deepEqual(await fields({ method: 3 }), ["delivery.targetPath"]);
  assert.deepEqual(await fields({ method: 3, targetPath: "../up.csv" }), ["delivery.targetPath"]);
  assert.deepEqual(await fields({ method: 3, targetPath: "{tenant}/x.csv" }), ["delivery.targetPath"]);
  assert.deepEqual(await fields({ method: 4 }), ["delivery.webhookUrl"]);
  assert.deepEqual(await fields({ method: 4, webhookUrl: "ftp://x.test/" }), ["delivery.webhookUrl"]);
  assert.deepEqual(await fields({ method: 4, webhookUrl: "https://u:p@x.test/" }), ["delivery.webhookUrl"]);
});

Deno.test("a failing query ends the execution as Failed without further attempts", async () => {
  const { body } = await start({ templateId: "failing", format: CSV });
  const detail = await reached(analyst, body.id, STATUS.Failed);
  assert.equal(detail.errorMessage, "The query failed (SQLSTATE 22012).");
  const download = await analyst.get(`/api/v1/reports/${body.id}/download`);
  assert.deepEqual([download.status, download.body.code], [409, "REPORT_NOT_AVAILABLE"]);
});

Deno.test("a query made with another client fails the report instead of returning no rows", async () => {
  const { DATABASE_URL } = t.steward.platform.config;
  for (const parameters of [{ url: DATABASE_URL }, {}]) {
    const { body } = await start({ templateId: "foreign", format: CSV, parameters });
    const detail = await reached(analyst, body.id, STATUS.Failed);
    assert.match(
      detail.errorMessage,
      /^The report template has an error: the query of report "foreign" was not made/,
    );
  }
});

Deno.test("deleting a Generating report cancels it and stops its query", async () => {
  const { body } = await start({ templateId: "slow", format: CSV, parameters: { rows: 10_000 } });
  await reached(analyst, body.id, STATUS.Generating);
  await until(queriesRunning, (running) => running === 1);
  const early = await analyst.get(`/api/v1/reports/${body.id}/download`);
  assert.deepEqual([early.status, early.body.code], [409, "REPORT_NOT_AVAILABLE"]);

  assert.equal((await analyst.delete(`/api/v1/reports/${body.id}`)).status, 204);
  assert.equal((await analyst.get(`/api/v1/reports/${body.id}`)).body.code, "REPORT_NOT_FOUND");
  await until(queriesRunning, (running) => running === 0, { withinMs: 3_000 });
  const { body: history } = await analyst.get("/api/v1/reports/history?status=6&includeDeleted=true");
  assert.deepEqual(history.items.map((item: { id: string }) => item.id), [body.id]);
  assert.equal(await filesHeldBy(body.id), 0);
});

Deno.test("deleting a Queued report cancels it, and its job then does nothing", async () => {
  const blockers = await Promise.all(
    Array.from({ length: 2 }, () => start({ templateId: "slow", format: CSV, parameters: { rows: 10_000 } })),
  );
  await until(queriesRunning, (running) => running === 2);
  const { body } = await start({ templateId: "cells", format: CSV });
  assert.equal((await analyst.get(`/api/v1/reports/${body.id}`)).body.status, STATUS.Queued);
  assert.equal((await analyst.delete(`/api/v1/reports/${body.id}`)).status, 204);
  for (const blocker of blockers) await analyst.delete(`/api/v1/reports/${blocker.body.id}`);
  const [job] = await sql<{ id: string }[]>`
    select id from jobs where serialized_args = ${JSON.stringify({ executionId: body.id })}`;
  assert.equal(await t.settled(job?.id ?? ""), "Succeeded");
  const [row] = await sql`select status, stored_file_id from report_executions where id = ${body.id}`;
  assert.deepEqual({ ...row }, { status: STATUS.Cancelled, storedFileId: null });
});

Deno.test("a run after a crash takes over, and only one file is kept", async () => {
  const { body } = await start({ templateId: "cells", format: CSV });
  await reached(analyst, body.id, STATUS.Completed);
  // As a process leaves it that dies after storing and before completing:
  const [before] = await sql<{ runId: string; storedFileId: string }[]>`
    update report_executions set status = ${STATUS.Generating}, stored_file_id = null
    from (select id, run_id, stored_file_id from report_executions where id = ${body.id}) was
    where report_executions.id = was.id returning was.run_id, was.stored_file_id`;
  const context = jobContext(t.steward.platform, { attempt: 2 });
  await generateJob.run({ executionId: body.id }, context);
  const detail = await reached(analyst, body.id, STATUS.Completed);
  assert.notEqual(detail.storedFileId, before?.storedFileId);
  const [references] = await sql<{ count: number }[]>`
    select count(*) as count from file_references where owner_id = ${
    before?.runId ?? ""
  } and released_at is null`;
  assert.equal(references?.count, 0, "the first run's file is left to collection");
  assert.equal(await filesHeldBy(body.id), 1);
  assert.deepEqual(
    await generateJob.run({ executionId: body.id }, context),
    { generated: false },
    "again changes nothing",
  );
});

Deno.test("a run that crashed after its execution was cancelled, or that failed after storing, keeps no file", async () => {
  const p = t.steward.platform;
  const stored = async () => {
    const { body } = await start({ templateId: "cells", format: CSV });
    await reached(analyst, body.id, STATUS.Completed);
    assert.equal(await filesHeldBy(body.id), 1);
    return body.id as string;
  };
  const cancelled = await stored();
  // As a process leaves it that dies between storing and completing, while the execution is deleted:
  await sql`update report_executions set status = ${STATUS.Cancelled}, deleted_at = now(), stored_file_id = null
    where id = ${cancelled}`;
  assert.deepEqual(await generateJob.run({ executionId: cancelled }, jobContext(p)), { generated: false });
  assert.equal(await filesHeldBy(cancelled), 0);

  const failed = await stored();
  const [run] = await sql<
    Run[]
  >`update report_executions set status = ${STATUS.Generating}, stored_file_id = null
    where id = ${failed} returning *`;
  assert.ok(run && await failRun(p, run, "it could not be completed"));
  assert.equal(await filesHeldBy(failed), 0);
});

Deno.test("a late run neither completes nor keeps its file", async () => {
  const p = t.steward.platform;
  const { body } = await start({ templateId: "slow", format: CSV, parameters: { rows: 60 } });
  await reached(analyst, body.id, STATUS.Generating);
  const [late] = await sql<{ runId: string }[]>`select run_id from report_executions where id = ${body.id}`;
  const newer = await beginRun(p, body.id);
  assert.notEqual(newer?.runId, late?.runId);
  const [job] = await sql<{ id: string }[]>`
    select id from jobs where serialized_args = ${JSON.stringify({ executionId: body.id })}`;
  assert.equal(await t.settled(job?.id ?? ""), "Succeeded");
  assert.equal((await analyst.get(`/api/v1/reports/${body.id}`)).body.status, STATUS.Generating);
  const [held] = await sql<{ count: number }[]>`
    select count(*) as count from file_references where owner_id = ${
    late?.runId ?? ""
  } and released_at is null`;
  assert.equal(held?.count, 0);
});

Deno.test("a document above its profile's size limit fails with the reason", async () => {
  const p = t.steward.platform;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(8 * 1024 * 1024)),
  });
  await assert.rejects(
    storeServiceFile(p, {
      tenantId: null,
      profile: "report",
      fileName: "x.csv",
      contentType: "text/csv",
      createdBy: null,
      owner: { scope: FILE_SCOPE, id: "test" },
    }, endless),
    { code: "FILE_TOO_LARGE_UNPROCESSABLE" },
  );
});
