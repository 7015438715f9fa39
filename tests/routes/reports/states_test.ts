import assert from "node:assert/strict";
import { createDeliveries } from "../../../domain/reports/delivery/create_deliveries.ts";
import { finishDelivery } from "../../../domain/reports/delivery/delivery.ts";
import {
  beginRun,
  completeRun,
  failRun,
  rejectDocument,
  requeueRun,
  type Run,
} from "../../../domain/reports/run.ts";
import { endAbandoned, failAbandonedDeliveries } from "../../../domain/reports/generation/sweep.ts";
import { createSchedule } from "../../../domain/reports/schedules/schedule_changes.ts";
import { fireDueSchedules } from "../../../domain/reports/schedules/schedule_runs.ts";
import type { Caller } from "../../../domain/rights/caller.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { has } from "../../support/answers.ts";
import { until } from "../../support/until.ts";
import { CSV, execution, generateLater, REPORTS, SCHEDULES, setupIdleReports, STATUS } from "./support.ts";

const t = await setupIdleReports();
const { platform, sql } = t;
const actor = await t.actor();

const file = { fileId: newId(), sizeBytes: 1, fileName: "a.csv", contentType: "text/csv" };
const made = { ...file, rowCount: 1, generationMs: 1 };
const { Queued, Generating, Completed, Failed, Delivered, Cancelled } = STATUS;
async function executionIn(status: number): Promise<Run> {
  const { id } = await generateLater(actor);
  const file = status === Completed || status === Delivered ? newId() : null;
  const [row] = await sql<Run[]>`update report_executions set status = ${status}, run_id = ${newId()},
    stored_file_id = ${file} where id = ${id} returning *`;
  return row ?? assert.fail();
}
const rowOf = async (id: string) => (await sql`select * from report_executions where id = ${id}`)[0];
const statusOf = async ({ id }: Run) => (await rowOf(id))?.status;

const MOVES: Record<string, (run: Run) => Promise<unknown>> = {
  begin: (run) => beginRun(platform, run.id),
  complete: (run) => transact(sql, (tx) => completeRun(tx, run, made, 90)),
  fail: (run) => failRun(platform, run, "no"),
  requeue: (run) => requeueRun(sql, run, "no", true),
  delivered: (run) => finishDelivery(platform, run.id),
  delete: (run) => actor.delete(`${REPORTS}/${run.id}`),
  redeliver: (run) => actor.post(`${REPORTS}/${run.id}/redeliver`),
  jobCancelled: (run) => jobEnded(run, "Cancelled"),
  jobGivenUp: (run) => jobEnded(run, "DeadLettered"),
  reject: (run) => rejectDocument(platform, run.id, "infected"),
};
async function jobEnded(run: Run, status: string): Promise<void> {
  await sql`update jobs set status = ${status}::text::job_status, completed_at = now()
    where id = (select job_id from report_executions where id = ${run.id})`;
  await endAbandoned(platform);
}
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
      assert.equal(await statusOf(run), LEADS[name]?.[status] ?? status, `${name} from ${status}`);
    }
  }
});

Deno.test("an outdated run changes nothing", async () => {
  for (const name of ["complete", "fail", "requeue"]) {
    const run = await executionIn(Generating);
    await MOVES[name]?.({ ...run, runId: newId() });
    assert.equal(await statusOf(run), Generating, name);
  }
});

/** An execution whose delivery job was cancelled before the delivery. */
async function owingByCancelledJob(): Promise<string> {
  const run = await executionIn(Generating);
  await sql`update report_executions set delivery_json = '{"method":2,"recipients":["a@example.test"]}'
    where id = ${run.id}`;
  await transact(sql, async (tx) => {
    const execution = await completeRun(tx, run, made, 90);
    if (execution) await createDeliveries(platform, tx, execution);
  });
  await actor.post(`/api/v1/jobs/${(await rowOf(run.id))?.deliveryJobId}/cancel`);
  return run.id;
}

