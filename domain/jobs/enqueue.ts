import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import {
  afterCommit,
  isTransaction,
  type PendingQuery,
  type Pool,
  type Sql,
  type Tx,
  withCommit,
} from "../../infra/postgres/postgres.ts";
import { activeSpan } from "../../infra/telemetry/tracing.ts";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import { newId, timeOfId } from "../shared/ids.ts";
import { lockParents } from "./continuations.ts";
import { JOB_COLUMNS, type JobPriority, type JobRow, laneName, PRIORITIES } from "./job_row.ts";
import { type JobType, limitKeyOf } from "./job_type.ts";

/** A job to insert. */
export interface NewJob {
  /** Set it (by `newId`) if other rows refer to the job before it is inserted; absent: a new id. */
  id?: string;
  jobTypeName: string;
  /** JSON, kept exactly as given. */
  serializedArgs: string;
  maxRetries: number;
  argsTypeName?: string | null;
  tenantId?: string | null;
  priority?: JobPriority;
  queue?: string;
  /** Due time; absent or in the past: at once. */
  scheduledAt?: Date | null;
  /** The job becomes due when this parent succeeds, and is cancelled when the parent is dead-lettered or cancelled. */
  parentJobId?: string | null;
  /** Id of the recurring job that enqueues it. */
  recurringJobId?: string | null;
  createdBy?: string | null;
  /** Name of the type if it limits how many of its jobs run at once. */
  limitKey?: string | null;
  traceId?: string | null;
}

export type JobOptions = Omit<NewJob, "jobTypeName" | "serializedArgs" | "maxRetries"> & {
  maxRetries?: number;
};

/** Enqueues a job in the caller's transaction, so the job exists only if the transaction commits. Returns its id. */
export async function enqueueJob<A>(
  p: { wakeUps: WakeUps },
  tx: Tx,
  type: Omit<JobType<A>, "run">,
  args: A,
  options: JobOptions = {},
): Promise<string> {
  const { maxRetries = type.maxRetries, ...rest } = options;
  const [id = ""] = await insertJobs(p, tx, [{
    ...rest,
    jobTypeName: type.name,
    serializedArgs: JSON.stringify(args),
    maxRetries,
    limitKey: limitKeyOf(type),
  }]);
  return id;
}

/** Inserts jobs and wakes workers after `tx` has committed; returns their ids in the given order. */
export async function insertJobs(p: { wakeUps: WakeUps }, tx: Tx, jobs: NewJob[]): Promise<string[]> {
  if (jobs.length === 0) return [];
  const parents = await lockParents(tx, jobs.flatMap((job) => job.parentJobId ?? []));
  const traceId = activeSpan()?.traceId ?? null;
  const named = jobs.map((job) => ({ ...job, id: job.id ?? newId(), traceId: job.traceId ?? traceId }));
  await withCommit(tx, writeJobs(tx, named, parents));
  afterCommit(tx, () => wakeFor(p, jobs));
  return named.map(({ id }) => id);
}

/** Wakes workers for inserted jobs: now, or at their due times. */
export function wakeFor(p: { wakeUps: WakeUps }, jobs: NewJob[]): void {
  const dueTimes = new Set(jobs.map((job) => job.scheduledAt?.getTime() ?? 0));
  for (const time of dueTimes) p.wakeUps.at(new Date(time));
}

/** Sets a wake-up for the next tick of a schedule after `tx` has committed. */
export function wakeAt(p: { wakeUps: WakeUps }, tx: Tx, tick: Date | null): void {
  if (tick) afterCommit(tx, () => p.wakeUps.at(tick));
}

/**
 * Inserts jobs in one statement and returns their rows in the given order. The caller must wake workers after the
 * commit.
 * @param parents result of `lockParents`; required if jobs have parents.
 */
export function writeJobs(
  q: Sql,
  jobs: NewJob[],
  parents: ReadonlyMap<string, string> = new Map(),
): PendingQuery<JobRow[]> {
  const named = jobs.map((job) => ({ ...job, id: job.id ?? newId() }));
  return q<JobRow[]>`${jobInsertion(q, named, parents)} returning ${q.unsafe(JOB_COLUMNS)}`;
}

