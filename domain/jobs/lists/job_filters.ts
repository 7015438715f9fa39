import type { Sql } from "../../../infra/postgres/postgres.ts";
import { firstIdOf } from "../../shared/ids.ts";
import { readByTrace } from "../../shared/read_by_trace.ts";
import { FAILED, type JobKind, type JobStatus } from "../job_row.ts";
import { countScope, type JobReach, within } from "../reach.ts";

/** Filters that are dimensions of the counters. */
export interface CountedFilters {
  status?: JobStatus | undefined;
  type?: JobKind | undefined;
  /** Position in PRIORITIES. */
  priority?: number | undefined;
  queue?: string | undefined;
  /** Part of the job type's name. Letter case, width and invisible characters do not matter. */
  searchTerm?: string | undefined;
  jobTypeName?: string | undefined;
  /** Names of job types to leave out. */
  withoutTypes?: string[] | undefined;
}

/** Filters of a list of jobs. */
export interface JobFilters extends CountedFilters {
  /** First and last creation time, both inclusive. */
  from?: Date | undefined;
  to?: Date | undefined;
  /** Part of the error of a failed or dead-lettered job, in any letter case. */
  errorContains?: string | undefined;
  createdBy?: string | undefined;
  traceId?: string | undefined;
  /** Values of searchable arguments, by path. */
  args?: Record<string, string> | undefined;
}

/** Filters whose trace has been looked up. */
export interface FoundFilters extends Omit<JobFilters, "traceId"> {
  /** Ids of the jobs of the trace. */
  ids?: string[] | undefined;
}

/**
 * The filters as an SQL condition on `jobs` or the counters. The status is a literal, so that partial indexes apply.
 */
export function matchingCounted(q: Sql, filters: CountedFilters) {
  const { status, type, priority, queue, searchTerm, jobTypeName, withoutTypes } = filters;
  return q`true
    ${status ? q`and status = ${q.unsafe(`'${status}'`)}` : q``}
    ${type ? q`and type = ${type}` : q``}
    ${priority === undefined ? q`` : q`and priority = ${priority}`}
    ${queue === undefined ? q`` : q`and queue = ${queue}`}
    ${searchTerm ? q`and position((select fold(${searchTerm})) in lower(job_type_name)) > 0` : q``}
    ${jobTypeName === undefined ? q`` : q`and job_type_name = ${jobTypeName}`}
    ${withoutTypes ? q`and job_type_name <> all(${withoutTypes}::text[])` : q``}`;
}

/** The filters except the creation times as an SQL condition on `jobs`. */
export function matching(q: Sql, reach: JobReach, filters: FoundFilters) {
  const { ids, errorContains } = filters;
  const byKeys = keysOf(filters).reduce(
    (found, key) => q`${found} and id in (select job_id from ${jobsWithKey(q, reach, filters, key)})`,
    q``,
  );
  return q`${matchingCounted(q, filters)} ${byKeys} ${ids ? q`and id = any(${ids}::uuid[])` : q``}
    ${errorContains ? withError(q, errorContains, filters.status) : q``}`;
}

/** Indexes find jobs by these statuses. No row is read for another status. */
function withError(q: Sql, text: string, status: JobStatus | undefined) {
  const hasError = status === undefined
    ? q`status in ('Failed', 'DeadLettered')`
    : q`${(FAILED as readonly JobStatus[]).includes(status)}`;
  return q`and ${hasError} and position(lower(${text}) in lower(last_error)) > 0`;
}

/** The filters that `job_search_keys` answers, as the texts of its keys. */
export const keysOf = ({ createdBy, args = {} }: FoundFilters): string[] => [
  ...Object.entries(args).map(([name, value]) => `args.${name}=${value}`),
  ...(createdBy ? [`createdBy=${createdBy}`] : []),
];

/** The only key of the filters, if they have no others but creation times; else null. */
export function onlyKeyOf(filters: FoundFilters): string | null {
  const [key, ...furtherKeys] = keysOf(filters);
  return key && furtherKeys.length === 0 && hasOnlyTimesAndKeys(filters) ? key : null;
}

/** Table and condition of the rows of `job_search_keys` with a key, within reach and the creation times. */
export const jobsWithKey = (q: Sql, reach: JobReach, { from, to }: FoundFilters, key: string) =>
  q`job_search_keys where key = md5(${key})::uuid
    ${reach.everything ? q`` : q`and scope = ${countScope(reach)}`}
    ${from ? q`and job_id >= ${firstIdOf(from)}` : q``} ${to ? q`and job_id < ${idAfter(to)}` : q``}`;

/** The reach and the creation times as an SQL condition. An id contains the creation time of its job. */
export function createdWithin(q: Sql, reach: JobReach, { from, to }: FoundFilters) {
  const since = from ? q`and id >= ${firstIdOf(from)}` : q``;
  const until = to ? q`and id < ${idAfter(to)}` : q``;
  return q`${within(q, reach)} ${since} ${until}`;
}

export const idAfter = (time: Date): string => firstIdOf(new Date(time.getTime() + 1));

/** True if the counters cannot answer the filters. */
export const hasRowFilters = (filters: FoundFilters): boolean =>
  Boolean(filters.from || filters.to) || !hasOnlyTimes(filters);

/** True if the counters and the creation times answer the filters. */
export const hasOnlyTimes = (filters: FoundFilters): boolean =>
  !filters.ids && !filters.errorContains && keysOf(filters).length === 0;

/** True if there are no filters but creation times and those of `job_search_keys`. */
export const hasOnlyTimesAndKeys = (
  { from: _from, to: _to, createdBy: _by, args: _args, ...others }: FoundFilters,
): boolean => Object.values(others).every((filter) => filter === undefined);

/** Looks up the jobs of the trace. */
export async function findTrace(
  sql: Sql,
  reach: JobReach,
  { traceId, ...filters }: JobFilters,
): Promise<FoundFilters> {
  if (traceId === undefined) return filters;
  return { ...filters, ids: await readByTrace(sql, "jobs", traceId, (tx) => within(tx, reach)) };
}
