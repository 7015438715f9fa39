import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { type JobReach, within } from "./reach.ts";
import { time } from "../shared/shapes.ts";

/** Priorities from highest to lowest. The database stores the index. */
export const PRIORITIES = ["Critical", "High", "Normal", "Low"] as const;
export type JobPriority = typeof PRIORITIES[number];

export const JOB_STATUSES = [
  "Enqueued",
  "Scheduled",
  "AwaitingParent",
  "Processing",
  "Succeeded",
  "Failed",
  "DeadLettered",
  "Cancelled",
] as const;
export type JobStatus = typeof JOB_STATUSES[number];
/** Final statuses; a job has a `completedAt` exactly when its status is one of them. */
export const ENDED: readonly JobStatus[] = ["Succeeded", "DeadLettered", "Cancelled"];

/** Statuses of jobs whose last attempt failed. */
export const FAILED = ["Failed", "DeadLettered"] as const satisfies JobStatus[];

/** The ways in which jobs are created. */
export const JOB_TYPES = ["FireAndForget", "Delayed", "Recurring", "Continuation"] as const;
export type JobKind = typeof JOB_TYPES[number];

/** Pattern of queue names. They must not contain `|`, which separates queue, limit key and tenant in a lane's name. */
export const QUEUE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const QUEUE_NAME_EXPECTED =
  "expected 1 to 64 of a-z, 0-9, dot, underscore and dash, starting with a letter or digit";
export const queueName = z.string().regex(QUEUE_NAME, QUEUE_NAME_EXPECTED);

/** First character of the lanes and limit keys of remote types. It sorts after those of all queues. */
export const REMOTE_MARK = "~";
/** First character of hidden lanes: jobs with a rate limit wait there for a token of their bucket. */
export const HIDDEN_MARK = "§";
/** Sorts after all lanes that claims search. */
export const AFTER_LANES = "\x7f";

/** Limit key of a remote type. @param tenantId the tenant that declared it; null: declared for all tenants */
export const remoteKey = (typeName: string, tenantId: string | null): string =>
  `${REMOTE_MARK}${typeName}${tenantId === null ? "" : `|${tenantId}`}`;

/**
 * Name of the lane in which jobs of this queue and tenant wait. A type that limits how many of its jobs run at once has
 * its own lanes, so that a type at its limit does not block other jobs. Each remote type has lanes of its own too, which
 * sort after all others. Their type and tenant come first, because claims name them.
 */
export function laneName(queue: string, limitKey?: string | null, tenantId?: string | null): string {
  if (!limitKey?.startsWith(REMOTE_MARK)) return `${queue}|${limitKey ?? ""}|${tenantId ?? ""}`;
  const [markedType] = limitKey.split("|");
  return `${markedType}|${tenantId ?? ""}|${queue}`;
}

/** The lane in which jobs of a bucket wait for a token. */
export const hiddenLane = (bucket: string, queue: string, tenantId?: string | null): string =>
  `${HIDDEN_MARK}${bucket}|${tenantId ?? ""}|${queue}`;

/**
 * Splits a lane's name into queue, limit key and tenant. `limitKey` of a remote type's lane is that of a type declared for
 * all tenants.
 */
export function laneParts(lane: string): { queue: string; limitKey: string | null; tenantId: string | null } {
  const [first = "", second = "", third = ""] = lane.split("|");
  return first.startsWith(REMOTE_MARK) || first.startsWith(HIDDEN_MARK)
    ? { queue: third, limitKey: first, tenantId: second || null }
    : { queue: first, limitKey: second || null, tenantId: third || null };
}

/** SQL expression: the queue of a lane, as `laneParts` returns it. */
export const LANE_QUEUE =
  `split_part(lane, '|', case when left(lane, 1) in ('${REMOTE_MARK}', '${HIDDEN_MARK}') then 3 else 1 end)`;

/** Columns of a job that callers see. */
export const JOB_COLUMNS =
  `id, job_type_name, args_type_name, serialized_args, type, status, priority, queue, scheduled_at,
  case when status = 'Failed' or status = 'Scheduled' and wait_reason is not null then due_at end as next_retry_at,
  created_at, started_at, completed_at, attempts, max_retries, last_error,
  case when status = 'Scheduled' then wait_reason end as wait_reason, cancel_requested_at,
  parent_job_id, parent_job_ids, batch_id, recurring_job_id, tenant_id, created_by, unique_key`;

