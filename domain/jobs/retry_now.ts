import { afterCommit, transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { JOB_COLUMNS, type JobRow, type JobSummary, jobSummary, lockJob } from "./job_row.ts";
import { auditActor, type JobActor, jobReach } from "./reach.ts";

/**
 * Makes the retry of a Failed job due at once, without the rest of its delay.
 * @throws JOB_NOT_FOUND, JOB_CANNOT_RETRY
 */
export async function retryJobNow(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: JobActor,
  id: string,
): Promise<JobSummary> {
  return await transact(p.sql, async (tx) => {
    const job = await lockJob(tx, jobReach(caller), id);
    if (job.status !== "Failed") {
      throw problem(
        "JOB_CANNOT_RETRY",
        `Job ${id} is ${job.status}; only a Failed job can be retried now.`,
      );
    }
    const [row] = await tx<JobRow[]>`
      update jobs set status = 'Enqueued', due_at = now() where id = ${id} returning ${
      tx.unsafe(JOB_COLUMNS)
    }`;
    if (!row) throw new Error(`the locked row of job ${id} is missing`);
    await recordAudit(tx, auditActor(caller), {
      action: "job.retryNow",
      targetType: "job",
      targetId: id,
      before: { status: job.status, nextRetryAt: job.dueAt },
      after: { status: row.status },
    });
    afterCommit(tx, () => p.wakeUps.at(new Date(0)));
    return jobSummary(row);
  });
}
