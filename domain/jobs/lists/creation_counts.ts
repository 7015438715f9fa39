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
export async function countCreated(q: Sql, reach: JobReach, filters: FoundFilters): Promise<number> {
  const [row] = await q<{ n: number }[]>`
    select coalesce(sum(n), 0)::bigint as n from ${created(q, reach, filters)} counted
    where ${matchingCounted(q, filters)}`;
  return row?.n ?? 0;
}

/** Exact number of matching jobs of each status that has some, if `areCountedByCreation`. Sorted by the stored value. */
export async function countCreatedByStatus(
  q: Sql,
  reach: JobReach,
  filters: FoundFilters,
): Promise<{ key: JobStatus; n: number }[]> {
  return await q<{ key: JobStatus; n: number }[]>`
    select status as key, sum(n)::bigint as n from ${created(q, reach, filters)} counted
    where ${matchingCounted(q, filters)} group by status having sum(n) > 0 order by status`;
}

/**
 * Numbers of the jobs that were created between `from` and `to`: of whole stretches from the counters, and the rows of
 * the two stretches in which the times are.
 */
function created(q: Sql, reach: JobReach, filters: FoundFilters) {
  const { from, to } = filters;
  const first = from ? stretchAfter(firstIdOf(from)) : null;
  const end = to ? stretchOf(idAfter(to)) : null;
  const rows = q`select status, queue, job_type_name, 1 as n from jobs where ${
    createdWithin(q, reach, filters)
  }`;
  if (first && end && first > end) return q`(${rows})`;
  const whole = q`${first ? q`created >= ${first}` : q`true`} and ${end ? q`created < ${end}` : q`true`}`;
  return q`(
    select status, queue, job_type_name, n from job_creation_counts where scope = ${
    countScope(reach)
  } and ${whole}
    union all
    select status, queue, job_type_name, n from job_creation_count_deltas where ${
    within(q, reach)
  } and ${whole}
    ${first ? q`union all ${rows} and id < ${firstIdIn(first)}` : q``}
    ${end ? q`union all ${rows} and id >= ${firstIdIn(end)}` : q``}
  )`;
}

const stretchOf = (id: string): string => id.slice(0, STRETCH_DIGITS);

const stretchAfter = (id: string): string =>
  (parseInt(stretchOf(id), 16) + 1).toString(16).padStart(STRETCH_DIGITS, "0");

const firstIdIn = (stretch: string): string => `${stretch}0-0000-0000-0000-000000000000`;
