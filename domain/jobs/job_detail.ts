import type { Sql } from "../../infra/postgres/postgres.ts";
import { readNamesOf } from "../audit/entry_names.ts";
import type { Caller } from "../rights/caller.ts";
import { ENDED, type JobSummary, jobSummary, readJob } from "./job_row.ts";
import { findPause, type Pause } from "./pauses.ts";
import type { JobReach } from "./reach.ts";

/** A job, and what a person wants to know about it. */
export type JobDetail = JobSummary & {
  /** The pause that keeps it from starting. */
  pause: Pause | null;
  /** Its dead letter; null if it has none, or that was purged. */
  deadLetter: { id: string; retriedAt: Date | null; retriedJobId: string | null } | null;
  /** Last progress and the output of the last attempt. */
  progressPercent: number | null;
  progressNote: string | null;
  output: string | null;
  /** Names of its creator and tenant by id, as far as the caller may see them. */
  names: Record<string, string>;
};

/** @throws JOB_NOT_FOUND (also for another tenant's job) */
export async function readJobDetail(
  sql: Sql,
  caller: Caller,
  reach: JobReach,
  id: string,
): Promise<JobDetail> {
  const job = jobSummary(await readJob(sql, reach, id));
  const waits = job.status !== "Processing" && !ENDED.includes(job.status);
  const [pause, names, [deadLetter], [last]] = await Promise.all([
    waits ? findPause(sql, job) : null,
    readNamesOf(sql, caller, [job.createdBy, job.tenantId].filter((one) => one !== null)),
    job.status === "DeadLettered"
      ? sql<NonNullable<JobDetail["deadLetter"]>[]>`
        select id, retried_at, retried_job_id from dead_letter_jobs where job_id = ${id}`
      : [],
    sql<Pick<JobDetail, "progressPercent" | "progressNote" | "output">[]>`
      select p.percent as progress_percent, p.note as progress_note,
        (select output from job_executions where job_id = ${id} and attempt_number = ${job.attempts}) as output
      from (select) one left join job_progress p on p.job_id = ${id} and p.attempt_number = ${job.attempts}`,
  ]);
  const { progressPercent = null, progressNote = null, output = null } = last ?? {};
  const attempt = { progressPercent, progressNote, output };
  return { ...job, ...attempt, pause, deadLetter: deadLetter ?? null, names: Object.fromEntries(names) };
}
