import { databaseFailure } from "../../infra/postgres/failures.ts";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { newId } from "../shared/ids.ts";
import type { ClaimedJob } from "./claim.ts";
import { releaseContinuations } from "./continuations.ts";
import type { SettledJob } from "./job_row.ts";
import {
  type DeadLetterNotice,
  DependencyUnavailable,
  MAX_OUTAGE_MS,
  type OnDeadLettered,
  PermanentJobFailure,
  PostponeJob,
} from "./job_type.ts";

const FIRST_DELAY_MS = 5_000;
const LONGEST_DELAY_MS = 3_600_000;
const FIRST_OUTAGE_PAUSE_MS = 2_000;
const LONGEST_OUTAGE_PAUSE_MS = 5 * 60_000;
const MESSAGE_LENGTH = 8_000;

/** How one attempt ended, and the next status of its job. Times are the worker's `performance.now()`. */
export interface Settlement {
  job: ClaimedJob;
  execution: "Succeeded" | "Failed" | "Abandoned";
  next: "Succeeded" | "Failed" | "DeadLettered" | "Enqueued";
  countsAsFailure: boolean;
  /** Whether a dependency was unavailable; null if the attempt does not show it. */
  isOutage: boolean | null;
  delayMs: number;
  error: string | null;
  output: string | null;
  startedAt: number;
  endedAt: number;
}

type Times = Pick<Settlement, "startedAt" | "endedAt">;

export const succeeded = (job: ClaimedJob, output: string | null, times: Times): Settlement => ({
  job,
  execution: "Succeeded",
  next: "Succeeded",
  countsAsFailure: false,
  isOutage: false,
  delayMs: 0,
  error: null,
  output,
  ...times,
});

/**
 * The settlement for a thrown error: a retry after a growing delay, a postponement, or a dead letter. A database that
 * is unavailable, full or busy counts as an unavailable dependency.
 */
export function failed(job: ClaimedJob, error: unknown, times: Times): Settlement {
  const base = {
    job,
    execution: "Failed" as const,
    error: messageOf(error).slice(0, MESSAGE_LENGTH).replaceAll("\0", ""),
    output: null,
    ...times,
  };
  if (error instanceof PostponeJob) {
    return { ...base, next: "Failed", countsAsFailure: false, isOutage: null, delayMs: error.delayMs };
  }
  const isOutage = error instanceof DependencyUnavailable || databaseFailure(error) !== null;
  if (isOutage && waitsForDependencies(job)) {
    const askedMs = error instanceof DependencyUnavailable ? error.retryAfterMs : 0;
    const delayMs = Math.max(outagePauseMs(job.outageMs ?? 0), askedMs);
    return { ...base, next: "Failed", countsAsFailure: false, isOutage, delayMs };
  }
  const isLast = error instanceof PermanentJobFailure || job.failures >= job.maxRetries;
  const delayMs = isLast ? 0 : retryDelayMs(job.failures + 1);
  return { ...base, next: isLast ? "DeadLettered" : "Failed", countsAsFailure: true, isOutage, delayMs };
}

/** True if the job may still wait for an unavailable dependency without using up a retry. */
export const waitsForDependencies = (job: ClaimedJob): boolean => (job.outageMs ?? 0) < MAX_OUTAGE_MS;

/** Delay after an attempt that met an outage: half of the outage's duration so far, from 2 s to 5 min, ± 20 %. */
function outagePauseMs(outageMs: number): number {
  const pauseMs = Math.min(LONGEST_OUTAGE_PAUSE_MS, Math.max(FIRST_OUTAGE_PAUSE_MS, outageMs / 2));
  return pauseMs * (0.8 + 0.4 * Math.random());
}

/** Message of a thrown value. The value may be anything, also one that cannot be converted to a string. */
function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message || error.name : error);
  } catch {
    return "The job threw a value that cannot be converted to text.";
  }
}

/** The attempt was interrupted from outside: it does not count as a failure, and the job is due at once. */
export const interrupted = (job: ClaimedJob, times: Times, reason: string): Settlement => ({
  job,
  execution: "Abandoned",
  next: "Enqueued",
  countsAsFailure: false,
  isOutage: null,
  delayMs: 0,
  error: `The attempt was interrupted: ${reason}.`,
  output: null,
  ...times,
});

/** Delay before the nth retry: 5 s × 2^(n−1) ± 20 %, at most an hour. */
export function retryDelayMs(retry: number, random = Math.random()): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (retry - 1)) * (0.8 + 0.4 * random);
}

/**
 * Writes how attempts ended: the job's status, an execution row, and a dead letter if the retries are used up. A
 * result is accepted only if this worker still holds the job with the same attempt number (fencing); a late result
 * changes nothing.
 * @returns the jobs whose result was accepted, and the continuations they released.
 */
