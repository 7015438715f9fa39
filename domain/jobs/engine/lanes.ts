import type { Sql } from "../../../infra/postgres/postgres.ts";
import { agesByPriority, type LaneFloors, sinceFloor } from "./lane_floors.ts";
import { laneParts, REMOTE_MARK } from "../job_row.ts";
import type { Room } from "./places.ts";

/** Maximum number of lanes one search finds; the next search continues after them. */
export const LANES_AT_ONCE = 1_000;

/** One claim: up to `take` jobs from the front of each lane. All lanes have the same limited type, or none has one. */
export interface ClaimPlan {
  lanes: string[];
  take: number;
}

/**
 * Finds the lanes that have due jobs. It skips through the index from lane to lane, so it costs one index probe per
 * lane, regardless of the number of waiting jobs. The subqueries around arrays hide their lengths from the planner, which
 * otherwise makes a plan for every call; that takes ten times as long as the search.
 * @param after name of the lane after which the search starts; the empty text starts at the first lane.
 * @param end the search ends before this name; default: before the lanes of remote types.
 * @param floors lanes with floors are probed there; the search skips through the gaps between their names.
 */
export async function findLanes(
  q: Sql,
  after: string,
  end = REMOTE_MARK,
  floors?: LaneFloors,
): Promise<string[]> {
  const slow = floors?.slow.filter((lane) => lane > after && lane < end) ?? [];
  const rows = await q<{ lane: string }[]>`
    with recursive found (lane, until, n) as (
      select first.lane, gap.until, 1
      from unnest((select ${[after, ...slow]}::text[]), (select ${[...slow, end]}::text[])) gap (since, until)
      cross join lateral (
        select j.lane from jobs j where j.status = 'Enqueued' and j.lane > gap.since and j.lane < gap.until
        order by j.lane limit 1
      ) first
      union all
      select following.lane, found.until, found.n + 1
      from found cross join lateral (
        select j.lane from jobs j where j.status = 'Enqueued' and j.lane > found.lane and j.lane < found.until
        order by j.lane limit 1
      ) following
      where found.n < ${LANES_AT_ONCE}
    ), slow as (
      select lane
      from unnest((select ${slow}::text[]), ${
    agesByPriority(q, slow, floors)
  }) p (lane, age0, age1, age2, age3)
      where exists (
        select from (values (0, age0), (1, age1), (2, age2), (3, age3)) s (priority, age)
        cross join lateral (
          select from jobs j where j.status = 'Enqueued' and j.lane = p.lane and j.priority = s.priority
            and ${sinceFloor(q, "s.age")}
          limit 1
        ) of_priority
      )
    )
    select lane from found union all select lane from slow order by lane limit ${LANES_AT_ONCE}`;
  return rows.map(({ lane }) => lane);
}

/**
 * Plans claims by round robin over the lanes. A tenant with 100,000 jobs of any priority delays another tenant's single
 * job by at most one round.
 */
export class LaneTurns {
  #lanes: string[] = [];
  #lastServed = "";

  constructor(private readonly works: (lane: string) => boolean) {}

  get isEmpty(): boolean {
    return this.#lanes.length === 0;
  }

  /** Stores the result of `findLanes`. Sorts in JavaScript, because the database's collation may order differently. */
  replace(lanes: string[]): void {
    this.#lanes = lanes.filter(this.works).sort();
  }

  /**
   * The next claim that fits into `room`; null if no lane is known that may have more jobs. Lanes of a limited type are
   * claimed separately, because only their running jobs are counted.
   */
  plan(room: Room): ClaimPlan | null {
    const { lanes: known, limit } = lanesFor(room, this.#lanes);
    if (this.isEmpty || limit <= 0) return null;
    const turn = known.findIndex((lane) => lane > this.#lastServed);
    const inTurn = turn > 0 ? [...known.slice(turn), ...known.slice(0, turn)] : known;
    const limitKeys = inTurn.map((lane) => laneParts(lane).limitKey);
    const sameLimit = limitKeys.findIndex((limitKey) => limitKey !== limitKeys[0]);
    const lanes = inTurn.slice(0, sameLimit < 0 ? limit : Math.min(limit, sameLimit));
    this.#lastServed = lanes.at(-1) ?? "";
    return { lanes, take: Math.floor(limit / lanes.length) };
  }

  /** Removes lanes that had fewer jobs than requested. */
  drop(exhausted: string[]): void {
    const gone = new Set(exhausted);
    this.#lanes = this.#lanes.filter((lane) => !gone.has(lane));
  }
}

/**
 * Chooses the lanes to claim from, and the maximum number of jobs. Lanes of tenants that hold less than half of the places
 * come first. If there is no room for them, one lane of each tenant without a place is chosen; otherwise all lanes.
 */
export function lanesFor(room: Room, lanes: string[]): { lanes: string[]; limit: number } {
  const first = lanes.filter((lane) => !room.holdsHalf(laneParts(lane).tenantId));
  if (first.length > 0 && room.open > 0) return { lanes: first, limit: room.open };
  const byTenant = Map.groupBy(first, (lane) => laneParts(lane).tenantId);
  const newcomers = [...byTenant].flatMap(([tenantId, [lane]]) =>
    lane !== undefined && room.holdsNone(tenantId) ? [lane] : []
  );
  if (newcomers.length > 0 && room.reserve > 0) {
    return { lanes: newcomers, limit: Math.min(room.reserve, newcomers.length) };
  }
  return first.length > 0 ? { lanes: first, limit: room.open } : { lanes, limit: room.free };
}

/** Reduces a plan to at most `maxJobs` jobs; `maxJobs` is at least 1. */
export function limitPlan({ lanes, take }: ClaimPlan, maxJobs: number): ClaimPlan {
  const limited = lanes.slice(0, maxJobs);
  return { lanes: limited, take: Math.min(take, Math.floor(maxJobs / limited.length)) };
}

/** Start of the next search: after the last lane found if there may be more, else the first lane (empty text). */
export const nextSearchStart = (lanes: string[]): string =>
  lanes.length < LANES_AT_ONCE ? "" : lanes.at(-1) ?? "";
