import { hashPassword, verifyPassword } from "../../../infra/passwords.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import type { AccessPlatform } from "../platform.ts";
import { clearFailedSignIns, countFailedSignIn, requireUnlocked } from "../sign_in/failed_sign_ins.ts";
import { forgetDevices } from "../sign_in/known_devices.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { mailOwner } from "./owner_mail.ts";
import { readPasswordOwner, requireGoodPassword } from "../passwords/password_rules.ts";

interface OwnAccount {
  email: string;
  passwordHash: string | null;
  lockedForSeconds: number | null;
}

/**
 * Changes the caller's password and ends their other sessions. A wrong current password counts towards the account's
 * lockout. Otherwise a thief of an access token could guess the password.
 * @throws VALIDATION_ERROR (also for a wrong current password), ACCOUNT_LOCKED_UNAUTHORIZED
 */
export async function changePassword(
  p: AccessPlatform,
  caller: Caller,
  o: { currentPassword: string; newPassword: string },
): Promise<void> {
  const { userId } = caller;
  const [account] = await p.sql<OwnAccount[]>`
    select email, password_hash, ceil(extract(epoch from lockout_expires_at - now()))::int as locked_for_seconds
    from users where id = ${userId}`;
  if (!account) throw problem("SESSION_INVALIDATED", "The user no longer exists.");
  await requireGoodPassword(p, o.newPassword, await readPasswordOwner(p.sql, userId), "newPassword");
  requireUnlocked(account);
  const { passwordHash } = account;
  if (passwordHash === null) {
    throw invalid({
      currentPassword: ["the account has no password; request a link with forgot-password to set one"],
    });
  }
  if (!await verifyPassword(passwordHash, o.currentPassword)) {
    await countFailedSignIn(p, {
      address: null,
      tried: { id: userId, email: account.email, deviceId: null },
    });
    throw wrongPassword();
  }
  const newHash = await hashPassword(o.newPassword);
  await transact(p.sql, async (tx) => {
    const changed = await tx`update users set password_hash = ${newHash}
      where id = ${userId} and password_hash = ${passwordHash}
        and (lockout_expires_at is null or lockout_expires_at <= now())`;
    if (changed.count === 0) throw wrongPassword(); // a concurrent request changed it or locked the account
    await tx`delete from password_resets where user_id = ${userId}`;
    await clearFailedSignIns(tx, userId);
    await forgetDevices(tx, userId);
    await endSessions(p, tx, { userId, exceptSessionId: caller.sessionId, reason: "password changed" });
    await mailOwner(p, tx, { userId, kind: "password-changed" });
    await recordAudit(tx, caller, { action: "user.change-password", targetType: "user", targetId: userId });
  });
}

const wrongPassword = () => invalid({ currentPassword: ["this is not the caller's current password"] });
