import type { Sql } from "../../infra/postgres/postgres.ts";
import { ENDED, type JobSummary, jobSummary, readJob } from "./job_row.ts";
import { findPause, type Pause } from "./pauses.ts";
import type { JobReach } from "./reach.ts";

/** A job, and the pause that keeps it from starting. */
export type JobDetail = JobSummary & { pause: Pause | null };

/** @throws JOB_NOT_FOUND (also for another tenant's job) */
export async function readJobDetail(sql: Sql, reach: JobReach, id: string): Promise<JobDetail> {
  const job = jobSummary(await readJob(sql, reach, id));
  const waits = job.status !== "Processing" && !ENDED.includes(job.status);
  return { ...job, pause: waits ? await findPause(sql, job) : null };
}
