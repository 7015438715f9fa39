import { NAMED_LOCKS } from "../../infra/postgres/advisory_locks.ts";
import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import {
  afterCommit,
  isTransaction,
  type PendingQuery,
  type Pool,
  type Sql,
  transact,
  type Tx,
  whenCommitted,
  withCommit,
} from "../../infra/postgres/postgres.ts";
import { activeTrace, randomHex } from "../../infra/telemetry/tracing.ts";
import { JOBS_CHANNEL, type WakeUps } from "../../infra/wakeups/wakeups.ts";
import { newId, timeOfId } from "../shared/ids.ts";
import { lockParents } from "./continuations.ts";
import {
  hiddenLane,
  JOB_COLUMNS,
  type JobPriority,
  type JobRow,
  laneName,
  parentsOf,
  PRIORITIES,
} from "./job_row.ts";
import { type AnyJobType, type JobType, limitKeyOf } from "./job_type.ts";
import { bucketOf } from "./rate_limit.ts";
import { searchKeysOf } from "./searchable_args.ts";
import { insertOrFindHolders, type UniqueKey, uniqueSecondsOf, UNLESS_KEY_IS_HELD } from "./unique_jobs.ts";

/** A job to insert. It is not inserted if another job holds its key. */
export interface NewJob extends UniqueKey {
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
  /** Several parents, instead of `parentJobId`: due when all succeed, cancelled when one is lost. */
  parentJobIds?: string[] | null;
  batchId?: string | null;
  /** Id of the recurring job that enqueues it. */
  recurringJobId?: string | null;
  createdBy?: string | null;
  /** Result of `searchKeysOf`. */
  searchKeys?: string[] | null;
  /** Name of the type if it limits how many of its jobs run at once. */
  limitKey?: string | null;
  /** Token bucket that its attempts take tokens from; result of `bucketOf`. */
  bucket?: string | null;
  traceId?: string | null;
  /** Id of its declared type. The insertion fails if the type has been deleted; null: it is inserted anyway. */
  declaredTypeId?: string | null;
}

export type JobOptions = Omit<NewJob, "jobTypeName" | "serializedArgs" | "maxRetries"> & {
  maxRetries?: number;
};

/**
 * Enqueues a job in the caller's transaction, so the job exists only if the transaction commits.
 * @returns its id, or the id of the job that holds its `uniqueKey`.
 */
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
    maxRetries,
    ...argsAndLimits(type, JSON.stringify(args)),
  }]);
  return id;
}

/**
 * The arguments of a new job, and the columns that follow from them and the type: limit key, search keys and bucket.
 * @param type undefined: this instance does not know the type
 * @param serializedArgs JSON
 */
export const argsAndLimits = (type: Omit<AnyJobType, "run"> | undefined, serializedArgs: string) => ({
  serializedArgs,
  limitKey: limitKeyOf(type),
  searchKeys: searchKeysOf(type, serializedArgs),
  bucket: bucketOf(type, serializedArgs),
});

/**
 * Inserts jobs and wakes workers after `tx` has committed.
 * @returns their ids in the given order; for a job whose key is held, the id of the holder
 */
export async function insertJobs(p: { wakeUps: WakeUps }, tx: Tx, jobs: NewJob[]): Promise<string[]> {
  if (jobs.length === 0) return [];
  const parents = await lockParents(tx, jobs.flatMap(parentsOf));
  const traceId = activeTrace() ?? randomHex(16);
  const named = jobs.map((job) => ({ ...job, id: job.id ?? newId(), traceId: job.traceId ?? traceId }));
  afterCommit(tx, () => wakeFor(p, jobs));
  if (hasKeys(named)) return (await writeUniqueJobs(tx, named, parents)).map(({ id }) => id);
  await withCommit(tx, writeJobs(tx, named, parents));
  return named.map(({ id }) => id);
}

/**
 * Wakes workers for inserted jobs, at once or at their due times. Call it after the commit.
 * @param isNotified true if the statement that inserted them has woken the other instances
 */
