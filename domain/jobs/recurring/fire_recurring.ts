import { type Sql, type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { newId } from "../../shared/ids.ts";
import { nextRun } from "../cron.ts";
import { insertJobs, type NewJob } from "../enqueue.ts";
import type { JobPlatform } from "../platform.ts";
import { type RecurringRow, runOf, type RunTemplate } from "./recurring.ts";
import { findTypesOf } from "../types/find_job_types.ts";
import { runBatches } from "../../shared/batches.ts";

const AT_ONCE = 500;

type RecurringPlatform = Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes" | "clock" | "log">;
type DueRow = RunTemplate & Pick<RecurringRow, "id" | "cronExpression" | "timeZoneId">;

/** SQL condition: this instance fires the recurring job `r`. It fires those of the service itself only if it has their area. */
export const firesHere = (q: Sql, jobTypes: JobPlatform["jobTypes"]): SqlPart =>
  q`(r.tenant_id is not null or r.created_by is not null or r.job_type_name = any(${jobTypes.names()}::text[]))`;

/**
 * Enqueues a job for every recurring job that is due, in batches. Each instance skips rows that another one has
 * locked, so each tick enqueues one job. Several missed ticks result in one run. A tick is skipped while the previous
 * run has not ended.
 * @returns how many jobs were enqueued.
 */
export async function fireDueRecurringJobs(p: RecurringPlatform): Promise<number> {
  const now = p.clock.now();
  let fired = 0;
  await runBatches(AT_ONCE, async () => {
    const batch = await transact(p.sql, (tx) => fireBatch(p, tx, now));
    fired += batch.fired;
    return batch.due;
  });
  return fired;
}

async function fireBatch(p: RecurringPlatform, tx: Tx, now: Date): Promise<{ due: number; fired: number }> {
  const due = await tx<DueRow[]>`
    select r.id, r.tenant_id, r.job_id, r.job_type_name, r.cron_expression, r.time_zone_id, r.queue, r.serialized_args,
      r.args_type_name, r.unique_key, r.unique_seconds, r.created_by
    from recurring_jobs r
    where not r.is_paused and r.next_run_at <= ${now} and ${firesHere(tx, p.jobTypes)}
    order by r.next_run_at limit ${AT_ONCE} for no key update skip locked`;
  if (due.length === 0) return { due: 0, fired: 0 };
  const ids = due.map(({ id }) => id);
  // Read after the locks: a trigger at the same time may have stored another last run.
  const unfinished = await tx<{ id: string }[]>`
    select r.id from recurring_jobs r join jobs last on last.id = r.last_job_id
    where r.id = any(${ids}::uuid[]) and last.status not in ('Succeeded', 'DeadLettered', 'Cancelled')`;
  const running = new Set(unfinished.map(({ id }) => id));
  const firing = due.filter(({ id }) => !running.has(id));
  const typeOf = await findTypesOf({ ...p, sql: tx }, firing);
  const runs = firing.map((recurring) => runOf(recurring, typeOf(recurring)));
  const jobIds = await insertJobs(p, tx, [...runs, ...runs.flatMap((run) => repeatsOf(p, run, now))]);
  const fired = firing.flatMap((recurring, n) =>
    jobIds[n] === runs[n]?.id ? [[recurring.id, jobIds[n]] as const] : []
  );
  const jobIdOf = new Map(fired);
  await tx`
    update recurring_jobs r set next_run_at = given.next_run_at, is_paused = given.next_run_at is null,
      version = r.version + (given.next_run_at is null)::int,
      last_run_at = case when given.job_id is null then r.last_run_at else ${now} end,
      last_job_id = coalesce(given.job_id, r.last_job_id)
    from unnest(${ids}::uuid[], ${due.map((r) => nextTick(p, r, now))}::timestamptz[],
      ${due.map((r) => jobIdOf.get(r.id) ?? null)}::uuid[]) as given (id, next_run_at, job_id)
    where r.id = given.id`;
  return { due: due.length, fired: fired.length };
}

/** The further run that the job type asks for after each tick, if it does. */
function repeatsOf(p: RecurringPlatform, run: NewJob, now: Date): NewJob[] {
  const seconds = p.jobTypes.get(run.jobTypeName)?.repeatAfterSeconds;
  return seconds === undefined
    ? []
    : [{ ...run, id: newId(), scheduledAt: new Date(now.getTime() + seconds * 1_000) }];
}

/**
 * The next tick after `now`. If the schedule is no longer valid (its time zone was removed), it is paused, so that it
 * does not block the others.
 */
function nextTick(
  p: RecurringPlatform,
  { id, cronExpression, timeZoneId }: DueRow,
  now: Date,
): string | null {
  try {
    return nextRun(cronExpression, timeZoneId, now)?.toISOString() ?? null;
  } catch (error) {
    p.log.error("a recurring job was paused: its schedule is not valid", { error, recurringJob: id });
    return null;
  }
}
