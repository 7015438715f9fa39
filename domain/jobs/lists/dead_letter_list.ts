import { z } from "zod";
import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
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

/** Filters of a list of dead letters; absent members match all. */
export interface DeadLetterSelection {
  jobTypeName?: string | undefined;
  /** The `errorPattern` of a group of dead letters. */
  errorPattern?: string | undefined;
  /** Text that the error message contains, in any letter case. */
  errorContains?: string | undefined;
  /** First and last time of the failure, both inclusive. */
  failedFrom?: Date | undefined;
  failedTo?: Date | undefined;
  isRetried?: boolean | undefined;
}

/** @property firstId the first dead letter that matches; see `findFirstSearched` */
type Selected = DeadLetterSelection & { firstId?: string | undefined };

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
  { errorContains, failedFrom, failedTo }: DeadLetterSelection,
): Promise<string | null> {
  if (!errorContains || failedFrom) return null;
  const [first] = await q<{ id: string }[]>`
    select id from dead_letter_jobs where ${within(q, reach)}
      ${failedTo ? q`and id < ${firstIdOf(new Date(failedTo.getTime() + ID_MARGIN_MS))}` : q``}
    order by id desc offset ${MAX_SEARCHED - 1} limit 1`;
  return first?.id ?? null;
}

/** The selection except `isRetried` as an SQL condition. */
function matching(q: Sql, reach: JobReach, o: Selected) {
  return q`${within(q, reach)}
    ${o.jobTypeName === undefined ? q`` : q`and job_type_name = ${o.jobTypeName}`}
    ${o.errorPattern === undefined ? q`` : q`and error_pattern = ${o.errorPattern}`}
    ${o.errorContains ? q`and position(lower(${o.errorContains}) in lower(error_message)) > 0` : q``}
    ${o.failedFrom ? q`and failed_at >= ${o.failedFrom}` : q``} ${
    o.failedTo ? q`and failed_at <= ${o.failedTo}` : q``
  }
    ${o.firstId ? q`and id >= ${o.firstId}` : q``}`;
}

const isOpen = (q: Sql) => q`retried_at is null`;
const isRetried = (q: Sql) => q`retried_at is not null`;

const chosen = (q: Sql, reach: JobReach, o: Selected) =>
  q`${matching(q, reach, o)} ${
    o.isRetried === undefined ? q`` : q`and ${o.isRetried ? isRetried(q) : isOpen(q)}`
  }`;

/** The selection, from the indexes of open and of retried dead letters. `offset 0` prevents a scan in the order of ids. */
function collected(q: Sql, reach: JobReach, o: Selected) {
  const of = (state: ReturnType<typeof isOpen>) =>
    q`select * from dead_letter_jobs where ${matching(q, reach, o)} and ${state}`;
  const parts = o.isRetried === undefined
    ? q`${of(isOpen(q))} union all ${of(isRetried(q))}`
    : of(o.isRetried ? isRetried(q) : isOpen(q));
  return q`(select * from (${parts}) parts offset 0) letters`;
}

/** Open dead letters come from the kept counts. Rows are counted for errors and times, and of those that were retried. */
async function countDeadLetters(q: Sql, reach: JobReach, o: Selected): Promise<number> {
  if (o.errorContains || o.failedFrom || o.failedTo) return await countWhere(q, chosen(q, reach, o));
  const [open, retried] = await Promise.all([
    o.isRetried === true ? 0 : countOpenDeadLetters(q, reach, o),
    o.isRetried === false ? 0 : countWhere(q, q`${matching(q, reach, o)} and ${isRetried(q)}`),
  ]);
  return open + retried;
}

const countWhere = (q: Sql, condition: SqlPart): Promise<number> =>
  countList(q, q`dead_letter_jobs where ${condition}`);

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
  { jobTypeName, errorPattern }: Pick<DeadLetterSelection, "jobTypeName" | "errorPattern"> = {},
): Promise<number> {
  const ofGroup = q`${jobTypeName === undefined ? q`` : q`and job_type_name = ${jobTypeName}`}
    ${errorPattern === undefined ? q`` : q`and error_pattern = ${errorPattern}`}`;
  const [row] = await q<{ n: number }[]>`
    select coalesce(sum(n), 0)::bigint as n from (
      select n from dead_letter_counts where scope = ${countScope(reach)} ${ofGroup}
      union all
      select n from dead_letter_deltas where ${within(q, reach)} ${ofGroup}
    ) counted`;
  return row?.n ?? 0;
}
