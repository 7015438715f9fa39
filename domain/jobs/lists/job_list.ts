import type { Sql } from "../../../infra/postgres/postgres.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { countJobs, countJobsBy } from "./job_counts.ts";
import { findTrace, type JobFilters } from "./job_filters.ts";
import { DEEP, type JobSelection, type JobTime, readByIds, readByTime, type Window } from "./job_page.ts";
import { type JobRow, type JobSummary, jobSummary } from "../job_row.ts";
import type { JobReach } from "../reach.ts";

/** Sort orders by a time. The order by creation uses the id, which contains that time. */
const TIMES: Record<string, JobTime> = {
  ScheduledAt: "scheduled_at",
  StartedAt: "started_at",
  CompletedAt: "completed_at",
  Duration: "duration",
};
const GROUPS: Record<string, "priority" | "status"> = { Priority: "priority", Status: "status" };
export const JOB_ORDERS = [
  "CreatedAt",
  "ScheduledAt",
  "StartedAt",
  "CompletedAt",
  "Duration",
  "Priority",
  "Status",
] as const;
export type JobOrder = typeof JOB_ORDERS[number];

type Listing = JobFilters & PageRequest & { orderBy: JobOrder; ascending: boolean };

/**
 * A page of jobs. Priority ascends from Low to Critical. Null times come last in both directions; equal values are sorted
 * by id.
 */
export async function listJobs(q: Sql, reach: JobReach, o: Listing): Promise<PagedResult<JobSummary>> {
  const { orderBy, ascending, page: _, pageSize, ...given } = o;
  const filters = await findTrace(q, reach, given);
  const selection = { reach, filters, ascending };
  const part = { offset: offsetOf(o), limit: pageSize };
  const counting = countJobs(q, reach, filters);
  if (isNearTheStart(o)) {
    const [rows, { all }] = await Promise.all([
      readByIds(q, selection, { ...part, ...UNCOUNTED }),
      counting,
    ]);
    return pagedResult(rows.map(jobSummary), all, o);
  }
  const counts = await counting;
  if (part.offset >= counts.matching) return pagedResult([], counts.matching, o);
  const window = { ...counts, ...part };
  const [time, dimension] = [TIMES[orderBy], GROUPS[orderBy]];
  const rows =
    await (time
      ? readByTime(q, selection, time, window)
      : dimension
      ? readByGroups(q, selection, dimension, window)
      : readByIds(q, selection, window));
  return pagedResult(rows.map(jobSummary), counts.matching, o);
}

/** Number of matching jobs by status, without zeros. */
export const countByStatus = async (q: Sql, reach: JobReach, filters: JobFilters) =>
  await countJobsBy(q, reach, await findTrace(q, reach, filters), "status");

const UNCOUNTED = { matching: Infinity, all: Infinity };

/**
 * True if the page is near the start of the unfiltered list in id order. Such a page is read without counting first.
 */
const isNearTheStart = ({ orderBy, ascending: _, page, pageSize, ...filters }: Listing): boolean =>
  orderBy === "CreatedAt" && offsetOf({ page, pageSize }) < DEEP &&
  Object.values(filters).every((filter) => filter === undefined);

/** Reads a page ordered by priority or status, one value after another, each in id order: there are few values. */
async function readByGroups(
  q: Sql,
  selection: JobSelection,
  dimension: "priority" | "status",
  window: Window,
): Promise<JobRow[]> {
  const { reach, filters, ascending } = selection;
  const groups = await countJobsBy(q, reach, filters, dimension);
  const isStoredAscending = dimension !== "priority"; // 0 is Critical
  if (ascending !== isStoredAscending) groups.reverse();
  const rows: JobRow[] = [];
  let { offset } = window;
  for (const { key, n } of groups) {
    if (rows.length === window.limit) break;
    if (offset < n) {
      const group: JobSelection = { ...selection, filters: { ...filters, [dimension]: key } };
      const limit = window.limit - rows.length;
      rows.push(...await readByIds(q, group, { ...window, matching: n, offset, limit }));
    }
    offset = Math.max(0, offset - n);
  }
  return rows;
}
