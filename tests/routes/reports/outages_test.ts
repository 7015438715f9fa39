// Reports while a service they need is down or their workers crash.
import assert from "node:assert/strict";
import { DependencyUnavailable } from "../../../domain/jobs/job_type.ts";
import { deliverJob } from "../../../domain/reports/delivery/deliver_job.ts";
import { generateJob } from "../../../domain/reports/generate_job.ts";
import { beginRun } from "../../../domain/reports/run.ts";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { has, refused } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { until } from "../../support/until.ts";
import { CSV, REPORTS, STATUS, STORAGE, WEBHOOK } from "./constants.ts";
import { downloadUrl, execution, generateLater, reached, setupSharedReports, startHook } from "./support.ts";

const t = await setupSharedReports();
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql, config } = platform;
const analyst = await t.actor();

const start = async (delivery: unknown = null): Promise<string> =>
  (await generateLater(analyst, { delivery })).id;
const read = async (id: string) => (await analyst.get(`${REPORTS}/${id}`)).body;
const rowOf = async (id: string) => (await sql`select * from report_executions where id = ${id}`)[0];
const triesOf = async (id: string) =>
  (await sql`select attempts from report_deliveries where execution_id = ${id}`)[0]?.attempts ?? 0;

/** Takes the object store away until the returned function is called, or disposed of. */
function storeIsAway(): Disposable & (() => void) {
  const endpoint = `http://127.0.0.1:${freePort()}`;
  const place = { endpoint, publicEndpoint: endpoint, region: "us-east-1", bucket: config.S3_BUCKET };
  const gone = connectObjectStore({ ...place, accessKey: "a", secretKey: "b", pathStyle: true });
  return t.replace((p) => p, { objects: gone });
}

/** Runs a waiting job at once, until `done`. */
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

Deno.test("a copy waits for the object store to come back, and a webhook for its receiver", async () => {
  const id = await start({ method: STORAGE, targetPath: "outage/{fileName}" });
  await reached(analyst, id, STATUS.Delivered);
  const restore = storeIsAway();
  await sql`update report_deliveries set status = 'Failed' where execution_id = ${id}`;
  await sql`update report_executions set status = ${STATUS.Completed} where id = ${id}`;
  assert.equal((await analyst.post(`${REPORTS}/${id}/redeliver`)).status, 202);
  const { deliveryJobId } = await rowOf(id) ?? {};
  await hurry(deliveryJobId, async () => await triesOf(id) >= 10);
  has(await read(id), { deliveries: [{ status: "Owed" }] });
  restore();
  await hurry(deliveryJobId, isIn(id, STATUS.Delivered));

  const port = freePort();
  const hooked = await start({ method: WEBHOOK, webhookUrl: `http://127.0.0.1:${port}/hook` });
  await reached(analyst, hooked, STATUS.Completed);
  const hookJob = (await rowOf(hooked))?.deliveryJobId;
  await hurry(hookJob, async () => await triesOf(hooked) >= 10);
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

  await using hook = startHook(Array.from({ length: 20 }, () => [404, null]));
  const refusedId = await start({ method: WEBHOOK, webhookUrl: hook.url });
  await reached(analyst, refusedId, STATUS.Completed);
  const hasEnded = async () => (await read(refusedId)).errorMessage !== null;
  await hurry((await rowOf(refusedId))?.deliveryJobId, hasEnded);
  assert.equal(hook.received.length, 8);
});

/** A Generating execution without a worker. */
async function generating(): Promise<string> {
  const later = { templateId: "cells", format: CSV };
  const { id } = (await analyst.post(`${REPORTS}/generate-async`, later)).body;
  await reached(analyst, id, STATUS.Completed);
  await sql`update report_executions set status = ${STATUS.Generating}, stored_file_id = null where id = ${id}`;
  return id;
}

Deno.test("crashes do not fail a report: its job decides how often it runs again", async () => {
  const id = await generating();
  for (let crash = 0; crash < 8; crash++) assert.ok(await beginRun(platform, id));
  assert.equal((await read(id)).status, STATUS.Generating);
});

Deno.test("three runs that fail on their own make the execution Failed", async () => {
  const id = await generating();
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
