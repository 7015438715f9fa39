import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type CountedFilters, matchingCounted } from "./job_filters.ts";
import type { JobStatus } from "../job_row.ts";
import { countScope, type JobReach, within } from "../reach.ts";

/**
 * Exact number of matching jobs for each value of one dimension. Reads the counters, so the cost does not grow with the
 * number of jobs. Sorted by the stored value; values without jobs are left out.
 */
export async function countFromBy(
  q: Sql,
  reach: JobReach,
  filters: CountedFilters,
  dimension: "status" | "priority",
): Promise<{ key: JobStatus | number; n: number }[]> {
  return await q<{ key: JobStatus | number; n: number }[]>`
    select ${q(dimension)} as key, sum(n)::bigint as n from (
      select * from job_counts where scope = ${countScope(reach)} and ${matchingCounted(q, filters)}
      union all
      select * from job_count_deltas where ${within(q, reach)} and ${matchingCounted(q, filters)}
    ) counted group by ${q(dimension)} having sum(n) > 0 order by ${q(dimension)}`;
}

/** Exact number of matching jobs and of all jobs within reach, read from the counters. */
export async function countFrom(
  q: Sql,
  reach: JobReach,
  filters: CountedFilters,
): Promise<{ matching: number; all: number }> {
  const [row] = await q<{ matching: number; all: number }[]>`
    select coalesce(sum(n), 0)::bigint as all,
      coalesce(sum(n) filter (where ${matchingCounted(q, filters)}), 0)::bigint as matching
    from (
      select * from job_counts where scope = ${countScope(reach)}
      union all
      select * from job_count_deltas where ${within(q, reach)}
    ) counted`;
  return row ?? { matching: 0, all: 0 };
}

/** Names of the job types that have jobs and match. */
export async function typeNamesLike(
  q: Sql,
  { searchTerm, withoutTypes }: Pick<CountedFilters, "searchTerm" | "withoutTypes">,
): Promise<string[]> {
  const like = matchingCounted(q, { searchTerm, withoutTypes });
  const rows = await q<{ name: string }[]>`
    select job_type_name as name from job_counts where scope = ${countScope({ everything: true })} and ${like}
    union select job_type_name from job_count_deltas where ${like}`;
  return rows.map(({ name }) => name);
}
