import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { newId } from "../../shared/ids.ts";
import { argsAndLimits, insertJobs } from "../enqueue.ts";
import {
  ENDED,
  type JobSummary,
  jobSummary,
  type LockedJob,
  lockJob,
  PRIORITIES,
  readJob,
} from "../job_row.ts";
import { type AnyJobType, isForCreator } from "../job_type.ts";
import type { JobPlatform } from "../platform.ts";
import { auditActor, type JobActor, jobReach, within } from "../reach.ts";
import { type DeadLetter, noSuchDeadLetter } from "../lists/dead_letter_list.ts";
import { findJobTypes, findTypesOf } from "../types/find_job_types.ts";
import { releaseKeys } from "../unique_jobs.ts";
import {
  changedArgs,
  requireExposedType,
  requireFittingArgs,
  requireMayEnqueue,
} from "./enqueue_requested.ts";

type RetryParts = Pick<JobPlatform, "wakeUps" | "jobTypes">;

/**
 * Enqueues the job of a dead letter again as a new job; possible once. The dead-lettered job does not change.
 * @param givenArgs other arguments as JSON; null keeps the stored ones
 * @throws JOB_DEADLETTER_NOT_FOUND, JOB_DEADLETTER_ALREADY_RETRIED, JOB_DUPLICATE_CONFLICT, and with other arguments
 * JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN, VALIDATION_ERROR
 */
export async function retryDeadLetter(
  p: RetryParts & { sql: Sql },
  caller: JobActor,
  id: string,
  givenArgs: string | null = null,
): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const [entry] = await tx<
      Pick<DeadLetter, "retriedJobId" | "tenantId" | "jobTypeName" | "serializedArgs">[]
    >`
      select retried_job_id, tenant_id, job_type_name, serialized_args from dead_letter_jobs
      where id = ${id} and ${within(tx, jobReach(caller))} for update`;
    if (!entry) throw noSuchDeadLetter(id);
    if (entry.retriedJobId !== null) {
      const detail = `Dead letter ${id} was retried already, as job ${entry.retriedJobId}.`;
      throw problem("JOB_DEADLETTER_ALREADY_RETRIED", detail);
    }
    const changed = givenArgs === null
      ? null
      : await argsOfRetry({ ...p, sql: tx }, caller, entry, givenArgs);
    const { retriedJobIds: [jobId], holders } = await reenqueueLocked(p, tx, caller, [id], changed);
    if (jobId === undefined) {
      const reason = `job ${holders[0]} holds the unique key of its job`;
      throw problem("JOB_DUPLICATE_CONFLICT", `Dead letter ${id} was not retried: ${reason}.`);
    }
    await recordAudit(tx, auditActor(caller), "deadLetter.retry", id, {
      after: { retriedJobId: jobId, hasChangedArgs: changed !== null },
    });
    return jobSummary(await readJob(tx, { everything: true }, jobId));
  });
}

/** The arguments of a job that runs again with other arguments; null if `given` changes nothing. */
async function argsOfRetry(
  p: RetryParts & { sql: Sql },
  caller: JobActor,
  { tenantId, jobTypeName, serializedArgs }: Pick<DeadLetter, "tenantId" | "jobTypeName" | "serializedArgs">,
  given: string,
): Promise<string | null> {
  const types = await findJobTypes(p, tenantId, [jobTypeName]);
  const type = requireExposedType(p.jobTypes, types, jobTypeName);
  const args = changedArgs(type, given, serializedArgs);
  if (args === serializedArgs) return null;
  requireMayEnqueue(type, caller);
  return args;
}

/**
 * Enqueues the jobs of dead letters again and marks them retried. `tx` must have locked them. A dead letter whose key
 * another job holds is skipped.
 * @param changedArgs arguments instead of the stored ones; the caller then becomes the creator
 * @returns the ids of the new jobs, and of the jobs that hold the keys of the others.
 */
