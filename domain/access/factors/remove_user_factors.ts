import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, type TenantCaller } from "../../rights/caller.ts";
import { PLATFORM_REACH } from "../../rights/catalog.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import type { AccessPlatform } from "../platform.ts";
import { endSessions } from "../sign_in/sessions.ts";
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
    requireReach(caller, await lockTenantUser(tx, userId, caller.tenantId));
    return await removeAll(p, tx, caller, userId);
  });
}

/** Removes all factors and recovery codes of any user. Throws USER_NOT_FOUND, MISSING_PERMISSION. */
export async function removeUserFactors(p: AccessPlatform, caller: Caller, userId: string): Promise<number> {
  return await transact(p.sql, async (tx) => {
    await lockExistingUser(tx, userId);
    return await removeAll(p, tx, { ...caller, tenantId: null }, userId);
  });
}

/**
 * Checks that the caller has the platform reach of the user. Otherwise a caller who may change users could weaken the sign-in of
 * a system administrator.
 * @throws MISSING_PERMISSION
 */
async function requireTheirReach(tx: Tx, caller: Caller, userId: string): Promise<void> {
  const held = await tx<{ code: string }[]>`${permissionCodes(tx, userId, null)}`;
  const missing = held.map(({ code }) => code).filter((code) =>
    PLATFORM_REACH.has(code) && !holds(caller, code)
  );
  if (missing.length === 0) return;
  throw problem(
    "MISSING_PERMISSION",
    `The second factors of user ${userId} were not removed: the user holds ${
      missing.join(", ")
    }, which the caller does not hold.`,
  );
}

/** A lost device may still be signed in, so the user's sessions end too. */
async function removeAll(p: AccessPlatform, tx: Tx, caller: Caller, userId: string): Promise<number> {
  await requireTheirReach(tx, caller, userId);
  const removed = await tx`delete from user_factors where user_id = ${userId}`;
  await tx`delete from recovery_codes where user_id = ${userId}`;
  await clearWrongCodes(tx, userId);
  if (removed.count === 0) return 0;
  await endSessions(p, tx, { userId, reason: "second factors removed by an administrator" });
  const before = { factors: removed.count };
  await recordFactorChange(p, tx, caller, { userId, change: "remove-factors", before });
  return removed.count;
}
