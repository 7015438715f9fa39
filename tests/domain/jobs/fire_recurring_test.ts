import assert from "node:assert/strict";
import { pruneEndedJobs } from "../../../domain/jobs/built_in/prune_jobs.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { fireDueRecurringJobs } from "../../../domain/jobs/recurring/fire_recurring.ts";
import { ensureServiceRecurringJobs } from "../../../domain/jobs/instance/service_recurring.ts";
import { setupFile } from "../../support/setup.ts";

// The service's clock is before all due times of this file, so the service itself fires nothing.
const t = await setupFile({ JOB_CONCURRENCY: "0" }, {
  clock: { now: () => new Date("2019-01-01T00:00:30Z") },
});
const { platform, sql } = t;
await sql`delete from recurring_jobs`; // those of the service itself
const at = (time: string) => ({ ...platform, clock: { now: () => new Date(time) } });

/** Creates `count` recurring jobs of a new tenant, due at `nextRunAt`. */
async function recurring(
  o: { count?: number; cron?: string; zone?: string; nextRunAt: string },
): Promise<string> {
  const tenantId = await t.tenant();
  await sql`
    insert into recurring_jobs (id, tenant_id, job_id, job_type_name, cron_expression, time_zone_id, queue,
      serialized_args, next_run_at)
    select gen_random_uuid(), ${tenantId}, 'r' || n, 'steward.echo', ${o.cron ?? "0 12 * * *"}, ${
    o.zone ?? "UTC"
  },
      'default', '{}', ${o.nextRunAt} from generate_series(1, ${o.count ?? 1}) n`;
  return tenantId;
}
const jobsOf = (tenantId: string) =>
  sql`select recurring_job_id, status, type from jobs where tenant_id = ${tenantId} order by id`;
const nextOf = async (tenantId: string) => {
  const [row] = await sql`select next_run_at from recurring_jobs where tenant_id = ${tenantId}`;
  return row?.nextRunAt.toISOString();
};
const finish = (tenantId: string) =>
  sql`update jobs set status = 'Succeeded', completed_at = now() where tenant_id = ${tenantId}`;

Deno.test("a tick fires once and the next one is planned; several missed ticks lead to one run", async () => {
  const tenantId = await recurring({ nextRunAt: "2020-03-01T12:00:00Z" });
  assert.equal(await fireDueRecurringJobs(at("2020-03-01T11:59:59.999Z")), 0);
  assert.equal(await fireDueRecurringJobs(at("2020-03-01T12:00:00Z")), 1);
  assert.equal(await fireDueRecurringJobs(at("2020-03-01T12:00:00Z")), 0);
  assert.equal(await nextOf(tenantId), "2020-03-02T12:00:00.000Z");
  const expected = { recurringJobId: "r1", status: "Enqueued", type: "Recurring" };
  assert.deepEqual([...await jobsOf(tenantId)], [expected]);
  await finish(tenantId);
  assert.equal(
    await fireDueRecurringJobs(at("2020-04-03T10:02:00Z")),
    1,
    "several missed ticks lead to one run",
  );
  assert.equal(await nextOf(tenantId), "2020-04-03T12:00:00.000Z");
});

Deno.test("a tick is skipped while the previous run is unfinished", async () => {
  const tenantId = await recurring({ cron: "0 * * * *", nextRunAt: "2020-05-01T00:00:00Z" });
  assert.equal(await fireDueRecurringJobs(at("2020-05-01T00:00:00Z")), 1);
  assert.equal(await fireDueRecurringJobs(at("2020-05-01T01:00:00Z")), 0);
  assert.equal(await nextOf(tenantId), "2020-05-01T02:00:00.000Z");
  await finish(tenantId);
  assert.equal(await fireDueRecurringJobs(at("2020-05-01T02:00:00Z")), 1);
  assert.equal((await jobsOf(tenantId)).length, 2);
});

Deno.test("more jobs than a batch that are due in the same minute fire once each from several instances", async () => {
  const tenantId = await recurring({ count: 600, nextRunAt: "2020-06-01T12:00:00Z" });
  const now = at("2020-06-01T12:00:00Z");
  const fired = await Promise.all([1, 2, 3].map(() => fireDueRecurringJobs(now)));
  assert.equal(fired.reduce((sum, n) => sum + n, 0), 600);
  const [row] = await sql`
    select count(*) as jobs, count(distinct recurring_job_id) as distinct from jobs where tenant_id = ${tenantId}`;
  assert.deepEqual({ ...row }, { jobs: 600, distinct: 600 });
});

Deno.test("a recurring job with an invalid schedule is paused, gets another ETag, and does not block others", async () => {
  const broken = await recurring({ zone: "Europe/Atlantis", nextRunAt: "2020-07-01T12:00:00Z" });
  const sound = await recurring({ nextRunAt: "2020-07-01T12:00:00Z" });
  assert.equal(await fireDueRecurringJobs(at("2020-07-01T12:00:00Z")), 2);
  const [row] = await sql`select is_paused, version from recurring_jobs where tenant_id = ${broken}`;
  assert.deepEqual({ ...row }, { isPaused: true, version: 2 });
  assert.equal(await nextOf(sound), "2020-07-02T12:00:00.000Z");
});

Deno.test("the service's own recurring jobs are synchronized with the job types, from many instances at once", async () => {
  const own = () =>
    sql`select job_id, cron_expression, is_paused, next_run_at from recurring_jobs
    where tenant_id is null order by job_id`;
  await ensureServiceRecurringJobs(platform);
  const before = await own();
  assert.ok(before.some((row) => row.jobId === "steward.prune-jobs"));
  await sql`insert into recurring_jobs (id, job_id, job_type_name, cron_expression, time_zone_id, queue, serialized_args, next_run_at)
    values (gen_random_uuid(), 'steward.gone', 'steward.gone', '* * * * *', 'UTC', 'default', '{}', now())`;
  await sql`update recurring_jobs set cron_expression = '1 1 1 1 *', is_paused = true, next_run_at = null
    where job_id = 'steward.prune-jobs'`;
  await Promise.all(Array.from({ length: 5 }, () => ensureServiceRecurringJobs(platform)));
  const after = await own();
  assert.deepEqual(
    after.map((row) => [row.jobId, row.cronExpression]),
    before.map((row) => [row.jobId, row.cronExpression]),
  );
  const pruning = after.find((row) => row.jobId === "steward.prune-jobs");
  assert.deepEqual([pruning?.isPaused, pruning?.nextRunAt], [true, null]);
});

Deno.test("an instance without an area neither deletes nor fires its recurring jobs, which stay paused", async () => {
  const few = new JobTypes();
  few.register(pruneEndedJobs);
  const now = at("2100-01-01T00:00:00Z");
  await sql`update recurring_jobs set is_paused = true, next_run_at = null where job_id = 'events.upkeep'`;
  await ensureServiceRecurringJobs({
    ...platform,
    jobTypes: few,
    config: { ...platform.config, AREAS: new Set(["jobs"]) },
  });
  const [upkeep] = await sql`select is_paused from recurring_jobs where job_id = 'events.upkeep'`;
  assert.equal(upkeep?.isPaused, true);
  await sql`update recurring_jobs set is_paused = true, next_run_at = null where tenant_id is not null`;
  await sql`update recurring_jobs set is_paused = false, next_run_at = ${now.clock.now()} where job_id = 'steward.prune-jobs'`;
  assert.equal(await fireDueRecurringJobs({ ...now, jobTypes: few }), 1);
});