export function wakeFor(p: { wakeUps: WakeUps }, jobs: NewJob[], isNotified = false): void {
  const dueTimes = new Set(jobs.map((job) => job.scheduledAt?.getTime() ?? 0));
  for (const time of dueTimes) p.wakeUps.at(new Date(time), { isNotified });
}

/** Sets a wake-up for the next tick of a schedule after `tx` has committed. */
export function wakeAt(p: { wakeUps: WakeUps }, tx: Tx, tick: Date | null): void {
  if (tick) afterCommit(tx, () => p.wakeUps.at(tick));
}

/**
 * Inserts jobs without keys in one statement and returns their rows in the given order. The caller must wake workers
 * after the commit.
 * @param parents result of `lockParents`; required if jobs have parents.
 * @param notice payload of a notification that is sent with the commit
 */
export function writeJobs(
  q: Sql,
  jobs: NewJob[],
  parents: ReadonlyMap<string, string> = new Map(),
  notice: string | null = null,
): PendingQuery<JobRow[]> {
  const notifying = notice === null ? q`` : q`, pg_notify(${JOBS_CHANNEL}, ${notice})`;
  return q<JobRow[]>`${jobInsertion(q, withIds(jobs), parents)} returning ${
    q.unsafe(JOB_COLUMNS)
  } ${notifying}`;
}

/** Inserts jobs like `writeJobs`. Instead of a job whose key is held, the row of the holder is returned. */
export function writeUniqueJobs(
  tx: Tx,
  jobs: NewJob[],
  parents: ReadonlyMap<string, string> = new Map(),
): Promise<JobRow[]> {
  const columns = tx.unsafe(JOB_COLUMNS);
  const skip = tx.unsafe(UNLESS_KEY_IS_HELD);
  return insertOrFindHolders(
    tx,
    withIds(jobs),
    (jobs) => tx<JobRow[]>`${jobInsertion(tx, jobs, parents)} ${skip} returning ${columns}`,
  );
}

const withIds = (jobs: NewJob[]) => jobs.map((job) => ({ ...job, id: job.id ?? newId() }));

/** True if another job may hold the key of one of them. */
export const hasKeys = (jobs: NewJob[]): boolean => jobs.some((job) => job.uniqueKey);

/**
 * Inserts jobs that are enqueued one by one, and wakes workers after the commit. Concurrent calls share a commit; each
 * resolves after it.
 */
export class JobWriter {
  readonly #jobs: GroupCommit<NewJob, JobRow>;

  constructor(pool: Pool, private readonly p: { wakeUps: WakeUps }) {
    this.#jobs = new GroupCommit(async (jobs) => {
      const isDue = jobs.some(({ scheduledAt }) => !scheduledAt);
      const notice = isDue ? p.wakeUps.notice?.() ?? null : null;
      const rows = await writeJobs(pool, jobs, undefined, notice);
      wakeFor(p, jobs, notice !== null);
      return rows;
    });
  }

  /**
   * Inserts jobs without parents, all or none; returns their rows in the given order. Instead of a job whose key is
   * held, the row of the holder is returned.
   * @param sql a transaction to insert them in; a pool: their own commit, shared with concurrent calls
   */
  async write(sql: Sql, jobs: NewJob[]): Promise<JobRow[]> {
    if (!hasKeys(jobs) && !isTransaction(sql)) return await this.#jobs.write(jobs);
    const rows = hasKeys(jobs)
      ? await transact(sql, (tx) => writeUniqueJobs(tx, jobs))
      : await writeJobs(sql, jobs);
    whenCommitted(sql, () => wakeFor(this.p, jobs));
    return rows;
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
  const rare = rareColumns(q, jobs);
  return q`
    insert into jobs (id, created_at, tenant_id, job_type_name, serialized_args, args_type_name, type, status, priority,
      queue, due_at, scheduled_at, completed_at, max_retries, parent_job_id, recurring_job_id, created_by, trace_id, limit_key, lane${rare.names})
    select id, created_at, tenant_id, job_type_name, serialized_args, args_type_name,
      case when ${rare.isContinuation} then 'Continuation' when recurring_job_id is not null then 'Recurring'
        when scheduled_at > now() then 'Delayed' else 'FireAndForget' end::job_type,
      coalesce(status::job_status, case when scheduled_at > now() then 'Scheduled' else 'Enqueued' end::job_status),
      priority, queue, greatest(scheduled_at, now()), scheduled_at, case when status = 'Cancelled' then now() end,
      max_retries, parent_job_id, recurring_job_id, created_by, trace_id, limit_key, lane${rare.values}
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
      ${column(laneOf)}::text[]${rare.arrays})
      as given (id, created_at, tenant_id, job_type_name, serialized_args, args_type_name, status, priority, queue,
        scheduled_at, max_retries, parent_job_id, recurring_job_id, created_by, trace_id, limit_key, lane${rare.names})
    ${declaredTypesStay(q, jobs)}`;
}

