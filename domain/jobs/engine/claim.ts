import { lockNamed } from "../../../infra/postgres/advisory_locks.ts";
import { isLockTimeout } from "../../../infra/postgres/failures.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type AnyJobType, limitKeyOf } from "../job_type.ts";
import type { PausedType } from "../limits/known_pauses.ts";
import { agesByPriority, type LaneFloors, sinceFloor } from "./lane_floors.ts";
import { type ClaimPlan, lanesFor, limitPlan } from "./lanes.ts";
import { Places, type Room } from "./places.ts";
import { runBatches } from "../../shared/batches.ts";

const PROMOTED_AT_ONCE = 1_000;
const PARKED_AT_ONCE = 1_000;
/** Maximum time for which a claim of a limited type waits for the type's advisory lock. */
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
  /** Duration of the current series of attempts that met an unavailable dependency, in ms at the claim; null: no series. */
  outageMs: number | null;
  /** Time from the due time to the claim, later to the start of the attempt, in ms. Negative if the clock was set back. */
  waitedMs: number;
  /** Number of workers that lost their lease while they held the job. */
  lostLeases: number;
  /** The type, if its jobs are pushed; absent: a type of the service. */
  type?: AnyJobType;
}

type ClaimedRow = ClaimedJob & { lane: string; priority: number };

/** The claimed jobs, and the lanes that had fewer jobs than requested. */
export interface Claim {
  jobs: ClaimedJob[];
  exhausted: string[];
}

/**
 * Claims due jobs for a worker from the front of each planned lane. They are returned in the order in which they
 * should start: round robin over the lanes, and within a lane by priority, due time and id. Rows that other workers
 * have locked are skipped, so claims never wait for each other. The key-share lock on the worker's own row ensures
 * that a worker which was declared dead claims nothing. A worker that has not read the newest pauses claims nothing either.
 * That row is locked only if jobs are due, so a claim that finds none writes nothing. Locked rows are found again by their
 * `ctid`, which costs less than by id. A row that has moved since the statement began is left for the next claim.
 * A transaction that began before a job became due can claim it. The job's start is then its due time.
 * @param pausedTypes jobs of these types stay in the lanes
 * @param floors the due times at which the waiting jobs of each lane begin
 */
export async function claimFromLanes(
  sql: Sql,
  workerId: string,
  plan: ClaimPlan,
  pausedTypes: PausedType[] = [],
  floors?: LaneFloors,
): Promise<Claim> {
  const { lanes, take } = plan;
  const queriedAt = performance.now();
  const paused = pausedTypes.length === 0 ? sql`` : sql`and not ${isOfType(sql, pausedTypes)}`;
  const rows = await sql<ClaimedRow[]>`
    with due as (
      select candidate.row
      from unnest(${lanes}::text[], ${agesByPriority(sql, lanes, floors)}) p (lane, age0, age1, age2, age3)
      cross join lateral (
        select of_priority.row
        from (values (0, age0), (1, age1), (2, age2), (3, age3)) s (priority, age)
        cross join lateral (
          select j.ctid as row from jobs j
          where j.status = 'Enqueued' and j.lane = p.lane and j.priority = s.priority
            and ${sinceFloor(sql, "s.age")} ${paused}
          order by j.due_at, j.id limit ${take} for update skip locked
        ) of_priority
        limit ${take}
      ) candidate
    ), alive as (
      select id from job_workers where id = ${workerId} and not pauses_changed and exists (select from due) for key share
    )
    update jobs set status = 'Processing', worker_id = ${workerId}, attempts = attempts + 1,
      started_at = greatest(now(), due_at)
    where ctid = any(array(select due.row from due)) and exists (select from alive)
    returning id, tenant_id, job_type_name, serialized_args, attempts, failures, max_retries, created_by, trace_id,
      date_part('epoch', now() - outage_since) * 1000 as outage_ms, lost_leases,
      date_part('epoch', now() - due_at) * 1000 as waited_ms, priority, lane`;
  const byLane = Map.groupBy(rows.sort(inLaneOrder), ({ lane }) => lane);
  floors?.recordClaim(byLane, queriedAt);
  return {
    jobs: interleave(lanes.map((lane) => byLane.get(lane) ?? [])),
    exhausted: lanes.filter((lane) => (byLane.get(lane)?.length ?? 0) < take),
  };
}

/**
 * Moves jobs of paused types at the front of each lane into lanes of their own, so that claims need not skip them again
 * and again. They stay there after the type is resumed.
 */
export async function parkPausedJobs(sql: Sql, lanes: string[], types: PausedType[]): Promise<void> {
  await sql`
    update jobs set lane = split_part(lane, '|', 1) || '|' || job_type_name || '|' || split_part(lane, '|', 3)
    where id = any(array(
      select front.id from unnest(${lanes}::text[]) p (lane)
      cross join lateral (
        select j.id from jobs j where j.status = 'Enqueued' and j.lane = p.lane and ${isOfType(sql, types)}
        order by j.priority, j.due_at, j.id limit ${PARKED_AT_ONCE} for update skip locked
      ) front
    ))`;
}

