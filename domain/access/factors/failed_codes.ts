// Wrong codes have a counter of their own. A right password must not reset it: otherwise a thief who knows the password
// could guess codes without end.
import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";

const LIMIT = { failures: 5, minutes: 15 };
const LOCK_MINUTES = 15;

const subjectOf = (userId: string) => `factor:${userId}`;

/**
 * Checks that the user's factors are not locked. The user's row must be locked in this transaction.
 * @throws ACCOUNT_LOCKED_UNAUTHORIZED with Retry-After
 */
export async function requireFactorsUnlocked(tx: Tx, userId: string): Promise<void> {
  const [lock] = await tx<{ seconds: number }[]>`
    select ceil(extract(epoch from last_failed_at + make_interval(mins => ${LOCK_MINUTES}) - now()))::int as seconds
    from failed_sign_ins where subject = ${subjectOf(userId)} and cardinality(failed_at) >= ${LIMIT.failures}
      and last_failed_at > now() - make_interval(mins => ${LOCK_MINUTES})`;
  if (!lock) return;
  const seconds = String(Math.max(1, lock.seconds));
  throw problem(
    "ACCOUNT_LOCKED_UNAUTHORIZED",
    `The account is locked after ${LIMIT.failures} wrong codes; try again in ${seconds} s.`,
    { headers: { "retry-after": seconds } },
  );
}

/** Counts a wrong code. The fifth within 15 minutes locks the account, as wrong passwords do. */
export async function countWrongCode(tx: Tx, userId: string): Promise<void> {
  const [row] = await tx<{ failures: number }[]>`
    insert into failed_sign_ins as f (subject, failed_at, last_failed_at)
    values (${subjectOf(userId)}, array[now()], now())
    on conflict (subject) do update set last_failed_at = now(), failed_at = array(
      select at from unnest(f.failed_at || now()) at
      where at > now() - make_interval(mins => ${LIMIT.minutes}) order by at desc limit ${LIMIT.failures})
    returning cardinality(failed_at) as failures`;
  if ((row?.failures ?? 0) < LIMIT.failures) return;
  await tx`update users set lockout_expires_at = now() + make_interval(mins => ${LOCK_MINUTES}) where id = ${userId}`;
}

/** Deletes the counted wrong codes, after a right one or by an administrator. */
export async function clearWrongCodes(tx: Tx, userId: string): Promise<void> {
  await tx`delete from failed_sign_ins where subject = ${subjectOf(userId)}`;
}
