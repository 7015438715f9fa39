import { transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { requestResetByAdministrator } from "./password_reset.ts";
import type { AccessPlatform } from "../platform.ts";
import { lockChangeableUser } from "../users/platform_reach.ts";

/**
 * Mails a reset link to a user whom the caller may change. The caller never sees the link. The password stays until the
 * owner uses the link.
 * @param within the tenant of the user; null: any user
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, USER_INACTIVE_CONFLICT
 */
export async function sendUserResetLink(
  p: AccessPlatform,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const user = await lockChangeableUser(tx, caller, userId, within);
    if (!user.isActive) {
      throw problem("USER_INACTIVE_CONFLICT", `No reset link was sent: user ${userId} is not active.`);
    }
    await requestResetByAdministrator(p, tx, user.email);
    await recordAudit(tx, { ...caller, tenantId: within }, "user.send-password-reset", userId);
  });
}