/** Inserts jobs that are enqueued one by one. Concurrent calls share a commit; each resolves after the commit. */
export class JobWriter {
  readonly #jobs: GroupCommit<NewJob, JobRow>;

  constructor(pool: Pool) {
    this.#jobs = new GroupCommit((jobs) => writeJobs(pool, jobs));
  }

  /**
   * Inserts jobs without parents, all or none; returns their rows in the given order.
   * @param sql a transaction to insert them in; a pool: their own commit, shared with concurrent calls
   */
  write(sql: Sql, jobs: NewJob[]): Promise<JobRow[]> {
    return isTransaction(sql) ? writeJobs(sql, jobs) : this.#jobs.write(jobs);
  }
}

/**
 * SQL fragment that inserts jobs, for use inside a larger statement. The caller must wake workers after the commit.
 * @param parents result of `lockParents`; required if jobs have parents.
 */
export function jobInsertion(
  q: Sql,
  jobs: (NewJob & { id: string })[],
  parents: ReadonlyMap<string, string> = new Map(),
) {
  const column = <T>(read: (job: NewJob & { id: string }) => T): T[] => jobs.map(read);
  return q`
    insert into jobs (id, created_at, tenant_id, job_type_name, serialized_args, args_type_name, type, status, priority,
      queue, due_at, scheduled_at, completed_at, max_retries, parent_job_id, recurring_job_id, created_by, trace_id, limit_key, lane)
    select id, created_at, tenant_id, job_type_name, serialized_args, args_type_name,
      case when parent_job_id is not null then 'Continuation' when recurring_job_id is not null then 'Recurring'
        when scheduled_at > now() then 'Delayed' else 'FireAndForget' end::job_type,
      coalesce(status::job_status, case when scheduled_at > now() then 'Scheduled' else 'Enqueued' end::job_status),
      priority, queue, greatest(scheduled_at, now()), scheduled_at, case when status = 'Cancelled' then now() end,
      max_retries, parent_job_id, recurring_job_id, created_by, trace_id, limit_key, lane
    from unnest(${column((j) => j.id)}::uuid[], ${column((j) => timeOfId(j.id).toISOString())}::timestamptz[],
      ${column((j) => j.tenantId ?? null)}::uuid[], ${column((j) => j.jobTypeName)}::text[],
      ${column((j) => j.serializedArgs)}::text[], ${column((j) => j.argsTypeName ?? null)}::text[],
      ${column((j) => statusUnder(j, parents))}::text[],
      ${column((j) => PRIORITIES.indexOf(j.priority ?? "Normal"))}::smallint[],
      ${column((j) => j.queue ?? "default")}::text[],
      ${column((j) => j.scheduledAt?.toISOString() ?? null)}::timestamptz[],
      ${column((j) => j.maxRetries)}::smallint[], ${column((j) => j.parentJobId ?? null)}::uuid[],
      ${column((j) => j.recurringJobId ?? null)}::text[], ${column((j) => j.createdBy ?? null)}::uuid[],
      ${column((j) => j.traceId ?? null)}::text[], ${column((j) => j.limitKey ?? null)}::text[],
      ${column(laneOf)}::text[])
      as given (id, created_at, tenant_id, job_type_name, serialized_args, args_type_name, status, priority, queue,
        scheduled_at, max_retries, parent_job_id, recurring_job_id, created_by, trace_id, limit_key, lane)`;
}

const laneOf = ({ queue = "default", limitKey, tenantId }: NewJob): string =>
  laneName(queue, limitKey, tenantId);

/** Initial status of a continuation, by the status of its parent; null: the same as a job without a parent. */
function statusUnder(job: NewJob, parents: ReadonlyMap<string, string>): string | null {
  if (!job.parentJobId) return null;
  const parent = parents.get(job.parentJobId);
  if (parent === undefined) throw new Error(`the parent job ${job.parentJobId} does not exist`);
  if (parent === "Succeeded") return null;
  return parent === "DeadLettered" || parent === "Cancelled" ? "Cancelled" : "AwaitingParent";
}
