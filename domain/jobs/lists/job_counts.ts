// Numbers of jobs that match the filters of a list.
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countCached } from "../../shared/count_cache.ts";
import { firstIdOf, timeOfId } from "../../shared/ids.ts";
import { countRows } from "../../shared/lists.ts";
import type { JobStatus } from "../job_row.ts";
import { countScope, type JobReach, within } from "../reach.ts";
import {
  type CountedFilters,
  createdWithin,
  type FoundFilters,
  hasOnlyTimes,
  hasRowFilters,
  idAfter,
  jobsWithKey,
  matching,
  matchingCounted,
  onlyKeyOf,
} from "./job_filters.ts";

/** Number of matching jobs, and of all jobs within reach. Large counts of rows are cached for a second. */
export async function countJobs(
  q: Sql,
  reach: JobReach,
  filters: FoundFilters,
): Promise<{ matching: number; all: number }> {
  const counted = await countFrom(q, reach, filters);
  if (!hasRowFilters(filters) || counted.matching === 0) return counted;
  const key = `jobs ${JSON.stringify([reach, filters])}`;
  const rows = await countCached(q, key, () => countMatching(q, reach, filters, counted.matching));
  return { ...counted, matching: Math.min(rows, counted.matching) };
}

/**
 * Number of matching jobs for each value of one dimension, sorted by the stored value, without zeros. If the counters answer
 * the filters, the cost does not grow with the number of jobs.
 */
export async function countJobsBy(
  q: Sql,
  reach: JobReach,
  filters: FoundFilters,
  dimension: "status" | "priority",
): Promise<{ key: JobStatus | number; n: number }[]> {
  if (!hasRowFilters(filters)) {
    return await q<{ key: JobStatus | number; n: number }[]>`
      select ${q(dimension)} as key, sum(n)::bigint as n from (
        select * from job_counts where scope = ${countScope(reach)} and ${matchingCounted(q, filters)}
        union all
        select * from job_count_deltas where ${within(q, reach)} and ${matchingCounted(q, filters)}
      ) counted group by ${q(dimension)} having sum(n) > 0 order by ${q(dimension)}`;
  }
  if (dimension === "status" && areCountedByCreation(reach, filters)) {
    return await q<{ key: JobStatus; n: number }[]>`
      select status as key, sum(n)::bigint as n from ${created(q, reach, filters)} counted
      where ${matchingCounted(q, filters)} group by status having sum(n) > 0 order by status`;
  }
  return await q<{ key: JobStatus | number; n: number }[]>`
    select ${q(dimension)} as key, count(*) as n from jobs where ${rowsOf(q, reach, filters)}
    group by ${q(dimension)} order by ${q(dimension)}`;
}

/** Counts rows. If most jobs were created within the times, the others are counted and subtracted from `total`. */
async function countMatching(q: Sql, reach: JobReach, filters: FoundFilters, total: number): Promise<number> {
  if (areCountedByCreation(reach, filters)) {
    const [row] = await q<{ n: number }[]>`
      select coalesce(sum(n), 0)::bigint as n from ${created(q, reach, filters)} counted
      where ${matchingCounted(q, filters)}`;
    return row?.n ?? 0;
  }
  const key = onlyKeyOf(filters);
  if (key) return await countRows(q, jobsWithKey(q, reach, filters, key));
  if (!hasOnlyTimes(filters) || await shareWithin(q, reach, filters) < 1 / 2) {
    return await countRows(q, q`jobs where ${rowsOf(q, reach, filters)}`);
  }
  const { from, to } = filters;
  const counted = q`jobs where ${within(q, reach)} and ${matchingCounted(q, filters)}`;
  const before = from ? await countRows(q, q`${counted} and id < ${firstIdOf(from)}`) : 0;
  const after = to ? await countRows(q, q`${counted} and id >= ${idAfter(to)}`) : 0;
  return Math.max(0, total - before - after);
}

const rowsOf = (q: Sql, reach: JobReach, filters: FoundFilters) =>
  q`${createdWithin(q, reach, filters)} and ${matching(q, reach, filters)}`;

/** Share of the time since the oldest job that is within the creation times. */
async function shareWithin(q: Sql, reach: JobReach, { from, to }: FoundFilters): Promise<number> {
  const own = within(q, reach);
  const [oldest] = await q<{ id: string; end: number }[]>`
    select id, extract(epoch from now())::float8 * 1000 as end from jobs where ${own} order by id limit 1`;
  if (!oldest) return 0;
  const { end } = oldest;
  const start = timeOfId(oldest.id).getTime();
  const [first, last] = [from?.getTime() ?? start, to?.getTime() ?? end];
  return Math.max(0, Math.min(end, last) - Math.max(start, first)) / Math.max(1, end - start);
}

/** The first digits of an id name the stretch of time in which it was made: 2^20 ms, 17 minutes. */
const STRETCH_DIGITS = 7;

/** True if the counters by creation answer the filters. Those of a tenant do not name queues and types. */
function areCountedByCreation(reach: JobReach, filters: FoundFilters): boolean {
  const { type, priority, queue, jobTypeName, searchTerm, withoutTypes } = filters;
  const ofEverything = [queue, jobTypeName, searchTerm, withoutTypes];
  return hasOnlyTimes(filters) && type === undefined && priority === undefined &&
    (reach.everything || ofEverything.every((filter) => filter === undefined));
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
