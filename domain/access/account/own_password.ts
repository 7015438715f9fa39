import { verifyPassword } from "../../../infra/passwords.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { countFailedSignIn, requireUnlocked } from "../sign_in/failed_sign_ins.ts";

/** The signed-in user's account, whose password was just checked. */
export interface CheckedAccount {
  email: string;
  passwordHash: string;
}

/**
 * Checks the caller's own password before a change to the account. A wrong one counts towards the account's lockout.
 * Otherwise a thief of an access token could guess the password. The change must compare the hash again.
 * @param field name of the password in the errors.
 * @throws VALIDATION_ERROR (also for a wrong password), ACCOUNT_LOCKED_UNAUTHORIZED
 */
export async function requireOwnPassword(
  p: Pick<Platform, "sql">,
  userId: string,
  password: string,
  field = "password",
): Promise<CheckedAccount> {
  const [account] = await p.sql<
    { email: string; passwordHash: string | null; lockedForSeconds: number | null }[]
  >`
    select email, password_hash, ceil(extract(epoch from lockout_expires_at - now()))::int as locked_for_seconds
    from users where id = ${userId}`;
  if (!account) throw problem("SESSION_INVALIDATED", "The user no longer exists.");
  requireUnlocked(account);
  const { email, passwordHash } = account;
  if (passwordHash === null) {
    throw invalid({
      [field]: ["the account has no password; request a link with forgot-password to set one"],
    });
  }
  if (await verifyPassword(passwordHash, password)) return { email, passwordHash };
  await countFailedSignIn(p, { address: null, tried: { id: userId, email, deviceId: null } });
  throw wrongOwnPassword(field);
}

export const wrongOwnPassword = (field = "password") =>
  invalid({ [field]: ["this is not the caller's current password"] });
