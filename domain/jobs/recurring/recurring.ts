import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { newId } from "../../shared/ids.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import type { Platform } from "../../shared/platform.ts";
import { countList, pageOf } from "../../shared/lists.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { nextRun, nextRuns, requireSchedule } from "../cron.ts";
import { argsAndLimits, insertJobs, type NewJob, wakeAt } from "../enqueue.ts";
import {
  changedArgs,
  type Enqueued,
  requireExposedType,
  requireFittingArgs,
  requireMayEnqueue,
} from "../control/enqueue_requested.ts";
import { type AnyJobType, isForCreator } from "../job_type.ts";
import { JOB_COLUMNS, JOB_STATUSES, type JobRow, type JobSummary, jobSummary, readJob } from "../job_row.ts";
import type { JobPlatform } from "../platform.ts";
import { auditActor, type JobActor, type JobReach, jobReach, within } from "../reach.ts";
import { findJobTypes, findTypesOf } from "../types/find_job_types.ts";
import { findMask } from "../types/masking.ts";
import { uniqueFor, uniqueForOf, type UniqueKey, uniqueSecondsOf } from "../unique_jobs.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { z } from "zod";
import { time } from "../../shared/shapes.ts";

/** The fields of a new recurring job. */
export type NewRecurringJob =
  & Pick<
    RecurringJob,
    "jobId" | "jobTypeName" | "cronExpression" | "timeZoneId" | "queue" | "serializedArgs" | "argsTypeName"
  >
  & UniqueKey;

/** The fields an update may change; absent fields keep their value. */
export type RecurringChange = Partial<Omit<NewRecurringJob, "jobId" | "jobTypeName">>;

type RecurringPlatform = Pick<JobPlatform, "sql" | "wakeUps" | "clock" | "jobTypes">;
const versioned = (row: RecurringRow): Versioned<RecurringJob> => ({
  value: recurringJob(row),
  version: row.version,
});

/** Names a recurring job: the id that its creator chose, and its tenant if the caller may see those of several. */
export interface RecurringName {
  id: string;
  tenantId?: string | undefined;
}

/** A page of recurring jobs, sorted by `jobId`. */
export async function listRecurringJobs(
  q: Sql,
  reach: JobReach,
  page: PageRequest,
): Promise<PagedResult<RecurringJob>> {
  const total = await countList(q, q`recurring_jobs where ${within(q, reach)}`);
  const rows = await q<RecurringRow[]>`
    select ${q.unsafe(RECURRING_COLUMNS)}
    from recurring_jobs r left join jobs last on last.id = r.last_job_id
    where ${within(q, reach, "r.tenant_id")}
    order by r.job_id, r.id ${pageOf(q, page)}`;
  return pagedResult(rows.map(recurringJob), total, page);
}

/** The latest jobs of a recurring job, newest first. @throws JOB_RECURRING_NOT_FOUND */
export async function listRuns(
  q: Sql,
  caller: JobActor,
  name: RecurringName,
  limit: number,
): Promise<JobSummary[]> {
  const { jobId, tenantId } = await readRecurring(q, caller, name);
  const rows = await q<JobRow[]>`
    select ${q.unsafe(JOB_COLUMNS)} from jobs
    where recurring_job_id = ${jobId} and tenant_id is not distinct from ${tenantId}::uuid
    order by id desc limit ${limit}`;
  return rows.map(jobSummary);
}

/** Number of recurring jobs, and how many of them are paused. */
export async function countRecurringJobs(
  q: Sql,
  reach: JobReach,
): Promise<{ total: number; paused: number }> {
  const [row] = await q<{ total: number; paused: number }[]>`
    select count(*) as total, count(*) filter (where is_paused) as paused from recurring_jobs
    where ${within(q, reach)}`;
  return row ?? { total: 0, paused: 0 };
}

/** @throws JOB_RECURRING_NOT_FOUND, VALIDATION_ERROR (several tenants have one with this id) */
export const readRecurringJob = async (q: Sql, caller: JobActor, name: RecurringName) =>
  versioned(await readRecurring(q, caller, name));

/**
 * The next `count` times at which its schedule is due, also while it is paused.
 * @throws JOB_RECURRING_NOT_FOUND, VALIDATION_ERROR (its time zone no longer exists)
 */
