import type { Sql } from "../../infra/postgres/postgres.ts";
import { limitTo } from "../shared/list_order.ts";
import { countJobs, type JobFilters, matching, typeNamesLike } from "./counts.ts";
import { ENDED, JOB_COLUMNS, type JobRow, type JobStatus } from "./job_row.ts";
import { type JobReach, within } from "./reach.ts";

/** Maximum number of rows that a bounded scan reads. */
const MAX_SCANNED = 20_000;
/** From this offset on, ids are found first by an index-only scan, then their rows. Below it, two steps cost more. */
export const DEEP = 1_000;
/** Statuses that have a partial index in id order. */
const INDEXED: readonly (JobStatus | undefined)[] = [
  "Scheduled",
  "AwaitingParent",
  "Failed",
  "DeadLettered",
  "Cancelled",
];

/** Which jobs to list, and in which direction. */
export interface JobSelection {
  reach: JobReach;
  filters: JobFilters;
  ascending: boolean;
}

/** A page: `limit` rows after the first `offset`. Of `all` jobs within reach, `matching` match the filters. */
export interface Window {
  offset: number;
  limit: number;
  matching: number;
  all: number;
}

/** Time columns that may be null. `started_at` has no index, because each job would write it twice. */
export type JobTime = "scheduled_at" | "started_at" | "completed_at";

/** A page in id order, read from the nearer end of the index. @param lacking only jobs where this column is null. */
export async function readByIds(
  sql: Sql,
  { reach, filters, ascending }: JobSelection,
  { offset, limit, matching: total, all }: Window,
  lacking?: JobTime,
): Promise<JobRow[]> {
  const length = Math.min(limit, total - offset);
  const fromEnd = offset > total / 2;
  const rows = await readPage(sql, {
    filters,
    scanned: within(sql, reach),
    required: lacking ? sql`${sql(lacking)} is null` : sql`true`,
    order: directed(["id"], ascending !== fromEnd),
    window: { offset: fromEnd ? total - offset - length : offset, limit: length, matching: total, all },
    index: INDEXED.includes(filters.status) ? "matches" : "order",
  });
  return fromEnd ? rows.reverse() : rows;
}

/** A page in the order of a time column, then id. Jobs where the column is null come last, in id order. */
export async function readByTime(
  sql: Sql,
  selection: JobSelection,
  time: JobTime,
  window: Window,
): Promise<JobRow[]> {
  const { reach, filters, ascending } = selection;
  const haveNotEnded = filters.status !== undefined && !ENDED.includes(filters.status);
  if (time === "completed_at" && haveNotEnded) return await readByIds(sql, selection, window);
  const scanned = sql`${sql(time)} is not null`;
  const required = within(sql, reach);
  const all = reach.everything ? window.all : (await countJobs(sql, { everything: true }, {})).all;
  const rows = await readPage(sql, {
    filters,
    scanned,
    required,
    order: directed([time, "id"], ascending),
    window: { ...window, all },
    index: time === "started_at" ? "none" : "order",
  });
  if (rows.length === window.limit) return rows;
  const timed = rows.length > 0 || window.offset === 0
    ? window.offset + rows.length
    : await count(sql, sql`${scanned} and ${required} and ${matching(sql, filters)}`);
  const offset = Math.max(0, window.offset - timed);
  const lacking = { ...window, offset, limit: window.limit - rows.length, matching: window.matching - timed };
  if (offset >= lacking.matching) return rows;
  return [...rows, ...await readByIds(sql, selection, lacking, time)];
}

type Condition = ReturnType<typeof within>;

interface Search {
  filters: JobFilters;
  /** Condition on the rows that a scan along the order reads, matching or not. */
  scanned: Condition;
  /** Further condition on matches, besides the filters. */
  required: Condition;
  order: string;
  /** `all` counts the rows that meet `scanned`. */
  window: Window;
  /** The index in this order: of the matching rows only, of all rows, or none. */
  index: "matches" | "order" | "none";
}

/**
 * Chooses the query. A scan along an index in order reads as many rows until the end of the page as the share of
 * matching rows requires. The plans in the comments below are of a table of a million jobs.
 */
async function readPage(sql: Sql, search: Search): Promise<JobRow[]> {
  const { window: { offset, limit, matching: total, all }, index } = search;
  if (index === "none") return await readSorted(sql, search);
  if (total >= all) return await readAlongIndex(sql, search);
  if ((offset + limit) / total * all <= MAX_SCANNED) {
    if (index === "matches") return await readAlongIndex(sql, search);
    const rows = await readFromScan(sql, search);
    if (rows.length === limit) return rows;
  }
  return await readSorted(sql, search);
}

