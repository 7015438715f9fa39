// Reports while a service they need is down or their workers crash.
import assert from "node:assert/strict";
import { join } from "node:path";
import { startEmbeddedObjectStore } from "../../../infra/embedded/objectstore/server.ts";
import { deliverJob } from "../../../domain/reports/delivery/deliver_job.ts";
import { generateJob } from "../../../domain/reports/generate_job.ts";
import { beginRun } from "../../../domain/reports/run.ts";
import { DependencyUnavailable } from "../../../domain/jobs/job_type.ts";
import type { Actor } from "../../support/setup.ts";
import { freePort } from "../../../infra/embedded/free_port.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { jobContext } from "../../support/job_context.ts";
import { CSV, downloadUrl, reached, setupReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
const keys = { accessKey: "outages", secretKey: "outages-secret" };
const store = await startEmbeddedObjectStore({
  dir: join(folder, "objects"),
  port: 0,
  region: "us-east-1",
  ...keys,
});
const proxy = await TcpProxy.start({ hostname: "127.0.0.1", port: Number(new URL(store.endpoint).port) });
const t = await setupReports({
  S3_ENDPOINT: `http://127.0.0.1:${proxy.port}`,
  S3_ACCESS_KEY: keys.accessKey,
  S3_SECRET_KEY: keys.secretKey,
  OUTBOUND_ALLOW: "127.0.0.1",
  REPORT_CONCURRENCY: "8", // a run never waits for a report of another test
});
const { sql } = t.steward.platform;
const analyst = await t.actor();
Deno.test.afterAll(async () => {
  await t.stop();
  await proxy.refuse();
  await store.stop();
  await Deno.remove(folder, { recursive: true });
});

const start = async (body: Record<string, unknown>): Promise<string> =>
  (await analyst.post("/api/v1/reports/generate-async", { templateId: "cells", format: CSV, ...body })).body
    .id;
const rowOf = async (id: string) =>
  (await sql<{ jobId: string; deliveryJobId: string; attempts: number; failures: number }[]>`
    select job_id, delivery_job_id, attempts, failures from report_executions where id = ${id}`)[0];

/** Runs a waiting job at once, until `done`. */
async function hurry(actor: Actor, jobId: string, done: () => Promise<boolean>): Promise<void> {
  for (const since = performance.now(); !(await done());) {
    assert.ok(performance.now() - since < 20_000, "it did not come about in time");
    await actor.post(`/api/v1/jobs/${jobId}/retry-now`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}

Deno.test("a report is retried without limit during an outage of the object store, and completed afterwards", async () => {
  await proxy.refuse();
  const id = await start({});
  const { jobId = "" } = await rowOf(id) ?? {};
  await hurry(analyst, jobId, async () => ((await rowOf(id))?.attempts ?? 0) >= 6);
  const { body: waiting } = await until(
    () => analyst.get(`/api/v1/reports/${id}`),
    ({ body }) => body.status === STATUS.Queued,
  );
  assert.equal(waiting.errorMessage, "The object store does not answer. The report will be tried again.");
  assert.equal((await rowOf(id))?.failures, 0, "an outage is no failure of the report");
  await proxy.pass();
  await hurry(analyst, jobId, async () => {
    const { body } = await analyst.get(`/api/v1/reports/${id}`);
    return body.status === STATUS.Completed;
  });
  const { body: detail } = await analyst.get(`/api/v1/reports/${id}`);
  assert.equal(detail.errorMessage, null);
  assert.equal((await fetch(await downloadUrl(analyst, id))).status, 200);
  const { body: job } = await analyst.get(`/api/v1/jobs/${jobId}`);
  assert.equal(job.status, "Succeeded");
});

Deno.test("while the object store is down, a synchronous request is answered 503 at once", async () => {
  await proxy.refuse();
  const { status, body, headers } = await analyst.post("/api/v1/reports/generate", {
    templateId: "cells",
    format: CSV,
  });
  await proxy.pass();
  assert.deepEqual([status, body.code], [503, "FILE_STORAGE_UNAVAILABLE"]);
  assert.ok(headers.has("retry-after"));
});

Deno.test("a copy waits for the object store to come back, and a webhook for its receiver", async () => {
  const id = await start({ delivery: { method: 3, targetPath: "outage/{fileName}" } });
  await reached(analyst, id, STATUS.Delivered);
  await proxy.refuse();
  await sql`update report_deliveries set status = 'Failed' where execution_id = ${id}`;
  await sql`update report_executions set status = ${STATUS.Completed} where id = ${id}`;
  assert.equal((await analyst.post(`/api/v1/reports/${id}/redeliver`)).status, 202);
  const { deliveryJobId = "" } = await rowOf(id) ?? {};
  const tries = async () =>
    (await sql<{ attempts: number }[]>`select attempts from report_deliveries where execution_id = ${id}`)[0]
      ?.attempts ?? 0;
  await hurry(analyst, deliveryJobId, async () => await tries() >= 10);
  const { body: waiting } = await analyst.get(`/api/v1/reports/${id}`);
  assert.deepEqual(waiting.deliveries.map((d: { status: string }) => d.status), ["Owed"]);
  await proxy.pass();
  await hurry(analyst, deliveryJobId, async () => {
    const { body } = await analyst.get(`/api/v1/reports/${id}`);
    return body.status === STATUS.Delivered;
  });

  const port = freePort();
  const hooked = await start({ delivery: { method: 4, webhookUrl: `http://127.0.0.1:${port}/hook` } });
  await reached(analyst, hooked, STATUS.Completed);
  const hookJob = (await rowOf(hooked))?.deliveryJobId ?? "";
  const hookTries = async () =>
    (await sql<{ attempts: number }[]>`
      select attempts from report_deliveries where execution_id = ${hooked}`)[0]?.attempts ?? 0;
  await hurry(analyst, hookJob, async () => await hookTries() >= 10);
  const server = Deno.serve(
    { port, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response(null, { status: 204 }),
  );
  await hurry(analyst, hookJob, async () => {
    const { body } = await analyst.get(`/api/v1/reports/${hooked}`);
    return body.status === STATUS.Delivered;
  });
  await server.shutdown();
});

Deno.test("an unreachable receiver is given up after a day, a rejecting one after a few attempts", async () => {
  const port = freePort();
  const id = await start({ delivery: { method: 4, webhookUrl: `http://127.0.0.1:${port}/hook` } });
  await reached(analyst, id, STATUS.Completed);
  const deliver = (jobId: string, waitsForDependencies: boolean) =>
    deliverJob.run({ executionId: id }, jobContext(t.steward.platform, { jobId, waitsForDependencies }));
  const { deliveryJobId = "" } = await rowOf(id) ?? {};
  await until(
    () => analyst.get(`/api/v1/reports/${id}`),
    ({ body }) => body.deliveries[0]?.errorMessage?.startsWith("The receiver could not be reached"),
  );
  await assert.rejects(deliver(deliveryJobId, true), DependencyUnavailable);
  assert.deepEqual(await deliver(deliveryJobId, false), { delivered: 1 });
  const { body: detail } = await analyst.get(`/api/v1/reports/${id}`);
  assert.equal(detail.status, STATUS.Completed);
  assert.match(detail.errorMessage, /^Delivery failed for 1 of 1: .*could not be reached/);

  let posts = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
    posts++;
    return new Response(null, { status: 404 });
  });
  const refused = await start({
    delivery: { method: 4, webhookUrl: `http://127.0.0.1:${server.addr.port}/hook` },
  });
  await reached(analyst, refused, STATUS.Completed);
  const refusedJob = (await rowOf(refused))?.deliveryJobId ?? "";
  await hurry(analyst, refusedJob, async () => {
    const { body } = await analyst.get(`/api/v1/reports/${refused}`);
    return body.errorMessage !== null;
  });
  assert.equal(posts, 8);
  await server.shutdown();
});

Deno.test("crashes do not fail a report: its job decides how often it runs again", async () => {
  const id = await start({ templateId: "slow", parameters: { rows: 10_000 } });
  await reached(analyst, id, STATUS.Generating);
  for (let crash = 0; crash < 8; crash++) assert.ok(await beginRun(t.steward.platform, id));
  const { body } = await analyst.get(`/api/v1/reports/${id}`);
  assert.equal(body.status, STATUS.Generating);
  assert.equal((await analyst.delete(`/api/v1/reports/${id}`)).status, 204);
});

Deno.test("three runs that fail on their own make the execution Failed", async () => {
  const { objects } = t.steward.platform;
  const { write } = objects;
  const isWriting = Promise.withResolvers<void>();
  objects.write = (...given) => {
    isWriting.resolve();
    return write.apply(objects, given);
  };
  try {
    const id = await start({ templateId: "slow", parameters: { rows: 10_000 } });
    await isWriting.promise; // the worker's own run must not fail
    objects.write = () => Promise.reject(new Error("an unexpected failure"));
    for (const failures of [1, 2]) {
      await assert.rejects(
        generateJob.run({ executionId: id }, jobContext(t.steward.platform)),
        /unexpected/,
      );
      const row = await rowOf(id);
      assert.equal(row?.failures, failures);
    }
    await assert.rejects(generateJob.run({ executionId: id }, jobContext(t.steward.platform)), {
      name: "PermanentJobFailure",
    });
    await reached(analyst, id, STATUS.Failed);
  } finally {
    objects.write = write;
  }
});