/** A job as callers see it. */
export const JobSummary = z.object({
  id: z.guid(),
  jobTypeName: z.string(),
  argsTypeName: z.string().nullable(),
  serializedArgs: z.string(),
  type: z.enum(JOB_TYPES),
  status: z.enum(JOB_STATUSES),
  priority: z.enum(PRIORITIES),
  queue: z.string(),
  scheduledAt: time.nullable(),
  createdAt: time,
  startedAt: time.nullable(),
  completedAt: time.nullable(),
  attempts: z.int(),
  maxRetries: z.int(),
  // Null: it is neither.
  nextRetryAt: time.nullable().describe("When a failed or postponed job runs again"),
  lastError: z.string().nullable(),
  // It becomes null when the job starts again.
  waitReason: z.string().nullable().describe("Why the job was postponed; null: it was not"),
  cancelRequestedAt: time.nullable().describe("When a caller asked to stop the running job"),
  parentJobId: z.guid().nullable().describe("The only parent; null for several"),
  parentJobIds: z.array(z.guid()).describe("All parents"),
  batchId: z.guid().nullable(),
  recurringJobId: z.string().nullable(),
  tenantId: z.guid().nullable(),
  createdBy: z.guid().nullable(),
  uniqueKey: z.string().nullable(),
}).meta({ id: "JobSummaryDto", description: "A background job" });
export type JobSummary = z.output<typeof JobSummary>;

/** A row of `jobs`, with the columns that callers see. */
export type JobRow = Omit<JobSummary, "priority" | "parentJobIds"> & {
  priority: number;
  /** The parents of a job that waits for several; null: it has at most the one in `parentJobId`. */
  parentJobIds: string[] | null;
};

/** Ids of the jobs for whose success a job waits; empty for most jobs. */
export const parentsOf = (job: { parentJobId?: string | null; parentJobIds?: string[] | null }): string[] =>
  job.parentJobIds ?? (job.parentJobId ? [job.parentJobId] : []);

/** Copies a row for callers. The members are spread, because leaving some out by `...rest` takes ten times as long. */
export const jobSummary = (row: JobRow): JobSummary => ({
  ...row,
  parentJobIds: parentsOf(row),
  priority: PRIORITIES[row.priority] ?? "Normal",
});

/** Reads a job. @throws JOB_NOT_FOUND (also for another tenant's job) */
export async function readJob(q: Sql, reach: JobReach, id: string): Promise<JobRow> {
  const [row] = await q<JobRow[]>`
    select ${q.unsafe(JOB_COLUMNS)} from jobs where id = ${id} and ${within(q, reach)}`;
  if (!row) throw noSuchJob(id);
  return row;
}

/** A job whose row is locked. */
export interface LockedJob extends JobRow {
  hasChildren: boolean;
  /** Seconds since its creation for which the job holds its unique key; null: until it ends. */
  uniqueSeconds: number | null;
}

/** Reads a job and locks its row until the transaction ends. @throws JOB_NOT_FOUND */
export async function lockJob(q: Sql, reach: JobReach, id: string): Promise<LockedJob> {
  const [row] = await q<LockedJob[]>`
    select ${q.unsafe(JOB_COLUMNS)}, has_children, unique_seconds from jobs
    where id = ${id} and ${within(q, reach)} for no key update`;
  if (!row) throw noSuchJob(id);
  return row;
}

const noSuchJob = (id: string) => problem("JOB_NOT_FOUND", `No job ${id} is within the caller's reach.`);

/** A job that has ended, with the members that tell if other jobs wait for its end. */
export interface EndedJob {
  id: string;
  status: string;
  /** False: it has no continuations. */
  hasChildren: boolean;
  batchId: string | null;
}

/** A job whose status changed, as its worker sees it. */
export interface SettledJob {
  id: string;
  attempts: number;
  status: string;
  dueInMs: number;
}

/** The final status of a job. */
export interface JobEnd {
  status: "Succeeded" | "DeadLettered" | "Cancelled";
  lastError: string | null;
}

/** Reads the final status of the jobs that have ended, by job id. Areas whose rows wait for a job use it. */
export async function readJobEnds(q: Sql, ids: string[]): Promise<Map<string, JobEnd>> {
  if (ids.length === 0) return new Map();
  const rows = await q<(JobEnd & { id: string })[]>`
    select id, status, last_error from jobs
    where id = any(${ids}::uuid[]) and status in ('Succeeded', 'DeadLettered', 'Cancelled')`;
  return new Map(rows.map(({ id, ...end }) => [id, end]));
}

/**
 * Reads a page of the jobs of a type that were cancelled within the last day and before their scheduled time, in the order
 * of their ids. Areas whose rows wait for that time use it.
 */
export async function readCancelledEarly(
  q: Sql,
  jobTypeName: string,
  { limit, after }: { limit: number; after: string },
): Promise<{ id: string; serializedArgs: string }[]> {
  return await q<{ id: string; serializedArgs: string }[]>`
    select id, serialized_args from jobs
    where status = 'Cancelled' and job_type_name = ${jobTypeName} and completed_at > now() - interval '1 day'
      and scheduled_at > completed_at and id > ${after}
    order by id limit ${limit}`;
}
