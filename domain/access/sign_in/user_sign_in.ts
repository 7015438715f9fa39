import { transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { listOwnSessions, type OwnSession } from "./own_sessions.ts";
import { clearFailedSignIns, clearFailuresOfDevices, clearWrongCodes } from "./failed_sign_ins.ts";
import { endSessions } from "./sessions.ts";
import { lockChangeableUser, type UserPlatform } from "../users/user_details.ts";

/**
 * Lists the open sessions of a user, newest first, at most 100. A session is valid in all tenants of the user and shows
 * addresses and devices, so the caller must be allowed to change the user.
 * @param within the tenant of the user; null: any user
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function listUserSessions(
  p: Pick<UserPlatform, "sql">,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<OwnSession[]> {
  return await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    return await listOwnSessions(tx, { userId, sessionId: caller.sessionId, boundTo: null });
  });
}

/**
 * Ends one open session of a user, or all of them. Their tokens are rejected from the next request on.
 * @param o.within the tenant of the user; null: any user
 * @param o.sessionId null: all sessions; the user may have none.
 * @returns how many sessions ended.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, SESSION_NOT_FOUND
 */
export async function endUserSessions(
  p: UserPlatform,
  caller: Caller,
  userId: string,
  { within, sessionId }: { within: string | null; sessionId: string | null },
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    const ended = await endSessions(p, tx, {
      userId,
      ...sessionId === null ? {} : { sessionId },
      reason: "ended by an administrator",
    });
    if (ended === 0 && sessionId !== null) {
      throw problem("SESSION_NOT_FOUND", `User ${userId} has no open session ${sessionId}.`);
    }
    if (ended > 0) {
      await recordAudit(tx, { ...caller, tenantId: within }, "user.end-sessions", userId, {
        after: { sessionId, ended },
      });
    }
    return ended;
  });
}

/**
 * Ends the lockout of a user and of their known devices, and deletes the record of failed sign-ins. Writes an audit row
 * only if the user was locked out.
 * @param within the tenant of the user; null: any user
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function unlockUser(
  p: UserPlatform,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    const unlocked = await tx`update users set lockout_expires_at = null
      where id = ${userId} and lockout_expires_at > now()`;
    await clearFailedSignIns(tx, userId);
    await clearFailuresOfDevices(tx, userId);
    await clearWrongCodes(tx, userId);
    if (unlocked.count === 0) return;
    await recordAudit(tx, { ...caller, tenantId: within }, "user.unlock", userId);
  });
}
