import { transact } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, isProgram } from "../../rights/caller.ts";
import { requireStepUp } from "../../rights/checks.ts";
import type { AccessPlatform } from "../platform.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { lockChangeableUser } from "../users/platform_reach.ts";
import { clearWrongCodes } from "../sign_in/failed_codes.ts";
import { recordFactorChange } from "./factor_changes.ts";

/**
 * Removes all factors and recovery codes of a user who lost them. A lost device may still be signed in, so the user's
 * sessions end too.
 * @param within the tenant of the user; null: any user
 * @returns how many factors were removed
 * @throws FORBIDDEN, STEP_UP_REQUIRED_FORBIDDEN as `requireProofForOwn`
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION (the user has platform reach that the caller lacks)
 */
export async function removeUserFactors(
  p: AccessPlatform,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<number> {
  if (caller.userId === userId) requireProofForOwn(caller);
  return await transact(p.sql, async (tx) => {
    await lockChangeableUser(tx, caller, userId, within);
    const removed = await tx`delete from user_factors where user_id = ${userId}`;
    await tx`delete from recovery_codes where user_id = ${userId}`;
    await clearWrongCodes(tx, userId);
    if (removed.count === 0) return 0;
    await endSessions(p, tx, { userId, reason: "second factors removed by an administrator" });
    const before = { factors: removed.count };
    const actor = { ...caller, tenantId: within };
    await recordFactorChange(p, tx, actor, { userId, change: "remove-factors", before });
    return removed.count;
  });
}

/** One's own factors are removed only with a proof by one of them, which no program can give. */
function requireProofForOwn(caller: Caller): void {
  if (isProgram(caller)) {
    throw problem("FORBIDDEN", "An API key cannot remove the second factors of the user whom it acts for.");
  }
  requireStepUp(caller);
}
