import { hashPassword } from "../../../infra/passwords.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { Caller } from "../../rights/caller.ts";
import { readPasswordOwner, requireGoodPassword } from "../passwords/password_rules.ts";
import type { AccessPlatform } from "../platform.ts";
import { clearFailedSignIns } from "../sign_in/failed_sign_ins.ts";
import { forgetDevices } from "../sign_in/known_devices.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { requireOwnPassword, requireSessionUnlocked, wrongOwnPassword } from "./own_password.ts";
import { mailOwner } from "./owner_mail.ts";

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
    await recordAudit(tx, caller, { action: "user.change-password", targetType: "user", targetId: userId });
  });
}
