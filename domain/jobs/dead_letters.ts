import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { problem } from "../problems/problem.ts";
import { insertJobs } from "./enqueue.ts";
import { type JobSummary, jobSummary, PRIORITIES, readJob } from "./job_row.ts";
import { isForCreator, limitKeyOf } from "./job_type.ts";
import type { JobPlatform } from "./platform.ts";
import { auditActor, type JobActor, type JobReach, jobReach, within } from "./reach.ts";

type RetryParts = Pick<JobPlatform, "wakeUps" | "jobTypes">;

/**
 * Enqueues the job of a dead letter again as a new job; possible once. The dead-lettered job does not change.
 * @throws JOB_DEADLETTER_NOT_FOUND, JOB_DEADLETTER_ALREADY_RETRIED
 */
export async function retryDeadLetter(
  p: RetryParts & { sql: Sql },
  caller: JobActor,
  id: string,
): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const [entry] = await tx<{ retriedJobId: string | null }[]>`
      select retried_job_id from dead_letter_jobs
      where id = ${id} and ${within(tx, jobReach(caller))} for update`;
    if (!entry) {
      throw problem("JOB_DEADLETTER_NOT_FOUND", `No dead letter ${id} is within the caller's reach.`);
    }
    if (entry.retriedJobId !== null) {
      throw problem(
        "JOB_DEADLETTER_ALREADY_RETRIED",
        `Dead letter ${id} was retried already, as job ${entry.retriedJobId}.`,
      );
    }
    const [jobId = ""] = await reenqueueLocked(p, tx, caller, [id]);
    await recordAudit(tx, auditActor(caller), {
      action: "deadLetter.retry",
      targetType: "deadLetter",
      targetId: id,
      after: { retriedJobId: jobId },
    });
    return jobSummary(await readJob(tx, { everything: true }, jobId));
  });
}

/**
 * Enqueues the jobs of dead letters again and marks them retried. `tx` must have locked them. Returns the new job
 * ids.
 */
export async function reenqueueLocked(
  p: RetryParts,
  tx: Tx,
  caller: JobActor,
  ids: string[],
): Promise<string[]> {
  const entries = await tx<
    {
      id: string;
      tenantId: string | null;
      jobTypeName: string;
      queue: string;
      serializedArgs: string;
      argsTypeName: string | null;
      priority: number | null;
      maxRetries: number | null;
      limitKey: string | null;
      createdBy: string | null;
    }[]
  >`
    select d.id, d.tenant_id, d.job_type_name, d.queue, d.serialized_args, j.args_type_name, j.priority, j.max_retries,
      j.limit_key, j.created_by
    from dead_letter_jobs d left join jobs j on j.id = d.job_id where d.id = any(${ids}::uuid[]) order by d.id`;
  const jobIds = await insertJobs(
    p,
    tx,
    entries.map((entry) => {
      const type = p.jobTypes.get(entry.jobTypeName);
      return {
        jobTypeName: entry.jobTypeName,
        serializedArgs: entry.serializedArgs,
        argsTypeName: entry.argsTypeName,
        queue: entry.queue,
        priority: PRIORITIES[entry.priority ?? -1] ?? "Normal",
        maxRetries: entry.maxRetries ?? type?.maxRetries ?? 0,
        limitKey: type ? limitKeyOf(type) : entry.limitKey,
        tenantId: entry.tenantId,
        createdBy: isForCreator(type) ? entry.createdBy : caller.userId,
        traceId: caller.traceId,
      };
    }),
  );
  await tx`
    update dead_letter_jobs d set retried_at = now(), retried_job_id = given.job_id
    from unnest(${entries.map((entry) => entry.id)}::uuid[], ${jobIds}::uuid[]) as given (id, job_id)
    where d.id = given.id`;
  return jobIds;
}

/**
 * Deletes dead letters that failed more than `retentionDays` days ago; null deletes all.
 * @returns how many were deleted.
 */
export async function purgeDeadLetters(
  sql: Sql,
  caller: JobActor,
  o: { retentionDays: number | null; reach: JobReach },
): Promise<number> {
  const { retentionDays, reach } = o;
  return await transact(sql, async (tx) => {
    const expired = retentionDays === null
      ? tx``
      : tx`and failed_at < now() - make_interval(days => ${retentionDays})`;
    const { count } = await tx`delete from dead_letter_jobs where ${within(tx, reach)} ${expired}`;
    await recordAudit(tx, auditActor(caller), {
      action: "deadLetter.purge",
      targetType: "deadLetter",
      targetId: reach.everything ? "everything" : reach.tenantId,
      after: { retentionDays, purged: count },
    });
    return count;
  });
}
