import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";

/** Wrong passwords or codes within the minutes that lock an account for `LOCKOUT_MINUTES`. */
export const ACCOUNT_LIMIT = { failures: 5, minutes: 15 };
const LOCKOUT_MINUTES = 15;

/** Whose failures are counted: a text, or SQL. */
export type Subject = string | ReturnType<typeof lockEnd>;

/**
 * Adds a failure at the current time and removes those before the time window. Keeps at most `limit.failures`.
 * @param mayCount SQL condition on `failed_sign_ins f`; if it is false, no failure is added to an existing row.
 * @returns the number of failures in the window; 0 if none was added.
 */
export async function countFailure(
  tx: Tx,
  subject: Subject,
  limit: { failures: number; minutes: number } = ACCOUNT_LIMIT,
  mayCount = tx`true`,
): Promise<number> {
  const [row] = await tx<{ failures: number }[]>`
    insert into failed_sign_ins as f (subject, failed_at, last_failed_at) values (${subject}, array[now()], now())
    on conflict (subject) do update set last_failed_at = now(), failed_at = array(
      select at from unnest(f.failed_at || now()) at
      where at > now() - make_interval(mins => ${limit.minutes}) order by at desc limit ${limit.failures})
    where ${mayCount}
    returning cardinality(failed_at) as failures`;
  return row?.failures ?? 0;
}

/** SQL over `failed_sign_ins f`: end of the lock of a subject whose count is full; null if it is not full. */
export const lockEnd = (q: Sql) =>
  q`case when cardinality(f.failed_at) >= ${ACCOUNT_LIMIT.failures}
    then f.last_failed_at + make_interval(mins => ${LOCKOUT_MINUTES}) end`;

/** Locks a user's account from now on. */
export async function lockAccount(tx: Tx, userId: string): Promise<void> {
  await tx`update users set lockout_expires_at = now() + make_interval(mins => ${LOCKOUT_MINUTES})
    where id = ${userId}`;
}

/** The refusal of an attempt on a locked account, with Retry-After. @param wrong what was wrong, such as "passwords" */
export const accountLocked = (wrong: string, seconds: number): Problem =>
  problem(
    "ACCOUNT_LOCKED_UNAUTHORIZED",
    `The account is locked after ${ACCOUNT_LIMIT.failures} wrong ${wrong}; try again in ${seconds} s.`,
    { headers: { "retry-after": String(seconds) } },
  );
