// Due work starts on time without polling and without Deno KV.
import assert from "node:assert/strict";
import { join } from "node:path";
import { z } from "zod";
import { enqueueJob, type JobOptions } from "../../../domain/jobs/enqueue.ts";
import { defineJob, PostponeJob } from "../../../domain/jobs/job_type.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup, type TestService } from "../../support/setup.ts";
import { startServiceProcess } from "../../support/service_process.ts";
import { until } from "../../support/until.ts";

const HOUR_MS = 3_600_000;
/** Without wake-ups, each start would be an hour late, and the test would fail. */
const slowPolling = { JOB_POLL_MS: String(HOUR_MS) };

const postponed = defineJob({
  name: "test.postponed",
  args: z.object({}),
  run(_args, { attempt }) {
    if (attempt === 1) throw new PostponeJob("not yet", 700);
  },
});

const enqueue = ({ steward }: TestService, options: JobOptions = {}) =>
  transact(steward.platform.sql, (tx) => enqueueJob(steward.platform, tx, postponed, {}, options));

/** Scheduled jobs that are postponed once each, so that each has a due first run and a due retry. */
async function assertJobsRun(t: TestService): Promise<void> {
  t.platform.jobTypes.register(postponed);
  const dueAt = Date.now() + 600;
  const ids = await Promise.all([0, 90, 180].map((ms) => enqueue(t, { scheduledAt: new Date(dueAt + ms) })));
  for (const id of ids) await t.settled(id);
  const early = await t.sql`
    select from jobs where id = any(${ids}::uuid[]) and started_at < scheduled_at + interval '700 ms'`;
  assert.equal(early.length, 0);
}

Deno.test("with Deno KV alone, first runs, retries and jobs of a dead worker start when they are due", async () => {
  await using t = await setup(slowPolling);
  await assertJobsRun(t);
  const { sql } = t.platform;
  // The lease of this worker expires in one second.
  const workerId = newId();
  const id = await enqueue(t, { scheduledAt: new Date(Date.now() + HOUR_MS) });
  await sql`insert into job_workers (id, host, heartbeat_at) values (${workerId}, 'dead', now() - interval '59 s')`;
  await sql`
      update jobs set status = 'Processing', worker_id = ${workerId}, attempts = 1, started_at = now()
      where id = ${id}`;
  await t.steward.sweep(); // a sweep sets the wake-up
  assert.equal(await t.settled(id), "Succeeded");
});

Deno.test("without queues of Deno KV, timers of the process wake workers", async () => {
  const queues = Object.getOwnPropertyDescriptor(Deno.Kv.prototype, "listenQueue");
  Object.defineProperty(Deno.Kv.prototype, "listenQueue", { ...queues, value: undefined });
  await using t = await setup(slowPolling).finally(() =>
    Object.defineProperty(Deno.Kv.prototype, "listenQueue", queues ?? {})
  );
  await assertJobsRun(t);
});

Deno.test("if every wake-up is lost, polling starts work", async () => {
  await using t = await setup({ JOB_POLL_MS: "2000" });
  const { platform } = t.steward;
  platform.jobTypes.register(postponed);
  const withoutWakeUps = { ...platform, wakeUps: { at() {} } };
  const scheduledAt = new Date(Date.now() + 300);
  const id = await transact(
    platform.sql,
    (tx) => enqueueJob(withoutWakeUps, tx, postponed, {}, { scheduledAt }),
  );
  await t.settled(id);
});

