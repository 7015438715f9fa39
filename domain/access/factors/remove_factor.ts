import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type Caller, isProgram } from "../../rights/caller.ts";
import { hasFactor } from "../../rights/second_factor.ts";
import type { AccessPlatform } from "../platform.ts";
import { lockChangeableUser, lockExistingUser } from "../users/user_details.ts";
import { factorNotFound } from "./add_factor.ts";
import { recordFactorChange } from "./factors.ts";
import { type FactorProof, PROOFS, proveFactor, requireOneProof } from "./prove.ts";
import { replaceRecoveryCodes } from "./recovery_codes.ts";
import { lockProvedUser, lowerSessions, refuseProof } from "./step_up.ts";
import { problem } from "../../problems/problem.ts";
import { requireStepUp } from "../../rights/checks.ts";
import { endSessions } from "../sign_in/sessions.ts";
import { clearWrongCodes } from "../sign_in/failed_sign_ins.ts";

/**
 * Removes one of the caller's factors, with a proof by a factor in `proof` or in the last minutes of the session. With the
 * last one, the recovery codes go too.
 * @throws FACTOR_NOT_FOUND, STEP_UP_REQUIRED_FORBIDDEN, VALIDATION_ERROR, ACCOUNT_LOCKED_UNAUTHORIZED, FACTOR_UNAVAILABLE
 */
export async function removeFactor(
  p: AccessPlatform,
  caller: Caller,
  factorId: string,
  proof: FactorProof,
): Promise<void> {
  const { userId } = caller;
  const [existing] = await p.sql`select from user_factors where id = ${factorId} and user_id = ${userId}`;
  if (!existing) throw factorNotFound(factorId, "factor");
  const isProofSent = PROOFS.some((name) => proof[name] !== undefined);
  if (isProofSent) requireOneProof(proof);
  const removed = await transact(p.sql, async (tx) => {
    if (!isProofSent) await lockProvedUser(p, tx, caller);
    else {
      await lockExistingUser(tx, userId);
      if (!await proveFactor(p, tx, userId, proof)) return false;
    }
    const [factor] = await tx<{ kind: string; isConfirmed: boolean }[]>`
      delete from user_factors where id = ${factorId} and user_id = ${userId}
      returning kind, confirmed_at is not null as is_confirmed`;
    if (!factor) throw factorNotFound(factorId, "factor");
    if (!factor.isConfirmed) return true; // it never counted
    await forgetCodesWithoutFactor(p, tx, userId);
    const before = { kind: factor.kind, factorId };
    await recordFactorChange(p, tx, caller, { userId, change: "remove-factor", before });
    return true;
  });
  if (!removed) refuseProof(proof);
}

async function forgetCodesWithoutFactor(p: AccessPlatform, tx: Tx, userId: string): Promise<void> {
  if (await hasAnyFactor(tx, userId)) return;
  await tx`delete from recovery_codes where user_id = ${userId}`;
  await lowerSessions(p, tx, userId);
}

async function hasAnyFactor(tx: Tx, userId: string): Promise<boolean> {
  const [user] = await tx<{ hasFactor: boolean }[]>`
    select ${hasFactor(tx, tx`${userId}::uuid`)} as has_factor`;
  return user?.hasFactor ?? false;
}

/**
 * Replaces the caller's recovery codes.
 * @returns the new ones, shown only now.
 * @throws FACTOR_NOT_FOUND if the caller has no factor
 */
export async function renewRecoveryCodes(p: AccessPlatform, caller: Caller): Promise<string[]> {
  const { userId } = caller;
  return await transact(p.sql, async (tx) => {
    await lockProvedUser(p, tx, caller);
    if (!await hasAnyFactor(tx, userId)) throw factorNotFound("(any)", "second factor");
    const codes = await replaceRecoveryCodes(tx, userId);
    await recordFactorChange(p, tx, caller, { userId, change: "renew-recovery-codes" });
    return codes;
  });
}

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
