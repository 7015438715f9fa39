// Wrong codes have a counter of their own. A right password must not reset it: otherwise a thief who knows the password
// could guess codes without end.
import type { Tx } from "../../../infra/postgres/postgres.ts";
import { ACCOUNT_LIMIT, accountLocked, countFailure, lockAccount, lockEnd } from "./failure_count.ts";

const subjectOf = (userId: string) => `factor:${userId}`;

/**
 * Checks that the user's factors are not locked. The user's row must be locked in this transaction.
 * @throws ACCOUNT_LOCKED_UNAUTHORIZED with Retry-After
 */
export async function requireFactorsUnlocked(tx: Tx, userId: string): Promise<void> {
  const [lock] = await tx<{ seconds: number }[]>`
    select ceil(extract(epoch from ${lockEnd(tx)} - now()))::int as seconds
    from failed_sign_ins f where f.subject = ${subjectOf(userId)} and ${lockEnd(tx)} > now()`;
  if (lock) throw accountLocked("codes", lock.seconds);
}

/** Counts a wrong code. The fifth within 15 minutes locks the account, as wrong passwords do. */
export async function countWrongCode(tx: Tx, userId: string): Promise<void> {
  if (await countFailure(tx, subjectOf(userId)) >= ACCOUNT_LIMIT.failures) await lockAccount(tx, userId);
}

/** Deletes the counted wrong codes, after a right one or by an administrator. */
export async function clearWrongCodes(tx: Tx, userId: string): Promise<void> {
  await tx`delete from failed_sign_ins where subject = ${subjectOf(userId)}`;
}
