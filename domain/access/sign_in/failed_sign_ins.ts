// Failed sign-ins are counted in Postgres, so that the limits hold across instances and restarts. An email without a
// user is counted and locked like a user's email, so neither the answer nor its time reveals whether a user exists. (Only
// the request that starts a user's lockout runs two more short statements.) The table stays small: each row costs the
// client a password hash, an address over its limit adds no rows, and a job prunes rows after their time window.
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";

const ADDRESS_LIMIT = { failures: 30, minutes: 5 };

const userSubject = (userId: string) => `user:${userId}`;
const deviceSubject = (deviceId: string) => `device:${deviceId}`;
const addressSubject = (address: string) => `address:${address}`;
/**
 * By its key, as users are looked up; a text without a domain may have none. Hashed, because it may be a person's email at
 * another service.
 */
const emailSubject = (q: Sql, email: string) =>
  q`'email:' || encode(sha256(convert_to(coalesce(mail_key(${email}), lower(${email})), 'UTF8')), 'hex')`;

/** The account of a sign-in attempt. */
export interface TriedAccount {
  /** Null: no user has the email. */
  id: string | null;
  email: string;
  /** The known device of the attempt; null: any other. */
  deviceId: string | null;
}

/**
 * Checks that an address is below its limit of failed sign-ins.
 * @throws RATE_LIMITED with Retry-After
 */
export async function requireAddressBelowLimit(q: Sql, address: string): Promise<void> {
  const [over] = await q<{ seconds: number }[]>`
    select greatest(1, ceil(extract(epoch from
        min(at) + make_interval(mins => ${ADDRESS_LIMIT.minutes}) - now())))::int as seconds
    from failed_sign_ins f, unnest(f.failed_at) at
    where f.subject = ${addressSubject(address)}
      and at > now() - make_interval(mins => ${ADDRESS_LIMIT.minutes})
    having count(*) >= ${ADDRESS_LIMIT.failures}`;
  if (!over) return;
  throw problem(
    "RATE_LIMITED",
    `Sign-in rejected: ${ADDRESS_LIMIT.failures} sign-ins from this address failed within ${ADDRESS_LIMIT.minutes} minutes.`,
    { headers: { "retry-after": String(over.seconds) } },
  );
}

/**
 * Counts a failed sign-in for the address and, if the password was wrong, for the account. The fifth wrong password
 * within 15 minutes locks the account for 15 minutes. Those of a known device are counted and locked for this device only.
 * @param o.tried null if the sign-in failed for another reason than a wrong password.
 * @returns false if concurrent attempts have locked the account, so that nothing was counted for it. The answer
 * must then be that of a locked account. Otherwise only the right password would get it, and a burst of guesses finds it.
 * @throws RATE_LIMITED if concurrent attempts have reached the limit of the address, for the same reason
 */
export async function countFailedSignIn(
  p: Pick<Platform, "sql">,
  o: { address: string | null; tried: TriedAccount | null },
): Promise<boolean> {
  const { address, tried } = o;
  return await transact(p.sql, async (tx) => {
    const [user] = await tx<{ id: string; isLocked: boolean }[]>`
      select id, coalesce(lockout_expires_at > now(), false) as is_locked from users
      where id = ${tried?.id ?? null} for no key update`;
    if (address !== null) {
      const isBelow = isBelowAddressLimit(tx);
      const count = await countFailure(tx, addressSubject(address), ADDRESS_LIMIT, isBelow);
      if (count === 0) await requireAddressBelowLimit(tx, address);
    }
    if (tried?.deviceId) return await countWhileUnlocked(tx, deviceSubject(tried.deviceId));
    if (tried?.id === null) return await countWhileUnlocked(tx, emailSubject(tx, tried.email));
    if (user && !user.isLocked) await countWrongPassword(tx, user.id);
    return !user?.isLocked;
  });
}

/** SQL condition on `failed_sign_ins f`: the address is below its limit. */
const isBelowAddressLimit = (q: Sql) =>
  q`(select count(*) from unnest(f.failed_at) at where at > now() - make_interval(mins => ${ADDRESS_LIMIT.minutes}))
    < ${ADDRESS_LIMIT.failures}`;

