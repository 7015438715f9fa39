import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { newId } from "../shared/ids.ts";
import { releaseContinuations } from "./continuations.ts";
import type { OnDeadLettered } from "./job_type.ts";
import { writeDeadLetters } from "./settle.ts";

/** A worker that has not renewed its lease for this long is considered dead; its jobs run again. */
export const LEASE_SECONDS = 60;
const RECOVERED_AT_ONCE = 500;

/** Opens a lease and returns the worker's id. All jobs that the worker claims belong to this lease. */
export async function openLease(sql: Sql, host: string): Promise<string> {
  const id = newId();
  await sql`insert into job_workers (id, host) values (${id}, ${host})`;
  return id;
}

/** Renews a lease; false if it had expired and was removed. */
export async function renewLease(sql: Sql, workerId: string): Promise<boolean> {
  const rows = await sql`update job_workers set heartbeat_at = now() where id = ${workerId}`;
  return rows.count === 1;
}

/**
 * Seconds since the job's worker renewed its lease; Infinity if the lease was removed; null if the job does not run.
 */
export async function heartbeatAge(sql: Sql, jobId: string): Promise<number | null> {
  const [job] = await sql<{ age: number | null }[]>`
    select extract(epoch from now() - w.heartbeat_at)::float8 as age
    from jobs j left join job_workers w on w.id = j.worker_id
    where j.id = ${jobId} and j.status = 'Processing'`;
  return job ? job.age ?? Infinity : null;
}

export async function closeLease(sql: Sql, workerId: string): Promise<void> {
  await sql`delete from job_workers where id = ${workerId}`;
}

/**
 * Releases the jobs of dead workers, one transaction per batch; each is due at once for a new attempt. The first lost
 * lease of a job does not count, since the worker may be the cause. Each further one counts as a failed attempt, so
 * that a job that crashes its process is dead-lettered in the end.
 * @returns how many jobs were released.
 */
export async function recoverLostJobs(
  sql: Sql,
  leaseSeconds = LEASE_SECONDS,
  onDeadLettered?: OnDeadLettered,
): Promise<number> {
  for (let recovered = 0;;) {
    const batch = await recoverBatch(sql, leaseSeconds, onDeadLettered);
    recovered += batch;
    if (batch < RECOVERED_AT_ONCE) return recovered;
  }
}

async function recoverBatch(
  sql: Sql,
  leaseSeconds: number,
  onDeadLettered: OnDeadLettered | undefined,
): Promise<number> {
  return await transact(sql, async (tx) => {
    await tx`delete from job_workers where heartbeat_at < now() - make_interval(secs => ${leaseSeconds})`;
    const lost = await tx<{ id: string; isLast: boolean }[]>`
      select id, lost_leases > 0 and failures >= max_retries as is_last from jobs j
      where status = 'Processing' and not exists (select from job_workers w where w.id = j.worker_id)
      limit ${RECOVERED_AT_ONCE} for update skip locked`;
    if (lost.length === 0) return 0;
    const dead = lost.filter((job) => job.isLast).map((job) => job.id);
    const error =
      `The worker did not renew its lease of ${leaseSeconds} s; it crashed, froze, or lost the database.`;
    await tx`
      insert into job_executions (job_id, tenant_id, attempt_number, status, started_at, completed_at, error_message, worker_id)
      select id, tenant_id, attempts, 'Abandoned', started_at, now(), ${error}, worker_id
      from jobs where id = any(${lost.map((job) => job.id)}::uuid[])`;
    await tx`
      update jobs set worker_id = null, lost_leases = lost_leases + 1,
        failures = failures + (lost_leases > 0)::int, last_error = ${error}, due_at = now(),
        status = case when id = any(${dead}::uuid[]) then 'DeadLettered' else 'Enqueued' end::job_status,
        completed_at = case when id = any(${dead}::uuid[]) then now() end
      where id = any(${lost.map((job) => job.id)}::uuid[])`;
    await writeDeadLetters(tx, dead, onDeadLettered);
    await releaseContinuations(tx, dead.map((id) => ({ id, status: "DeadLettered" })));
    return lost.length;
  });
}

/** A running worker. Each instance that runs jobs has one. */
export interface LiveWorker {
  id: string;
  host: string;
  startedAt: Date;
  /** Last renewal of its lease. */
  heartbeatAt: Date;
  /** Number of jobs it has claimed. */
  holds: number;
}

/** The workers that hold a lease, oldest first. */
export async function listWorkers(sql: Sql): Promise<LiveWorker[]> {
  const workers = await sql<LiveWorker[]>`
      select w.id, w.host, w.started_at, w.heartbeat_at, held.n as holds from job_workers w
      cross join lateral (
        select count(*) as n from jobs j where j.status = 'Processing' and j.worker_id = w.id
      ) held
      order by w.started_at, w.id`;
  return [...workers];
}
