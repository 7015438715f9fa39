import { verifyPassword } from "../../../infra/passwords.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Caller } from "../../rights/caller.ts";
import { countFailedSignIn, deviceLockEnd, requireUnlocked } from "../sign_in/failed_sign_ins.ts";

/** The signed-in user's account, whose password was just checked. */
export interface CheckedAccount {
  email: string;
  passwordHash: string;
}

/**
 * Checks the caller's own password before a change to the account. Wrong ones count for the session, as for a known
 * device: a thief of an access token can neither guess the password nor lock the account, and a lock that strangers caused
 * does not stop its owner. The change must lock the user, compare the hash again and call `requireSessionUnlocked`.
 * @param field name of the password in the errors.
 * @throws VALIDATION_ERROR (also for a wrong password), ACCOUNT_LOCKED_UNAUTHORIZED
 */
export async function requireOwnPassword(
  p: Pick<Platform, "sql">,
  { userId, sessionId }: Pick<Caller, "userId" | "sessionId">,
  password: string,
  field = "password",
): Promise<CheckedAccount> {
  const [account] = await p.sql<{ email: string; passwordHash: string | null }[]>`
    select email, password_hash from users where id = ${userId}`;
  if (!account) throw problem("SESSION_INVALIDATED", "The user no longer exists.");
  await requireSessionUnlocked(p.sql, sessionId);
  const { email, passwordHash } = account;
  if (passwordHash === null) {
    throw invalid({
      [field]: ["the account has no password; request a link with forgot-password to set one"],
    });
  }
  if (await verifyPassword(passwordHash, password)) return { email, passwordHash };
  const tried = { id: userId, email, deviceId: sessionId };
  if (!await countFailedSignIn(p, { address: null, tried })) await requireSessionUnlocked(p.sql, sessionId);
  throw wrongOwnPassword(field);
}

/** Checks that a session did not send five wrong passwords. @throws ACCOUNT_LOCKED_UNAUTHORIZED */
export async function requireSessionUnlocked(q: Sql, sessionId: string): Promise<void> {
  const [lock] = await q<{ lockedForSeconds: number | null }[]>`
    select ceil(extract(epoch from (${
    deviceLockEnd(q, q`${sessionId}::text`)
  }) - now()))::int as locked_for_seconds`;
  if (lock) requireUnlocked(lock);
}

export const wrongOwnPassword = (field = "password") =>
  invalid({ [field]: ["this is not the caller's current password"] });
