import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { pageOf } from "../shared/list_order.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { countScope, type JobReach, within } from "./reach.ts";

const COLUMNS =
  `id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message, failed_at,
  retried_at, retried_job_id`;

/** Up to this many matches are sorted (`offset 0` forces it) instead of found by a scan of the primary key's index. */
const MAX_SORTED = 10_000;

/** A job that used up its retries, kept until someone retries or purges it. */
export interface DeadLetter {
  id: string;
  jobId: string;
  tenantId: string | null;
  jobTypeName: string;
  queue: string;
  serializedArgs: string;
  attempts: number;
  errorMessage: string | null;
  failedAt: Date;
  retriedAt: Date | null;
  retriedJobId: string | null;
}

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

/** A page of dead letters, newest first. */
export async function listDeadLetters(
  sql: Sql,
  reach: JobReach,
  o: PageRequest & DeadLetterSelection,
): Promise<PagedResult<DeadLetter>> {
  const chosen = sql`${within(sql, reach)}
    ${o.isRetried === undefined ? sql`` : sql`and retried_at is ${o.isRetried ? sql`not null` : sql`null`}`}
    ${o.jobTypeName === undefined ? sql`` : sql`and job_type_name = ${o.jobTypeName}`}
    ${o.errorPattern === undefined ? sql`` : sql`and error_pattern = ${o.errorPattern}`}
    ${o.errorContains ? sql`and position(lower(${o.errorContains}) in lower(error_message)) > 0` : sql``}
    ${o.failedFrom ? sql`and failed_at >= ${o.failedFrom}` : sql``}
    ${o.failedTo ? sql`and failed_at <= ${o.failedTo}` : sql``}`;
  const [count] = await sql<{ total: number }[]>`
    select count(*) as total from dead_letter_jobs where ${chosen}`;
  const total = count?.total ?? 0;
  if (offsetOf(o) >= total) return pagedResult([], total, o);
  const items = await sql<DeadLetter[]>`
    select ${sql.unsafe(COLUMNS)} from (
      select * from dead_letter_jobs where ${chosen} ${total <= MAX_SORTED ? sql`offset 0` : sql``}
    ) letters
    order by id desc ${pageOf(sql, o)}`;
  return pagedResult([...items], total, o);
}

/** @throws JOB_DEADLETTER_NOT_FOUND */
export async function readDeadLetter(sql: Sql, reach: JobReach, id: string): Promise<DeadLetter> {
  const [entry] = await sql<DeadLetter[]>`
    select ${sql.unsafe(COLUMNS)} from dead_letter_jobs where id = ${id} and ${within(sql, reach)}`;
  if (!entry) throw problem("JOB_DEADLETTER_NOT_FOUND", `No dead letter ${id} is within the caller's reach.`);
  return entry;
}

/** A dead letter changes once: when it is retried. */
export const deadLetterVersion = ({ retriedAt }: Pick<DeadLetter, "retriedAt">): number => retriedAt ? 2 : 1;

/** Number of dead letters that have not been retried, from the kept counts. */
export async function countOpenDeadLetters(sql: Sql, reach: JobReach): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select coalesce(sum(n), 0)::bigint as n from (
      select n from dead_letter_counts where scope = ${countScope(reach)}
      union all
      select n from dead_letter_deltas where ${within(sql, reach)}
    ) counted`;
  return row?.n ?? 0;
}
