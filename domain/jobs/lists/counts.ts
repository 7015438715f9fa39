import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type CountedFilters, matchingCounted } from "./job_filters.ts";
import type { JobStatus } from "../job_row.ts";
import { countScope, type JobReach, within } from "../reach.ts";

/**
 * Exact number of matching jobs for each value of one dimension. Reads the counters, so the cost does not grow with the
 * number of jobs. Sorted by the stored value; values without jobs are left out.
 */
export async function countFromBy(
  sql: Sql,
  reach: JobReach,
  filters: CountedFilters,
  dimension: "status" | "priority",
): Promise<{ key: JobStatus | number; n: number }[]> {
  return await sql<{ key: JobStatus | number; n: number }[]>`
    select ${sql(dimension)} as key, sum(n)::bigint as n from (
      select * from job_counts where scope = ${countScope(reach)} and ${matchingCounted(sql, filters)}
      union all
      select * from job_count_deltas where ${within(sql, reach)} and ${matchingCounted(sql, filters)}
    ) counted group by ${sql(dimension)} having sum(n) > 0 order by ${sql(dimension)}`;
}

/** Exact number of matching jobs and of all jobs within reach, read from the counters. */
export async function countFrom(
  sql: Sql,
  reach: JobReach,
  filters: CountedFilters,
): Promise<{ matching: number; all: number }> {
  const [row] = await sql<{ matching: number; all: number }[]>`
    select coalesce(sum(n), 0)::bigint as all,
      coalesce(sum(n) filter (where ${matchingCounted(sql, filters)}), 0)::bigint as matching
    from (
      select * from job_counts where scope = ${countScope(reach)}
      union all
      select * from job_count_deltas where ${within(sql, reach)}
    ) counted`;
  return row ?? { matching: 0, all: 0 };
}

/** Names of the job types that have jobs and match. */
export async function typeNamesLike(
  sql: Sql,
  { searchTerm, withoutTypes }: Pick<CountedFilters, "searchTerm" | "withoutTypes">,
): Promise<string[]> {
  const like = matchingCounted(sql, { searchTerm, withoutTypes });
  const rows = await sql<{ name: string }[]>`
    select job_type_name as name from job_counts where scope = ${countScope({ everything: true })} and ${like}
    union select job_type_name from job_count_deltas where ${like}`;
  return rows.map(({ name }) => name);
}
