import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller, TenantCaller } from "../../rights/caller.ts";
import { requestResetByAdministrator } from "../account/password_reset.ts";
import type { AccessPlatform } from "../platform.ts";
import { type LockedUser, lockExistingUser, lockTenantUser } from "./user_lock.ts";
import { requireTheirReach } from "./platform_reach.ts";
import { requireReach } from "./user_update.ts";

/**
 * Mails a reset link to a user of the caller's tenant. The caller must be allowed to change the user and never sees the
 * link. The password stays until the owner uses the link.
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION, USER_INACTIVE_CONFLICT
 */
export async function sendTenantUserResetLink(
  p: AccessPlatform,
  caller: TenantCaller,
  userId: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const user = await lockTenantUser(tx, userId, caller.tenantId);
    await requireReach(tx, caller, user);
    await sendResetLink(p, tx, caller, user);
  });
}

/** Mails a reset link to a user of any tenants. Throws USER_NOT_FOUND, MISSING_PERMISSION, USER_INACTIVE_CONFLICT. */
export async function sendUserResetLink(p: AccessPlatform, caller: Caller, userId: string): Promise<void> {
  await transact(p.sql, async (tx) => {
    const user = await lockExistingUser(tx, userId);
    await requireTheirReach(tx, caller, userId, null);
    await sendResetLink(p, tx, { ...caller, tenantId: null }, user);
  });
}

async function sendResetLink(p: AccessPlatform, tx: Tx, caller: Caller, user: LockedUser): Promise<void> {
  if (!user.isActive) {
    throw problem("USER_INACTIVE_CONFLICT", `No reset link was sent: user ${user.id} is not active.`);
  }
  await requestResetByAdministrator(p, tx, user.email);
  await recordAudit(tx, caller, {
    action: "user.send-password-reset",
    targetType: "user",
    targetId: user.id,
  });
}
