import { z } from "zod";
import { afterCommit, mainPool, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, Problem, problem } from "../../problems/problem.ts";
import { BULK_LIMIT, wholeRequestProblem } from "../../shared/bulk.ts";
import { newId } from "../../shared/ids.ts";
import { orNull, requiredName } from "../../shared/shapes.ts";
import { checkRequestedJobs, enqueueAll, type IdentifiedJob, RequestedJob } from "./enqueue_requested.ts";
import type { JobPlatform } from "../platform.ts";
import { auditActor, type JobActor, jobReach, within } from "../reach.ts";
import { type BatchContinuation, type JobBatch, lockBatch, readBatch } from "../batches/batch_row.ts";
import { endBatches, followEndedJobs, wakeForChanged, writeBatchEnds } from "../batches/end_batches.ts";
import { CANCELLABLE } from "./job_control.ts";
import type { EndedJob } from "../job_row.ts";

export const jobItems = z.array(z.unknown()).max(BULK_LIMIT).describe("Each item is an EnqueueJobRequest");
const follower = orNull(RequestedJob);

/** A batch as a caller requests it. */
export const RequestedBatch = z.object({
  jobs: jobItems.min(1),
  onAllSucceeded: follower,
  onAnyFailed: follower,
  name: orNull(requiredName(200)),
  open: z.boolean().default(false).describe("More jobs are added later, until it is closed"),
}).meta({ id: "CreateJobBatchRequest" });
/** `jobs` are the requested ones, or the problems found when they were parsed. */
type RequestedBatch = Omit<z.output<typeof RequestedBatch>, "jobs"> & { jobs: (RequestedJob | Problem)[] };

type BatchPlatform = Pick<JobPlatform, "sql" | "wakeUps" | "jobTypes" | "jobWriter" | "clock">;

/**
 * Enqueues jobs as a batch, all or none.
 * @throws JOB_TYPE_UNKNOWN, MISSING_PERMISSION, FORBIDDEN, VALIDATION_ERROR, all for the first refused job
 */
export async function createBatch(
  p: BatchPlatform,
  caller: JobActor,
  request: RequestedBatch,
): Promise<JobBatch> {
  const { name, open } = request;
  const jobs = await checkJobs(p, caller, request.jobs);
  const onAllSucceeded = await checkContinuation(p, caller, "onAllSucceeded", request.onAllSucceeded);
  const onAnyFailed = await checkContinuation(p, caller, "onAnyFailed", request.onAnyFailed);
  const id = newId();
  return await transact(p.sql, async (tx) => {
    await tx`
      insert into job_batches (id, tenant_id, name, status, on_all_succeeded, on_any_failed, created_by)
      values (${id}, ${caller.tenantId}, ${name}, ${open ? "Open" : "Running"},
        ${stored(onAllSucceeded)}::text::jsonb, ${stored(onAnyFailed)}::text::jsonb, ${caller.userId})`;
    await insertInBatch(p, tx, caller, id, jobs);
    await auditBatch(tx, caller, "create", id, { name, jobs: jobs.length });
    return await readBatch(tx, { everything: true }, id);
  });
}

/**
 * Adds jobs to an open batch, all or none.
 * @param o.close no more jobs follow. If all jobs have already succeeded, the batch ends.
 * @throws JOB_BATCH_NOT_FOUND, JOB_BATCH_CLOSED_CONFLICT, and as `createBatch`
 */
export async function addToBatch(
  p: BatchPlatform,
  caller: JobActor,
  id: string,
  o: { jobs: (RequestedJob | Problem)[]; close: boolean },
): Promise<JobBatch> {
  await readBatch(p.sql, jobReach(caller), id);
  const jobs = await checkJobs(p, caller, o.jobs);
  return await transact(p.sql, async (tx) => {
    const { status } = await lockBatch(tx, jobReach(caller), id);
    if (status !== "Open") {
      throw problem("JOB_BATCH_CLOSED_CONFLICT", `Batch ${id} is ${status}; only an Open batch takes jobs.`);
    }
    if (jobs.length > 0) await insertInBatch(p, tx, caller, id, jobs);
    if (o.close) {
      await tx`update job_batches set status = 'Running' where id = ${id} and status = 'Open'`;
      // Its last job may have ended before. A separate transaction, so that it sees all ends.
      const end = async (later: Tx) => wakeForChanged(p, later, await endBatches(later, [id]));
      afterCommit(tx, () => transact(mainPool(tx), end));
    }
    await auditBatch(tx, caller, "addJobs", id, { jobs: jobs.length, close: o.close });
    return await readBatch(tx, { everything: true }, id);
  });
}

