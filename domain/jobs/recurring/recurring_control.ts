import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { nextRun, requireSchedule } from "../cron.ts";
import { argsAndLimits, insertJobs, type NewJob, wakeAt } from "../enqueue.ts";
import type { Enqueued } from "../control/enqueue_requested.ts";
import { jobSummary, readJob } from "../job_row.ts";
import { type AnyJobType, isForCreator } from "../job_type.ts";
import type { JobPlatform } from "../platform.ts";
import { type JobActor } from "../reach.ts";
import { auditRecurring, lockRecurring } from "./recurring.ts";
import { type RecurringJob, recurringJob, type RecurringRow } from "./recurring_row.ts";
import { findTypesOf } from "../types/find_job_types.ts";

/** Retries of a job whose type is unknown to this instance. */
const RETRIES_OF_UNKNOWN = 3;

/** Pauses a recurring job. @throws JOB_RECURRING_NOT_FOUND, JOB_RECURRING_ALREADY_PAUSED */
export async function pauseRecurringJob(
  sql: Sql,
  caller: JobActor,
  jobId: string,
): Promise<RecurringJob> {
  return await transact(sql, async (tx) => {
    const before = await lockRecurring(tx, caller, jobId);
    if (before.isPaused) {
      throw problem("JOB_RECURRING_ALREADY_PAUSED", `Recurring job "${jobId}" is already paused.`);
    }
    await tx`
      update recurring_jobs set is_paused = true, next_run_at = null, version = version + 1, updated_at = now()
      where id = ${before.id}`;
    const after = await lockRecurring(tx, caller, jobId);
    await auditRecurring(tx, caller, "pause", { before, after });
    return recurringJob(after);
  });
}

/**
 * Resumes a paused recurring job. Ticks missed during the pause are not run.
 * @throws JOB_RECURRING_NOT_FOUND, JOB_RECURRING_NOT_PAUSED, VALIDATION_ERROR (its time zone no longer exists)
 */
export async function resumeRecurringJob(
  p: Pick<Platform, "sql" | "wakeUps" | "clock">,
  caller: JobActor,
  jobId: string,
): Promise<RecurringJob> {
  return await transact(p.sql, async (tx) => {
    const before = await lockRecurring(tx, caller, jobId);
    if (!before.isPaused) {
      throw problem("JOB_RECURRING_NOT_PAUSED", `Recurring job "${jobId}" is not paused.`);
    }
    requireSchedule(before.cronExpression, before.timeZoneId);
    const next = nextRun(before.cronExpression, before.timeZoneId, p.clock.now());
    await tx`
      update recurring_jobs set is_paused = false, next_run_at = ${next}, version = version + 1, updated_at = now()
      where id = ${before.id}`;
    const after = await lockRecurring(tx, caller, jobId);
    wakeAt(p, tx, after.nextRunAt);
    await auditRecurring(tx, caller, "resume", { before, after });
    return recurringJob(after);
  });
}

/**
 * Enqueues one run now, independent of the schedule, also while paused. If another job holds the key, that job is
 * returned. @throws JOB_RECURRING_NOT_FOUND
 */
export async function triggerRecurringJob(
  p: Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes">,
  caller: JobActor,
  jobId: string,
): Promise<Enqueued> {
  return await transact(p.sql, async (tx) => {
    const recurring = await lockRecurring(tx, caller, jobId);
    const type = (await findTypesOf({ ...p, sql: tx }, [recurring]))(recurring);
    const createdBy = isForCreator(type) ? recurring.createdBy : caller.userId;
    const run = { ...runOf(recurring, type), createdBy, traceId: caller.traceId };
    const [id = ""] = await insertJobs(p, tx, [run]);
    const isDuplicate = id !== run.id;
    if (!isDuplicate) {
      await tx`update recurring_jobs set last_run_at = now(), last_job_id = ${id} where id = ${recurring.id}`;
    }
    await auditRecurring(tx, caller, "trigger", { after: recurring });
    return { job: jobSummary(await readJob(tx, { everything: true }, id)), isDuplicate };
  });
}

/** The fields of a recurring job that its runs copy. */
export type RunTemplate = Pick<
  RecurringRow,
  | "jobId"
  | "tenantId"
  | "jobTypeName"
  | "serializedArgs"
  | "argsTypeName"
  | "queue"
  | "createdBy"
  | "uniqueKey"
  | "uniqueSeconds"
>;

/** The job to enqueue for one run of a recurring job. @param type its job type, if this instance knows it */
export function runOf(recurring: RunTemplate, type: AnyJobType | undefined): NewJob & { id: string } {
  return {
    id: newId(),
    jobTypeName: recurring.jobTypeName,
    argsTypeName: recurring.argsTypeName,
    maxRetries: type?.maxRetries ?? RETRIES_OF_UNKNOWN,
    ...argsAndLimits(type, recurring.serializedArgs),
    queue: recurring.queue,
    tenantId: recurring.tenantId,
    createdBy: recurring.createdBy,
    recurringJobId: recurring.jobId,
    uniqueKey: recurring.uniqueKey,
    uniqueFor: recurring.uniqueSeconds ?? "unfinished",
  };
}
