import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { pageOf } from "../shared/list_order.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { type JobReach, within } from "./reach.ts";

const COLUMNS = `id, job_id, job_type_name, queue, serialized_args, attempts, error_message, failed_at,
  retried_at, retried_job_id`;

/** So few are collected and sorted (`offset 0` sees to it) instead of being looked for along the order of all. */
const FEW = 10_000;

/** A job whose retries were used up, as kept for a decision about it. */
export interface DeadLetter {
  id: string;
  jobId: string;
  jobTypeName: string;
  queue: string;
  serializedArgs: string;
  attempts: number;
  errorMessage: string | null;
  failedAt: Date;
  retriedAt: Date | null;
  retriedJobId: string | null;
}

/** What dead letters are narrowed to; absent parts leave all. */
export interface DeadLetterSelection {
  jobTypeName?: string | undefined;
  /** As a group of dead letters names it. */
  errorPattern?: string | undefined;
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
    ${o.errorPattern === undefined ? sql`` : sql`and error_pattern = ${o.errorPattern}`}`;
  const [count] = await sql<{ total: number }[]>`
    select count(*) as total from dead_letter_jobs where ${chosen}`;
  const total = count?.total ?? 0;
  if (offsetOf(o) >= total) return pagedResult([], total, o);
  const items = await sql<DeadLetter[]>`
    select ${sql.unsafe(COLUMNS)} from (
      select * from dead_letter_jobs where ${chosen} ${total <= FEW ? sql`offset 0` : sql``}
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

/** How many dead letters wait for a decision. */
export async function countOpenDeadLetters(sql: Sql, reach: JobReach): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*) as n from dead_letter_jobs where ${within(sql, reach)} and retried_at is null`;
  return row?.n ?? 0;
}
