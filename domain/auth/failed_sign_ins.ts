// Wrong sign-ins are counted in Postgres and not in memory, so that the limits hold across instances and restarts. An
// email nobody has is counted and locked as a user's is: neither the answer nor, but for two short statements when the
// lock falls, its time tells the two apart. The table stays small: a row costs its maker a password hash, a limited address adds none, and rows are pruned when their window
// is over.
import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";

const ACCOUNT_LIMIT = { failures: 5, minutes: 15 };
const ADDRESS_LIMIT = { failures: 30, minutes: 5 };
const LOCKOUT_MINUTES = 15;

const userSubject = (userId: string) => `user:${userId}`;
const addressSubject = (address: string) => `address:${address}`;
/** In the letter case users' emails are found in, and hashed: it may be somebody's elsewhere. */
const emailSubject = (q: Queryable, email: string) =>
  q`'email:' || encode(sha256(convert_to(lower(${email}), 'UTF8')), 'hex')`;

/** Whose password a sign-in tries. */
export interface TriedAccount {
  /** Null: nobody has the email. */
  id: string | null;
  email: string;
}

/**
 * Refuses an address that has failed too often of late.
 * @throws RATE_LIMITED with Retry-After
 */
export async function requireAddressBelowLimit(q: Queryable, address: string): Promise<void> {
  const [over] = await q<{ seconds: number }[]>`
    select greatest(1, ceil(extract(epoch from
        min(at) + make_interval(mins => ${ADDRESS_LIMIT.minutes}) - now())))::int as seconds
    from failed_sign_ins f, unnest(f.failed_at) at
    where f.subject = ${
    addressSubject(address)
  } and at > now() - make_interval(mins => ${ADDRESS_LIMIT.minutes})
    having count(*) >= ${ADDRESS_LIMIT.failures}`;
  if (!over) return;
  throw problem(
    "RATE_LIMITED",
    `${ADDRESS_LIMIT.failures} sign-ins from this address have failed within ${ADDRESS_LIMIT.minutes} minutes.`,
    { headers: { "retry-after": String(over.seconds) } },
  );
}

/**
 * Counts a failed sign-in for the address and, where a password was wrong, for the account; the account's fifth
 * within 15 minutes locks it for 15.
 * @param o.tried null where the password was not what was wrong.
 */
export async function countFailedSignIn(
  p: Pick<Platform, "sql">,
  o: { address: string | null; tried: TriedAccount | null },
): Promise<void> {
  const { address, tried } = o;
  await transact(p.sql, async (tx) => {
    const [user] = await tx<{ id: string; isLocked: boolean }[]>`
      select id, coalesce(lockout_expires_at > now(), false) as is_locked from users
      where id = ${tried?.id ?? null} for no key update`;
    if (address !== null) await countFailure(tx, addressSubject(address), ADDRESS_LIMIT);
    if (user && !user.isLocked) await countWrongPassword(tx, user.id);
    if (tried?.id === null) await countForNobody(tx, tried.email);
  });
}

async function countWrongPassword(tx: Tx, userId: string): Promise<void> {
  const subject = userSubject(userId);
  if (await countFailure(tx, subject, ACCOUNT_LIMIT) < ACCOUNT_LIMIT.failures) return;
  await tx`update users set lockout_expires_at = now() + make_interval(mins => ${LOCKOUT_MINUTES})
    where id = ${userId}`;
  await tx`delete from failed_sign_ins where subject = ${subject}`;
}

/** There is no user to keep a lock, so the full count is the lock: nothing is added to it while it holds. */
async function countForNobody(tx: Tx, email: string): Promise<void> {
  await countFailure(tx, emailSubject(tx, email), ACCOUNT_LIMIT, tx`(${lockEnd(tx)} > now()) is not true`);
}

/** When the lock of an email nobody has ends, over `failed_sign_ins f`; null where it has none. */
const lockEnd = (q: Queryable) =>
  q`case when cardinality(f.failed_at) >= ${ACCOUNT_LIMIT.failures}
    then f.last_failed_at + make_interval(mins => ${LOCKOUT_MINUTES}) end`;

/** The query for when the lock of an email nobody has ends. */
export const nobodysLockEnd = (q: Queryable, email: string) =>
  q`select ${lockEnd(q)} from failed_sign_ins f where f.subject = ${emailSubject(q, email)}`;

/** Forgets the wrong passwords of an account. */
export async function clearFailedSignIns(tx: Tx, userId: string): Promise<void> {
  await tx`delete from failed_sign_ins where subject = ${userSubject(userId)}`;
}

/** Refuses a locked account. Throws ACCOUNT_LOCKED_UNAUTHORIZED with Retry-After. */
export function requireUnlocked(account: { lockedForSeconds: number | null }): void {
  const seconds = account.lockedForSeconds ?? 0;
  if (seconds <= 0) return;
  throw problem(
    "ACCOUNT_LOCKED_UNAUTHORIZED",
    `Too many wrong passwords; the account is locked for ${seconds} s more.`,
    { headers: { "retry-after": String(seconds) } },
  );
}

/**
 * Adds a failure now, forgets those before the window, keeps no more than count; returns how many there are.
 * @param mayCount a condition on `failed_sign_ins f`, without which the failure is not added.
 */
async function countFailure(
  tx: Tx,
  subject: string | ReturnType<typeof emailSubject>,
  limit: { failures: number; minutes: number },
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
