// Wrong sign-ins are counted in Postgres and not in memory: so the limits hold across instances and restarts, and the
// write a known account's lockout needs anyway takes the same time for an email nobody has. The table stays small:
// a row costs its maker a password hash and a limited address adds none, and rows are pruned when their window is over.
import { type Queryable, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";

const ACCOUNT_LIMIT = { failures: 5, minutes: 15 };
const ADDRESS_LIMIT = { failures: 30, minutes: 5 };
const LOCKOUT_MINUTES = 15;

const userSubject = (userId: string) => `user:${userId}`;
const addressSubject = (address: string) => `address:${address}`;

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
 * @param o.userId null where no account's password was tried.
 */
export async function countFailedSignIn(
  p: Pick<Platform, "sql">,
  o: { address: string | null; userId: string | null },
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const [user] = await tx<{ isLocked: boolean }[]>`
      select coalesce(lockout_expires_at > now(), false) as is_locked from users where id = ${o.userId} for no key update`;
    if (o.address !== null) await countFailure(tx, addressSubject(o.address), ADDRESS_LIMIT);
    if (!user || user.isLocked || o.userId === null) return;
    const subject = userSubject(o.userId);
    if (await countFailure(tx, subject, ACCOUNT_LIMIT) < ACCOUNT_LIMIT.failures) return;
    await tx`update users set lockout_expires_at = now() + make_interval(mins => ${LOCKOUT_MINUTES})
      where id = ${o.userId}`;
    await tx`delete from failed_sign_ins where subject = ${subject}`;
  });
}

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

/** Adds a failure now, forgets those before the window, keeps no more than count; returns how many there are. */
async function countFailure(
  tx: Tx,
  subject: string,
  limit: { failures: number; minutes: number },
): Promise<number> {
  const [row] = await tx<{ failures: number }[]>`
    insert into failed_sign_ins as f (subject, failed_at, last_failed_at) values (${subject}, array[now()], now())
    on conflict (subject) do update set last_failed_at = now(), failed_at = array(
      select at from unnest(f.failed_at || now()) at
      where at > now() - make_interval(mins => ${limit.minutes}) order by at desc limit ${limit.failures})
    returning cardinality(failed_at) as failures`;
  return row?.failures ?? 0;
}
