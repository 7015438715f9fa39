import { transact } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { followEndedJobs, wakeForChanged } from "../batches/ended_jobs.ts";
import { CANCELLABLE } from "./job_control.ts";
import type { EndedJob } from "../job_row.ts";
import type { JobPlatform } from "../platform.ts";
import { type JobActor, jobReach, within } from "../reach.ts";
import { type BatchContinuation, type JobBatch, lockBatch, readBatch } from "../batches/batch_row.ts";
import { auditBatch } from "./create_batch.ts";
import { writeBatchEnds } from "../batches/end_batches.ts";

/**
 * Cancels the jobs of a batch that have not started or wait for a retry, with all their continuations. A batch without an
 * outcome is Cancelled, and its job for failures is enqueued; one that has Failed stays so.
 * @throws JOB_BATCH_NOT_FOUND, JOB_BATCH_ALREADY_CANCELLED, JOB_BATCH_CANNOT_CANCEL
 */
export async function cancelBatch(
  p: Pick<JobPlatform, "sql" | "wakeUps" | "clock">,
  caller: JobActor,
  id: string,
): Promise<JobBatch> {
  return await transact(p.sql, async (tx) => {
    // Whoever ends a job of the batch locks the job before the batch. Jobs that are added meanwhile are found below.
    await tx`select id from jobs where batch_id = ${id} and ${within(tx, jobReach(caller))}
      and status = any(${CANCELLABLE}::text[]::job_status[]) order by id for no key update`;
    const { status } = await lockBatch(tx, jobReach(caller), id);
    if (status === "Cancelled") {
      throw problem("JOB_BATCH_ALREADY_CANCELLED", `Batch ${id} was cancelled by an earlier request.`);
    }
    const cancelled = status === "Succeeded" ? [] : await tx<EndedJob[]>`
      update jobs set status = 'Cancelled', completed_at = statement_timestamp()
      where status = any(${CANCELLABLE}::text[]::job_status[]) and id = any(array(
        select id from jobs where batch_id = ${id} and status = any(${CANCELLABLE}::text[]::job_status[])
        order by id for no key update))
      returning id, status, has_children, batch_id`;
    const isFinal = status === "Succeeded" || status === "Failed";
    if (isFinal && cancelled.length === 0) {
      throw problem("JOB_BATCH_CANNOT_CANCEL", `Batch ${id} is ${status}, and none of its jobs waits.`);
    }
    if (!isFinal) {
      const [row] = await tx<{ onAnyFailed: BatchContinuation | null }[]>`
        select on_any_failed from job_batches where id = ${id}`;
      const end = { id, status: "Cancelled" as const, continuation: row?.onAnyFailed ?? null };
      wakeForChanged(p, tx, await writeBatchEnds(tx, [end]));
    }
    const parents = cancelled.filter((job) => job.hasChildren);
    wakeForChanged(p, tx, await followEndedJobs(tx, parents));
    await auditBatch(tx, caller, "cancel", id, { cancelledJobs: cancelled.length, formerStatus: status });
    return await readBatch(tx, { everything: true }, id);
  });
}
