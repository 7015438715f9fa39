import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { JOB_STATUSES } from "../job_row.ts";
import { type JobActor, jobReach, within } from "../reach.ts";
import { uniqueFor, uniqueForOf } from "../unique_jobs.ts";
import { time } from "../../shared/shapes.ts";

/** A recurring job as callers see it; `jobId` is the id its creator chose. */
export const RecurringJob = z.object({
  jobId: z.string(),
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
  tenantId: string | null;
  createdBy: string | null;
  uniqueSeconds: number | null;
  version: number;
}

/** The columns of a RecurringRow, with `r` for recurring_jobs and `last` for the last job. */
export const RECURRING_COLUMNS =
  `r.id, r.tenant_id, r.job_id, r.job_type_name, r.cron_expression, r.time_zone_id,
  r.queue, r.serialized_args, r.args_type_name, r.is_paused, r.next_run_at, r.last_run_at, r.last_job_id,
  last.status as last_status, r.unique_key, r.unique_seconds, r.created_by, r.version, r.created_at, r.updated_at`;

export function recurringJob(
  { id: _id, tenantId: _tenant, createdBy: _by, version: _v, uniqueSeconds, ...job }: RecurringRow,
): RecurringJob {
  return { ...job, uniqueFor: uniqueForOf(job.uniqueKey, uniqueSeconds) };
}

/**
 * Reads a recurring job by the id its creator chose. Ids are unique within a tenant. If the caller sees several with
 * the same id, the own tenant's is returned, else the service's own, else the oldest.
 * @throws JOB_RECURRING_NOT_FOUND
 */
export async function readRecurring(
  q: Sql,
  caller: JobActor,
  jobId: string,
  o: { lock?: boolean } = {},
): Promise<RecurringRow> {
  const [row] = await q<RecurringRow[]>`
    select ${q.unsafe(RECURRING_COLUMNS)} from recurring_jobs r left join jobs last on last.id = r.last_job_id
    where r.job_id = ${jobId} and ${within(q, jobReach(caller), "r.tenant_id")}
    order by r.tenant_id is not distinct from ${caller.tenantId}::uuid desc, r.tenant_id is null desc, r.id
    limit 1 ${o.lock ? q`for no key update of r` : q``}`;
  if (!row) {
    throw problem(
      "JOB_RECURRING_NOT_FOUND",
      `No recurring job "${jobId.slice(0, 200)}" is within the caller's reach.`,
    );
  }
  return row;
}
