import assert from "node:assert/strict";
import { DependencyUnavailable } from "../../../domain/jobs/job_type.ts";
import { deliverJob } from "../../../domain/reports/delivery/deliver_job.ts";
import { generateJob } from "../../../domain/reports/generation/generate_job.ts";
import { produceDocument, RunSuperseded } from "../../../domain/reports/generation/produce.ts";
import { beginRun, failRun, FILE_SCOPE, type Run } from "../../../domain/reports/run.ts";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { has, invalid, pluck, refused } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { until } from "../../support/until.ts";
import {
  CSV,
  downloadUrl,
  EMAIL,
  execution,
  generateLater,
  reached,
  REPORTS,
  setupSharedReports,
  startHook,
  STATUS,
  STORAGE,
  WEBHOOK,
} from "./support.ts";

const t = await setupSharedReports();
const { platform, sql } = t;
const analyst = await t.actor({ permissions: ["read:users"] });
const read = async (id: string) => (await analyst.get(`${REPORTS}/${id}`)).body;
const slowReport = (rows = 10_000) => generateLater(analyst, { templateId: "slow", parameters: { rows } });

const queriesRunning = async () =>
  (await sql`select from pg_stat_activity
    where datname = current_database() and application_name = 'steward-reports' and state = 'active'`).length;
const jobOf = async (executionId: string): Promise<string> =>
  (await sql`select id from jobs where serialized_args = ${JSON.stringify({ executionId })}`)[0]?.id;
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
  const request = { templateId: "users", format: CSV, delivery: { method: 1 } };
  const { status, body, headers } = await analyst.post(`${REPORTS}/generate-async`, request);
  assert.equal(status, 202);
  const { id } = body;
  const statusUrl = `${REPORTS}/${id}`;
  assert.deepEqual(body, { id, trackingId: id, status: STATUS.Queued, statusUrl });
  assert.equal(headers.get("location"), statusUrl);
  const detail = await reached(analyst, id, STATUS.Completed);
  has(detail, { rowCount: 1, deliveries: [], deliveryStatus: null });
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