/** SQL condition: the job `j` is of one of the types. */
function isOfType(q: Sql, types: PausedType[]) {
  const names = types.map(({ name }) => name);
  const tenantIds = types.map(({ tenantId }) => tenantId);
  return q`exists (
    select from unnest(${names}::text[], ${tenantIds}::uuid[]) as paused (name, tenant_id)
    where paused.name = j.job_type_name and (paused.tenant_id is null or paused.tenant_id = j.tenant_id))`;
}

const inLaneOrder = (a: ClaimedRow, b: ClaimedRow): number =>
  a.priority - b.priority || b.waitedMs - a.waitedMs || (a.id < b.id ? -1 : 1);

/** The first item of every list, then the second of every list, and so on. */
function interleave<T>(lists: T[][]): T[] {
  if (lists.length === 1) return lists[0] ?? [];
  const longest = Math.max(...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, n) => lists.flatMap((list) => list.slice(n, n + 1))).flat();
}

/** Claims due jobs of one type. @param type undefined: this instance does not know it */
export async function claimOfType(
  q: Sql,
  workerId: string,
  plan: ClaimPlan,
  type: AnyJobType | undefined,
  floors: LaneFloors,
): Promise<Claim> {
  const { concurrency: maxRunning, isConcurrencySoft } = type ?? {};
  if (maxRunning === undefined) return await claimFromLanes(q, workerId, plan, [], floors);
  const none = { jobs: [], exhausted: plan.lanes };
  const limit = { key: limitKeyOf(type) ?? "", maxRunning, isStrict: !isConcurrencySoft };
  return await withinLimit(q, limit, none, async (tx, room) => {
    const { lanes, limit: capacity } = lanesFor(room, plan.lanes);
    if (capacity <= 0) return none;
    return await claimFromLanes(tx, workerId, limitPlan({ ...plan, lanes }, capacity), [], floors);
  });
}

/** A limit: at most `maxRunning` jobs with the limit key run at once in the whole service. */
export interface RunningLimit {
  key: string;
  maxRunning: number;
  /** True: the number is never exceeded. False: other tenants may also use what a tenant holds beyond half. */
  isStrict: boolean;
}

/**
 * Runs `claim` with the room for jobs that may start. An advisory lock serializes the claims of one limit, so that each
 * count includes the jobs of the claim before. A claim holds the lock for milliseconds. If it is held longer, that
 * instance has frozen, and this type is skipped until the lanes are searched again.
 * @returns `none` if no job may start
 */
export async function withinLimit<T>(
  sql: Sql,
  limit: RunningLimit,
  none: T,
  claim: (tx: Tx, room: Room) => Promise<T>,
): Promise<T> {
  const claiming = transact(sql, async (tx) => {
    tx.unsafe(`set local lock_timeout = ${LIMIT_LOCK_MS}`).execute(); // a failure fails the whole transaction
    await lockNamed(tx, "runningJobs", limit.key);
    const room = (await readRooms(tx, [limit])).get(limit.key);
    return room && Math.max(room.open, room.reserve) > 0 ? await claim(tx, room) : none;
  });
  return await claiming.catch((error) => {
    if (isLockTimeout(error)) return none;
    throw error;
  });
}

/** Reads the room for further jobs of each limit, by key. */
export async function readRooms(q: Sql, limits: RunningLimit[]): Promise<Map<string, Room>> {
  const rows = await q<{ limitKey: string; tenantId: string | null; n: number }[]>`
    select limit_key, tenant_id, count(*)::int as n from jobs
    where status = 'Processing' and limit_key = any(${limits.map(({ key }) => key)}::text[])
    group by limit_key, tenant_id`;
  const running = Map.groupBy(rows, ({ limitKey }) => limitKey);
  return new Map(limits.map(({ key, maxRunning, isStrict }) => {
    const places = new Places(maxRunning);
    for (const { tenantId, n } of running.get(key) ?? []) places.take(tenantId, n);
    return [key, isStrict ? strict(places) : places];
  }));
}

/** Limits the room to the free places, so that the limit is never exceeded. */
const strict = (places: Places): Room => ({
  free: places.free,
  open: places.free,
  reserve: 0,
  holdsHalf: (tenantId) => places.holdsHalf(tenantId),
  holdsNone: (tenantId) => places.holdsNone(tenantId),
});

/** Sets Scheduled and Failed jobs that are due to Enqueued; returns how many. */
export const promoteDueJobs = (sql: Sql): Promise<number> =>
  runBatches(PROMOTED_AT_ONCE, async () => {
    const { count } = await sql`
      update jobs set status = 'Enqueued' where id = any(array(
        select id from jobs where status in ('Scheduled', 'Failed') and due_at <= now()
        order by due_at limit ${PROMOTED_AT_ONCE} for update skip locked))`;
    return count;
  });