Deno.test("the sweep fails deliveries of a cancelled job, and they can be delivered again", async () => {
  const id = await owingByCancelledJob();
  assert.equal((await failAbandonedDeliveries(platform)).rows, 1);
  const detail = await execution(actor, id, ({ errorMessage }) => errorMessage);
  has(detail, { status: Completed, deliveries: [{ status: "Failed" }] });
  assert.equal((await actor.post(`${REPORTS}/${id}/redeliver`)).status, 202);
});

Deno.test("the sweep does not touch what a later job took over meanwhile", async () => {
  const id = await owingByCancelledJob();
  const done = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const redelivering = transact(sql, async (tx) => {
    await tx`update report_executions set delivery_job_id = ${newId()} where id = ${id}`;
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
  has((await actor.get(`${REPORTS}/${id}`)).body, { deliveries: [{ status: "Owed" }] });
});

Deno.test("if a proxy serves the API below a path, the links in the answer and Location begin with it", async () => {
  const burst = { parameter: "rows", items: [{ value: 1 }, { value: 2 }] };
  const request = { templateId: "lines", format: 3, burst };
  const { body, headers } = await actor.post(`${REPORTS}/generate-async`, request);
  assert.equal(body.statusUrl, `/back-office${REPORTS}/${body.id}`);
  assert.equal(headers.get("location"), body.statusUrl);
  assert.equal(body.burstUrl, `/back-office${REPORTS}/history?burstId=${body.burstId}`);
});

let now = new Date("2027-03-27T12:00:00Z");
const later = { ...platform, clock: { now: () => now } };
const caller = { ...actor, permissions: new Set<string>(), traceId: null } as unknown as Caller;
const create = async (cronExpression: string, timeZoneId = "UTC"): Promise<string> => {
  const report = { templateId: "cells", name: "Zones", description: null, format: CSV, parameters: {} };
  const schedule = { ...report, cronExpression, timeZoneId, delivery: null, burst: null };
  return (await createSchedule(later, caller, schedule)).id;
};

Deno.test("a schedule keeps its local time over both clock changes, in any time zone", async () => {
  const ids = {
    lisbon: await create("0 9 * * *", "Europe/Lisbon"),
    skipped: await create("30 1 * * *", "Europe/Lisbon"), // 28 March does not have this hour and 31 October has it twice
    utc: await create("0 9 * * *"),
  };
  const nextRuns = async () => {
    const rows = await sql<{ id: string; nextRunAt: Date }[]>`select id, next_run_at from report_schedules`;
    const at = new Map(rows.map((row) => [row.id, row.nextRunAt.toISOString().slice(0, 16)]));
    return Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, at.get(id)]));
  };
  const fired = async (at: string) => {
    now = new Date(at);
    const { fired } = await fireDueSchedules(later);
    await sql`update report_executions set status = 6 where status = 1`; // no worker generates reports here
    return fired;
  };
  const first = { lisbon: "2027-03-28T08:00", skipped: "2027-03-28T01:00", utc: "2027-03-28T09:00" };
  assert.deepEqual(await nextRuns(), first);
  assert.equal(await fired("2027-03-28T07:59:59Z"), 1, "all but Lisbon's nine o'clock and UTC's");
  assert.equal(await fired("2027-03-28T08:00:00Z"), 1);
  assert.equal(await fired("2027-03-28T08:00:30Z"), 0, "the same tick never twice");
  has(await nextRuns(), { lisbon: "2027-03-29T08:00", skipped: "2027-03-29T00:30" });
  await fired("2027-10-30T23:00:00Z");
  has(await nextRuns(), { lisbon: "2027-10-31T09:00", skipped: "2027-10-31T00:30" });
  assert.equal(await fired("2027-10-31T00:30:00Z"), 1);
  assert.equal((await nextRuns()).skipped, "2027-11-01T01:30", "the hour that comes twice runs once");
});

Deno.test("a schedule whose time zone no longer exists is paused and gets another ETag", async () => {
  const id = await create("0 9 * * *");
  await sql`update report_schedules set time_zone_id = 'Europe/Atlantis', next_run_at = ${now} where id = ${id}`;
  await fireDueSchedules(later);
  const { body, headers } = await actor.get(`${SCHEDULES}/${id}`);
  assert.deepEqual([body.isActive, body.nextRunAt, headers.get("etag")], [false, null, '"2"']);
});
