// Counters of jobs by the time of their creation.
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { firstIdOf } from "../../shared/ids.ts";
import { createdWithin, type FoundFilters, hasOnlyTimes, idAfter, matchingCounted } from "./job_filters.ts";
import type { JobStatus } from "../job_row.ts";
import { countScope, type JobReach, within } from "../reach.ts";

/** The first digits of an id name the stretch of time in which it was made: 2^20 ms, 17 minutes. */
const STRETCH_DIGITS = 7;

/** True if the counters by creation answer the filters. Those of a tenant do not name queues and types. */
export function areCountedByCreation(reach: JobReach, filters: FoundFilters): boolean {
  const { type, priority, queue, jobTypeName, searchTerm, withoutTypes } = filters;
  const ofEverything = [queue, jobTypeName, searchTerm, withoutTypes];
  return hasOnlyTimes(filters) && type === undefined && priority === undefined &&
    (reach.everything || ofEverything.every((filter) => filter === undefined));
}

/** Exact number of matching jobs, if `areCountedByCreation`. */
export async function countCreated(sql: Sql, reach: JobReach, filters: FoundFilters): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(sum(n), 0)::bigint as n from ${created(sql, reach, filters)} counted
    where ${matchingCounted(sql, filters)}`;
  return row?.n ?? 0;
}

/** Exact number of matching jobs of each status that has some, if `areCountedByCreation`. Sorted by the stored value. */
export async function countCreatedByStatus(
  sql: Sql,
  reach: JobReach,
  filters: FoundFilters,
): Promise<{ key: JobStatus; n: number }[]> {
  return await sql<{ key: JobStatus; n: number }[]>`
    select status as key, sum(n)::bigint as n from ${created(sql, reach, filters)} counted
    where ${matchingCounted(sql, filters)} group by status having sum(n) > 0 order by status`;
}

/**
 * Numbers of the jobs that were created between `from` and `to`: of whole stretches from the counters, and the rows of
 * the two stretches in which the times are.
 */
function created(sql: Sql, reach: JobReach, filters: FoundFilters) {
  const { from, to } = filters;
  const first = from ? stretchAfter(firstIdOf(from)) : null;
  const end = to ? stretchOf(idAfter(to)) : null;
  const rows = sql`select status, queue, job_type_name, 1 as n from jobs where ${
    createdWithin(sql, reach, filters)
  }`;
  if (first && end && first > end) return sql`(${rows})`;
  const whole = sql`${first ? sql`created >= ${first}` : sql`true`} and ${
    end ? sql`created < ${end}` : sql`true`
  }`;
  return sql`(
    select status, queue, job_type_name, n from job_creation_counts where scope = ${
    countScope(reach)
  } and ${whole}
    union all
    select status, queue, job_type_name, n from job_creation_count_deltas where ${
    within(sql, reach)
  } and ${whole}
    ${first ? sql`union all ${rows} and id < ${firstIdIn(first)}` : sql``}
    ${end ? sql`union all ${rows} and id >= ${firstIdIn(end)}` : sql``}
  )`;
}

const stretchOf = (id: string): string => id.slice(0, STRETCH_DIGITS);

const stretchAfter = (id: string): string =>
  (parseInt(stretchOf(id), 16) + 1).toString(16).padStart(STRETCH_DIGITS, "0");

const firstIdIn = (stretch: string): string => `${stretch}0-0000-0000-0000-000000000000`;
