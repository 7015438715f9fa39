import type { Bell } from "../../infra/bell/bell.ts";
import { afterCommit, type Tx } from "../../infra/postgres/postgres.ts";
import { newId } from "../shared/ids.ts";
import type { JobType } from "./job_type.ts";

export const PRIORITIES = ["Critical", "High", "Normal", "Low"] as const;
export type JobPriority = typeof PRIORITIES[number];

/** A job to be written to the ledger. */
export interface NewJob {
  jobTypeName: string;
  /** JSON, kept exactly as given. */
  serializedArgs: string;
  maxRetries: number;
  argsTypeName?: string | null;
  tenantId?: string | null;
  priority?: JobPriority;
  queue?: string;
  /** When it is due; absent or past: at once. */
  scheduledAt?: Date | null;
  createdBy?: string | null;
  traceId?: string | null;
}

export type JobOptions = Omit<NewJob, "jobTypeName" | "serializedArgs" | "maxRetries"> & {
  maxRetries?: number;
};

/** Enqueues a job of a known type in the caller's transaction: it exists exactly when the change around it does. */
export async function enqueueJob<A>(
  p: { bell: Bell },
  tx: Tx,
  type: JobType<A>,
  args: A,
  options: JobOptions = {},
): Promise<string> {
  const { maxRetries = type.maxRetries, ...rest } = options;
  const [id = ""] = await insertJobs(p, tx, [{
    ...rest,
    jobTypeName: type.name,
    serializedArgs: JSON.stringify(args),
    maxRetries,
  }]);
  return id;
}

/** Writes jobs to the ledger and rings for them once `tx` has committed; returns their ids in the given order. */
export async function insertJobs(p: { bell: Bell }, tx: Tx, jobs: NewJob[]): Promise<string[]> {
  if (jobs.length === 0) return [];
  const ids = jobs.map(newId);
  const column = <T>(read: (job: NewJob) => T): T[] => jobs.map(read);
  await tx`
    insert into jobs (id, tenant_id, job_type_name, serialized_args, args_type_name, type, status, priority, queue,
      due_at, scheduled_at, max_retries, created_by, trace_id)
    select id, tenant_id, job_type_name, serialized_args, args_type_name,
      case when scheduled_at > now() then 'Delayed' else 'FireAndForget' end::job_type,
      case when scheduled_at > now() then 'Scheduled' else 'Enqueued' end::job_status,
      priority, queue, greatest(scheduled_at, now()), scheduled_at, max_retries, created_by, trace_id
    from unnest(${ids}::uuid[], ${column((j) => j.tenantId ?? null)}::uuid[], ${
    column((j) => j.jobTypeName)
  }::text[],
      ${column((j) => j.serializedArgs)}::text[], ${column((j) => j.argsTypeName ?? null)}::text[],
      ${column((j) => PRIORITIES.indexOf(j.priority ?? "Normal"))}::smallint[],
      ${column((j) => j.queue ?? "default")}::text[],
      ${column((j) => j.scheduledAt?.toISOString() ?? null)}::timestamptz[],
      ${column((j) => j.maxRetries)}::smallint[], ${column((j) => j.createdBy ?? null)}::uuid[],
      ${column((j) => j.traceId ?? null)}::text[])
      as given (id, tenant_id, job_type_name, serialized_args, args_type_name, priority, queue, scheduled_at,
        max_retries, created_by, trace_id)`;
  const dueTimes = new Set(jobs.map((job) => job.scheduledAt?.getTime() ?? 0));
  afterCommit(tx, () => dueTimes.forEach((time) => p.bell.ring(new Date(time))));
  return ids;
}
