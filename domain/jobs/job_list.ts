import type { Sql } from "../../infra/postgres/postgres.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { countJobs, type JobFilters, matching } from "./counts.ts";
import { JOB_COLUMNS, type JobRow, type JobSummary, jobSummary } from "./job_row.ts";
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

/** Up to this many jobs in a rare status are collected by that status before they are ordered. */
const FEW = 20_000;

/** A page of jobs; absent times come last in either direction, ties go by id. */
export async function listJobs(
  sql: Sql,
  reach: JobReach,
  o: JobFilters & PageRequest & { orderBy: JobOrder; ascending: boolean },
): Promise<PagedResult<JobSummary>> {
  const totalCount = await countJobs(sql, reach, o);
  if (offsetOf(o) >= totalCount) return pagedResult([], totalCount, o);
  const direction = o.ascending ? "asc" : "desc";
  const order = sql.unsafe(
    (o.orderBy === "CreatedAt" ? "" : `${ORDERS[o.orderBy]} ${direction} nulls last, `) + `id ${direction}`,
  );
  const matches = sql`select * from jobs where ${within(sql, reach)} and ${matching(sql, o)}`;
  // A few jobs among millions would be looked for along the whole order; the index of their status has them at once.
  const isRare = o.status !== undefined && o.status !== "Succeeded" && totalCount <= FEW;
  const rows = await sql<JobRow[]>`
    with matches as ${isRare ? sql`materialized` : sql`not materialized`} (${matches}),
    page as (select id from matches order by ${order} limit ${o.pageSize} offset ${offsetOf(o)})
    select ${sql.unsafe(JOB_COLUMNS)} from jobs where id in (select id from page) order by ${order}`;
  return pagedResult(rows.map(jobSummary), totalCount, o);
}
