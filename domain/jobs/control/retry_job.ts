import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { newId } from "../../shared/ids.ts";
import { retryDeadLetter } from "./dead_letters.ts";
import { argsAndLimits, insertJobs } from "../enqueue.ts";
import { requireExposedType, requireFittingArgs, requireMayEnqueue } from "./enqueue_requested.ts";
import { ENDED, type JobSummary, jobSummary, lockJob, PRIORITIES, readJob } from "../job_row.ts";
import type { JobPlatform } from "../platform.ts";
import { auditActor, type JobActor, jobReach } from "../reach.ts";
import { findJobTypes } from "../types/find_job_types.ts";
import { releaseKeys } from "../unique_jobs.ts";
import { changedArgs } from "./changed_args.ts";

/**
 * Enqueues an ended job again as a new job. A dead-lettered job is retried like its dead letter, once. Any other job runs
 * again as if the caller had enqueued it, any number of times.
 * @param givenArgs other arguments as JSON; null keeps the stored ones
 * @throws JOB_NOT_FOUND, JOB_CANNOT_RETRY, JOB_DEADLETTER_ALREADY_RETRIED, JOB_DUPLICATE_CONFLICT,
 * JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN (a program, but only users may enqueue the type), VALIDATION_ERROR
 */
export async function retryJob(
  p: Pick<JobPlatform, "wakeUps" | "jobTypes"> & { sql: Sql },
  caller: JobActor,
  id: string,
  givenArgs: string | null,
): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const job = await lockJob(tx, jobReach(caller), id);
    if (!ENDED.includes(job.status)) {
      throw problem("JOB_CANNOT_RETRY", `Job ${id} is ${job.status}; only an ended job can run again.`);
    }
    const [deadLetter] = await tx<{ id: string }[]>`select id from dead_letter_jobs where job_id = ${id}`;
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
      id: newJobId,
      jobTypeName: job.jobTypeName,
      argsTypeName: job.argsTypeName,
      queue: job.queue,
      priority: PRIORITIES[job.priority] ?? "Normal",
      maxRetries: job.maxRetries,
      uniqueKey: job.uniqueKey,
      uniqueFor: job.uniqueSeconds,
      ...argsAndLimits(type, args),
      tenantId: job.tenantId,
      createdBy: caller.userId,
      traceId: caller.traceId,
    }]);
    if (insertedId !== newJobId) {
      throw problem(
        "JOB_DUPLICATE_CONFLICT",
        `Job ${id} was not enqueued again: job ${insertedId} holds its unique key.`,
      );
    }
    await recordAudit(tx, auditActor(caller), "job.retry", id, { after: { newJobId, hasChangedArgs } });
    return jobSummary(await readJob(tx, { everything: true }, newJobId));
  });
}