Deno.test("invalid delivery options are named by field", async () => {
  const request = (more: Record<string, unknown>) =>
    analyst.post(`${REPORTS}/generate-async`, { templateId: "cells", format: CSV, ...more });
  const cases: [Record<string, unknown>, ...string[]][] = [
    [{ method: EMAIL, recipients: ["a@b.test", "nobody", "x@y\n.test"] }, "recipients.1", "recipients.2"],
    [{ method: STORAGE, targetPath: "../up.csv" }, "targetPath"],
    [{ method: STORAGE, targetPath: "{tenant}/x.csv" }, "targetPath"],
    [{ method: WEBHOOK, webhookUrl: "ftp://x.test/" }, "webhookUrl"],
    [{ method: WEBHOOK, webhookUrl: "https://u:p@x.test/" }, "webhookUrl"],
  ];
  for (const [delivery, ...members] of cases) {
    invalid(await request({ delivery }), ...members.map((member) => `delivery.${member}`));
  }
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

Deno.test("an outdated run keeps no file, not even for a moment", async () => {
  const { id } = await interrupt(await completed());
  const [outdated, current] = [await beginRun(platform, id), await beginRun(platform, id)];
  assert.ok(outdated && current);
  const produce = (run: Run) => produceDocument(platform, run, new AbortController().signal);
  const heldBy = async ({ runId }: Run) =>
    (await sql`select from file_references where owner_id = ${runId}`).count;
  await produce(current);
  assert.equal(await heldBy(current), 1);
  await assert.rejects(produce(outdated), RunSuperseded);
  assert.equal(await heldBy(outdated), 0, "also no released one");
});

const start = async (delivery: unknown = null): Promise<string> =>
  (await generateLater(analyst, { delivery })).id;
const rowOf = async (id: string) => (await sql`select * from report_executions where id = ${id}`)[0];
const triesOf = async (id: string) =>
  (await sql`select attempts from report_deliveries where execution_id = ${id}`)[0]?.attempts ?? 0;

/** Takes the object store away until the returned function is called, or disposed of. */
function storeIsAway(): Disposable & (() => void) {
  const endpoint = `http://127.0.0.1:${freePort()}`;
  const { S3_BUCKET: bucket } = platform.config;
  const place = { endpoint, publicEndpoint: endpoint, region: "us-east-1", bucket };
  const gone = connectObjectStore({ ...place, accessKey: "a", secretKey: "b", pathStyle: true });
  return t.replace((p) => p, { objects: gone });
}

/** Adds attempts to a delivery, as those that were made before. */
const addAttempts = (id: string, count: number) =>
  sql`update report_deliveries set attempts = attempts + ${count} where execution_id = ${id}`;

const hurry = (jobId: string, done: () => Promise<boolean>) =>
  until(async () => {
    await analyst.post(`/api/v1/jobs/${jobId}/retry-now`);
    return await done();
  });
const isIn = (id: string, status: number) => async () => (await read(id)).status === status;

Deno.test("a report is retried without limit during an outage of the object store, and completed afterwards", async () => {
  const restore = storeIsAway();
  const id = await start();
  const jobId = (await rowOf(id))?.jobId;
  await hurry(jobId, async () => ((await rowOf(id))?.attempts ?? 0) >= 5);
  const waiting = await reached(analyst, id, STATUS.Queued);
  assert.equal(waiting.errorMessage, "The object store does not answer. The report will be tried again.");
  assert.equal((await rowOf(id))?.failures, 0, "an outage is no failure of the report");
  restore();
  await hurry(jobId, isIn(id, STATUS.Completed));
  assert.equal((await read(id)).errorMessage, null);
  assert.equal((await fetch(await downloadUrl(analyst, id))).status, 200);
  assert.equal((await analyst.get(`/api/v1/jobs/${jobId}`)).body.status, "Succeeded");
});

Deno.test("while the object store is down, a synchronous request is answered 503 at once", async () => {
  using _away = storeIsAway();
  const answer = await analyst.post(`${REPORTS}/generate`, { templateId: "cells", format: CSV });
  refused(answer, 503, "FILE_STORAGE_UNAVAILABLE");
  assert.ok(answer.headers.has("retry-after"));
});

Deno.test("a webhook waits for its receiver to come back, whatever the number of attempts", async () => {
  const port = freePort();
  const hooked = await start({ method: WEBHOOK, webhookUrl: `http://127.0.0.1:${port}/hook` });
  await reached(analyst, hooked, STATUS.Completed);
  const hookJob = (await rowOf(hooked))?.deliveryJobId;
  await addAttempts(hooked, 8);
  await hurry(hookJob, async () => await triesOf(hooked) >= 10);
  has(await read(hooked), { deliveries: [{ status: "Owed" }] });
  const options = { port, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, () => new Response(null, { status: 204 }));
  await hurry(hookJob, isIn(hooked, STATUS.Delivered));
  await server.shutdown();
});

Deno.test("an unreachable receiver is given up after a day, a rejecting one after a few attempts", async () => {
  const id = await start({ method: WEBHOOK, webhookUrl: `http://127.0.0.1:${freePort()}/hook` });
  const reason = "The receiver could not be reached";
  await execution(analyst, id, ({ deliveries }) => deliveries[0]?.errorMessage?.startsWith(reason));
  const jobId = (await rowOf(id))?.deliveryJobId;
  const deliver = (waitsForDependencies: boolean) =>
    deliverJob.run({ executionId: id }, jobContext(platform, { jobId, waitsForDependencies }));
  await assert.rejects(deliver(true), DependencyUnavailable);
  assert.deepEqual(await deliver(false), { delivered: 1 });
  const detail = await read(id);
  assert.equal(detail.status, STATUS.Completed);
  assert.match(detail.errorMessage, /^Delivery failed for 1 of 1: .*could not be reached/);

  await using hook = startHook(Array.from({ length: 8 }, () => [404, null]));
  const refusedId = await start({ method: WEBHOOK, webhookUrl: hook.url });
  await reached(analyst, refusedId, STATUS.Completed);
  await addAttempts(refusedId, 5);
  const hasEnded = async () => (await read(refusedId)).errorMessage !== null;
  await hurry((await rowOf(refusedId))?.deliveryJobId, hasEnded);
  assert.equal(hook.received.length, 3, "after eight attempts");
});

Deno.test("three runs that fail on their own make the execution Failed", async () => {
  const { id } = await interrupt(await completed());
  using _failing = t.replace(({ objects }) => objects, {
    write: () => Promise.reject(new Error("an unexpected failure")),
  });
  const run = () => generateJob.run({ executionId: id }, jobContext(platform));
  for (const failures of [1, 2]) {
    await assert.rejects(run(), /unexpected/);
    assert.equal((await rowOf(id))?.failures, failures);
  }
  await assert.rejects(run(), { name: "PermanentJobFailure" });
  assert.equal((await read(id)).status, STATUS.Failed);
});
