import { announceChange } from "../../../infra/postgres/changes.ts";
import { afterCommit, type Sql, type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { followEndedJobs, wakeForChanged } from "../batches/end_batches.ts";
import {
  JOB_COLUMNS,
  type JobRow,
  type JobStatus,
  type JobSummary,
  jobSummary,
  lockJob,
} from "../job_row.ts";
import type { JobPlatform } from "../platform.ts";
import { auditActor, type JobActor, jobReach } from "../reach.ts";

type CancelParts = Pick<JobPlatform, "sql" | "wakeUps" | "clock"> & {
  jobTypes: Pick<JobPlatform["jobTypes"], "onCancelled">;
};

export const CANCELLABLE: readonly JobStatus[] = ["Enqueued", "Scheduled", "AwaitingParent", "Failed"];

/**
 * Cancels a job that has not started or waits for its retry, and all its continuations, also indirect ones. The row is
 * locked first, so a worker that claims at the same time either skips the job or has already claimed it.
 * @throws JOB_NOT_FOUND, JOB_ALREADY_CANCELLED, JOB_CANNOT_CANCEL
 */
export async function cancelJob(p: CancelParts, caller: JobActor, id: string): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const job = await lockJob(tx, jobReach(caller), id);
    if (job.status === "Cancelled") {
      throw problem("JOB_ALREADY_CANCELLED", `Job ${id} was cancelled at ${job.completedAt?.toISOString()}.`);
    }
    if (!CANCELLABLE.includes(job.status)) {
      const expected = `only ${CANCELLABLE.join(", ")} jobs can be cancelled`;
      throw problem("JOB_CANNOT_CANCEL", `Job ${id} is ${job.status}; ${expected}.`);
    }
    const row = await updateLocked(tx, id, tx`status = 'Cancelled', completed_at = statement_timestamp()`);
    await p.jobTypes.onCancelled?.(tx, row);
    const changed = await followEndedJobs(tx, [{ ...row, hasChildren: job.hasChildren }]);
    wakeForChanged(p, tx, changed);
    const cancelled = changed.filter(({ status }) => status === "Cancelled");
    await recordAudit(tx, auditActor(caller), "job.cancel", id, {
      before: { status: job.status },
      after: { status: "Cancelled", cancelledContinuations: cancelled.length },
    });
    return jobSummary(row);
  });
}

/**
 * Makes the retry of a Failed job due at once, without the rest of its delay.
 * @throws JOB_NOT_FOUND, JOB_CANNOT_RETRY
 */
export async function retryJobNow(
  p: { sql: Sql; wakeUps: WakeUps },
  caller: JobActor,
  id: string,
): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const { status, nextRetryAt } = await lockJob(tx, jobReach(caller), id);
    if (nextRetryAt === null) {
      const expected = "only a Failed or postponed job can be retried now";
      throw problem("JOB_CANNOT_RETRY", `Job ${id} is ${status}; ${expected}.`);
    }
    const row = await updateLocked(tx, id, tx`status = 'Enqueued', due_at = now()`);
    await recordAudit(tx, auditActor(caller), "job.retryNow", id, {
      before: { status, nextRetryAt },
      after: { status: row.status },
    });
    afterCommit(tx, () => p.wakeUps.at(new Date(0)));
    return jobSummary(row);
  });
}

/**
 * Asks the worker of a running job to stop it. The handler's signal aborts, and a remote worker hears it by heartbeat.
 * Whatever ends the attempt afterwards cancels the job, unless it succeeds. A repeated request changes nothing.
 * @throws JOB_NOT_FOUND, JOB_ALREADY_CANCELLED, JOB_CANNOT_CANCEL (the job does not run)
 */
export async function requestCancel(sql: Sql, caller: JobActor, id: string): Promise<JobSummary> {
  return await transact(sql, async (tx) => {
    const job = await lockJob(tx, jobReach(caller), id);
    if (job.status === "Cancelled") throw problem("JOB_ALREADY_CANCELLED", `Job ${id} is already cancelled.`);
    if (job.status !== "Processing") {
      const expected = "only a running job can be asked to stop; cancel ends a waiting one";
      throw problem("JOB_CANNOT_CANCEL", `Job ${id} is ${job.status}; ${expected}.`);
    }
    if (job.cancelRequestedAt !== null) return jobSummary(job);
    const row = await updateLocked(tx, id, tx`cancel_requested_at = statement_timestamp()`);
    await recordAudit(tx, auditActor(caller), "job.requestCancel", id, { after: { attempt: job.attempts } });
    announceChange(tx, { topic: "cancel requests" });
    return jobSummary(row);
  });
}

/** Changes a job whose row `tx` has locked. */
async function updateLocked(tx: Tx, id: string, change: SqlPart): Promise<JobRow> {
  const [row] = await tx<JobRow[]>`
    update jobs set ${change} where id = ${id} returning ${tx.unsafe(JOB_COLUMNS)}`;
  if (!row) throw new Error(`the locked row of job ${id} is missing`);
  return row;
}

/**
 * Cancels a job that its area no longer needs, in the same transaction as the change that ends the need. A job that a
 * worker has already claimed is not cancelled; its handler must check again whether there is work to do.
 */
export async function abandonJob(tx: Tx, id: string): Promise<void> {
  await tx`
    update jobs set status = 'Cancelled', completed_at = statement_timestamp()
    where id = (select id from jobs where id = ${id} and status in ('Enqueued', 'Scheduled', 'Failed')
      for update skip locked)`;
}