/**
 * For an index that contains (nearly) only matching rows. Ends after the page.
 *
 *     Limit (rows=20) (actual rows=20)                                                           0.04 ms
 *       -> Index Scan Backward using jobs_pkey (rows=1000000) (actual rows=20)
 *     Limit (rows=20) (actual rows=20)                                     status = 'Failed', page 3: 0.1 ms
 *       -> Index Scan Backward using jobs_unusual_anywhere (rows=19000) (actual rows=60)
 *
 * Deep pages skip entries of the index only, not rows of the table. Page 20,000:
 *
 *     Index Scan using jobs_pkey (rows=10) (actual rows=20)                                       120 ms
 *       -> Limit (rows=20) (actual rows=20)
 *            -> Index Only Scan Backward using jobs_pkey (rows=1000000) (actual rows=400020)
 */
async function readAlongIndex(sql: Sql, search: Search): Promise<JobRow[]> {
  const matches = matchesOf(sql, search);
  if (search.window.offset >= DEEP) return await readIdsFirst(sql, search, matches);
  return await sql`select ${sql.unsafe(JOB_COLUMNS)} from ${matches} ${pageOf(sql, search)}`;
}

/**
 * For many matching rows in an index with others. The bound is needed because the planner does not know how many rows
 * it must skip (see `readSorted`). The page may be incomplete. searchTerm = 'type7':
 *
 *     Limit (rows=20) (actual rows=20)                                                             0.4 ms
 *       -> Subquery Scan, Filter: position(…) (rows=6667) (actual rows=20, 367 removed)
 *            -> Limit (rows=20000) (actual rows=387)
 *                 -> Index Scan Backward using jobs_pkey (rows=1000000) (actual rows=387)
 */
async function readFromScan(sql: Sql, search: Search): Promise<JobRow[]> {
  const order = sql.unsafe(search.order);
  const scan = sql`(select * from jobs where ${search.scanned} order by ${order} limit ${MAX_SCANNED}) scan`;
  return await readIdsFirst(sql, search, sql`${scan} where ${wantedBy(sql, search)}`);
}

/**
 * For few matching rows, or an order without an index: collects all matches and sorts them. searchTerm = 'rare', which
 * 40 jobs match:
 *
 *     Limit (rows=20) (actual rows=20)                                                             2.4 ms
 *       -> Sort (rows=33) (actual rows=20)
 *            -> Bitmap Heap Scan, Filter: position(…) (rows=33) (actual rows=40, 2840 removed)
 *                 -> Bitmap Index Scan on jobs_kinds, job_type_name = any(…) (rows=113548) (actual rows=760)
 *
 * `offset 0` and the exact names of types keep the planner from following the index of the order:
 *
 *     Limit (rows=20) (actual rows=20)                                                            1093 ms
 *       -> Index Scan Backward using jobs_pkey, Filter: position(…) (rows=333333) (actual rows=20, 999960 removed)
 *
 * Without an index of the order, `offset 0` would only prevent a parallel scan (347 ms against 877 ms for all jobs).
 */
async function readSorted(sql: Sql, search: Search): Promise<JobRow[]> {
  const { filters: { searchTerm }, index } = search;
  const types = searchTerm ? await typeNamesLike(sql, searchTerm) : null;
  const ofTypes = types ? sql`and job_type_name = any(${types}::text[])` : sql``;
  const barrier = index === "none" ? sql`` : sql`offset 0`;
  return await readIdsFirst(sql, search, sql`${matchesOf(sql, search)} ${ofTypes} ${barrier}`);
}

/** Finds the ids of the page in `source`, then reads their rows. */
async function readIdsFirst(sql: Sql, search: Search, source: Condition): Promise<JobRow[]> {
  return await sql<JobRow[]>`
    with page as (
      select id from (select id, scheduled_at, started_at, completed_at from ${source}) matches
      ${pageOf(sql, search)}
    )
    select ${sql.unsafe(JOB_COLUMNS)} from jobs where id = any(array(select id from page))
    order by ${sql.unsafe(search.order)}`;
}

const wantedBy = (sql: Sql, { required, filters }: Search) => sql`${required} and ${matching(sql, filters)}`;

const matchesOf = (sql: Sql, search: Search) =>
  sql`jobs where ${search.scanned} and ${wantedBy(sql, search)}`;

const pageOf = (sql: Sql, { order, window }: Search) =>
  sql`order by ${sql.unsafe(order)} ${limitTo(sql, window)}`;

async function count(sql: Sql, condition: Condition): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*) as n from jobs where ${condition}`;
  return row?.n ?? 0;
}

const directed = (columns: string[], ascending: boolean): string =>
  columns.map((column) => `${column} ${ascending ? "asc" : "desc"}`).join(", ");
