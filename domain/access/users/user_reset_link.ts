import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller, TenantCaller } from "../../rights/caller.ts";
import { requestPasswordReset } from "../account/password_reset.ts";
import type { AccessPlatform } from "../platform.ts";
import { type LockedUser, lockExistingUser, lockTenantUser } from "./user_lock.ts";
import { requireReach } from "./user_update.ts";

/**
 * Mails a reset link to a user of the caller's tenant. The caller must be allowed to change the user and never sees the
 * link. The password stays until the owner uses the link.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, USER_INACTIVE_CONFLICT
 */
export async function sendTenantUserResetLink(
  p: AccessPlatform,
  caller: TenantCaller,
  userId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const user = await lockTenantUser(tx, userId, caller.tenantId);
    requireReach(caller, user);
    await sendResetLink(p, tx, caller, user);
  });
}

/** Mails a reset link to a user of any tenants. Throws USER_NOT_FOUND, USER_INACTIVE_CONFLICT. */
export async function sendUserResetLink(p: AccessPlatform, caller: Caller, userId: string): Promise<void> {
  await transact(p.sql, async (tx) => {
    const user = await lockExistingUser(tx, userId);
    await sendResetLink(p, tx, { ...caller, tenantId: null }, user);
  });
}

async function sendResetLink(p: AccessPlatform, tx: Tx, caller: Caller, user: LockedUser): Promise<void> {
  if (!user.isActive) {
    throw problem("USER_INACTIVE_CONFLICT", `No reset link was sent: user ${user.id} is not active.`);
  }
  await requestPasswordReset({ ...p, sql: tx }, user.email);
  await recordAudit(tx, caller, {
    action: "user.send-password-reset",
    targetType: "user",
    targetId: user.id,
  });
}
