import type { Sql } from "../../infra/postgres/postgres.ts";
import { JOB_COLUMNS, type JobRow, type JobSummary, jobSummary, readJob } from "./job_row.ts";
import { type JobActor, type JobReach, within } from "./reach.ts";
import { readRecurring } from "./recurring_row.ts";

const CONTINUATIONS_SHOWN = 100;

/** The first hundred continuations of this job, in any status, oldest first. @throws JOB_NOT_FOUND */
export async function listContinuations(sql: Sql, reach: JobReach, jobId: string): Promise<JobSummary[]> {
  await readJob(sql, reach, jobId);
  const rows = await sql<JobRow[]>`
    select ${sql.unsafe(JOB_COLUMNS)} from jobs where ${within(sql, reach)} and id = any(array(
      select id from jobs where parent_job_id = ${jobId}
      union all
      select id from jobs where parent_job_ids @> ${[jobId]}::uuid[]))
    order by id limit ${CONTINUATIONS_SHOWN}`;
  return rows.map(jobSummary);
}

/** The latest jobs of a recurring job, newest first. @throws JOB_RECURRING_NOT_FOUND */
export async function listRuns(
  sql: Sql,
  caller: JobActor,
  recurringJobId: string,
  limit: number,
): Promise<JobSummary[]> {
  const { jobId, tenantId } = await readRecurring(sql, caller, recurringJobId);
  const rows = await sql<JobRow[]>`
    select ${sql.unsafe(JOB_COLUMNS)} from jobs
    where recurring_job_id = ${jobId} and tenant_id is not distinct from ${tenantId}::uuid
    order by id desc limit ${limit}`;
  return rows.map(jobSummary);
}
