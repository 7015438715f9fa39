import { v5 } from "uuid";
import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { readNamesOf } from "../../audit/entry_names.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { pageOf, readPage } from "../../shared/lists.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { time } from "../../shared/shapes.ts";
import { ENDED, JOB_COLUMNS, type JobRow, JobSummary, jobSummary, readJob } from "../job_row.ts";
import { findPause, Pause } from "../limits/pauses.ts";
import { type JobReach, within } from "../reach.ts";

const CONTINUATIONS_SHOWN = 100;

/** A job with the details that a person looks for. */
export const JobDetail = JobSummary.extend({
  traceId: z.string().nullable().describe("W3C trace id of the request or job that enqueued it"),
  progressPercent: z.number().nullable().describe("Of the last attempt, like `output`"),
  progressNote: z.string().nullable(),
  output: z.string().nullable(),
  // Null if it has none, or that was purged.
  deadLetter: z.object({ id: z.guid(), retriedAt: time.nullable(), retriedJobId: z.guid().nullable() })
    .nullable().describe("The dead letter of the job, and the job that it was retried as"),
  names: z.record(z.string(), z.string()).describe(
    "Names of `createdBy` and `tenantId`, by id, if the caller may see them",
  ),
  pause: Pause.nullable().describe("Set while a pause keeps the job from starting"),
}).meta({ id: "JobDetailDto", description: "A background job" });
export type JobDetail = z.output<typeof JobDetail>;

/** @throws JOB_NOT_FOUND (also for another tenant's job) */
export async function readJobDetail(q: Sql, caller: Caller, reach: JobReach, id: string): Promise<JobDetail> {
  const job = jobSummary(await readJob(q, reach, id));
  const waits = job.status !== "Processing" && !ENDED.includes(job.status);
  const [pause, names, [deadLetter], [last]] = await Promise.all([
    waits ? findPause(q, job) : null,
    readNamesOf(q, caller, [job.createdBy, job.tenantId].filter((one) => one !== null)),
    job.status === "DeadLettered"
      ? q<NonNullable<JobDetail["deadLetter"]>[]>`
        select id, retried_at, retried_job_id from dead_letter_jobs where job_id = ${id}`
      : [],
    q<Pick<JobDetail, "traceId" | "progressPercent" | "progressNote" | "output">[]>`
      select (select trace_id from jobs where id = ${id}), p.percent as progress_percent, p.note as progress_note,
        (select output from job_executions where job_id = ${id} and attempt_number = ${job.attempts}) as output
      from (select) one left join job_progress p on p.job_id = ${id} and p.attempt_number = ${job.attempts}`,
  ]);
  if (!last) throw new Error(`the last attempt of job ${id} was not read`);
  return { ...job, ...last, pause, deadLetter: deadLetter ?? null, names: Object.fromEntries(names) };
}

/** The first hundred continuations of this job, in any status, oldest first. @throws JOB_NOT_FOUND */
export async function listContinuations(q: Sql, reach: JobReach, jobId: string): Promise<JobSummary[]> {
  await readJob(q, reach, jobId);
  const rows = await q<JobRow[]>`
    select ${q.unsafe(JOB_COLUMNS)} from jobs where ${within(q, reach)} and id = any(array(
      select id from jobs where parent_job_id = ${jobId}
      union all
      select id from jobs where parent_job_ids @> ${[jobId]}::uuid[]))
    order by id limit ${CONTINUATIONS_SHOWN}`;
  return rows.map(jobSummary);
}

/** One attempt at a job, ended or running (status Processing). */
export const JobExecution = z.object({
  id: z.guid(),
  jobId: z.guid(),
  attemptNumber: z.int(),
  status: z.enum(["Processing", "Succeeded", "Failed", "Abandoned"]),
  startedAt: time,
  completedAt: time.nullable(),
  durationMs: z.number().nullable(),
  errorMessage: z.string().nullable(),
  workerId: z.guid(),
  output: z.string().nullable(),
  // Last reported progress, 0 to 100.
  progressPercent: z.number().nullable(),
  progressNote: z.string().nullable(),
}).meta({ id: "JobExecutionDto", description: "One attempt; Abandoned: interrupted by a crash or a stop" });
export type JobExecution = z.output<typeof JobExecution>;

/**
 * A page of a job's attempts, newest first. The running attempt is read from the job's own row.
 * @throws JOB_NOT_FOUND
 */
export async function listExecutions(
  q: Sql,
  reach: JobReach,
  jobId: string,
  page: PageRequest,
): Promise<PagedResult<JobExecution>> {
  await readJob(q, reach, jobId);
  const rows = await q<(Omit<JobExecution, "id"> & { total: number })[]>`
    with attempts as (
      select id as job_id, attempts as attempt_number, 'Processing' as status, started_at, null::timestamptz as completed_at,
        null as error_message, worker_id, null as output
      from jobs where id = ${jobId} and status = 'Processing'
      union all
      select job_id, attempt_number, status, started_at, completed_at, error_message, worker_id, output
      from job_executions where job_id = ${jobId}
    ), page as (
      select * from attempts order by attempt_number desc ${pageOf(q, page)}
    )
    select counted.total, page.*, extract(epoch from page.completed_at - page.started_at)::float8 * 1000 as duration_ms,
      p.percent as progress_percent, p.note as progress_note
    from (select count(*) as total from attempts) counted
    left join page on true
    left join job_progress p on p.job_id = page.job_id and p.attempt_number = page.attempt_number
    order by page.attempt_number desc`;
  const items = rows.filter((row) => row.jobId !== null).map(({ total: _, ...row }) => ({
    ...row,
    id: v5(String(row.attemptNumber), jobId), // stays the same when the attempt ends
    durationMs: row.durationMs === null ? null : Math.round(row.durationMs * 1000) / 1000,
  }));
  return pagedResult(items, rows[0]?.total ?? 0, page);
}

/** A log line of an attempt. */
export const JobLogLine = z.object({
  at: time,
  level: z.string(),
  message: z.string(),
  fields: z.record(z.string(), z.unknown()).nullable(),
}).meta({ id: "JobLogLineDto" });
export type JobLogLine = z.output<typeof JobLogLine>;

/** A page of an attempt's log lines, oldest first. @throws JOB_NOT_FOUND (also if the attempt does not exist) */
export async function listLogLines(
  q: Sql,
  reach: JobReach,
  jobId: string,
  attemptNumber: number,
  page: PageRequest,
): Promise<PagedResult<JobLogLine>> {
  const { attempts } = await readJob(q, reach, jobId);
  if (attemptNumber > attempts) {
    throw problem(
      "JOB_NOT_FOUND",
      `Job ${jobId} has had ${attempts} attempts; there is no attempt ${attemptNumber}.`,
    );
  }
  const columns = q`at, level, message, fields`;
  const from = q`job_log_lines where job_id = ${jobId} and attempt_number = ${attemptNumber}`;
  return await readPage(q, { columns, from, order: q`order by line_number` }, page);
}
