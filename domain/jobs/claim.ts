import { type Queryable, type Sql, transact } from "../../infra/postgres/postgres.ts";
import { type ClaimPlan, type Lane, laneParts } from "./lanes.ts";

const PROMOTED_AT_ONCE = 1_000;

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
}

type ClaimedRow = ClaimedJob & Lane & { dueAt: Date };

/** What a claim brought, and which lanes gave less than was asked of them. */
export interface Claim {
  jobs: ClaimedJob[];
  exhausted: Lane[];
}

/**
 * Takes due jobs for a worker from the front of each planned lane, oldest first. Rows other workers are taking are
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
      cross join unnest(${lanes.map((l) => l.priority)}::smallint[], ${
    lanes.map((l) => l.lane)
  }::text[]) p (priority, lane)
      cross join lateral (
        select j.id from jobs j where j.status = 'Enqueued' and j.priority = p.priority and j.lane = p.lane
        order by j.due_at, j.id limit ${take} for update skip locked
      ) candidate
    )
    update jobs set status = 'Processing', worker_id = ${workerId}, attempts = attempts + 1, started_at = now()
    where id = any(array(select id from due))
    returning id, tenant_id, job_type_name, serialized_args, attempts, failures, max_retries, created_by, trace_id,
      priority, lane, due_at`;
  rows.sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime() || (a.id < b.id ? -1 : 1));
  const given = new Map<string, number>();
  for (const row of rows) given.set(row.lane, (given.get(row.lane) ?? 0) + 1);
  return { jobs: rows, exhausted: lanes.filter((lane) => (given.get(lane.lane) ?? 0) < take) };
}

/**
 * Takes due jobs of a type that limits how many run at once in the whole service. Claimers of one type take turns, so
 * that the count each of them sees includes what the one before has taken.
 * @param most how many of the type may run at once.
 */
export async function claimLimited(
  sql: Sql,
  workerId: string,
  plan: ClaimPlan,
  most: number,
): Promise<Claim> {
  const limitKey = laneParts(plan.lanes[0]?.lane ?? "").limitKey ?? "";
  return await transact(sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtextextended(${limitKey}, 7315))`;
    const [running] = await tx<{ n: number }[]>`
      select count(*)::int as n from jobs where status = 'Processing' and limit_key = ${limitKey}`;
    const room = most - (running?.n ?? 0);
    if (room <= 0) return { jobs: [], exhausted: plan.lanes };
    const lanes = plan.lanes.slice(0, room);
    const take = Math.max(1, Math.min(plan.take, Math.floor(room / lanes.length)));
    return await claimFromLanes(tx, workerId, { lanes, take });
  });
}

/**
 * Makes waiting jobs whose time has come Enqueued: scheduled ones and those with a retry due.
 * @returns how many, and the milliseconds until the next one is due when that is within `withinMs`, else null.
 */
export async function promoteDueJobs(
  sql: Sql,
  withinMs: number,
): Promise<{ promoted: number; nextInMs: number | null }> {
  const promoted = await sql`
    update jobs set status = 'Enqueued' where id = any(array(
      select id from jobs where status in ('Scheduled', 'Failed') and due_at <= now()
      order by due_at limit ${PROMOTED_AT_ONCE} for update skip locked))`;
  if (promoted.count === PROMOTED_AT_ONCE) return { promoted: promoted.count, nextInMs: 0 };
  const [next] = await sql<{ ms: number | null }[]>`
    select extract(epoch from min(due_at) - now())::float8 * 1000 as ms from jobs
    where status in ('Scheduled', 'Failed') and due_at < now() + make_interval(secs => ${withinMs / 1000})`;
  return { promoted: promoted.count, nextInMs: next?.ms ?? null };
}
