import { lockNamed, NAMED_LOCKS } from "../../../infra/postgres/advisory_locks.ts";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import type { ClaimedJob } from "../engine/claim.ts";
import type { DueLane } from "../engine/due_lanes.ts";
import { agesByPriority, type LaneFloors, sinceFloor } from "../engine/lane_floors.ts";
import { GIVEN_BACK } from "../engine/settle.ts";

/** Maximum size of the arguments in the answer of a claim, in bytes. The first job may be larger. */
const ANSWER_BYTES = 4 * 1024 * 1024;

/** A job that a remote worker has claimed. */
export interface ClaimedWork
  extends Omit<ClaimedJob, "createdBy" | "outageMs" | "waitedMs" | "lostLeases" | "type"> {
  leaseUntil: Date;
  deadline: Date;
}

/** A poll that jobs are claimed for. */
export interface Claimant extends Taker {
  workerId: string;
  requestId: string | null;
}

const COLUMNS = `j.id, j.attempts, j.job_type_name, j.tenant_id, j.serialized_args, j.failures, j.max_retries,
  j.lease_until, j.deadline, j.trace_id`;

/** Name of the lock that one claim with a requestId holds, so that a simultaneous one takes no other jobs. */
const lockOf = ({ workerId, requestId }: Claimant): string => `${workerId} ${requestId}`;

/**
 * Claims due jobs for waiting polls: each slot names a lane and the poll that gets the lane's nth job. Jobs that others
 * have locked are skipped, and so are jobs beyond the size of an answer. A poll gets none if a claim with its requestId
 * holds jobs or is being made. This is a condition and no join: the plan of a join that is made while the table is empty
 * would later compare every job with every slot.
 * @param o.timeoutOf seconds that an attempt of the lane's type may take
 * @param o.floors where the waiting jobs of each lane begin
 * @param o.pauseVersion version of the pauses that the slots respect; nothing is claimed if it has changed
 * @returns the jobs of each poll, in the order in which they should start
 */
export async function claimSlots<T extends Claimant>(
  q: Sql,
  slots: Slot<T>[],
  o: {
    timeoutOf: (lane: string) => number;
    leaseSeconds: number;
    pauseVersion: number;
    floors: LaneFloors;
  },
): Promise<Map<T, ClaimedWork[]>> {
  if (slots.length === 0) return new Map();
  const takers = [...new Set(slots.map(({ taker }) => taker))];
  const workers = takers.map(({ workerId }) => workerId);
  const requests = takers.map(({ requestId }) => requestId);
  const locks = takers.map(lockOf);
  const numberOf = new Map(takers.map((taker, index) => [taker, index + 1]));
  const byLane = Map.groupBy(slots, ({ lane }) => lane); // slots of a lane are in the order of n, which counts from 1
  const lanes = [...byLane].map(([lane, own]) => ({ lane, depth: own.length, timeout: o.timeoutOf(lane) }));
  const takerOfSlot = [...byLane.values()].flat().map(({ taker }) => numberOf.get(taker) ?? 0);
  const ages = agesByPriority(q, lanes.map(({ lane }) => lane), o.floors);
  const queriedAt = performance.now();
  const rows = await q<ClaimedRow[]>`
    with unchanged as (
      select from job_pause_version where n = ${o.pauseVersion} for key share
    ), wanted as (
      select w.*, sum(depth) over (order by place rows unbounded preceding) - depth as slots_before
      from unchanged cross join unnest(${lanes.map(({ lane }) => lane)}::text[],
        ${lanes.map(({ depth }) => depth)}::int[], ${lanes.map(({ timeout }) => timeout)}::int[], ${ages})
        with ordinality as w (lane, depth, timeout, age0, age1, age2, age3, place)
    ), due as (
      select found.id, found.bytes, w.place, w.timeout, w.slots_before,
        row_number() over (partition by w.place order by found.priority, found.due_at, found.id) as n
      from wanted w cross join lateral (
        select of_priority.*
        from (values (0, w.age0), (1, w.age1), (2, w.age2), (3, w.age3)) s (priority, age)
        cross join lateral (
          select j.id, j.priority, j.due_at, octet_length(j.serialized_args) as bytes from jobs j
          where j.status = 'Enqueued' and j.lane = w.lane and j.priority = s.priority and ${
    sinceFloor(q, "s.age")
  }
          order by j.due_at, j.id limit w.depth for update skip locked
        ) of_priority
        limit w.depth
      ) found
    ), slot as (
      select id, bytes, timeout, n, place, (${takerOfSlot}::int[])[slots_before + n] as taker from due
    ), given as (
      select id, timeout, taker, row_number() over mine as position, sum(bytes) over mine as bytes
      from slot
      window mine as (partition by taker order by n, place rows unbounded preceding)
    )
    update jobs j set status = 'Processing', attempts = j.attempts + 1,
      started_at = greatest(now(), j.due_at),
      worker_id = (${workers}::uuid[])[given.taker], claim_request_id = (${requests}::uuid[])[given.taker],
      lease_until = now() + make_interval(secs => least(${o.leaseSeconds}, given.timeout)),
      deadline = now() + make_interval(secs => given.timeout)
    from given
    where j.id = any(array(select id from given)) and j.id = given.id
      and (array(
        select request is null or is_first_claim(worker, request, hashtextextended(lock, ${NAMED_LOCKS.remoteClaims}))
        from unnest(${workers}::uuid[], ${requests}::uuid[], ${locks}::text[]) as c (worker, request, lock)
      ))[given.taker]
      and (given.bytes <= ${ANSWER_BYTES} or given.position = 1)
    returning ${q.unsafe(COLUMNS)}, given.taker::int, given.position::int, j.lane, j.priority,
      date_part('epoch', now() - j.due_at) * 1000 as waited_ms`;
  o.floors.recordClaim(Map.groupBy(rows, ({ lane }) => lane), queriedAt);
  rows.sort((a, b) => a.position - b.position);
  const byTaker = Map.groupBy(rows, ({ taker }) => taker);
  return new Map(takers.flatMap((taker) => {
    const jobs = byTaker.get(numberOf.get(taker) ?? 0);
    return jobs ? [[taker, jobs.map(workOf)]] : [];
  }));
}

