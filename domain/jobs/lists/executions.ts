import { z } from "zod";
import { v5 } from "uuid";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { pageOf, readPage } from "../../shared/lists.ts";
import { time } from "../../shared/shapes.ts";
import { readJob } from "../job_row.ts";
import type { JobReach } from "../reach.ts";

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
    id: executionId(jobId, row.attemptNumber),
    durationMs: row.durationMs === null ? null : Math.round(row.durationMs * 1000) / 1000,
  }));
  return pagedResult(items, rows[0]?.total ?? 0, page);
}

/** Id of an execution, derived from the job id and the attempt number, so it is the same while it runs and after. */
const executionId = (jobId: string, attemptNumber: number): string => v5(String(attemptNumber), jobId);

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
