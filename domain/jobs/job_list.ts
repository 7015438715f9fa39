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
  const part = { offset: offsetOf(o), limit: o.pageSize };
  const counting = countJobs(sql, reach, o);
  const reading = isWalkedAnyway(o, part)
    ? readInOrder(sql, reach, o, { ...part, isSparse: false })
    : counting.then((counts) => readCounted(sql, reach, o, { ...counts, ...part }));
  const [rows, { matching: total }] = await Promise.all([reading, counting]);
  return pagedResult(rows.map(jobSummary), total, o);
}

interface Part {
  offset: number;
  limit: number;
}
/** With how many jobs match, and how many there are. */
type CountedPart = Part & { matching: number; all: number };

/** Does how many jobs there are make no difference to how the page is found? */
const isWalkedAnyway = (o: Listing, { offset, limit }: Part): boolean =>
  o.orderBy === "CreatedAt" && offset + limit <= LONGEST_WALK &&
  [o.status, o.type, o.priority, o.queue, o.searchTerm].every((filter) => filter === undefined);

async function readCounted(sql: Sql, reach: JobReach, o: Listing, part: CountedPart): Promise<JobRow[]> {
  if (part.offset >= part.matching) return [];
  if (o.orderBy === "Priority" || o.orderBy === "Status") return await readByGroups(sql, reach, o, part);
  return await readInOrder(sql, reach, o, { ...part, isSparse: isSparse(part) });
}

/** Few matches among millions would be looked for along the whole order. */
const isSparse = ({ offset, limit, matching, all }: CountedPart): boolean =>
  (offset + limit) / matching * all > LONGEST_WALK && matching < all;

/** Priorities and statuses are few, so their order is walked group by group, each of them in the order of ids. */
async function readByGroups(sql: Sql, reach: JobReach, o: Listing, part: CountedPart): Promise<JobRow[]> {
  const dimension = o.orderBy === "Priority" ? "priority" : "status";
  const groups = await countJobsBy(sql, reach, o, dimension);
  if (!o.ascending) groups.reverse();
  const rows: JobRow[] = [];
  let { offset } = part;
  for (const { key, n } of groups) {
    if (rows.length === part.limit) break;
    if (offset < n) {
      const group = { ...o, orderBy: "CreatedAt", [dimension]: key } as Listing & { status?: JobStatus };
      const counted = { offset, limit: part.limit - rows.length, matching: n, all: part.all };
      rows.push(...await readInOrder(sql, reach, group, { ...counted, isSparse: isSparse(counted) }));
    }
    offset = Math.max(0, offset - n);
  }
  return rows;
}

/** @param part `isSparse` keeps the order out of how matches are found; left to itself the planner walks along it. */
async function readInOrder(
  sql: Sql,
  reach: JobReach,
  o: Listing,
  { offset, limit, isSparse }: Part & { isSparse: boolean },
): Promise<JobRow[]> {
  const direction = o.ascending ? "asc" : "desc";
  const order = sql.unsafe(
    (o.orderBy === "CreatedAt" ? "" : `${ORDERS[o.orderBy]} ${direction} nulls last, `) + `id ${direction}`,
  );
  return await sql<JobRow[]>`
    with page as (
      select id from (
        select id, scheduled_at, started_at, completed_at from jobs
        where ${within(sql, reach)} and ${matching(sql, o)} ${isSparse ? sql`offset 0` : sql``}
      ) matches order by ${order} limit ${limit} offset ${offset}
    )
    select ${sql.unsafe(JOB_COLUMNS)} from jobs where id = any(array(select id from page)) order by ${order}`;
}