export async function readNextRuns(
  p: Pick<Platform, "sql" | "clock">,
  caller: JobActor,
  name: RecurringName,
  count: number,
): Promise<Date[]> {
  const { cronExpression, timeZoneId } = await readRecurring(p.sql, caller, name);
  requireSchedule(cronExpression, timeZoneId);
  return nextRuns(cronExpression, timeZoneId, p.clock.now(), count);
}

/**
 * Creates a recurring job for the caller's tenant.
 * @throws JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN (API key, but only users may enqueue the type),
 * VALIDATION_ERROR, JOB_RECURRING_ALREADY_EXISTS (from the unique constraint)
 */
export async function createRecurringJob(
  p: RecurringPlatform,
  caller: JobActor,
  given: NewRecurringJob,
): Promise<RecurringJob> {
  const { jobId, jobTypeName, cronExpression, timeZoneId, queue, serializedArgs, argsTypeName } = given;
  const types = await findJobTypes(p, caller.tenantId, [jobTypeName]);
  const type = requireExposedType(p.jobTypes, types, jobTypeName);
  requireMayEnqueue(type, caller);
  requireFittingArgs(type, serializedArgs);
  requireSchedule(cronExpression, timeZoneId);
  const nextRunAt = nextRun(cronExpression, timeZoneId, p.clock.now());
  const uniqueSeconds = uniqueSecondsOf(given);
  return await transact(p.sql, async (tx) => {
    await tx`
      insert into recurring_jobs (id, tenant_id, job_id, job_type_name, cron_expression, time_zone_id, queue,
        serialized_args, args_type_name, unique_key, unique_seconds, next_run_at, created_by)
      values (${newId()}, ${caller.tenantId}, ${jobId}, ${jobTypeName}, ${cronExpression}, ${timeZoneId}, ${queue},
        ${serializedArgs}, ${argsTypeName}, ${given.uniqueKey ?? null}, ${uniqueSeconds},
        ${nextRunAt}, ${caller.userId})`;
    const row = await readRecurring(tx, caller, { id: jobId });
    wakeAt(p, tx, row.nextRunAt);
    await auditRecurring(tx, caller, "create", { after: row });
    return recurringJob(row);
  });
}

/**
 * Changes a recurring job. A changed schedule gets a new next run; otherwise a tick that is due stays due. If the type
 * runs with its creator's rights, a caller who changes the arguments becomes the creator.
 * @throws JOB_RECURRING_NOT_FOUND, PRECONDITION_FAILED, MISSING_PERMISSION (changed arguments), FORBIDDEN (arguments
 * changed by an API key), VALIDATION_ERROR
 */
export async function updateRecurringJob(
  p: RecurringPlatform,
  caller: JobActor,
  name: RecurringName,
  change: RecurringChange,
  ifMatch: string | null,
): Promise<Versioned<RecurringJob>> {
  return await transact(p.sql, async (tx) => {
    const before = await lockRecurring(tx, caller, name);
    requireVersion(ifMatch, before.version);
    const { cronExpression, timeZoneId, queue, argsTypeName } = { ...before, ...change };
    requireSchedule(cronExpression, timeZoneId);
    const { jobTypeName } = before;
    const type = (await findJobTypes({ ...p, sql: tx }, before.tenantId, [jobTypeName])).get(jobTypeName);
    const serializedArgs = change.serializedArgs === undefined ? before.serializedArgs : changedArgs(
      type,
      change.serializedArgs,
      before.serializedArgs,
      type ?? await findMask(tx, before.tenantId, jobTypeName),
    );
    const isRewritten = serializedArgs !== before.serializedArgs;
    if (isRewritten) requireMayEnqueue(type, caller);
    const createdBy = isRewritten && isForCreator(type) ? caller.userId : before.createdBy;
    const uniqueFor = uniqueForOf(before.uniqueKey, before.uniqueSeconds);
    const key = { uniqueKey: before.uniqueKey, uniqueFor, ...change };
    const uniqueKey = key.uniqueKey ?? null;
    const uniqueSeconds = uniqueSecondsOf(key);
    const isSameTime = cronExpression === before.cronExpression && timeZoneId === before.timeZoneId;
    const isUnchanged = isSameTime && !isRewritten && uniqueKey === before.uniqueKey &&
      uniqueSeconds === before.uniqueSeconds && queue === before.queue &&
      argsTypeName === before.argsTypeName;
    if (isUnchanged) return versioned(before);
    const nextRunAt = isSameTime || before.isPaused
      ? before.nextRunAt
      : nextRun(cronExpression, timeZoneId, p.clock.now());
    await tx`
      update recurring_jobs set created_by = ${createdBy}, cron_expression = ${cronExpression},
        time_zone_id = ${timeZoneId}, queue = ${queue}, serialized_args = ${serializedArgs},
        args_type_name = ${argsTypeName}, unique_key = ${uniqueKey}, unique_seconds = ${uniqueSeconds}, next_run_at = ${nextRunAt}, version = version + 1, updated_at = now()
      where id = ${before.id}`;
    const after = await lockRecurring(tx, caller, name);
    wakeAt(p, tx, after.nextRunAt);
    await auditRecurring(tx, caller, "update", { before, after });
    return versioned(after);
  });
}