async function insertInBatch(
  p: BatchPlatform,
  tx: Tx,
  caller: JobActor,
  batchId: string,
  jobs: IdentifiedJob[],
): Promise<void> {
  const enqueued = await enqueueAll({ ...p, sql: tx }, caller, jobs.map((job) => ({ ...job, batchId })));
  if (enqueued.every(({ job }) => job.status !== "Cancelled")) return;
  wakeForChanged(p, tx, await endBatches(tx, [batchId])); // the parent of a job is lost
}

/** The jobs to insert. @throws the problem of the first refused one */
async function checkJobs(
  p: BatchPlatform,
  caller: JobActor,
  items: (RequestedJob | Problem)[],
): Promise<IdentifiedJob[]> {
  const checked = await checkRequestedJobs(p, caller, items.map(withoutKey));
  return checked.map((job, index) => {
    if (job instanceof Problem) throw wholeRequestProblem(index, job, "jobs");
    return job;
  });
}

async function checkContinuation(
  p: BatchPlatform,
  caller: JobActor,
  member: "onAllSucceeded" | "onAnyFailed",
  request: RequestedJob | null,
): Promise<BatchContinuation | null> {
  if (!request) return null;
  const [job] = await checkRequestedJobs(p, caller, [withoutKey(request)]);
  if (job instanceof Problem) {
    const { errors } = job.extras;
    if (!errors || Array.isArray(errors)) throw job;
    const named = Object.entries(errors).map(([field, list]) => [`${member}.${field}`, list]);
    throw invalid(Object.fromEntries(named));
  }
  if (!job) throw new Error("checking one job returned none");
  if (job.parentJobId || job.parentJobIds) {
    throw invalid({ [`${member}.parentJobId`]: ["the job follows the batch; expected no parents"] });
  }
  const { id: _, scheduledAt, ...rest } = job;
  return { ...rest, scheduledAt: scheduledAt?.toISOString() ?? null };
}

/** A job with a key may result in another job, which is not in the batch. */
const withoutKey = (job: RequestedJob | Problem): RequestedJob | Problem =>
  job instanceof Problem || !job.uniqueKey
    ? job
    : invalid({ uniqueKey: ["expected none: jobs of a batch cannot be unique"] });

const stored = (continuation: BatchContinuation | null): string | null =>
  continuation && JSON.stringify(continuation);

/** Writes the audit row of a change to a batch. */
const auditBatch = (tx: Tx, caller: JobActor, verb: string, id: string, after: Record<string, unknown>) =>
  recordAudit(tx, auditActor(caller), `jobBatch.${verb}`, id, { after });

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
    // Jobs are locked before the batch, as when a job ends. The update below finds the jobs that were added in between.
    await tx`select id from jobs where batch_id = ${id} and ${within(tx, jobReach(caller))}
      and status = any(${CANCELLABLE}::text[]::job_status[]) order by id for no key update`;
    const { status, onAnyFailed } = await lockBatch(tx, jobReach(caller), id);
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
      const end = { id, status: "Cancelled" as const, continuation: onAnyFailed };
      wakeForChanged(p, tx, await writeBatchEnds(tx, [end]));
    }
    wakeForChanged(p, tx, await followEndedJobs(tx, cancelled.filter((job) => job.hasChildren)));
    await auditBatch(tx, caller, "cancel", id, { cancelledJobs: cancelled.length, formerStatus: status });
    return await readBatch(tx, { everything: true }, id);
  });
}
