import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { JOB_COLUMNS, type JobRow } from "./job_row.ts";
import { type JobReach, within } from "./reach.ts";

/** @throws JOB_NOT_FOUND (also for another tenant's job) */
export async function readJob(q: Sql, reach: JobReach, id: string): Promise<JobRow> {
  const [row] = await q<JobRow[]>`
    select ${q.unsafe(JOB_COLUMNS)} from jobs where id = ${id} and ${within(q, reach)}`;
  if (!row) throw noSuchJob(id);
  return row;
}

/** Reads a job and locks its row until the transaction ends. @throws JOB_NOT_FOUND */
export async function lockJob(
  q: Sql,
  reach: JobReach,
  id: string,
): Promise<JobRow & { hasChildren: boolean }> {
  const [row] = await q<(JobRow & { hasChildren: boolean })[]>`
    select ${q.unsafe(JOB_COLUMNS)}, has_children from jobs
    where id = ${id} and ${within(q, reach)} for no key update`;
  if (!row) throw noSuchJob(id);
  return row;
}

const noSuchJob = (id: string) => problem("JOB_NOT_FOUND", `No job ${id} is within the caller's reach.`);
