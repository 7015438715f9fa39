import { announceChange } from "../../../infra/postgres/changes.ts";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { type JobSummary, jobSummary, lockJob } from "../job_row.ts";
import { auditActor, type JobActor, jobReach } from "../reach.ts";
import { updateLocked } from "./job_control.ts";

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

/** The ids among `held` that this worker still holds and that were asked to stop. */
export async function findCancelRequests(q: Sql, workerId: string, held: string[]): Promise<Set<string>> {
  const rows = await q<{ id: string }[]>`
    select id from jobs where id = any(${held}::uuid[]) and worker_id = ${workerId} and cancel_requested_at is not null`;
  return new Set(rows.map(({ id }) => id));
}