interface ClaimedRow extends ClaimedWork {
  taker: number;
  position: number;
  lane: string;
  priority: number;
  waitedMs: number;
}

const workOf = (
  { taker: _t, position: _p, lane: _l, priority: _q, waitedMs: _w, ...job }: ClaimedRow,
): ClaimedWork => job;

/** The jobs that earlier claims with the same requestIds took and that their workers still hold, by poll. */
export async function findClaimed<T extends Claimant>(q: Sql, polls: T[]): Promise<Map<T, ClaimedWork[]>> {
  const repeatable = polls.filter(({ requestId }) => requestId !== null);
  if (repeatable.length === 0) return new Map();
  const rows = await q<(ClaimedWork & { number: number })[]>`
    select ${q.unsafe(COLUMNS)}, c.number::int
    from unnest(${repeatable.map(({ workerId }) => workerId)}::uuid[],
      ${repeatable.map(({ requestId }) => requestId)}::uuid[]) with ordinality as c (worker, request, number)
    join jobs j on j.worker_id = c.worker and j.claim_request_id = c.request
    where j.status = 'Processing' and j.lease_until > now()
    order by j.priority, j.due_at, j.id`;
  const byNumber = Map.groupBy(rows, ({ number }) => number);
  return new Map(repeatable.flatMap((poll, index) => {
    const jobs = byNumber.get(index + 1);
    return jobs ? [[poll, jobs.map(({ number: _n, ...job }) => job)]] : [];
  }));
}

/** The jobs of a poll's requestId, once a simultaneous claim with it has ended. */
export const findClaimedOnce = (sql: Sql, poll: Claimant): Promise<ClaimedWork[]> =>
  transact(sql, async (tx) => {
    await lockNamed(tx, "remoteClaims", lockOf(poll));
    return (await findClaimed(tx, [poll])).get(poll) ?? [];
  });

/** Gives back jobs whose claimant has gone. The attempt keeps its number, because its answer may have arrived. */
export async function giveBackClaimed(q: Sql, jobs: ClaimedWork[]): Promise<void> {
  const attempts = jobs.map((job) => job.attempts);
  await q`
    update jobs j set ${q.unsafe(GIVEN_BACK)}, worker_id = null, lease_until = null, deadline = null
    from unnest(${jobs.map(({ id }) => id)}::uuid[], ${attempts}::int[]) given (id, attempt)
    where j.id = given.id and j.attempts = given.attempt and j.status = 'Processing' and j.lease_until is not null`;
}

/** A waiting poll, which takes at most `max` jobs. */
interface Taker {
  max: number;
}

/** The nth due job of a lane goes to a taker. */
export interface Slot<T> {
  lane: string;
  n: number;
  taker: T;
}

/**
 * Distributes due jobs. The lanes take turns, so that no tenant blocks another, and so do the takers: a few jobs are
 * spread over many takers.
 * @param takersOf the takers that can take jobs of the lane, the longest waiting first
 * @param maxSlots maximum number of jobs
 */
export function handOut<T extends Taker, L extends DueLane>(
  lanes: readonly L[],
  takersOf: (lane: L) => readonly T[],
  maxSlots: number,
): Slot<T>[] {
  const slots: Slot<T>[] = [];
  const given = new Map<T, number>();
  const open = lanes.map((lane) => ({ lane, n: 0, next: 0, takers: takersOf(lane) }));
  const nextTaker = (line: typeof open[number]): T | undefined => {
    for (let tried = 0; tried < line.takers.length; tried++) {
      const taker = line.takers[line.next++ % line.takers.length];
      if (taker && (given.get(taker) ?? 0) < taker.max) return taker;
    }
    return undefined;
  };
  for (let inTurn = open; inTurn.length > 0;) {
    const following: typeof open = [];
    for (const line of inTurn) {
      const { lane, depth, room } = line.lane;
      const taker = line.n < depth && (!room || room.left > 0) ? nextTaker(line) : undefined;
      if (!taker) continue;
      if (room) room.left--;
      slots.push({ lane, n: ++line.n, taker });
      if (slots.length === maxSlots) return slots;
      given.set(taker, (given.get(taker) ?? 0) + 1);
      following.push(line);
    }
    inTurn = following;
  }
  return slots;
}
