// Numbers of jobs that match the filters of a list.
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countCached } from "../../shared/count_cache.ts";
import { firstIdOf, timeOfId } from "../../shared/ids.ts";
import { countRows } from "../../shared/read_page.ts";
import { countFrom, countFromBy } from "./counts.ts";
import { areCountedByCreation, countCreated, countCreatedByStatus } from "./creation_counts.ts";
import {
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
import type { JobStatus } from "../job_row.ts";
import { type JobReach, within } from "../reach.ts";

type Dimension = "status" | "priority";

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

/** Number of matching jobs for each value of one dimension, sorted by the stored value, without zeros. */
export async function countJobsBy(
  q: Sql,
  reach: JobReach,
  filters: FoundFilters,
  dimension: Dimension,
): Promise<{ key: JobStatus | number; n: number }[]> {
  if (!hasRowFilters(filters)) return await countFromBy(q, reach, filters, dimension);
  if (dimension === "status" && areCountedByCreation(reach, filters)) {
    return await countCreatedByStatus(q, reach, filters);
  }
  return await q<{ key: JobStatus | number; n: number }[]>`
    select ${q(dimension)} as key, count(*) as n from jobs where ${rowsOf(q, reach, filters)}
    group by ${q(dimension)} order by ${q(dimension)}`;
}

/** Counts rows. If most jobs were created within the times, the others are counted and subtracted from `total`. */
async function countMatching(
  q: Sql,
  reach: JobReach,
  filters: FoundFilters,
  total: number,
): Promise<number> {
  if (areCountedByCreation(reach, filters)) return await countCreated(q, reach, filters);
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
