import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller, TenantCaller } from "../../rights/caller.ts";
import { listOwnSessions, type OwnSession } from "../account/own_sessions.ts";
import { clearWrongCodes } from "../factors/failed_codes.ts";
import { clearFailedSignIns, clearFailuresOfDevices } from "../sign_in/failed_sign_ins.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { requireTheirReach } from "./platform_reach.ts";
import { readAdminUser } from "./user_details.ts";
import { lockExistingUser, lockTenantUser, type UserPlatform } from "./user_lock.ts";
import { requireReach } from "./user_update.ts";

/** Lists the open sessions of any user, newest first, at most 100. Throws USER_NOT_FOUND. */
export async function listUserSessions(
  p: Pick<UserPlatform, "sql">,
  caller: Caller,
  userId: string,
): Promise<OwnSession[]> {
  await readAdminUser(p.sql, userId);
  return await listOwnSessions(p.sql, { userId, sessionId: caller.sessionId });
}

/**
 * Like `listUserSessions`, for a user of the caller's tenant. A session is valid in all tenants of the user and shows
 * addresses and devices, so the caller must be allowed to change the user.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function listTenantUserSessions(
  p: Pick<UserPlatform, "sql">,
  caller: TenantCaller,
  userId: string,
): Promise<OwnSession[]> {
  return await transact(p.sql, async (tx) => {
    await requireReach(tx, caller, await lockTenantUser(tx, userId, caller.tenantId));
    return await listOwnSessions(tx, { userId, sessionId: caller.sessionId });
  });
}

/**
 * Ends one open session of a user, or all of them. Their tokens are rejected from the next request on.
 * @param sessionId null: all sessions; the user may have none.
 * @returns how many sessions ended.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION, SESSION_NOT_FOUND
 */
export async function endUserSessions(
  p: UserPlatform,
  caller: Caller,
  userId: string,
  sessionId: string | null,
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    await lockExistingUser(tx, userId);
    await requireTheirReach(tx, caller, userId, null);
    return await endAndRecord(p, tx, { ...caller, tenantId: null }, userId, sessionId);
  });
}

/**
 * Like `endUserSessions`, for a user of the caller's tenant whom the caller may change.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, SESSION_NOT_FOUND
 */
export async function endTenantUserSessions(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
  sessionId: string | null,
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    await requireReach(tx, caller, await lockTenantUser(tx, userId, caller.tenantId));
    return await endAndRecord(p, tx, caller, userId, sessionId);
  });
}

async function endAndRecord(
  p: UserPlatform,
  tx: Tx,
  actor: Caller,
  userId: string,
  sessionId: string | null,
): Promise<number> {
  const ended = await endSessions(p, tx, {
    userId,
    ...sessionId === null ? {} : { sessionId },
    reason: "ended by an administrator",
  });
  if (ended === 0 && sessionId !== null) {
    throw problem("SESSION_NOT_FOUND", `User ${userId} has no open session ${sessionId}.`);
  }
  if (ended > 0) {
    await recordAudit(tx, actor, {
      action: "user.end-sessions",
      targetType: "user",
      targetId: userId,
      after: { sessionId, ended },
    });
  }
  return ended;
}

/**
 * Ends the lockout of a user and of their known devices, and deletes the record of failed sign-ins. Writes an audit row
 * only if the user was locked out.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION
 */
export async function unlockUser(p: UserPlatform, caller: Caller, userId: string): Promise<void> {
  await transact(p.sql, async (tx) => {
    await lockExistingUser(tx, userId);
    await requireTheirReach(tx, caller, userId, null);
    await unlock(tx, { ...caller, tenantId: null }, userId);
  });
}

/**
 * Like `unlockUser`, for a user of the caller's tenant. The lockout belongs to the user in all tenants, so the caller
 * must be allowed to change the user.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function unlockTenantUser(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    await requireReach(tx, caller, await lockTenantUser(tx, userId, caller.tenantId));
    await unlock(tx, caller, userId);
  });
}

async function unlock(tx: Tx, actor: Caller, userId: string): Promise<void> {
  const unlocked = await tx`update users set lockout_expires_at = null
    where id = ${userId} and lockout_expires_at > now()`;
  await clearFailedSignIns(tx, userId);
  await clearFailuresOfDevices(tx, userId);
  await clearWrongCodes(tx, userId);
  if (unlocked.count === 0) return;
  await recordAudit(tx, actor, { action: "user.unlock", targetType: "user", targetId: userId });
}