/**
 * SQL fragment that keeps the declared types of the jobs until the transaction ends. Locks are taken in the order of names,
 * so that no two insertions wait for each other.
 */
function declaredTypesStay(q: Sql, jobs: NewJob[]) {
  const types = new Map(
    jobs.flatMap((job) => job.declaredTypeId ? [[job.declaredTypeId, job.jobTypeName]] : []),
  );
  if (types.size === 0) return q``;
  const sorted = [...types].toSorted(([, a], [, b]) => a < b ? -1 : 1);
  return q`where (select require_job_types(${sorted.map(([id]) => id)}::uuid[],
    ${sorted.map(([, name]) => name)}::text[], ${NAMED_LOCKS.jobTypes}))`;
}

/**
 * SQL fragments of the insertion for columns that few jobs use. They are empty if none of the jobs uses them. `unnest` takes
 * no arrays of arrays, so lists are sent as texts.
 */
function rareColumns(q: Sql, jobs: NewJob[]) {
  const isPlain = jobs.every((job) =>
    !job.uniqueKey && !job.batchId && !job.parentJobIds && !job.searchKeys && !job.bucket
  );
  if (isPlain) return { names: q``, values: q``, arrays: q``, isContinuation: q`parent_job_id is not null` };
  const column = <T>(read: (job: NewJob) => T): T[] => jobs.map(read);
  return {
    names: q`, unique_key, unique_seconds, bucket, batch_id, parent_job_ids, search_keys`,
    values: q`, unique_key, unique_seconds, bucket, batch_id, parent_job_ids::uuid[],
      case when search_keys is not null then array(select jsonb_array_elements_text(search_keys::jsonb)) end`,
    arrays: q`, ${column((j) => j.uniqueKey || null)}::text[], ${column(uniqueSecondsOf)}::int[],
      ${column((j) => j.bucket ?? null)}::text[], ${column((j) => j.batchId ?? null)}::uuid[],
      ${column((j) => j.parentJobIds ? `{${j.parentJobIds.join()}}` : null)}::text[],
      ${column((j) => j.searchKeys ? JSON.stringify(j.searchKeys) : null)}::text[]`,
    isContinuation: q`parent_job_id is not null or parent_job_ids is not null`,
  };
}

const laneOf = ({ queue = "default", limitKey, bucket, tenantId }: NewJob): string =>
  bucket ? hiddenLane(bucket, queue, tenantId) : laneName(queue, limitKey, tenantId);

/** Initial status of a continuation, by the statuses of its parents; null: the status of a job without parents. */
function statusUnder(job: NewJob, parents: ReadonlyMap<string, string>): string | null {
  const statuses = parentsOf(job).map((id) => {
    const status = parents.get(id);
    if (status === undefined) throw new Error(`the parent job ${id} does not exist`);
    return status;
  });
  if (statuses.some((status) => status === "DeadLettered" || status === "Cancelled")) return "Cancelled";
  return statuses.every((status) => status === "Succeeded") ? null : "AwaitingParent";
}
