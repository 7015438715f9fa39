import { isLockTimeout } from "../../infra/postgres/failures.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { laneParts } from "./job_row.ts";
import { type ClaimPlan, limitPlan } from "./lanes.ts";

const PROMOTED_AT_ONCE = 1_000;
/** How long a claim of a limited type waits for the type's advisory lock. */
const LIMIT_LOCK_MS = 300;

/** A job that a worker has claimed. */
export interface ClaimedJob {
  id: string;
  tenantId: string | null;
  jobTypeName: string;
  serializedArgs: string;
  attempts: number;
  failures: number;
  maxRetries: number;
  createdBy: string | null;
  traceId: string | null;
  /** How long all attempts have met an unavailable dependency, in ms at the claim; null: the last attempt did not. */
  outageMs: number | null;
  /** How often a worker lost its lease while it held the job. */
  lostLeases: number;
}

type ClaimedRow = ClaimedJob & { lane: string; priority: number; dueAt: Date };

/** The claimed jobs, and the lanes that had fewer jobs than requested. */
export interface Claim {
  jobs: ClaimedJob[];
  exhausted: string[];
}

/**
 * Claims due jobs for a worker from the front of each planned lane. They are returned in the order in which they
 * should start: round robin over the lanes, and within a lane by priority, due time and id. Rows that other workers
 * have locked are skipped, so claims never wait for each other. The key-share lock on the worker's own row ensures
 * that a worker already declared dead claims nothing.
 */
export async function claimFromLanes(sql: Sql, workerId: string, plan: ClaimPlan): Promise<Claim> {
  const { lanes, take } = plan;
  const rows = await sql<ClaimedRow[]>`
    with alive as (
      select id from job_workers where id = ${workerId} for key share
    ), due as (
      select candidate.id
      from alive
      cross join unnest(${lanes}::text[]) p (lane)
      cross join lateral (
        select j.id from jobs j where j.status = 'Enqueued' and j.lane = p.lane
        order by j.priority, j.due_at, j.id limit ${take} for update skip locked
      ) candidate
    )
    update jobs set status = 'Processing', worker_id = ${workerId}, attempts = attempts + 1, started_at = now()
    where id = any(array(select id from due))
    returning id, tenant_id, job_type_name, serialized_args, attempts, failures, max_retries, created_by, trace_id,
      extract(epoch from now() - outage_since)::float8 * 1000 as outage_ms, lost_leases, priority, lane, due_at`;
  const byLane = Map.groupBy(rows.sort(inLaneOrder), ({ lane }) => lane);
  return {
    jobs: interleave(lanes.map((lane) => byLane.get(lane) ?? [])),
    exhausted: lanes.filter((lane) => (byLane.get(lane)?.length ?? 0) < take),
  };
}

const inLaneOrder = (a: ClaimedRow, b: ClaimedRow): number =>
  a.priority - b.priority || a.dueAt.getTime() - b.dueAt.getTime() || (a.id < b.id ? -1 : 1);

/** The first item of every list, then the second of every list, and so on. */
function interleave<T>(lists: T[][]): T[] {
  if (lists.length === 1) return lists[0] ?? [];
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, n) => lists.flatMap((list) => list.slice(n, n + 1))).flat();
}

/**
 * Claims due jobs of a type that limits how many run at once in the whole service. An advisory lock serializes the
 * claims of one type, so that each count includes the jobs of the claim before. A claim holds the lock for
 * milliseconds. If it is held longer, that instance has frozen, and this type is skipped until the lanes are searched
 * again.
 * @param maxRunning how many jobs of the type may run at once.
 */
export async function claimLimited(
  sql: Sql,
  workerId: string,
  plan: ClaimPlan,
  maxRunning: number,
): Promise<Claim> {
  const limitKey = laneParts(plan.lanes[0] ?? "").limitKey ?? "";
  const claiming = transact(sql, async (tx) => {
    tx.unsafe(`set local lock_timeout = ${LIMIT_LOCK_MS}`).execute(); // a failure fails the whole transaction
    await tx`select pg_advisory_xact_lock(hashtextextended(${limitKey}, 7315))`;
    const [running] = await tx<{ n: number }[]>`
      select count(*)::int as n from jobs where status = 'Processing' and limit_key = ${limitKey}`;
    const capacity = maxRunning - (running?.n ?? 0);
    if (capacity <= 0) return { jobs: [], exhausted: plan.lanes };
    return await claimFromLanes(tx, workerId, limitPlan(plan, capacity));
  });
  return await claiming.catch((error) => {
    if (isLockTimeout(error)) return { jobs: [], exhausted: plan.lanes };
    throw error;
  });
}

/** Sets Scheduled and Failed jobs that are due to Enqueued; returns how many. */
export async function promoteDueJobs(sql: Sql): Promise<number> {
  for (let promoted = 0;;) {
    const { count } = await sql`
      update jobs set status = 'Enqueued' where id = any(array(
        select id from jobs where status in ('Scheduled', 'Failed') and due_at <= now()
        order by due_at limit ${PROMOTED_AT_ONCE} for update skip locked))`;
    promoted += count;
    if (count < PROMOTED_AT_ONCE) return promoted;
  }
}
