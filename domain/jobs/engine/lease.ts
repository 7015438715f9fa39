import { z } from "zod";
import { AREA_NAMES, areaList, type AreasOn, hasAllAreas } from "../../../infra/areas.ts";
import type { Log } from "../../../infra/log.ts";
import { afterCommit, type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { VERSION } from "../../../infra/version.ts";
import { FIRST_ID, LAST_ID, newId } from "../../shared/ids.ts";
import type { ClaimedJob } from "./claim.ts";
import { awaitedJobs, followEndedJobs } from "../batches/end_batches.ts";
import type { EndedJob } from "../job_row.ts";
import type { EndedAttempt } from "../ended_attempt.ts";
import type { SettleHooks } from "../job_type.ts";
import { failed, settleJobs, writeDeadLetters } from "./settle.ts";
import { runBatches } from "../../shared/batches.ts";
import { time } from "../../shared/shapes.ts";

/** A worker that has not renewed its lease for this long is considered dead; its jobs run again. */
export const LEASE_SECONDS = 60;
const RECOVERED_AT_ONCE = 500;

/**
 * Opens a lease and returns the worker's id. All jobs that the worker claims belong to this lease. The lock waits for a
 * pause that is being written: it has marked the workers, and would miss a new one. The worker reads the pauses afterwards.
 * @param id that of an earlier call whose answer was lost: its lease may exist
 */
export async function openLease(
  sql: Sql,
  host: string,
  id: string = newId(),
  areas: AreasOn["AREAS"] = ALL_AREAS,
): Promise<string> {
  await sql`
    with version as (select from job_pause_version for key share)
    insert into job_workers (id, host, program)
    select ${id}, ${host}, ${programOf(areas)}::text from (select count(*) from version) locked
    on conflict (id) do update set heartbeat_at = now()`;
  return id;
}

const ALL_AREAS: AreasOn["AREAS"] = new Set(AREA_NAMES);

/** The program of the workers that are part of the service, with its areas if some are off. */
function programOf(areas: AreasOn["AREAS"]): string {
  const named = hasAllAreas({ AREAS: areas }) ? "" : ` (AREAS=${areaList(areas)})`;
  return `Steward/${VERSION} Deno/${Deno.version.deno}${named}`;
}

/** The areas of the instance with a program; all of them if it names none. */
export const areasOfProgram = (program: string | null): string =>
  /\(AREAS=(.*)\)$/.exec(program ?? "")?.[1] ?? AREA_NAMES.join();

const livePrograms = (q: Sql) =>
  q<{ host: string; program: string | null }[]>`
    select host, program from job_workers
    where not is_remote and heartbeat_at > now() - make_interval(secs => ${LEASE_SECONDS})`;

/** Logs the instances with other areas, because each postpones jobs of areas that it lacks. */
export async function warnOfOtherAreas(sql: Sql, { AREAS }: AreasOn, log: Log): Promise<void> {
  const own = areaList(AREAS);
  const others = (await livePrograms(sql)).map(({ host, program }) => ({
    host,
    areas: areasOfProgram(program),
  }))
    .filter(({ areas }) => areas !== own);
  if (others.length > 0) log.warn("instances of this database have other AREAS", { own, others });
}

/** True while instances have different versions or areas: one may know a job type that another does not. */
export const doInstancesDiffer = async (q: Sql): Promise<boolean> =>
  new Set((await livePrograms(q)).map(({ program }) => program)).size > 1;

/** Renews a lease; false if it had expired and was removed. */
export async function renewLease(sql: Sql, workerId: string): Promise<boolean> {
  const rows = await sql`update job_workers set heartbeat_at = now() where id = ${workerId}`;
  return rows.count === 1;
}

export async function closeLease(sql: Sql, workerId: string): Promise<void> {
  await sql`delete from job_workers where id = ${workerId}`;
}

/**
 * Releases the jobs of dead workers and of remote workers whose leases have expired, one transaction per batch; each is
 * due at once for a new attempt. A remote attempt that is past its deadline fails instead. The first lost
 * lease of a job does not count, since the worker may be the cause. Each further one counts as a failed attempt, so
 * that a job that crashes its process is dead-lettered in the end.
 * @returns how many jobs were released.
 */
export async function recoverLostJobs(
  q: Sql,
  leaseSeconds = LEASE_SECONDS,
  hooks: SettleHooks = {},
): Promise<number> {
  return await runBatches(RECOVERED_AT_ONCE, () => recoverBatch(q, leaseSeconds, hooks));
}

/**
 * Jobs of dead workers are those between the ids of living ones. So the search does not read the index entries of the jobs
 * that living workers have ended, which a held snapshot keeps from being removed.
 */
async function recoverBatch(sql: Sql, leaseSeconds: number, hooks: SettleHooks): Promise<number> {
  return await transact(sql, async (tx) => {
    await tx`delete from job_workers where heartbeat_at < now() - make_interval(secs => ${leaseSeconds})`;
    const ended = await tx<LostJob[]>`
      select id, job_type_name, tenant_id, attempts, trace_id, failures, max_retries, worker_id, '' as serialized_args,
        created_by, null as outage_ms, 0 as waited_ms, lost_leases,
        lost_leases > 0 and failures >= max_retries and cancel_requested_at is null as is_last, coalesce(deadline <= now(), false) as is_late,
        extract(epoch from deadline - started_at)::float8 * 1000 as timeout_ms
      from jobs j
      where id = any(array(
          select dead.id from (
            select id as after, lead(id, 1, ${LAST_ID}) over (order by id) as before
            from (select id from job_workers union all select ${FIRST_ID}::uuid) known
          ) gap cross join lateral (
            select id from jobs where status = 'Processing' and lease_until is null
              and worker_id > gap.after and worker_id < gap.before
            limit ${RECOVERED_AT_ONCE}
          ) dead limit ${RECOVERED_AT_ONCE}
        ) || array(
          select id from jobs where lease_until <= now() order by lease_until limit ${RECOVERED_AT_ONCE}
        ))
        and status = 'Processing' and (lease_until <= now()
          or lease_until is null and not exists (select from job_workers w where w.id = j.worker_id))
      limit ${RECOVERED_AT_ONCE} for update skip locked`;
    const lost = ended.filter((job) => !job.isLate);
    await failLate(tx, ended.filter((job) => job.isLate), hooks);
    if (lost.length === 0) return ended.length;
    const error =
      `The worker did not renew its lease of ${leaseSeconds} s; it crashed, froze, or lost the database.`;
    const ids = lost.map(({ id }) => id);
    const dead = lost.filter((job) => job.isLast).map((job) => job.id);
    await tx`
      insert into job_attempts (job_id, tenant_id, attempt_number, status, started_at, completed_at, error_message, worker_id)
      select id, tenant_id, attempts, 'Abandoned', started_at, now(), ${error}, worker_id
      from jobs where id = any(${ids}::uuid[])`;
    const released = await tx<EndedJob[]>`
      update jobs set worker_id = null, lost_leases = lost_leases + 1,
        failures = failures + (lost_leases > 0)::int, last_error = ${error}, due_at = now(),
        status = case when cancel_requested_at is not null then 'Cancelled'
          when id = any(${dead}::uuid[]) then 'DeadLettered' else 'Enqueued' end::job_status,
        completed_at = case when cancel_requested_at is not null or id = any(${dead}::uuid[]) then now() end,
        lease_until = null, deadline = null, claim_request_id = null
      where id = any(${ids}::uuid[]) returning id, status, has_children, batch_id`;
    const deadLettered = released.filter((job) => job.status === "DeadLettered").map(({ id }) => id);
    await writeDeadLetters(tx, deadLettered, hooks.onDeadLettered);
    await followEndedJobs(tx, awaitedJobs(released));
    const attempts = lost.map((job): EndedAttempt => ({
      jobId: job.id,
      jobTypeName: job.jobTypeName,
      tenantId: job.tenantId,
      attempt: job.attempts,
      traceId: job.traceId,
      outcome: job.isLast ? "DeadLettered" : "Abandoned",
      error,
      waitedMs: null,
      durationMs: null,
    }));
    const { attemptEvents } = hooks;
    if (await attemptEvents?.areWanted(attempts.map(({ tenantId }) => tenantId))) {
      await attemptEvents?.emit(tx, attempts);
    }
    afterCommit(tx, () => hooks.onEnded?.(attempts));
    return ended.length;
  });
}

type LostJob = ClaimedJob & { workerId: string; isLast: boolean; isLate: boolean; timeoutMs: number };

/** Fails attempts of remote workers that took longer than their type allows. */
async function failLate(tx: Tx, late: LostJob[], hooks: SettleHooks): Promise<void> {
  const endedAt = performance.now();
  for (const [workerId, own] of Map.groupBy(late, (job) => job.workerId)) {
    const settlements = own.map((job) => {
      const error = `the attempt took longer than the ${job.timeoutMs} ms ${job.jobTypeName} may take`;
      return failed(job, error, { startedAt: endedAt - job.timeoutMs, endedAt });
    });
    await settleJobs(tx, workerId, settlements, hooks);
  }
}

/** A job that a worker has claimed. */
const HeldJob = z.object({
  id: z.guid(),
  jobTypeName: z.string(),
  queue: z.string(),
  tenantId: z.guid().nullable(),
  startedAt: time.nullable(),
});
type HeldJob = z.output<typeof HeldJob>;

/** A running worker. Each instance that runs jobs has one. */
export const LiveWorker = z.object({
  id: z.guid(),
  host: z.string(),
  startedAt: time,
  // Last renewal of its lease.
  heartbeatAt: time,
  holds: z.int().describe("Number of jobs it has claimed"),
  isRemote: z.boolean().describe("A process of a caller; `host` is the name it gives"),
  program: z.string().nullable().describe(
    "Product and version, as its User-Agent names them; null: it did not say",
  ),
  jobs: z.array(HeldJob).describe("The ten jobs that it has held longest"),
}).meta({ id: "JobWorkerDto", description: "An instance or a process of a caller that runs jobs" });
export type LiveWorker = z.output<typeof LiveWorker>;

const JOBS_SHOWN = 10;

/** The workers that hold a lease, oldest first. */
export async function listWorkers(q: Sql): Promise<LiveWorker[]> {
  const workers = await q<(Omit<LiveWorker, "jobs"> & { jobs: HeldRow[] | null })[]>`
      select w.id, w.host, w.started_at, w.heartbeat_at, held.n as holds, w.is_remote, w.program, held.jobs
      from job_workers w
      cross join lateral (
        select count(*) as n, (array_agg(jsonb_build_array(j.id, j.job_type_name, j.queue, j.tenant_id,
          extract(epoch from j.started_at)) order by j.started_at, j.id))[:${JOBS_SHOWN}] as jobs
        from jobs j where j.status = 'Processing' and j.worker_id = w.id
      ) held
      order by w.started_at, w.id`;
  return workers.map(({ jobs, ...worker }) => ({ ...worker, jobs: (jobs ?? []).map(heldJob) }));
}

type HeldRow = [
  id: string,
  jobTypeName: string,
  queue: string,
  tenantId: string | null,
  startedAt: number | null,
];

const heldJob = ([id, jobTypeName, queue, tenantId, startedAt]: HeldRow): HeldJob => ({
  id,
  jobTypeName,
  queue,
  tenantId,
  startedAt: startedAt === null ? null : new Date(startedAt * 1000),
});
