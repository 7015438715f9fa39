import { isLockTimeout, type Queryable, type Sql, transact } from "../../infra/postgres/postgres.ts";
import { type ClaimPlan, laneParts, withinRoom } from "./lanes.ts";

const PROMOTED_AT_ONCE = 1_000;
/** So long a claimer waits for its turn. */
const TURN_MS = 300;

/** A job a worker holds. */
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
  /** How long every attempt has found a dependency away, in ms when it was claimed; null: the last one did not. */
  outageMs: number | null;
  /** How often a worker lost its lease while it held the job. */
  lostLeases: number;
}

type ClaimedRow = ClaimedJob & { lane: string; priority: number; dueAt: Date };

/** What a claim brought, and which lanes gave less than was asked of them. */
export interface Claim {
  jobs: ClaimedJob[];
  exhausted: string[];
}

/**
 * Takes due jobs for a worker from the front of each planned lane, in the order in which they should begin: the lanes take
 * turns, and within a lane priority, due time and id decide. Rows other workers are taking are
 * skipped, so claimers never wait for each other. The share lock on the worker's own row makes sure that a worker
 * already declared dead takes nothing.
 */
export async function claimFromLanes(sql: Queryable, workerId: string, plan: ClaimPlan): Promise<Claim> {
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
    jobs: inTurns(lanes.map((lane) => byLane.get(lane) ?? [])),
    exhausted: lanes.filter((lane) => (byLane.get(lane)?.length ?? 0) < take),
  };
}

const inLaneOrder = (a: ClaimedRow, b: ClaimedRow): number =>
  a.priority - b.priority || a.dueAt.getTime() - b.dueAt.getTime() || (a.id < b.id ? -1 : 1);

/** The first of every line, then the second of every line, and so on. */
function inTurns<T>(lines: T[][]): T[] {
  if (lines.length === 1) return lines[0] ?? [];
  const longest = Math.max(...lines.map((line) => line.length));
  return Array.from({ length: longest }, (_, n) => lines.flatMap((line) => line.slice(n, n + 1))).flat();
}

/**
 * Takes due jobs of a type that limits how many run at once in the whole service. Claimers of one type take turns, so
 * that the count each of them sees includes what the one before has taken. A turn takes milliseconds: where one takes
 * longer, its instance has frozen, and the type is passed over until the next look.
 * @param most how many of the type may run at once.
 */
export async function claimLimited(
  sql: Sql,
  workerId: string,
  plan: ClaimPlan,
  most: number,
): Promise<Claim> {
  const limitKey = laneParts(plan.lanes[0] ?? "").limitKey ?? "";
  const claiming = transact(sql, async (tx) => {
    tx.unsafe(`set local lock_timeout = ${TURN_MS}`).execute(); // its failure fails the transaction
    await tx`select pg_advisory_xact_lock(hashtextextended(${limitKey}, 7315))`;
    const [running] = await tx<{ n: number }[]>`
      select count(*)::int as n from jobs where status = 'Processing' and limit_key = ${limitKey}`;
    const room = most - (running?.n ?? 0);
    if (room <= 0) return { jobs: [], exhausted: plan.lanes };
    return await claimFromLanes(tx, workerId, withinRoom(plan, room));
  });
  return await claiming.catch((error) => {
    if (isLockTimeout(error)) return { jobs: [], exhausted: plan.lanes };
    throw error;
  });
}

/** Makes waiting jobs whose time has come Enqueued: scheduled ones and those with a retry due. @returns how many. */
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
