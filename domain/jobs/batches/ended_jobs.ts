import { afterCommit, type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import type { Platform } from "../../shared/platform.ts";
import { endBatches, findStrandedBatches } from "./end_batches.ts";
import { findStrandedParents, releaseContinuations } from "../continuations.ts";
import { ENDED, type EndedJob, type SettledJob } from "../job_row.ts";

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
    const enqueued = await endBatches(tx, await findStrandedBatches(tx));
    return released.length + enqueued.length;
  });
}
