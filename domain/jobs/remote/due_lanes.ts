import type { Sql } from "../../../infra/postgres/postgres.ts";
import { AFTER_LANES, REMOTE_MARK } from "../job_row.ts";
import type { DueLane } from "./hand_out.ts";
import type { Served } from "./served.ts";

/** Maximum number of lanes one search finds; the next search continues after them. */
export const LANES_AT_ONCE = 1_000;
/** With more combinations of types and tenants than this, the lanes of all tenants are searched. */
const MOST_PREFIXES = 500;

/** First characters of the names of the lanes with jobs of these types and tenants. */
export function lanePrefixes(types: readonly string[], served: Served): string[] {
  const tenantIds = "tenantIds" in served ? served.tenantIds : null;
  const ofType = types.map((type) => `${REMOTE_MARK}${type}|`);
  if (tenantIds === null || types.length * tenantIds.length > MOST_PREFIXES) return ofType;
  return ofType.flatMap((prefix) => tenantIds.map((tenantId) => `${prefix}${tenantId}|`));
}

/**
 * Finds the lanes with due jobs whose names start with one of the prefixes. Costs a few index probes per lane, and counts
 * at most `countTo` jobs of each.
 * @param after name of the lane after which the search starts; the empty text starts at the first
 */
export async function findDueLanes(
  sql: Sql,
  prefixes: string[],
  countTo: number,
  after: string,
): Promise<DueLane[]> {
  return await sql<DueLane[]>`
    with recursive found (prefix, lane, n) as (
      select given.prefix, first.lane, 1
      from unnest(${prefixes}::text[]) given (prefix)
      cross join lateral (
        select j.lane from jobs j
        where j.status = 'Enqueued' and j.lane > greatest(given.prefix, ${after}::text collate "C")
          and j.lane < given.prefix || ${AFTER_LANES}
        order by j.lane limit 1
      ) first
      union all
      select found.prefix, following.lane, found.n + 1
      from found cross join lateral (
        select j.lane from jobs j
        where j.status = 'Enqueued' and j.lane > found.lane and j.lane < found.prefix || ${AFTER_LANES}
        order by j.lane limit 1
      ) following
      where found.n < ${LANES_AT_ONCE}
    ), lanes as (
      select distinct lane from found order by lane limit ${LANES_AT_ONCE}
    )
    select lane, (
      select count(*)::int from (
        select from jobs j where j.status = 'Enqueued' and j.lane = lanes.lane limit ${countTo}
      ) counted
    ) as depth
    from lanes`;
}
