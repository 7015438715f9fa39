import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countRows, limitTo } from "../../shared/lists.ts";
import { countFrom, typeNamesLike } from "./job_counts.ts";
import {
  createdWithin,
  type FoundFilters,
  hasOnlyTimes,
  hasOnlyTimesAndKeys,
  jobsWithKey,
  matching,
  onlyKeyOf,
} from "./job_filters.ts";
import { ENDED, JOB_COLUMNS, type JobRow, type JobStatus } from "../job_row.ts";
import type { JobReach } from "../reach.ts";

/** Maximum number of rows that a bounded scan reads. */
const MAX_SCANNED = 20_000;
/**
 * If more than this part of the jobs match, and the scan finds too few, it continues without a bound: the last jobs may
 * all wait, but sorting all that have succeeded takes longer than skipping those. 10 million jobs, of which the last 20,000
 * wait, status = 'Succeeded': 17 s sorted.
 */
const MANY = 10;
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

/** The jobs to list, and the direction of the list. */
export interface JobSelection {
  reach: JobReach;
  filters: FoundFilters;
  ascending: boolean;
}

/** A page: `limit` rows after the first `offset`. Of `all` jobs within reach, `matching` match the filters. */
export interface Window {
  offset: number;
  limit: number;
  matching: number;
  all: number;
}

/** Columns of `JOBS` that may be null. An index has the jobs in the order of each. */
export type JobTime = "scheduled_at" | "started_at" | "completed_at" | "duration";

/** The table with the duration as a column: Postgres sorts a subquery again whose order is by an expression. */
const JOBS = "(select *, completed_at - started_at as duration from jobs) jobs";

/**
 * The jobs that have started, in parts that are read in order of the start: ended jobs and those that wait for a further
 * attempt from an index each, running ones sorted. One index of all would be written twice a job.
 */
const STARTED = {
  ended: "completed_at is not null and started_at is not null",
  waiting: "status in ('Enqueued', 'Scheduled', 'Failed') and started_at is not null",
  running: "status = 'Processing' and started_at is not null",
};

/** A page in id order, read from the nearer end of the index. @param lacking only jobs where this column is null. */
export async function readByIds(
  q: Sql,
  { reach, filters, ascending }: JobSelection,
  { offset, limit, matching: total, all }: Window,
  lacking?: JobTime,
): Promise<JobRow[]> {
  const length = Math.min(limit, total - offset);
  const { status } = filters;
  const isOfStatus = INDEXED.includes(status) && hasOnlyTimes(filters);
  const scannedCount = !lacking && hasOnlyTimes(filters) && hasOnlyTimesAndKeys(filters)
    ? total
    : isOfStatus
    ? (await countFrom(q, reach, { status })).matching
    : all;
  const fromEnd = offset > total / 2;
  const rows = await readPage(q, {
    reach,
    filters,
    scanned: createdWithin(q, reach, filters),
    required: lacking ? q`${q.unsafe(lacking)} is null` : q`true`,
    order: directed(["id"], ascending !== fromEnd),
    window: {
      offset: fromEnd ? total - offset - length : offset,
      limit: length,
      matching: total,
      all: scannedCount,
    },
    index: isOfStatus ? "matches" : "order",
    onlyKey: lacking ? null : onlyKeyOf(filters),
  });
  return fromEnd ? rows.reverse() : rows;
}

/** A page in the order of a time, then id. Jobs where the time is null come last, in id order. */
export async function readByTime(
  q: Sql,
  selection: JobSelection,
  time: JobTime,
  window: Window,
): Promise<JobRow[]> {
  const { reach, filters, ascending } = selection;
  const isOfEnd = time === "completed_at" || time === "duration";
  const haveNotEnded = filters.status !== undefined && !ENDED.includes(filters.status);
  if (isOfEnd && haveNotEnded) return await readByIds(q, selection, window);
  const scanned = q`${q.unsafe(time)} is not null`;
  const required = createdWithin(q, reach, filters);
  const all = reach.everything ? window.all : (await countFrom(q, { everything: true }, {})).all;
  const rows = await readPage(q, {
    reach,
    filters,
    scanned,
    required,
    order: directed([time, "id"], ascending),
    window: { ...window, all },
    index: "order",
    ...(time === "started_at" ? { parts: partsOf(filters.status) } : {}),
  });
  if (rows.length === window.limit) return rows;
  const timed = rows.length > 0 || window.offset === 0
    ? window.offset + rows.length
    : await count(q, q`${scanned} and ${required} and ${matching(q, reach, filters)}`);
  const offset = Math.max(0, window.offset - timed);
  const lacking = { ...window, offset, limit: window.limit - rows.length, matching: window.matching - timed };
  if (offset >= lacking.matching) return rows;
  return [...rows, ...await readByIds(q, selection, lacking, time)];
}

function partsOf(status: JobStatus | undefined): string[] {
  if (status === undefined) return Object.values(STARTED);
  if (status === "Processing") return [STARTED.running];
  return [ENDED.includes(status) ? STARTED.ended : STARTED.waiting];
}

type Condition = ReturnType<typeof createdWithin>;

interface Search {
  reach: JobReach;
  filters: FoundFilters;
  /** Condition on the rows that a scan along the order reads, matching or not. */
  scanned: Condition;
  /** Further condition on matches, besides the filters. */
  required: Condition;
  order: string;
  /** `all` counts the rows that meet `scanned`. */
  window: Window;
  /** The index in this order: of the rows with the status, or of all rows. */
  index: "matches" | "order";
  /** The key of all filters but creation times, if the order is that of ids. */
  onlyKey?: string | null;
  /** SQL conditions of the parts of the table that have an index each; absent: one index. */
  parts?: string[];
}

