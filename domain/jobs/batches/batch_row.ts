import { z } from "zod";
import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { countList, pageOf } from "../../shared/lists.ts";
import { time } from "../../shared/shapes.ts";
import type { NewJob } from "../enqueue.ts";
import {
  JOB_COLUMNS,
  JOB_STATUSES,
  type JobRow,
  type JobStatus,
  type JobSummary,
  jobSummary,
} from "../job_row.ts";
import { type JobReach, within } from "../reach.ts";

/** Open: takes more jobs. Running: closed, and all jobs so far succeeded or are unfinished. The others are final. */
export const BATCH_STATUSES = ["Open", "Running", "Succeeded", "Failed", "Cancelled"] as const;
export type BatchStatus = typeof BATCH_STATUSES[number];

/** A job that a batch enqueues when it ends, as stored in its row. */
export type BatchContinuation = Omit<NewJob, "scheduledAt"> & { scheduledAt: string | null };

/** A row of `job_batches`, with the number of jobs by status. */
export interface BatchRow extends Omit<JobBatch, "totalJobs" | "counts" | "onAllSucceeded" | "onAnyFailed"> {
  onAllSucceeded: BatchContinuation | null;
  onAnyFailed: BatchContinuation | null;
  onAllSucceededJobId: string | null;
  onAnyFailedJobId: string | null;
  counts: Partial<Record<JobStatus, number>> | null;
}

/** The job that a batch enqueues when it ends. */
const ContinuationOfBatch = z.object({
  jobTypeName: z.string(),
  jobId: z.guid().nullable().describe("null until it is enqueued"),
});
type ContinuationOfBatch = z.output<typeof ContinuationOfBatch>;

const numbersByStatus = Object.fromEntries(JOB_STATUSES.map((name) => [name, z.int()]));

/** A batch as callers see it. */
export const JobBatch = z.object({
  id: z.guid(),
  tenantId: z.guid().nullable(),
  name: z.string().nullable(),
  status: z.enum(BATCH_STATUSES),
  totalJobs: z.int(),
  counts: z.object(numbersByStatus as Record<JobStatus, z.ZodInt>).describe(
    "Number of jobs by status; pruned jobs stay counted",
  ),
  onAllSucceeded: ContinuationOfBatch.nullable(),
  onAnyFailed: ContinuationOfBatch.nullable(),
  createdBy: z.guid().nullable(),
  createdAt: time,
  endedAt: time.nullable().describe("When its outcome was known; other jobs may still run"),
}).meta({ id: "JobBatchDto", description: "A batch of jobs" });
export type JobBatch = z.output<typeof JobBatch>;

function jobBatch(row: BatchRow): JobBatch {
  const { counts, onAllSucceeded, onAnyFailed, onAllSucceededJobId, onAnyFailedJobId, ...batch } = row;
  const byStatus = Object.fromEntries(JOB_STATUSES.map((status) => [status, counts?.[status] ?? 0]));
  return {
    ...batch,
    totalJobs: Object.values(byStatus).reduce((sum, n) => sum + n, 0),
    counts: byStatus as Record<JobStatus, number>,
    onAllSucceeded: continuationOf(onAllSucceeded, onAllSucceededJobId),
    onAnyFailed: continuationOf(onAnyFailed, onAnyFailedJobId),
  };
}

const continuationOf = (given: BatchContinuation | null, jobId: string | null): ContinuationOfBatch | null =>
  given && { jobTypeName: given.jobTypeName, jobId };

const COLUMNS = `id, tenant_id, name, status, on_all_succeeded, on_any_failed, on_all_succeeded_job_id,
  on_any_failed_job_id, created_by, created_at, ended_at`;

/** SQL that adds the counts to chosen rows of `job_batches`. Reads the counters, not the jobs. */
const withCounts = (q: Sql, chosen: SqlPart) =>
  q<BatchRow[]>`
    with chosen as (${chosen})
    select chosen.*, (
      select jsonb_object_agg(status, n) from (
        select status, sum(n) as n from (
          select status, n from job_batch_counts where batch_id = chosen.id
          union all
          select status, n from job_batch_deltas where batch_id = chosen.id
        ) added group by status
      ) counted
    ) as counts
    from chosen order by id desc`;

/** @throws JOB_BATCH_NOT_FOUND (also for another tenant's batch) */
export async function readBatch(q: Sql, reach: JobReach, id: string): Promise<JobBatch> {
  const [row] = await withCounts(
    q,
    q`
    select ${q.unsafe(COLUMNS)} from job_batches where id = ${id} and ${within(q, reach)}`,
  );
  if (!row) throw noSuchBatch(id);
  return jobBatch(row);
}

/** Locks the row of a batch until the transaction ends. @throws JOB_BATCH_NOT_FOUND */
export async function lockBatch(
  q: Sql,
  reach: JobReach,
  id: string,
): Promise<Pick<BatchRow, "status" | "onAnyFailed">> {
  const [row] = await q<Pick<BatchRow, "status" | "onAnyFailed">[]>`
    select status, on_any_failed from job_batches where id = ${id} and ${within(q, reach)} for no key update`;
  if (!row) throw noSuchBatch(id);
  return row;
}

const noSuchBatch = (id: string) =>
  problem("JOB_BATCH_NOT_FOUND", `No batch ${id} is within the caller's reach.`);

/** A page of batches, newest first. */
export async function listBatches(
  q: Sql,
  reach: JobReach,
  o: PageRequest & { status?: BatchStatus | undefined },
): Promise<PagedResult<JobBatch>> {
  const chosen = q`${within(q, reach)} ${o.status ? q`and status = ${o.status}` : q``}`;
  const total = await countList(q, q`job_batches where ${chosen}`);
  const rows = await withCounts(
    q,
    q`
    select ${q.unsafe(COLUMNS)} from job_batches where ${chosen} order by id desc ${pageOf(q, o)}`,
  );
  return pagedResult(rows.map(jobBatch), total, o);
}

/** A page of the jobs of a batch, oldest first. @throws JOB_BATCH_NOT_FOUND */
export async function listBatchJobs(
  q: Sql,
  reach: JobReach,
  id: string,
  o: PageRequest & { status?: JobStatus | undefined },
): Promise<PagedResult<JobSummary>> {
  await readBatch(q, reach, id);
  const statuses = o.status ? [o.status] : JOB_STATUSES;
  // The counters of the batch count pruned jobs too.
  const total = await countList(
    q,
    q`jobs where batch_id = ${id} and status = any(${statuses}::text[]::job_status[])`,
  );
  // The index sorts the jobs of each status, so the first ones of each suffice.
  const most = offsetOf(o) + o.pageSize;
  const rows = await q<JobRow[]>`
    select ${q.unsafe(JOB_COLUMNS)} from jobs where id = any(array(
      select first.id from unnest(${statuses}::text[]::job_status[]) s (status) cross join lateral (
        select id from jobs where batch_id = ${id} and status = s.status order by id limit ${most}
      ) first order by first.id ${pageOf(q, o)}))
    order by id`;
  return pagedResult(rows.map(jobSummary), total, o);
}
