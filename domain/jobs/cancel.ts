import { transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { releaseContinuations } from "./continuations.ts";
import { JOB_COLUMNS, type JobRow, type JobStatus, type JobSummary, jobSummary, lockJob } from "./job_row.ts";
import { auditActor, type JobActor, jobReach } from "./reach.ts";

export const CANCELLABLE: readonly JobStatus[] = ["Enqueued", "Scheduled", "AwaitingParent", "Failed"];

/**
 * Cancels a job that has not started or waits for its retry, and all its continuations, also indirect ones. The row is
 * locked first, so a worker that claims at the same time either skips the job or has already claimed it.
 * @throws JOB_NOT_FOUND, JOB_ALREADY_CANCELLED, JOB_CANNOT_CANCEL
 */
export async function cancelJob(
  p: Pick<Platform, "sql">,
  caller: JobActor,
  id: string,
): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const job = await lockJob(tx, jobReach(caller), id);
    if (job.status === "Cancelled") {
      throw problem("JOB_ALREADY_CANCELLED", `Job ${id} was cancelled at ${job.completedAt?.toISOString()}.`);
    }
    if (!CANCELLABLE.includes(job.status)) {
      throw problem(
        "JOB_CANNOT_CANCEL",
        `Job ${id} is ${job.status}; only ${CANCELLABLE.join(", ")} jobs can be cancelled.`,
      );
    }
    const [row] = await tx<JobRow[]>`
      update jobs set status = 'Cancelled', completed_at = statement_timestamp() where id = ${id} returning ${
      tx.unsafe(JOB_COLUMNS)
    }`;
    if (!row) throw new Error(`the locked row of job ${id} is missing`);
    const descendants = job.hasChildren ? await releaseContinuations(tx, [row]) : [];
    await recordAudit(tx, auditActor(caller), {
      action: "job.cancel",
      targetType: "job",
      targetId: id,
      before: { status: job.status },
      after: { status: "Cancelled", cancelledContinuations: descendants.length },
    });
    return jobSummary(row);
  });
}
