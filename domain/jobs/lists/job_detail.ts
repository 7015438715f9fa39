import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { readNamesOf } from "../../audit/entry_names.ts";
import type { Caller } from "../../rights/caller.ts";
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
export async function readJobDetail(
  q: Sql,
  caller: Caller,
  reach: JobReach,
  id: string,
): Promise<JobDetail> {
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
  const { traceId = null, progressPercent = null, progressNote = null, output = null } = last ?? {};
  const attempt = { traceId, progressPercent, progressNote, output };
  return { ...job, ...attempt, pause, deadLetter: deadLetter ?? null, names: Object.fromEntries(names) };
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