/** Deletes a recurring job; jobs it has enqueued stay. @throws JOB_RECURRING_NOT_FOUND, PRECONDITION_FAILED */
export async function deleteRecurringJob(
  sql: Sql,
  caller: JobActor,
  name: RecurringName,
  ifMatch: string | null,
): Promise<void> {
  await transact(sql, async (tx) => {
    const before = await lockRecurring(tx, caller, name);
    requireVersion(ifMatch, before.version);
    await tx`delete from recurring_jobs where id = ${before.id}`;
    await auditRecurring(tx, caller, "delete", { before });
  });
}

/** Reads a recurring job and locks its row until `tx` ends, so that no one else changes or fires it. */
const lockRecurring = (tx: Tx, caller: JobActor, name: RecurringName): Promise<RecurringRow> =>
  readRecurring(tx, caller, name, { lock: true });

/** Writes the audit row of a change to a recurring job. */
async function auditRecurring(
  tx: Tx,
  caller: JobActor,
  verb: string,
  o: { before?: RecurringRow; after?: RecurringRow },
): Promise<void> {
  const audited = (row: RecurringRow | undefined) =>
    row && {
      jobTypeName: row.jobTypeName,
      cronExpression: row.cronExpression,
      timeZoneId: row.timeZoneId,
      queue: row.queue,
      isPaused: row.isPaused,
    };
  await recordAudit(tx, auditActor(caller), `recurringJob.${verb}`, (o.after ?? o.before)?.jobId ?? "", {
    before: audited(o.before),
    after: audited(o.after),
  });
}

/** Retries of a job whose type is unknown to this instance. */
const RETRIES_OF_UNKNOWN = 3;

/**
 * Pauses or resumes a recurring job. Ticks missed during a pause are not run.
 * @throws JOB_RECURRING_NOT_FOUND, JOB_RECURRING_ALREADY_PAUSED, JOB_RECURRING_NOT_PAUSED, VALIDATION_ERROR (its time zone
 * no longer exists)
 */
