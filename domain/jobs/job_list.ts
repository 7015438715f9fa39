import type { Sql } from "../../infra/postgres/postgres.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { countJobs, countJobsBy, type JobFilters, matching } from "./counts.ts";
import { JOB_COLUMNS, type JobRow, type JobStatus, type JobSummary, jobSummary } from "./job_row.ts";
import { type JobReach, within } from "./reach.ts";

/** What a list of jobs can be ordered by, and how the ledger calls it. Ids carry the time of creation. */
const ORDERS = {
  CreatedAt: "id",
  ScheduledAt: "scheduled_at",
  StartedAt: "started_at",
  CompletedAt: "completed_at",
  Priority: "priority",
  Status: "status",
} as const;
export type JobOrder = keyof typeof ORDERS;
export const JOB_ORDERS = Object.keys(ORDERS) as [JobOrder, ...JobOrder[]];

/** A page further along the order than this is found by collecting all matches instead of walking the order. */
const LONGEST_WALK = 20_000;

type Listing = JobFilters & PageRequest & { orderBy: JobOrder; ascending: boolean };

/** A page of jobs; absent times come last in either direction, ties go by id. */
export async function listJobs(sql: Sql, reach: JobReach, o: Listing): Promise<PagedResult<JobSummary>> {
  const counts = await countJobs(sql, reach, o);
  const offset = offsetOf(o);
  if (offset >= counts.matching) return pagedResult([], counts.matching, o);
  const read = o.orderBy === "Priority" || o.orderBy === "Status" ? readByGroups : readInOrder;
  const rows = await read(sql, reach, o, { ...counts, offset, limit: o.pageSize });
  return pagedResult(rows.map(jobSummary), counts.matching, o);
}

interface Window {
  matching: number;
  all: number;
  offset: number;
  limit: number;
}

/** Priorities and statuses are few, so their order is walked group by group, each of them in the order of ids. */
async function readByGroups(sql: Sql, reach: JobReach, o: Listing, window: Window): Promise<JobRow[]> {
  const dimension = o.orderBy === "Priority" ? "priority" : "status";
  const groups = await countJobsBy(sql, reach, o, dimension);
  if (!o.ascending) groups.reverse();
  const rows: JobRow[] = [];
  let { offset } = window;
  for (const { key, n } of groups) {
    if (rows.length === window.limit) break;
    if (offset < n) {
      const group = { ...o, orderBy: "CreatedAt", [dimension]: key } as Listing & { status?: JobStatus };
      const limit = window.limit - rows.length;
      rows.push(...await readInOrder(sql, reach, group, { ...window, matching: n, offset, limit }));
    }
    offset = Math.max(0, offset - n);
  }
  return rows;
}

async function readInOrder(sql: Sql, reach: JobReach, o: Listing, window: Window): Promise<JobRow[]> {
  const direction = o.ascending ? "asc" : "desc";
  const order = sql.unsafe(
    (o.orderBy === "CreatedAt" ? "" : `${ORDERS[o.orderBy]} ${direction} nulls last, `) + `id ${direction}`,
  );
  // Few matches among millions would be looked for along the whole order; left to itself the planner
  // does just that. `offset 0` keeps the order out of how matches are found.
  const walk = (window.offset + window.limit) / window.matching * window.all;
  const isSparse = walk > LONGEST_WALK && window.matching < window.all;
  return await sql<JobRow[]>`
    with page as (
      select id from (
        select id, scheduled_at, started_at, completed_at from jobs
        where ${within(sql, reach)} and ${matching(sql, o)} ${isSparse ? sql`offset 0` : sql``}
      ) matches order by ${order} limit ${window.limit} offset ${window.offset}
    )
    select ${sql.unsafe(JOB_COLUMNS)} from jobs where id in (select id from page) order by ${order}`;
}
