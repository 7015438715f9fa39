import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { firstIdOf } from "../../shared/ids.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { countList, pageOf } from "../../shared/lists.ts";
import { time } from "../../shared/shapes.ts";
import { MAX_SEARCHED } from "./error_search.ts";
import { countScope, type JobReach, within } from "../reach.ts";

const COLUMNS =
  `id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message, failed_at,
  retried_at, retried_job_id`;

/** How far the time in the id of a dead letter may be from `failedAt`: the clocks of instances differ. */
const ID_MARGIN_MS = 60_000;
/** Up to this many matches are sorted instead of found by a scan of the primary key's index. */
const MAX_SORTED = 10_000;

/** A job that used up its retries, kept until someone retries or purges it. */
export const DeadLetter = z.object({
  id: z.guid(),
  jobId: z.guid(),
  tenantId: z.guid().nullable(),
  jobTypeName: z.string(),
  queue: z.string(),
  serializedArgs: z.string(),
  attempts: z.int(),
  errorMessage: z.string().nullable(),
  failedAt: time,
  retriedAt: time.nullable(),
  retriedJobId: z.guid().nullable(),
}).meta({ id: "DeadLetterJobDto" });
export type DeadLetter = z.output<typeof DeadLetter>;

/** Filters of dead letters; absent members and null match all. */
export interface DeadLetterFilters {
  jobTypeName?: string | null | undefined;
  /** The `errorPattern` of a group of dead letters. */
  errorPattern?: string | null | undefined;
  /** Text that the error message contains, in any letter case. */
  errorContains?: string | null | undefined;
  /** First and last time of the failure, both inclusive. */
  failedFrom?: Date | null | undefined;
  failedTo?: Date | null | undefined;
}

/** @property firstId the first dead letter that matches; see `findFirstSearched` */
type Selected = DeadLetterFilters & { isRetried?: boolean | undefined; firstId?: string | undefined };

/** A page of dead letters, newest first. */
export async function listDeadLetters(
  q: Sql,
  reach: JobReach,
  o: PageRequest & Selected,
): Promise<PagedResult<DeadLetter>> {
  const total = await countDeadLetters(q, reach, o);
  if (offsetOf(o) >= total) return pagedResult([], total, o);
  const source = total <= MAX_SORTED
    ? collected(q, reach, o)
    : q`dead_letter_jobs where ${chosen(q, reach, o)}`;
  const items = await q<DeadLetter[]>`
    select ${q.unsafe(COLUMNS)} from ${source} order by id desc ${pageOf(q, o)}`;
  return pagedResult([...items], total, o);
}

/**
 * The id of the first dead letter that a search in errors covers: the last MAX_SEARCHED are, unless the selection has a
 * first time. Null: it covers all, or is no such search.
 */
export async function findFirstSearched(
  q: Sql,
  reach: JobReach,
  { errorContains, failedFrom, failedTo }: DeadLetterFilters,
): Promise<string | null> {
  if (!errorContains || failedFrom) return null;
  const [first] = await q<{ id: string }[]>`
    select id from dead_letter_jobs where ${within(q, reach)}
      ${failedTo ? q`and id < ${firstIdOf(new Date(failedTo.getTime() + ID_MARGIN_MS))}` : q``}
    order by id desc offset ${MAX_SEARCHED - 1} limit 1`;
  return first?.id ?? null;
}

/** The selection as an SQL condition. */
export const chosen = (q: Sql, reach: JobReach, o: Selected) =>
  q`${within(q, reach)} ${ofGroup(q, o)}
    ${o.errorContains ? q`and position(lower(${o.errorContains}) in lower(error_message)) > 0` : q``}
    ${o.failedFrom ? q`and failed_at >= ${o.failedFrom}` : q``}
    ${o.failedTo ? q`and failed_at <= ${o.failedTo}` : q``}
    ${o.firstId ? q`and id >= ${o.firstId}` : q``}
    ${
    o.isRetried === undefined ? q`` : o.isRetried ? q`and retried_at is not null` : q`and retried_at is null`
  }`;

const ofGroup = (q: Sql, { jobTypeName = null, errorPattern = null }: DeadLetterFilters) =>
  q`${jobTypeName === null ? q`` : q`and job_type_name = ${jobTypeName}`}
    ${errorPattern === null ? q`` : q`and error_pattern = ${errorPattern}`}`;

/** The selection, from the indexes of open and of retried dead letters. `offset 0` prevents a scan in the order of ids. */
function collected(q: Sql, reach: JobReach, o: Selected) {
  const of = (isRetried: boolean) =>
    q`select * from dead_letter_jobs where ${chosen(q, reach, { ...o, isRetried })}`;
  const parts = o.isRetried === undefined ? q`${of(false)} union all ${of(true)}` : of(o.isRetried);
  return q`(select * from (${parts}) parts offset 0) letters`;
}

/** Open dead letters come from the kept counts. Rows are counted for errors and times, and of those that were retried. */
async function countDeadLetters(q: Sql, reach: JobReach, o: Selected): Promise<number> {
  const countWhere = (of: Selected) => countList(q, q`dead_letter_jobs where ${chosen(q, reach, of)}`);
  if (o.errorContains || o.failedFrom || o.failedTo) return await countWhere(o);
  const [open, retried] = await Promise.all([
    o.isRetried === true ? 0 : countOpenDeadLetters(q, reach, o),
    o.isRetried === false ? 0 : countWhere({ ...o, isRetried: true }),
  ]);
  return open + retried;
}

export const noSuchDeadLetter = (id: string) =>
  problem("JOB_DEADLETTER_NOT_FOUND", `No dead letter ${id} is within the caller's reach.`);

/** @throws JOB_DEADLETTER_NOT_FOUND */
export async function readDeadLetter(q: Sql, reach: JobReach, id: string): Promise<DeadLetter> {
  const [entry] = await q<DeadLetter[]>`
    select ${q.unsafe(COLUMNS)} from dead_letter_jobs where id = ${id} and ${within(q, reach)}`;
  if (!entry) throw noSuchDeadLetter(id);
  return entry;
}

/** A dead letter changes once: when it is retried. */
export const deadLetterVersion = ({ retriedAt }: Pick<DeadLetter, "retriedAt">): number => retriedAt ? 2 : 1;

/** Number of dead letters that have not been retried, from the kept counts: all, or those of a type or group. */
export async function countOpenDeadLetters(
  q: Sql,
  reach: JobReach,
  group: Pick<DeadLetterFilters, "jobTypeName" | "errorPattern"> = {},
): Promise<number> {
  const [row] = await q<{ n: number }[]>`
    select coalesce(sum(n), 0)::bigint as n from (
      select n from dead_letter_counts where scope = ${countScope(reach)} ${ofGroup(q, group)}
      union all
      select n from dead_letter_deltas where ${within(q, reach)} ${ofGroup(q, group)}
    ) counted`;
  return row?.n ?? 0;
}
