import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import type { Caller, TenantCaller } from "../../rights/caller.ts";
import type { AccessPlatform } from "../platform.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { requireTheirReach } from "../users/platform_reach.ts";
import { lockExistingUser, lockTenantUser } from "../users/user_lock.ts";
import { requireReach } from "../users/user_update.ts";
import { clearWrongCodes } from "./failed_codes.ts";
import { recordFactorChange } from "./factor_changes.ts";

/**
 * Removes all factors and recovery codes of a user of the caller's tenant who lost them.
 * @returns how many factors were removed
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION (the user has platform reach that the caller lacks)
 */
export async function removeTenantUserFactors(
  p: AccessPlatform,
  caller: TenantCaller,
  userId: string,
): Promise<number> {
  return await transact(p.sql, async (tx) => {
    await requireReach(tx, caller, await lockTenantUser(tx, userId, caller.tenantId));
    return await removeAll(p, tx, caller, userId);
  });
}

/** Removes all factors and recovery codes of any user. Throws USER_NOT_FOUND, MISSING_PERMISSION. */
export async function removeUserFactors(p: AccessPlatform, caller: Caller, userId: string): Promise<number> {
  return await transact(p.sql, async (tx) => {
    await lockExistingUser(tx, userId);
    await requireTheirReach(tx, caller, userId, null);
    return await removeAll(p, tx, { ...caller, tenantId: null }, userId);
  });
}

/** A lost device may still be signed in, so the user's sessions end too. */
async function removeAll(p: AccessPlatform, tx: Tx, caller: Caller, userId: string): Promise<number> {
  const removed = await tx`delete from user_factors where user_id = ${userId}`;
  await tx`delete from recovery_codes where user_id = ${userId}`;
  await clearWrongCodes(tx, userId);
  if (removed.count === 0) return 0;
  await endSessions(p, tx, { userId, reason: "second factors removed by an administrator" });
  const before = { factors: removed.count };
  await recordFactorChange(p, tx, caller, { userId, change: "remove-factors", before });
  return removed.count;
}
