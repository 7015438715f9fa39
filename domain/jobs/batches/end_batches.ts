import { afterCommit, type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { newId } from "../../shared/ids.ts";
import { jobInsertion } from "../enqueue.ts";
import { ENDED, type EndedJob, type JobStatus, type SettledJob } from "../job_row.ts";
import type { BatchContinuation, BatchRow } from "./batch_row.ts";
import type { Platform } from "../../shared/platform.ts";
import { findStrandedParents, releaseContinuations } from "../continuations.ts";

const STRANDED_AT_ONCE = 1_000;

/** How a batch ends, and the job to enqueue then. */
export interface BatchEnd {
  id: string;
  status: "Succeeded" | "Failed" | "Cancelled";
  continuation: BatchContinuation | null;
}

const UNFINISHED: JobStatus[] = ["Processing", "Enqueued", "Failed", "Scheduled", "AwaitingParent"];
const LOST: JobStatus[] = ["DeadLettered", "Cancelled"];

/** SQL condition on a batch `b`: it has a job with one of the statuses. The newest jobs usually end last. */
const hasJob = (q: Sql, statuses: JobStatus[]) =>
  q`exists (
    select from unnest(${statuses}::text[]::job_status[]) s (status) cross join lateral (
      select from jobs j where j.batch_id = b.id and j.status = s.status order by j.id desc limit 1
    ) newest)`;

/** SQL condition on a batch `b`: its outcome is known, but not written. */
const isDecided = (q: Sql) =>
  q`b.status in ('Open', 'Running')
    and (${hasJob(q, LOST)} or (b.status = 'Running' and not ${hasJob(q, UNFINISHED)}))`;

/**
 * Ends those of the batches whose outcome is known: Failed once a job is dead-lettered or cancelled, Succeeded when a
 * closed batch has no unfinished job left. Their continuations are enqueued in the same transaction.
 *
 * Jobs of one batch that end at the same time do not wait for each other, because no row counts them. Of the last ones, the
 * one whose end commits last finds all others ended. So their ends must be committed before, or be in `tx`. The lock on the
 * batch decides between jobs that find this at the same time.
 * @returns the jobs that were enqueued.
 */
export async function endBatches(tx: Tx, batchIds: string[]): Promise<SettledJob[]> {
  if (batchIds.length === 0) return [];
  const decided = await tx<
    (Pick<BatchRow, "id" | "onAllSucceeded" | "onAnyFailed"> & { hasLost: boolean })[]
  >`
    select b.id, b.on_all_succeeded, b.on_any_failed, ${hasJob(tx, LOST)} as has_lost from job_batches b
    where b.id = any(${[...new Set(batchIds)]}::uuid[]) and ${isDecided(tx)}
    order by b.id for no key update`;
  return await writeBatchEnds(
    tx,
    decided.map(({ id, hasLost, onAllSucceeded, onAnyFailed }) =>
      hasLost
        ? { id, status: "Failed", continuation: onAnyFailed }
        : { id, status: "Succeeded", continuation: onAllSucceeded }
    ),
  );
}

/** Ends batches whose rows `tx` has locked, and enqueues their continuations. Returns the enqueued jobs. */
export async function writeBatchEnds(tx: Tx, ends: BatchEnd[]): Promise<SettledJob[]> {
  if (ends.length === 0) return [];
  const named = ends.map((end) => ({ ...end, jobId: end.continuation && newId() }));
  await tx`
    update job_batches b set status = e.status, ended_at = now(),
      on_all_succeeded_job_id = case when e.status = 'Succeeded' then e.job_id end,
      on_any_failed_job_id = case when e.status <> 'Succeeded' then e.job_id end
    from unnest(${named.map((end) => end.id)}::uuid[], ${named.map((end) => end.status)}::text[],
      ${named.map((end) => end.jobId)}::uuid[]) e (id, status, job_id)
    where b.id = e.id`;
  const jobs = named.flatMap(({ continuation, jobId }) => {
    if (!continuation || !jobId) return [];
    const { scheduledAt, ...job } = continuation;
    return [{ ...job, id: jobId, scheduledAt: scheduledAt === null ? null : new Date(scheduledAt) }];
  });
  if (jobs.length === 0) return [];
  return await tx<SettledJob[]>`
    ${jobInsertion(tx, jobs)}
    returning id, status, attempts, greatest(extract(epoch from due_at - now()) * 1000, 0)::float8 as due_in_ms`;
}

/** Returns the jobs that have ended and have continuations or a batch. */
export const awaitedJobs = <J extends EndedJob>(jobs: J[]): J[] =>
  jobs.filter((job) =>
    (job.hasChildren || job.batchId !== null) && (ENDED as readonly string[]).includes(job.status)
  );

/**
 * Releases continuations of ended jobs, then ends batches. The ends of the jobs must be committed before, or be in `tx`. If
 * it fails, the sweep repeats it.
 * @returns the jobs whose status changed, and the jobs that batches enqueued
 */
export async function followEndedJobs(tx: Tx, ended: EndedJob[]): Promise<SettledJob[]> {
  const { due, cancelled } = await releaseContinuations(tx, ended.filter((job) => job.hasChildren));
  const enqueued = await endBatches(tx, [...ended, ...cancelled].flatMap((job) => job.batchId ?? []));
  return [...due, ...cancelled, ...enqueued];
}

/** Wakes workers, after `tx` has committed, for jobs that became due or have a later due time. */
export function wakeForChanged(p: Pick<Platform, "wakeUps" | "clock">, tx: Tx, jobs: SettledJob[]): void {
  for (const { status, dueInMs } of jobs) {
    if (status !== "Enqueued" && status !== "Scheduled") continue;
    afterCommit(tx, () => p.wakeUps.at(new Date(p.clock.now().getTime() + dueInMs)));
  }
}

/**
 * Releases continuations and ends batches that still wait for ended jobs, because a process crashed after it had settled them.
 * @returns the number of jobs that changed status or were enqueued
 */
export async function followStrandedJobs(sql: Sql): Promise<number> {
  return await transact(sql, async (tx) => {
    const released = await followEndedJobs(tx, await findStrandedParents(tx));
    const batches = await tx<{ id: string }[]>`
      select b.id from job_batches b where ${isDecided(tx)} limit ${STRANDED_AT_ONCE}`;
    const enqueued = await endBatches(tx, batches.map(({ id }) => id));
    return released.length + enqueued.length;
  });
}