async function countWrongPassword(tx: Tx, userId: string): Promise<void> {
  const subject = userSubject(userId);
  if (await countFailure(tx, subject) < ACCOUNT_LIMIT.failures) return;
  await lockAccount(tx, userId);
  await tx`delete from failed_sign_ins where subject = ${subject}`;
}

/** Counts a failure of an email without a user, or of a device. @returns false if its count is full: it is locked */
async function countWhileUnlocked(tx: Tx, subject: Subject): Promise<boolean> {
  return await countFailure(tx, subject, ACCOUNT_LIMIT, tx`(${lockEnd(tx)} > now()) is not true`) > 0;
}

/** Query for the end of the lock of an email without a user. */
export const unknownEmailLockEnd = (q: Sql, email: string) =>
  q`select ${lockEnd(q)} from failed_sign_ins f where f.subject = ${emailSubject(q, email)}`;

/** Query for the end of the lock of a known device. @param id SQL: the device's id */
export const deviceLockEnd = (q: Sql, id: ReturnType<typeof q>) =>
  q`select ${lockEnd(q)} from failed_sign_ins f where f.subject = ${deviceSubject("")} || ${id}`;

/**
 * Deletes the counted wrong passwords of an account.
 * @param deviceId only those of this known device. Its sign-in must not give a stranger more attempts.
 */
export async function clearFailedSignIns(
  tx: Tx,
  userId: string,
  deviceId: string | null = null,
): Promise<void> {
  const subject = deviceId === null ? userSubject(userId) : deviceSubject(deviceId);
  await tx`delete from failed_sign_ins where subject = ${subject}`;
}

/** Deletes the counted wrong passwords of all known devices of a user. */
export async function clearFailuresOfDevices(tx: Tx, userId: string): Promise<void> {
  await tx`delete from failed_sign_ins where subject in (
    select ${deviceSubject("")} || id from known_devices where user_id = ${userId})`;
}

/** Checks that an account is not locked. Throws ACCOUNT_LOCKED_UNAUTHORIZED with Retry-After. */
export function requireUnlocked(account: { lockedForSeconds: number | null }): void {
  const seconds = account.lockedForSeconds ?? 0;
  if (seconds > 0) throw accountLocked("passwords", seconds);
}

/** Wrong passwords or codes within the minutes that lock an account for `LOCKOUT_MINUTES`. */
const ACCOUNT_LIMIT = { failures: 5, minutes: 15 };
const LOCKOUT_MINUTES = 15;

/** Whose failures are counted: a text, or SQL. */
type Subject = string | ReturnType<typeof lockEnd>;

/**
 * Adds a failure at the current time and removes those before the time window. Keeps at most `limit.failures`.
 * @param mayCount SQL condition on `failed_sign_ins f`; if it is false, no failure is added to an existing row.
 * @returns the number of failures in the window; 0 if none was added.
 */
async function countFailure(
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
const lockEnd = (q: Sql) =>
  q`case when cardinality(f.failed_at) >= ${ACCOUNT_LIMIT.failures}
    then f.last_failed_at + make_interval(mins => ${LOCKOUT_MINUTES}) end`;

async function lockAccount(tx: Tx, userId: string): Promise<void> {
  await tx`update users set lockout_expires_at = now() + make_interval(mins => ${LOCKOUT_MINUTES})
    where id = ${userId}`;
}

/** The refusal of an attempt on a locked account, with Retry-After. @param wrong what was wrong, such as "passwords" */
const accountLocked = (wrong: string, seconds: number): Problem =>
  problem(
    "ACCOUNT_LOCKED_UNAUTHORIZED",
    `The account is locked after ${ACCOUNT_LIMIT.failures} wrong ${wrong}; try again in ${seconds} s.`,
    { headers: { "retry-after": String(seconds) } },
  );

// Wrong codes have a counter of their own. A right password must not reset it: otherwise a thief who knows the password
// could guess codes without end.

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