export async function setRecurringPause(
  p: Pick<Platform, "sql" | "wakeUps" | "clock">,
  caller: JobActor,
  name: RecurringName,
  isPaused: boolean,
): Promise<RecurringJob> {
  return await transact(p.sql, async (tx) => {
    const before = await lockRecurring(tx, caller, name);
    const { id, jobId, cronExpression, timeZoneId } = before;
    if (before.isPaused === isPaused) {
      throw isPaused
        ? problem("JOB_RECURRING_ALREADY_PAUSED", `Recurring job "${jobId}" is already paused.`)
        : problem("JOB_RECURRING_NOT_PAUSED", `Recurring job "${jobId}" is not paused.`);
    }
    if (!isPaused) requireSchedule(cronExpression, timeZoneId);
    const next = isPaused ? null : nextRun(cronExpression, timeZoneId, p.clock.now());
    await tx`
      update recurring_jobs set is_paused = ${isPaused}, next_run_at = ${next}, version = version + 1, updated_at = now()
      where id = ${id}`;
    const after = await lockRecurring(tx, caller, name);
    wakeAt(p, tx, next);
    await auditRecurring(tx, caller, isPaused ? "pause" : "resume", { before, after });
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
  name: RecurringName,
): Promise<Enqueued> {
  return await transact(p.sql, async (tx) => {
    const recurring = await lockRecurring(tx, caller, name);
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
export type RunTemplate =
  & Pick<RecurringRow, "jobId" | "tenantId" | "jobTypeName" | "serializedArgs" | "argsTypeName">
  & Pick<RecurringRow, "queue" | "createdBy" | "uniqueKey" | "uniqueSeconds">;

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
    uniqueFor: recurring.uniqueSeconds,
  };
}

/** A recurring job as callers see it; `jobId` is the id its creator chose. */
export const RecurringJob = z.object({
  jobId: z.string(),
  // Null: the service itself.
  tenantId: z.guid().nullable(),
  jobTypeName: z.string(),
  cronExpression: z.string(),
  timeZoneId: z.string(),
  queue: z.string(),
  serializedArgs: z.string(),
  argsTypeName: z.string().nullable(),
  // The key of every job that it enqueues.
  uniqueKey: z.string().nullable(),
  // Null without a key.
  uniqueFor: uniqueFor.nullable(),
  isPaused: z.boolean(),
  // Null while paused.
  nextRunAt: time.nullable(),
  lastRunAt: time.nullable(),
  lastJobId: z.guid().nullable(),
  // Status of the last job it enqueued; null before the first run, and after that job was pruned.
  lastStatus: z.enum(JOB_STATUSES).nullable(),
  createdAt: time,
  updatedAt: time,
}).meta({ id: "RecurringJobDto" });
export type RecurringJob = z.output<typeof RecurringJob>;

export interface RecurringRow extends Omit<RecurringJob, "uniqueFor"> {
  id: string;
  createdBy: string | null;
  uniqueSeconds: number | null;
  version: number;
}

/** The columns of a RecurringRow, with `r` for recurring_jobs and `last` for the last job. */
const RECURRING_COLUMNS = `r.id, r.tenant_id, r.job_id, r.job_type_name, r.cron_expression, r.time_zone_id,
  r.queue, r.serialized_args, r.args_type_name, r.is_paused, r.next_run_at, r.last_run_at, r.last_job_id,
  last.status as last_status, r.unique_key, r.unique_seconds, r.created_by, r.version, r.created_at, r.updated_at`;

function recurringJob(
  { id: _id, createdBy: _by, version: _v, uniqueSeconds, ...job }: RecurringRow,
): RecurringJob {
  return { ...job, uniqueFor: uniqueForOf(job.uniqueKey, uniqueSeconds) };
}

/**
 * Reads a recurring job by the id its creator chose. Ids are unique within a tenant. If the caller sees several with
 * the same id, the own tenant's is returned, else the service's own.
 * @throws JOB_RECURRING_NOT_FOUND, VALIDATION_ERROR (several other tenants have one, and the name does not say which)
 */
async function readRecurring(
  q: Sql,
  caller: JobActor,
  { id, tenantId }: RecurringName,
  o: { lock?: boolean } = {},
): Promise<RecurringRow> {
  const named = q`job_id = ${id} and ${within(q, jobReach(caller, tenantId))}`;
  const [row] = await q<(RecurringRow & { isCertain: boolean })[]>`
    select ${
    q.unsafe(RECURRING_COLUMNS)
  }, r.tenant_id is null or r.tenant_id is not distinct from ${caller.tenantId}::uuid
      or (select count(*) = 1 from recurring_jobs where ${named}) as is_certain
    from (
      select * from recurring_jobs where ${named}
      order by tenant_id is not distinct from ${caller.tenantId}::uuid desc, tenant_id is null desc, id
      limit 1 ${o.lock ? q`for no key update` : q``}
    ) r left join jobs last on last.id = r.last_job_id`;
  const shown = id.slice(0, 200);
  if (!row) {
    throw problem("JOB_RECURRING_NOT_FOUND", `No recurring job "${shown}" is within the caller's reach.`);
  }
  const { isCertain, ...recurring } = row;
  if (isCertain) return recurring;
  throw invalid({
    tenantId: [
      `several tenants have a recurring job "${shown}": expected the id of the tenant whose job is meant`,
    ],
  });
}