export async function reenqueueLocked(
  p: RetryParts,
  tx: Tx,
  caller: JobActor,
  ids: string[],
  changedArgs: string | null = null,
): Promise<{ retriedJobIds: string[]; holders: string[] }> {
  const entries = await tx<
    (EndedWork & Pick<DeadLetter, "id" | "jobId" | "serializedArgs"> & {
      createdBy: string | null;
      maxRetries: number | null;
      limitKey: string | null;
    })[]
  >`
    select d.id, d.job_id, d.tenant_id, d.job_type_name, d.queue, d.serialized_args, j.args_type_name, j.priority, j.max_retries,
      j.limit_key, j.unique_key, j.unique_seconds, j.created_by
    from dead_letter_jobs d left join jobs j on j.id = d.job_id where d.id = any(${ids}::uuid[]) order by d.id`;
  const typeOf = await findTypesOf({ ...p, sql: tx }, entries);
  const newIds = entries.map(() => newId());
  await releaseKeys(tx, entries.filter((entry) => entry.uniqueSeconds !== null).map((entry) => entry.jobId));
  const jobIds = await insertJobs(
    p,
    tx,
    entries.map((entry, n) => {
      const type = typeOf(entry);
      return {
        ...runAgain(entry, type, changedArgs ?? entry.serializedArgs, caller),
        ...type ? {} : { limitKey: entry.limitKey },
        id: newIds[n],
        maxRetries: entry.maxRetries ?? type?.maxRetries ?? 0,
        createdBy: isForCreator(type) && changedArgs === null ? entry.createdBy : caller.userId,
      };
    }),
  );
  const isRetried = (_: unknown, n: number) => jobIds[n] === newIds[n];
  const retried = entries.filter(isRetried).map((entry) => entry.id);
  const retriedJobIds = jobIds.filter(isRetried);
  await tx`
    update dead_letter_jobs d set retried_at = now(), retried_job_id = given.job_id
    from unnest(${retried}::uuid[], ${retriedJobIds}::uuid[]) as given (id, job_id)
    where d.id = given.id`;
  return { retriedJobIds, holders: jobIds.filter((id, n) => id !== newIds[n]) };
}

/** The columns that a job shares with the one that runs its work again. */
type EndedWork =
  & Pick<LockedJob, "jobTypeName" | "argsTypeName" | "queue" | "tenantId" | "uniqueKey" | "uniqueSeconds">
  & { priority: number | null };

const runAgain = (
  job: EndedWork,
  type: AnyJobType | undefined,
  serializedArgs: string,
  caller: JobActor,
) => ({
  jobTypeName: job.jobTypeName,
  argsTypeName: job.argsTypeName,
  queue: job.queue,
  priority: PRIORITIES[job.priority ?? -1] ?? "Normal",
  uniqueKey: job.uniqueKey,
  uniqueFor: job.uniqueSeconds,
  ...argsAndLimits(type, serializedArgs),
  tenantId: job.tenantId,
  createdBy: caller.userId,
  traceId: caller.traceId,
});

/**
 * Enqueues an ended job again as a new job. A dead-lettered job is retried like its dead letter, once. Any other job runs
 * again as if the caller had enqueued it, any number of times.
 * @param givenArgs other arguments as JSON; null keeps the stored ones
 * @throws JOB_NOT_FOUND, JOB_CANNOT_RETRY, JOB_DEADLETTER_ALREADY_RETRIED, JOB_DUPLICATE_CONFLICT,
 * JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN (a program, but only users may enqueue the type), VALIDATION_ERROR
 */
export async function retryJob(
  p: RetryParts & { sql: Sql },
  caller: JobActor,
  id: string,
  givenArgs: string | null,
): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const job = await lockJob(tx, jobReach(caller), id);
    if (!ENDED.includes(job.status)) {
      throw problem("JOB_CANNOT_RETRY", `Job ${id} is ${job.status}; only an ended job can run again.`);
    }
    // The lock orders this after a purge that runs: without its dead letter, the job runs again like any other.
    const [deadLetter] = await tx<{ id: string }[]>`
      select id from dead_letter_jobs where job_id = ${id} for update`;
    if (deadLetter) return await retryDeadLetter({ ...p, sql: tx }, caller, deadLetter.id, givenArgs);
    const types = await findJobTypes({ ...p, sql: tx }, job.tenantId, [job.jobTypeName]);
    const type = requireExposedType(p.jobTypes, types, job.jobTypeName);
    requireMayEnqueue(type, caller);
    const args = givenArgs === null ? job.serializedArgs : changedArgs(type, givenArgs, job.serializedArgs);
    const hasChangedArgs = args !== job.serializedArgs;
    if (!hasChangedArgs) requireFittingArgs(type, args);
    await releaseKeys(tx, [id]);
    const newJobId = newId();
    const [insertedId] = await insertJobs(p, tx, [{
      ...runAgain(job, type, args, caller),
      id: newJobId,
      maxRetries: job.maxRetries,
      declaredTypeId: type.remote?.id ?? null,
    }]);
    if (insertedId !== newJobId) {
      const reason = `job ${insertedId} holds its unique key`;
      throw problem("JOB_DUPLICATE_CONFLICT", `Job ${id} was not enqueued again: ${reason}.`);
    }
    await recordAudit(tx, auditActor(caller), "job.retry", id, { after: { newJobId, hasChangedArgs } });
    return jobSummary(await readJob(tx, { everything: true }, newJobId));
  });
}
