// Searches in the errors of the last failed jobs. No index finds a part of a text, and an outage leaves millions of them.
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { timeOfId } from "../../shared/ids.ts";
import { limitTo } from "../../shared/lists.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { createdWithin, type JobFilters, keysOf, matching } from "./job_filters.ts";
import type { JobOrder } from "./job_list.ts";
import { FAILED, JOB_COLUMNS, type JobRow, type JobStatus, type JobSummary, jobSummary } from "../job_row.ts";
import type { JobReach } from "../reach.ts";

/** Without a first time, a search in errors covers this many failed jobs or dead letters: the last ones. */
export const MAX_SEARCHED = 5_000;

/** The extent of a search: it covered jobs created from this time on; null: all failed jobs within reach. */
interface Searched {
  searchedFrom: Date | null;
}

/** SQL expression by which each order sorts. */
const SORTED_BY: Record<JobOrder, string> = {
  CreatedAt: "id",
  ScheduledAt: "scheduled_at",
  StartedAt: "started_at",
  CompletedAt: "completed_at",
  Duration: "completed_at - started_at",
  Priority: "-priority", // 0 is Critical
  Status: "status",
};

/**
 * A page of the last failed and dead-lettered jobs whose error matches, in the order of `listJobs`.
 * @returns null if the filters have no part of an error, or say themselves which jobs to search: by a first creation
 * time, creator, argument or trace
 */
export async function searchErrors(
  q: Sql,
  reach: JobReach,
  o: JobFilters & PageRequest & { orderBy: JobOrder; ascending: boolean },
): Promise<Searched & { page: PagedResult<JobSummary> } | null> {
  const { orderBy, ascending, page: _, pageSize, ...filters } = o;
  const searched = lastFailed(q, reach, filters);
  if (!searched) return null;
  const direction = ascending ? "asc" : "desc";
  const order = q.unsafe(`order by ${SORTED_BY[orderBy]} ${direction} nulls last, id ${direction}`);
  const rows = await q<(JobRow & Summary)[]>`
    with searched as materialized (${searched}), summary as (${summaryOf(q)}), page as (
      select id from searched where is_match ${order} ${limitTo(q, { offset: offsetOf(o), limit: pageSize })}
    )
    select * from summary left join (select ${
    q.unsafe(JOB_COLUMNS)
  } from page join jobs using (id)) found on true
    ${order}`;
  const items = rows.filter(({ id }) => id !== null).map(({ total: _, count: __, firstId: ___, ...job }) =>
    job
  );
  const [summary] = rows;
  return { page: pagedResult(items.map(jobSummary), summary?.total ?? 0, o), ...searchedBy(summary) };
}

/** Number of jobs that `searchErrors` finds, by status without zeros; null like there. */
export async function countErrors(
  q: Sql,
  reach: JobReach,
  filters: JobFilters,
): Promise<Searched & { counts: { key: JobStatus; n: number }[] } | null> {
  const searched = lastFailed(q, reach, filters);
  if (!searched) return null;
  const rows = await q<(Summary & { key: JobStatus | null; n: number })[]>`
    with searched as materialized (${searched}), summary as (${summaryOf(q)})
    select * from summary left join (
      select status as key, count(*) as n from searched where is_match group by status
    ) counted on true order by key`;
  const counts = rows.flatMap(({ key, n }) => key === null ? [] : [{ key, n }]);
  return { counts, ...searchedBy(rows[0]) };
}

/**
 * SQL of the jobs to search, with `is_match`. Their ids are read first: otherwise the planner reads all jobs since then,
 * because it does not know that few of them failed. A million failed jobs among ten million:
 *
 *     Index Scan using jobs_pkey, id = any(…) (actual rows=5000)                                           17 ms
 *       -> Limit (actual rows=5000)                                                                         1 ms
 *            -> Merge Append (actual rows=5000)
 *                 -> Index Only Scan Backward using jobs_unusual_anywhere, status = 'Failed'
 *                 -> Index Only Scan Backward using jobs_unusual_anywhere, status = 'DeadLettered'
 */
function lastFailed(q: Sql, reach: JobReach, filters: JobFilters): ReturnType<typeof matching> | null {
  const { errorContains, from, to, traceId, status } = filters;
  const statuses = FAILED.filter((failed) => status === undefined || failed === status);
  const isNarrow = from || traceId || keysOf(filters).length > 0;
  if (!errorContains || isNarrow || statuses.length === 0) return null;
  const last = q`order by id desc limit ${MAX_SEARCHED}`;
  const within = createdWithin(q, reach, { to });
  const selects = statuses.map((failed, index) =>
    q`${index === 0 ? q`` : q`union all`}
      (select id from jobs where ${within} and status = ${q.unsafe(`'${failed}'`)} ${last})`
  );
  return q`
    select id, scheduled_at, started_at, completed_at, priority, status, ${
    matching(q, reach, filters)
  } as is_match
    from jobs where id = any(array(select id from (${selects}) failed ${last}))`;
}

/** Of all jobs that were searched: the first id, their number, and the number of matches. */
interface Summary {
  firstId: string | null;
  count: number;
  total: number;
}

const summaryOf = (q: Sql) =>
  q`select (select id from searched order by id limit 1) as first_id, count(*) as count,
    count(*) filter (where is_match) as total from searched`;

const searchedBy = (summary: Summary | undefined): Searched => ({
  searchedFrom: summary?.firstId && summary.count === MAX_SEARCHED ? timeOfId(summary.firstId) : null,
});
