import { hashPassword, verifyPassword } from "../../../infra/passwords.ts";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Caller } from "../../rights/caller.ts";
import {
  clearFailedSignIns,
  countFailedSignIn,
  deviceLockEnd,
  requireUnlocked,
} from "../sign_in/failed_sign_ins.ts";
import { recordAudit } from "../../audit/audit.ts";
import { readPasswordOwner, requireGoodPassword } from "../passwords/password_rules.ts";
import type { AccessPlatform } from "../platform.ts";
import { forgetDevices } from "../sign_in/known_devices.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { mailOwner } from "./owner_mail.ts";

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

/**
 * Changes the caller's password, ends their other sessions and a lockout, and makes their devices unknown.
 * @throws VALIDATION_ERROR (also for a wrong current password), ACCOUNT_LOCKED_UNAUTHORIZED
 */
export async function changePassword(
  p: AccessPlatform,
  caller: Caller,
  o: { currentPassword: string; newPassword: string },
): Promise<void> {
  const { userId } = caller;
  await requireGoodPassword(p, o.newPassword, await readPasswordOwner(p.sql, userId), "newPassword");
  const { passwordHash } = await requireOwnPassword(p, caller, o.currentPassword, "currentPassword");
  const newHash = await hashPassword(o.newPassword);
  await transact(p.sql, async (tx) => {
    const changed = await tx`update users set password_hash = ${newHash}, lockout_expires_at = null
      where id = ${userId} and password_hash = ${passwordHash}`;
    if (changed.count === 0) throw wrongOwnPassword("currentPassword"); // a concurrent request changed it
    await requireSessionUnlocked(tx, caller.sessionId);
    await tx`delete from password_resets where user_id = ${userId}`;
    await clearFailedSignIns(tx, userId);
    await forgetDevices(tx, userId);
    await endSessions(p, tx, { userId, exceptSessionId: caller.sessionId, reason: "password changed" });
    await mailOwner(p, tx, { userId, kind: "password-changed" });
    await recordAudit(tx, caller, "user.change-password", userId);
  });
}
