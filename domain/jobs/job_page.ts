import type { Sql } from "../../infra/postgres/postgres.ts";
import { limitTo } from "../shared/list_order.ts";
import { countJobs, type JobFilters, matching, typeNamesLike } from "./counts.ts";
import { ENDED, JOB_COLUMNS, type JobRow, type JobStatus } from "./job_row.ts";
import { type JobReach, within } from "./reach.ts";

/** Most rows of an order that are walked in search of matches; beyond it all matches are collected and sorted. */
const LONGEST_WALK = 20_000;
/** From here on a page's ids are found first, in an index alone, and its rows after; before it that is work done twice. */
export const DEEP = 1_000;
/** Statuses whose jobs have an index of their own, in the order of ids. */
const INDEXED: readonly (JobStatus | undefined)[] = [
  "Scheduled",
  "AwaitingParent",
  "Failed",
  "DeadLettered",
  "Cancelled",
];

/** Which jobs, in which direction. */
export interface JobSelection {
  reach: JobReach;
  filters: JobFilters;
  ascending: boolean;
}

/** The rows of a page: `limit` behind the first `offset` of the `matching` ones, among `all` within reach. */
export interface Window {
  offset: number;
  limit: number;
  matching: number;
  all: number;
}

/** Those of a job's times that it may lack. `started_at` has no index: it would be written twice a job. */
export type JobTime = "scheduled_at" | "started_at" | "completed_at";

/** A page in the order of ids, read from whichever end is nearer. @param lacking only jobs without this time. */
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
    passed: within(sql, reach),
    chosen: lacking ? sql`${sql(lacking)} is null` : sql`true`,
    order: directed(["id"], ascending !== fromEnd),
    window: { offset: fromEnd ? total - offset - length : offset, limit: length, matching: total, all },
    way: INDEXED.includes(filters.status) ? "straight" : "walk",
  });
  return fromEnd ? rows.reverse() : rows;
}

/** A page in the order of a time, ties by id; jobs without that time come last, in the order of ids. */
export async function readByTime(
  sql: Sql,
  selection: JobSelection,
  time: JobTime,
  window: Window,
): Promise<JobRow[]> {
  const { reach, filters, ascending } = selection;
  const haveNotEnded = filters.status !== undefined && !ENDED.includes(filters.status);
  if (time === "completed_at" && haveNotEnded) return await readByIds(sql, selection, window);
  const passed = sql`${sql(time)} is not null`;
  const chosen = within(sql, reach);
  const all = reach.everything ? window.all : (await countJobs(sql, { everything: true }, {})).all;
  const rows = await find(sql, {
    filters,
    passed,
    chosen,
    order: directed([time, "id"], ascending),
    window: { ...window, all },
    way: time === "started_at" ? "collect" : "walk",
  });
  if (rows.length === window.limit) return rows;
  const timed = rows.length > 0 || window.offset === 0
    ? window.offset + rows.length
    : await count(sql, sql`${passed} and ${chosen} and ${matching(sql, filters)}`);
  const offset = Math.max(0, window.offset - timed);
  const lacking = { ...window, offset, limit: window.limit - rows.length, matching: window.matching - timed };
  if (offset >= lacking.matching) return rows;
  return [...rows, ...await readByIds(sql, selection, lacking, time)];
}

type Condition = ReturnType<typeof within>;

interface Search {
  filters: JobFilters;
  /** What all rows of the order meet, whether they match or not. */
  passed: Condition;
  /** What is asked of them besides the filters. */
  chosen: Condition;
  order: string;
  /** With `all` the rows of the order. */
  window: Window;
  /** How few among many are looked for. `straight`: an index holds just them, in order. */
  way: "straight" | "walk" | "collect";
}

/**
 * Rows of an order that match. Where all do, the order is followed. Left to itself the planner does that for few among
 * millions too, so they are looked for within bounds first, and then collected, which indexes of what they are make
 * cheap; `offset 0` keeps the order out of how they are found.
 */
async function find(sql: Sql, search: Search): Promise<JobRow[]> {
  const { filters, passed, chosen, window: { offset, limit, matching: total, all }, way } = search;
  const order = sql.unsafe(search.order);
  const part = limitTo(sql, { offset, limit });
  const wanted = sql`${chosen} and ${matching(sql, filters)}`;
  const read = (source: Condition) =>
    sql<JobRow[]>`
    with page as (
      select id from (select id, scheduled_at, started_at, completed_at from ${source}) matches
      order by ${order} ${part}
    )
    select ${sql.unsafe(JOB_COLUMNS)} from jobs where id = any(array(select id from page)) order by ${order}`;

  const straight = sql`jobs where ${passed} and ${wanted}`;
  if (total >= all && offset < DEEP) {
    return await sql`select ${sql.unsafe(JOB_COLUMNS)} from ${straight} order by ${order} ${part}`;
  }
  if (total >= all) return await read(straight);
  if (way !== "collect" && (offset + limit) / total * all <= LONGEST_WALK) {
    if (way === "straight") return await read(straight);
    const rows = await read(sql`
      (select * from jobs where ${passed} order by ${order} limit ${LONGEST_WALK}) walked where ${wanted}`);
    if (rows.length === limit) return rows;
  }
  const types = filters.searchTerm ? await typeNamesLike(sql, filters.searchTerm) : null;
  const ofTypes = types ? sql`and job_type_name = any(${types}::text[])` : sql``;
  return await read(sql`jobs where ${passed} and ${wanted} ${ofTypes} offset 0`);
}

async function count(sql: Sql, condition: Condition): Promise<number> {
  const [row] = await sql<{ n: number }[]>`select count(*) as n from jobs where ${condition}`;
  return row?.n ?? 0;
}

const directed = (columns: string[], ascending: boolean): string =>
  columns.map((column) => `${column} ${ascending ? "asc" : "desc"}`).join(", ");