export async function settleJobs(
  sql: Sql,
  workerId: string,
  settlements: Settlement[],
  onDeadLettered?: OnDeadLettered,
): Promise<{ settled: SettledJob[]; released: SettledJob[] }> {
  const hasDeadLetters = settlements.some((s) => s.next === "DeadLettered");
  const settled = !hasDeadLetters
    ? await writeSettlements(sql, workerId, settlements)
    : await transact(sql, async (tx) => {
      const settled = await writeSettlements(tx, workerId, settlements);
      const dead = settled.filter((job) => job.status === "DeadLettered").map((job) => job.id);
      await writeDeadLetters(tx, dead, onDeadLettered);
      return settled;
    });
  const parents = settled.filter((job) => job.hasChildren);
  const released = parents.length === 0 ? [] : await transact(sql, (tx) => releaseContinuations(tx, parents));
  return { settled, released };
}

/**
 * Start and end times are the statement's time minus the time elapsed on the worker's clock. They are never before the
 * claim: the transaction's time may be earlier, and the database's clock may have been set back.
 */
async function writeSettlements(
  q: Sql,
  workerId: string,
  settlements: Settlement[],
): Promise<(SettledJob & { hasChildren: boolean })[]> {
  const now = performance.now();
  const column = <T>(read: (s: Settlement) => T): T[] => settlements.map(read);
  return await q<(SettledJob & { hasChildren: boolean })[]>`
    with ended as (
      select *, statement_timestamp() - started_ago * interval '1 ms' as began_at,
        statement_timestamp() - ended_ago * interval '1 ms' as ended_at
      from unnest(${column((s) => s.job.id)}::uuid[], ${column((s) => s.job.attempts)}::int[],
        ${column((s) => s.execution)}::text[], ${column((s) => s.next)}::text[],
        ${column((s) => Number(s.countsAsFailure))}::int[],
        ${column((s) => s.isOutage === null ? null : Number(s.isOutage))}::int[],
        ${column((s) => s.delayMs)}::float8[], ${column((s) => s.error)}::text[],
        ${column((s) => s.output)}::text[],
        ${column((s) => now - s.startedAt)}::float8[], ${column((s) => now - s.endedAt)}::float8[])
        as e (id, attempt, execution, next, counts, is_outage, delay_ms, error, output, started_ago, ended_ago)
    ), settled as (
      update jobs j set status = e.next::job_status, worker_id = null, failures = j.failures + e.counts,
        last_error = coalesce(e.error, j.last_error),
        outage_since = case when e.is_outage = 1 then coalesce(j.outage_since, now())
          when e.is_outage is null then j.outage_since end,
        due_at = case when e.next in ('Failed', 'Enqueued') then now() + e.delay_ms * interval '1 ms' else j.due_at end,
        completed_at = case when e.next in ('Succeeded', 'DeadLettered') then greatest(e.ended_at, j.started_at) end
      from ended e
      where j.id = e.id and j.attempts = e.attempt and j.worker_id is not distinct from ${workerId}
      returning j.id, j.tenant_id, j.attempts, j.status, j.has_children, j.started_at,
        e.delay_ms as due_in_ms
    ), recorded as (
      insert into job_executions (job_id, tenant_id, attempt_number, status, started_at, completed_at, error_message, worker_id, output)
      select e.id, s.tenant_id, e.attempt, e.execution, greatest(e.began_at, s.started_at),
        greatest(e.ended_at, s.started_at), e.error, ${workerId}, e.output
      from ended e join settled s on s.id = e.id
    )
    select id, attempts, status, has_children, due_in_ms from settled`;
}

/** Inserts dead letters for jobs that have just become DeadLettered, and calls `onDeadLettered` with them. */
export async function writeDeadLetters(
  tx: Tx,
  jobIds: string[],
  onDeadLettered?: OnDeadLettered,
): Promise<void> {
  if (jobIds.length === 0) return;
  const rows = await tx<DeadLetterNotice[]>`
    insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message)
    select given.id, j.id, j.tenant_id, j.job_type_name, j.queue, j.serialized_args, j.attempts, j.last_error
    from unnest(${jobIds.map(newId)}::uuid[], ${jobIds}::uuid[]) given (id, job_id)
    join jobs j on j.id = given.job_id
    returning id, job_id, tenant_id, job_type_name, queue, attempts, error_message`;
  await onDeadLettered?.(tx, rows);
}

/**
 * Gives back jobs that this worker has claimed without knowing it: the claim committed, but its result was lost with
 * the connection. Call it while no claim is running.
 */
export async function giveBackUnknownJobs(sql: Sql, workerId: string, known: string[]): Promise<void> {
  await sql`
    update jobs set status = 'Enqueued', worker_id = null, attempts = attempts - 1, started_at = null
    where worker_id = ${workerId} and status = 'Processing' and id <> all(${known}::uuid[])`;
}

/** Gives back jobs that were claimed but not started, as if they had not been claimed. */
export async function giveBackJobs(sql: Sql, workerId: string, jobs: ClaimedJob[]): Promise<void> {
  if (jobs.length === 0) return;
  const ids = jobs.map((job) => job.id);
  await sql`
    update jobs set status = 'Enqueued', worker_id = null, attempts = attempts - 1, started_at = null
    where id = any(${ids}::uuid[]) and worker_id = ${workerId} and status = 'Processing'`;
}
