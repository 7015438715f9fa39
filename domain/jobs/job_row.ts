import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { type JobReach, within } from "./reach.ts";

/** From highest to lowest; the database stores the index. */
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

/** How a job was created. */
export const JOB_TYPES = ["FireAndForget", "Delayed", "Recurring", "Continuation"] as const;
export type JobKind = typeof JOB_TYPES[number];

/** Pattern of queue names. They must not contain `|`, which separates the parts of a lane's name. */
export const QUEUE_NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const QUEUE_NAME_EXPECTED =
  "expected 1 to 64 of a-z, 0-9, dot, underscore and dash, starting with a letter or digit";

/**
 * Name of the lane in which jobs of this queue and tenant wait. A type that limits how many of its jobs run at once has
 * its own lanes, so that a type at its limit does not block other jobs.
 */
export const laneName = (queue: string, limitKey?: string | null, tenantId?: string | null): string =>
  `${queue}|${limitKey ?? ""}|${tenantId ?? ""}`;

/** The parts of a lane's name. */
export function laneParts(lane: string): { queue: string; limitKey: string | null } {
  const [queue = "", limitKey = ""] = lane.split("|");
  return { queue, limitKey: limitKey || null };
}

/** Columns of a job that callers see. */
export const JOB_COLUMNS =
  `id, job_type_name, args_type_name, serialized_args, type, status, priority, queue, due_at,
  scheduled_at, created_at, started_at, completed_at, attempts, max_retries, last_error, parent_job_id,
  recurring_job_id, tenant_id, created_by`;

/** A row of `jobs`, with the columns that callers see. */
export interface JobRow {
  id: string;
  jobTypeName: string;
  argsTypeName: string | null;
  serializedArgs: string;
  type: JobKind;
  status: JobStatus;
  priority: number;
  queue: string;
  dueAt: Date;
  scheduledAt: Date | null;
  createdAt: Date;
  startedAt: Date | null;
  completedAt: Date | null;
  attempts: number;
  maxRetries: number;
  lastError: string | null;
  parentJobId: string | null;
  recurringJobId: string | null;
  tenantId: string | null;
  createdBy: string | null;
}

/** A job as callers see it. */
export type JobSummary = Omit<JobRow, "priority" | "dueAt"> & {
  priority: JobPriority;
  nextRetryAt: Date | null;
};

export function jobSummary({ priority, dueAt, ...job }: JobRow): JobSummary {
  return {
    ...job,
    priority: PRIORITIES[priority] ?? "Normal",
    nextRetryAt: job.status === "Failed" ? dueAt : null,
  };
}

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

/** A job whose status changed, as its worker sees it. */
export interface SettledJob {
  id: string;
  attempts: number;
  status: string;
  dueInMs: number;
}
