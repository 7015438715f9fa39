import assert from "node:assert/strict";
import { cancelJob } from "../../../domain/jobs/job_control.ts";
import { operator } from "../../../domain/jobs/reach.ts";
import { finishDelivery } from "../../../domain/reports/delivery/delivery.ts";
import {
  beginRun,
  completeRun,
  failRun,
  rejectDocument,
  requeueRun,
  type Run,
} from "../../../domain/reports/run.ts";
import { produceDocument, RunSuperseded } from "../../../domain/reports/produce.ts";
import { createDeliveries } from "../../../domain/reports/delivery/create_deliveries.ts";
import { endAbandoned, failAbandonedDeliveries } from "../../../domain/reports/sweep.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { CSV, reached, setupReports, STATUS } from "./support.ts";
import { until } from "../../support/until.ts";

const t = await setupReports({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;
const actor = await t.actor();

const made = {
  fileId: newId(),
  sizeBytes: 1,
  fileName: "a.csv",
  contentType: "text/csv",
  rowCount: 1,
  generationMs: 1,
};
/** Inserts an execution with this status. */
async function executionIn(status: number): Promise<Run> {
  const { body } = await actor.post("/api/v1/reports/generate-async", { templateId: "cells", format: CSV });
  const [row] = await sql<Run[]>`
    update report_executions set status = ${status}, run_id = ${newId()},
      stored_file_id = ${status === STATUS.Completed || status === STATUS.Delivered ? newId() : null}
    where id = ${body.id} returning *`;
  assert.ok(row);
  return row;
}
const statusOf = async (id: string) =>
  (await sql`select status from report_executions where id = ${id}`)[0]?.status;

const MOVES: Record<string, (run: Run) => Promise<unknown>> = {
  begin: (run) => beginRun(platform, run.id),
  complete: (run) => transact(sql, (tx) => completeRun(tx, run, made, 90)),
  fail: (run) => failRun(platform, run, "no"),
  requeue: (run) => requeueRun(sql, run, "no", true),
  delivered: (run) => finishDelivery(platform, run.id),
  delete: (run) => actor.delete(`/api/v1/reports/${run.id}`),
  redeliver: (run) => actor.post(`/api/v1/reports/${run.id}/redeliver`),
  jobCancelled: (run) => jobEnded(run, "Cancelled"),
  jobGivenUp: (run) => jobEnded(run, "DeadLettered"),
  reject: (run) => rejectDocument(platform, run.id, "infected"),
};
/** Ends the job of an execution without settling it, and runs the sweep. */
async function jobEnded(run: Run, status: string): Promise<void> {
  await sql`update jobs set status = ${status}::text::job_status, completed_at = now()
    where id = (select job_id from report_executions where id = ${run.id})`;
  await endAbandoned(platform);
}
const { Queued, Generating, Completed, Failed, Delivered, Cancelled } = STATUS;
/** The resulting status of each move from each status; statuses that are missing here stay unchanged. */
const LEADS: Record<string, Record<number, number>> = {
  begin: { [Queued]: Generating, [Generating]: Generating },
  complete: { [Generating]: Completed },
  fail: { [Generating]: Failed },
  requeue: { [Generating]: Queued },
  delivered: { [Completed]: Delivered },
  delete: { [Queued]: Cancelled, [Generating]: Cancelled },
  redeliver: {},
  jobCancelled: { [Queued]: Cancelled, [Generating]: Cancelled },
  jobGivenUp: { [Queued]: Failed, [Generating]: Failed },
  reject: { [Completed]: Failed },
};

Deno.test("every move from every status has the result of the diagram", async () => {
  for (const [name, move] of Object.entries(MOVES)) {
    for (const status of Object.values(STATUS)) {
      const run = await executionIn(status);
      await move(run);
      assert.equal(await statusOf(run.id), LEADS[name]?.[status] ?? status, `${name} from ${status}`);
    }
  }
});

Deno.test("an outdated run changes nothing", async () => {
  for (const name of ["complete", "fail", "requeue"]) {
    const run = await executionIn(Generating);
    await MOVES[name]?.({ ...run, runId: newId() });
    assert.equal(await statusOf(run.id), Generating, name);
  }
});

Deno.test("an outdated run keeps no file, not even for a moment", async () => {
  const { id } = await executionIn(Queued);
  const outdated = await beginRun(platform, id);
  const current = await beginRun(platform, id);
  assert.ok(outdated && current);
  const produce = (run: Run) => produceDocument(platform, run, new AbortController().signal);
  const heldBy = ({ runId }: Run) => sql`select from file_references where owner_id = ${runId}`;
  await produce(current); // first, because starting the thread takes longer than the interval of the watch
  assert.equal((await heldBy(current)).count, 1);
  await assert.rejects(produce(outdated), RunSuperseded);
  assert.equal((await heldBy(outdated)).count, 0, "also no released one");
});

Deno.test("the sweep sets an execution whose job was cancelled from the command line to Cancelled", async () => {
  const run = await executionIn(Queued);
  const [row] = await sql<{ jobId: string }[]>`select job_id from report_executions where id = ${run.id}`;
  await cancelJob({ ...platform, jobTypes: {} }, operator(), row?.jobId ?? "");
  assert.equal(await statusOf(run.id), Queued);
  await endAbandoned(platform);
  const detail = await reached(actor, run.id, Cancelled);
  assert.equal(detail.errorMessage, "Its job was cancelled.");
});

/** An execution whose delivery job was cancelled before the delivery. */
async function owingByCancelledJob(): Promise<Run> {
  const run = await executionIn(Generating);
  await sql`update report_executions set delivery_json = '{"method":2,"recipients":["a@example.test"]}'
    where id = ${run.id}`;
  await transact(sql, async (tx) => {
    const execution = await completeRun(tx, run, made, 90);
    if (execution) await createDeliveries(platform, tx, execution);
  });
  const [row] = await sql<{ deliveryJobId: string }[]>`
    select delivery_job_id from report_executions where id = ${run.id}`;
  await actor.post(`/api/v1/jobs/${row?.deliveryJobId}/cancel`);
  return run;
}

Deno.test("the sweep fails deliveries of a cancelled job, and they can be delivered again", async () => {
  const run = await owingByCancelledJob();
  assert.equal((await failAbandonedDeliveries(platform)).rows, 1);
  const { body } = await until(() => actor.get(`/api/v1/reports/${run.id}`), ({ body }) => body.errorMessage);
  assert.deepEqual([body.status, body.deliveries[0].status], [Completed, "Failed"]);
  assert.equal((await actor.post(`/api/v1/reports/${run.id}/redeliver`)).status, 202);
});

Deno.test("the sweep does not touch what a later job took over meanwhile", async () => {
  const run = await owingByCancelledJob();
  const done = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const redelivering = transact(sql, async (tx) => {
    await tx`update report_executions set delivery_job_id = ${newId()} where id = ${run.id}`;
    begun.resolve();
    await done.promise;
  });
  await begun.promise;
  const sweeping = failAbandonedDeliveries(platform);
  const waiting = () =>
    sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until(waiting, ({ length }) => length > 0).finally(done.resolve);
  await redelivering;
  assert.equal((await sweeping).rows, 0);
  const { body } = await actor.get(`/api/v1/reports/${run.id}`);
  assert.equal(body.deliveries[0].status, "Owed");
});
