import type { Sql } from "../../../infra/postgres/postgres.ts";
import { agesByPriority, type LaneFloors, sinceFloor } from "./lane_floors.ts";
import { AFTER_LANES } from "../job_row.ts";
import { LANES_AT_ONCE } from "./lanes.ts";

/** A lane with due jobs of declared types, which remote workers claim or the service pushes. */
export interface DueLane {
  lane: string;
  /** Number of due jobs, counted up to `countTo` of the search. */
  depth: number;
  /** Number of further jobs that may run, shared by the lanes of a limited type. Absent: no limit. */
  room?: { left: number };
}

/**
 * Finds the lanes with due jobs whose names start with one of the prefixes, with a few index probes for each. Counts at
 * most `countTo` jobs of a lane.
 * @param after name of the lane after which the search starts; the empty text starts at the first
 * @param floors lanes with floors are probed there; the search skips through the gaps between their names.
 */
export async function findDueLanes(
  q: Sql,
  prefixes: string[],
  countTo: number,
  after: string,
  floors: LaneFloors,
): Promise<DueLane[]> {
  const slow = floors.slow.filter((lane) =>
    lane > after && prefixes.some((prefix) => lane.startsWith(prefix))
  );
  const gaps = prefixes.map((prefix) => {
    const within = slow.filter((lane) => lane.startsWith(prefix));
    return { starts: [prefix, ...within], ends: [...within, prefix + AFTER_LANES] };
  });
  const starts = gaps.flatMap((gap) => gap.starts);
  const ends = gaps.flatMap((gap) => gap.ends);
  return await q<DueLane[]>`
    with recursive found (lane, until, n) as (
      select first.lane, gap.until, 1
      from unnest((select ${starts}::text[]), (select ${ends}::text[])) gap (since, until)
      cross join lateral (
        select j.lane from jobs j
        where j.status = 'Enqueued' and j.lane > greatest(gap.since, ${after}::text collate "C") and j.lane < gap.until
        order by j.lane limit 1
      ) first
      union all
      select following.lane, found.until, found.n + 1
      from found cross join lateral (
        select j.lane from jobs j
        where j.status = 'Enqueued' and j.lane > found.lane and j.lane < found.until
        order by j.lane limit 1
      ) following
      where found.n < ${LANES_AT_ONCE}
    ), lanes as (
      select lane, null::float8 as age0, null::float8 as age1, null::float8 as age2, null::float8 as age3 from found
      union
      select lane, age0, age1, age2, age3
      from unnest((select ${slow}::text[]), ${
    agesByPriority(q, slow, floors)
  }) p (lane, age0, age1, age2, age3)
      order by lane limit ${LANES_AT_ONCE}
    ), counted as (
      select lane, (
        select count(*)::int from (
          select from (values (0, age0), (1, age1), (2, age2), (3, age3)) s (priority, age)
          cross join lateral (
            select from jobs j where j.status = 'Enqueued' and j.lane = lanes.lane and j.priority = s.priority
              and ${sinceFloor(q, "s.age")}
            limit ${countTo}
          ) of_priority
          limit ${countTo}
        ) due
      ) as depth
      from lanes
    )
    select lane, depth from counted where depth > 0`;
}
