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
  sql: Sql,
  reach: JobReach,
  filters: FoundFilters,
): Promise<{ matching: number; all: number }> {
  const counted = await countFrom(sql, reach, filters);
  if (!hasRowFilters(filters) || counted.matching === 0) return counted;
  const key = `jobs ${JSON.stringify([reach, filters])}`;
  const rows = await countCached(sql, key, () => countMatching(sql, reach, filters, counted.matching));
  return { ...counted, matching: Math.min(rows, counted.matching) };
}

/** Number of matching jobs for each value of one dimension, sorted by the stored value, without zeros. */
export async function countJobsBy(
  sql: Sql,
  reach: JobReach,
  filters: FoundFilters,
  dimension: Dimension,
): Promise<{ key: JobStatus | number; n: number }[]> {
  if (!hasRowFilters(filters)) return await countFromBy(sql, reach, filters, dimension);
  if (dimension === "status" && areCountedByCreation(reach, filters)) {
    return await countCreatedByStatus(sql, reach, filters);
  }
  return await sql<{ key: JobStatus | number; n: number }[]>`
    select ${sql(dimension)} as key, count(*) as n from jobs where ${rowsOf(sql, reach, filters)}
    group by ${sql(dimension)} order by ${sql(dimension)}`;
}

/** Counts rows. If most jobs were created within the times, the others are counted and subtracted from `total`. */
async function countMatching(
  sql: Sql,
  reach: JobReach,
  filters: FoundFilters,
  total: number,
): Promise<number> {
  if (areCountedByCreation(reach, filters)) return await countCreated(sql, reach, filters);
  const key = onlyKeyOf(filters);
  if (key) return await countRows(sql, jobsWithKey(sql, reach, filters, key));
  if (!hasOnlyTimes(filters) || await shareWithin(sql, reach, filters) < 1 / 2) {
    return await countRows(sql, sql`jobs where ${rowsOf(sql, reach, filters)}`);
  }
  const { from, to } = filters;
  const counted = sql`jobs where ${within(sql, reach)} and ${matchingCounted(sql, filters)}`;
  const before = from ? await countRows(sql, sql`${counted} and id < ${firstIdOf(from)}`) : 0;
  const after = to ? await countRows(sql, sql`${counted} and id >= ${idAfter(to)}`) : 0;
  return Math.max(0, total - before - after);
}

const rowsOf = (sql: Sql, reach: JobReach, filters: FoundFilters) =>
  sql`${createdWithin(sql, reach, filters)} and ${matching(sql, reach, filters)}`;

/** Share of the time since the oldest job that is within the creation times. */
async function shareWithin(sql: Sql, reach: JobReach, { from, to }: FoundFilters): Promise<number> {
  const own = within(sql, reach);
  const [oldest] = await sql<{ id: string; end: number }[]>`
    select id, extract(epoch from now())::float8 * 1000 as end from jobs where ${own} order by id limit 1`;
  if (!oldest) return 0;
  const { end } = oldest;
  const start = timeOfId(oldest.id).getTime();
  const [first, last] = [from?.getTime() ?? start, to?.getTime() ?? end];
  return Math.max(0, Math.min(end, last) - Math.max(start, first)) / Math.max(1, end - start);
}