Deno.test("recurring jobs and report schedules run when they are due", async () => {
  let shiftMs = 0;
  const clock = { now: () => new Date(Date.now() + shiftMs) };
  const templates = join(import.meta.dirname ?? ".", "../../routes/reports/templates");
  await using t = await setup({ ...slowPolling, REPORT_TEMPLATES_DIR: templates }, { clock });
  const actor = await t.actor();
  shiftMs = 60_000 - (Date.now() + 1_500) % 60_000; // the next minute begins soon
  const timing = { cronExpression: "* * * * *", timeZoneId: "UTC" };
  const job = { jobId: "tick", jobTypeName: "steward.echo", serializedArgs: "{}" };
  const recurring = await actor.post("/api/v1/recurring-jobs", { ...job, ...timing });
  assert.equal(recurring.status, 201, JSON.stringify(recurring.body));
  const report = { name: "tick", templateId: "cells", format: 3 };
  const schedule = await actor.post("/api/v1/reports/schedules", { ...report, ...timing });
  assert.equal(schedule.status, 201, JSON.stringify(schedule.body));
  const tickAt = Date.parse(recurring.body.nextRunAt);
  assert.equal(schedule.body.nextRunAt, recurring.body.nextRunAt);
  const { sql } = t.platform;
  const ran = async () => {
    const [row] = await sql<{ job: Date | null; report: Date | null }[]>`
        select (select min(last_run_at) from recurring_jobs where tenant_id = ${actor.tenantId}) as job,
          (select min(last_run_at) from report_schedules) as report`;
    return [row?.job, row?.report];
  };
  const times = await until(ran, (all) => all.every(Boolean));
  assert.ok(times.every((at) => at && at.getTime() >= tickAt), `${times}`);
});

Deno.test("Deno.cron triggers recurring jobs, report schedules and maintenance by name; instances without workers run each once", async () => {
  const t = await setup({ ...slowPolling, JOB_CONCURRENCY: "0" });
  const { sql, config } = t.platform;
  const env = { DATABASE_URL: config.DATABASE_URL ?? "", JOB_CONCURRENCY: "0", ...slowPolling };
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  const starting = [1, 2].map((n) =>
    startServiceProcess({ ...env, DATA_DIR: join(folder, String(n)) }, {
      preload: join(import.meta.dirname ?? ".", "../../support/cron_by_signal.ts"),
    })
  );
  try {
    const instances = await Promise.all(starting);
    const tenantId = await t.tenant();
    const [parentId, childId] = [newId(), newId()];
    await sql`
      insert into recurring_jobs (id, tenant_id, job_id, job_type_name, cron_expression, time_zone_id, queue,
        serialized_args, next_run_at)
      values (${newId()}, ${tenantId}, 'missed', 'steward.echo', '0 0 1 1 *', 'UTC', 'default', '{}',
        now() - interval '1 day')`;
    await sql`
      insert into report_schedules (id, tenant_id, template_id, name, cron_expression, time_zone_id, format,
        parameters_json, required_permissions, next_run_at, created_by)
      values (${newId()}, ${tenantId}, 'gone', 'missed', '0 0 1 1 *', 'UTC', 3, '{}', '{}', now() - interval '1 day',
        ${newId()})`;
    await sql`
      insert into jobs (id, tenant_id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at,
        max_retries, parent_job_id, completed_at)
      values (${parentId}, ${tenantId}, 'steward.echo', '{}', 'FireAndForget', 'Succeeded', 2, 'default', 'x||', now(), 0,
        null, now()), (${childId}, ${tenantId}, 'steward.echo', '{}', 'Continuation', 'AwaitingParent', 2, 'default',
        'x||', now(), 0, ${parentId}, null)`;
    for (const instance of instances) instance.kill("SIGUSR2");
    for (const { output } of instances) {
      await until(output, (text) => text.includes("crons done"));
      const crons = output().match(/^cron .+$/gm);
      assert.deepEqual(
        crons,
        ["recurring-jobs", "report-schedules", "upkeep"].map((name) => `cron ${name} * * * * *`),
      );
    }
    const [made] = await sql`
      select (select count(*)::int from jobs where tenant_id = ${tenantId} and recurring_job_id = 'missed') as runs,
        (select count(*)::int from report_executions where tenant_id = ${tenantId}) as reports,
        (select status from jobs where id = ${childId}) as child`;
    assert.deepEqual({ ...made }, { runs: 1, reports: 1, child: "Enqueued" });
  } finally {
    await Promise.allSettled(starting.map(async (instance) => await (await instance).stop()));
    await t.stop();
    await Deno.remove(folder, { recursive: true });
  }
});