/**
 * Chooses the query. A scan along an index in order reads as many rows until the end of the page as the share of
 * matching rows requires. The plans in the comments below are of a table of a million jobs.
 */
async function readPage(q: Sql, search: Search): Promise<JobRow[]> {
  const { window: { offset, limit, matching: total, all }, index, onlyKey } = search;
  if (onlyKey) return await readOfKey(q, search, onlyKey);
  if (total >= all) return await readAlongIndex(q, search);
  if ((offset + limit) / total * all <= MAX_SCANNED) {
    if (index === "matches") return await readAlongIndex(q, search);
    const rows = await readFromScan(q, search);
    if (rows.length === limit) return rows;
    if (total > all / MANY) return await readAlongIndex(q, search);
  }
  return await readSorted(q, search);
}

/**
 * Reads the page from `job_search_keys`, where the ids of a key are sorted. createdBy, with 2,500 jobs:
 *
 *     Limit (rows=20) (actual rows=20)                                                             0.3 ms
 *       -> Index Only Scan Backward using job_search_keys_pkey (rows=2495) (actual rows=20)
 */
async function readOfKey(q: Sql, search: Search, key: string): Promise<JobRow[]> {
  const { reach, filters } = search;
  const source = q`(select job_id as id from ${jobsWithKey(q, reach, filters, key)}) of_key`;
  return await readIdsFirst(q, search, source, "id");
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
async function readAlongIndex(q: Sql, search: Search): Promise<JobRow[]> {
  const { offset, limit } = search.window;
  if (search.parts) {
    return await readIdsFirst(q, search, orderedJobs(q, search, matchesOf(q, search), offset + limit));
  }
  const matches = q`${q.unsafe(JOBS)} where ${matchesOf(q, search)}`;
  if (offset >= DEEP) return await readIdsFirst(q, search, matches);
  return await q`select ${q.unsafe(JOB_COLUMNS)} from ${matches} ${pageOf(q, search)}`;
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
async function readFromScan(q: Sql, search: Search): Promise<JobRow[]> {
  const scan = orderedJobs(q, search, search.scanned, MAX_SCANNED);
  return await readIdsFirst(q, search, q`${scan} where ${wantedBy(q, search)}`);
}

/**
 * The first jobs in the order that meet the condition. Parts are merged without sorting them. Page 1 by StartedAt:
 *
 *     Limit (rows=20) (actual rows=20)                                                             0.4 ms
 *       -> Merge Append (actual rows=20)
 *            -> Limit (actual rows=19) -> Index Scan Backward using jobs_started
 *            -> Limit (actual rows=2) -> Index Scan Backward using jobs_restarting
 *            -> Limit (actual rows=1) -> Sort (actual rows=1) -> Index Scan using jobs_held
 */
function orderedJobs(q: Sql, { order, parts = ["true"] }: Search, condition: Condition, limit: number) {
  const first = q`order by ${q.unsafe(order)} limit ${limit}`;
  const selects = parts.map((part, index) => {
    const union = index === 0 ? q`` : q`union all`;
    return q`${union} (select * from ${q.unsafe(JOBS)} where ${q.unsafe(part)} and ${condition} ${first})`;
  });
  return q`(select * from (${selects}) parts ${first}) ordered`;
}

/**
 * For few matching rows: collects all matches and sorts them. searchTerm = 'rare', which
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
 */
async function readSorted(q: Sql, search: Search): Promise<JobRow[]> {
  const { searchTerm, withoutTypes } = search.filters;
  const types = searchTerm || withoutTypes ? await typeNamesLike(q, { searchTerm, withoutTypes }) : null;
  const ofTypes = types ? q`and job_type_name = any(${types}::text[])` : q``;
  return await readIdsFirst(
    q,
    search,
    q`${q.unsafe(JOBS)} where ${matchesOf(q, search)} ${ofTypes} offset 0`,
  );
}

/** Finds the ids of the page in `source`, then reads their rows. */
async function readIdsFirst(
  q: Sql,
  search: Search,
  source: Condition,
  columns = "id, scheduled_at, started_at, completed_at, duration",
): Promise<JobRow[]> {
  return await q<JobRow[]>`
    with page as (
      select id from (select ${q.unsafe(columns)} from ${source}) matches
      ${pageOf(q, search)}
    )
    select ${q.unsafe(JOB_COLUMNS)} from ${q.unsafe(JOBS)} where id = any(array(select id from page))
    order by ${q.unsafe(search.order)}`;
}

const wantedBy = (q: Sql, { required, reach, filters }: Search) =>
  q`${required} and ${matching(q, reach, filters)}`;

const matchesOf = (q: Sql, search: Search) => q`${search.scanned} and ${wantedBy(q, search)}`;

const pageOf = (q: Sql, { order, window }: Search) => q`order by ${q.unsafe(order)} ${limitTo(q, window)}`;

const count = (q: Sql, condition: Condition): Promise<number> =>
  countRows(q, q`${q.unsafe(JOBS)} where ${condition}`);

const directed = (columns: string[], ascending: boolean): string =>
  columns.map((column) => `${column} ${ascending ? "asc" : "desc"}`).join(", ");
