import type { Sql } from "../../infra/postgres/postgres.ts";
import { limitTo } from "../shared/list_order.ts";
import { countJobs, type JobFilters, matching, typeNamesLike } from "./counts.ts";
import { ENDED, JOB_COLUMNS, type JobRow, type JobStatus } from "./job_row.ts";
import { type JobReach, within } from "./reach.ts";

/** Maximum number of rows scanned along an index to find matches; beyond it, all matches are collected and sorted. */
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
  const rows = await find(sql, {
    filters,
    scanned: within(sql, reach),
    required: lacking ? sql`${sql(lacking)} is null` : sql`true`,
    order: directed(["id"], ascending !== fromEnd),
    window: { offset: fromEnd ? total - offset - length : offset, limit: length, matching: total, all },
    strategy: INDEXED.includes(filters.status) ? "index" : "scan",
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
  const rows = await find(sql, {
    filters,
    scanned,
    required,
    order: directed([time, "id"], ascending),
    window: { ...window, all },
    strategy: time === "started_at" ? "sort" : "scan",
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
  /**
   * How to search if not all rows match. `index`: an index contains only the matching rows, in order. `scan`: read rows
   * along an index up to MAX_SCANNED, and sort if too few match. `sort`: collect all matches and sort them.
   */
  strategy: "index" | "scan" | "sort";
}

/**
 * Reads the rows of a page. If all rows match, it follows the index of the order. If few of millions match, the planner
 * would do the same and read nearly the whole index. So the scan is bounded first; if it finds too few, all matches are
 * collected through the filters' indexes and sorted. `offset 0` keeps the planner from using the order's index there.
 */
async function find(sql: Sql, search: Search): Promise<JobRow[]> {
  const { filters, scanned, required, window: { offset, limit, matching: total, all }, strategy } = search;
  const order = sql.unsafe(search.order);
  const part = limitTo(sql, { offset, limit });
  const wanted = sql`${required} and ${matching(sql, filters)}`;
  const read = (source: Condition) =>
    sql<JobRow[]>`
    with page as (
      select id from (select id, scheduled_at, started_at, completed_at from ${source}) matches
      order by ${order} ${part}
    )
    select ${sql.unsafe(JOB_COLUMNS)} from jobs where id = any(array(select id from page)) order by ${order}`;

  const matches = sql`jobs where ${scanned} and ${wanted}`;
  if (total >= all && offset < DEEP) {
    return await sql`select ${sql.unsafe(JOB_COLUMNS)} from ${matches} order by ${order} ${part}`;
  }
  if (total >= all) return await read(matches);
  if (strategy !== "sort" && (offset + limit) / total * all <= MAX_SCANNED) {
    if (strategy === "index") return await read(matches);
    const rows = await read(sql`
      (select * from jobs where ${scanned} order by ${order} limit ${MAX_SCANNED}) scanned where ${wanted}`);
    if (rows.length === limit) return rows;
  }
  const types = filters.searchTerm ? await typeNamesLike(sql, filters.searchTerm) : null;
  const ofTypes = types ? sql`and job_type_name = any(${types}::text[])` : sql``;
  return await read(sql`jobs where ${scanned} and ${wanted} ${ofTypes} offset 0`);
}

async function count(sql: Sql, condition: Condition): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*) as n from jobs where ${condition}`;
  return row?.n ?? 0;
}

const directed = (columns: string[], ascending: boolean): string =>
  columns.map((column) => `${column} ${ascending ? "asc" : "desc"}`).join(", ");
