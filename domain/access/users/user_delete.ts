import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { requireVersion } from "../../shared/version.ts";
import { userAccessChanged } from "../access_changes.ts";
import type { Acting } from "../roles/escalation.ts";
import { keepSystemAdmin } from "../roles/last_system_admin.ts";
import { lockLinks, lockLinkTargets } from "./link_targets.ts";
import { requireTheirReach } from "./platform_reach.ts";
import { emitLinksChanged, emitUserDeleted } from "./user_events.ts";
import {
  type LockedUser,
  lockExistingUser,
  lockTenantUser,
  requireNotSelf,
  type UserPlatform,
} from "./user_lock.ts";

/**
 * Removes a user from the caller's tenant. If this is the user's only link, soft-deletes the user instead. The link's
 * row then stays, so that the tenant can still list the user among deleted ones.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function removeTenantUser(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
  ifMatch: string | null,
): Promise<void> {
  const { tenantId } = caller;
  await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [], await lockLinks(tx, userId));
    const user = await lockTenantUser(tx, userId, tenantId);
    await requireTheirReach(tx, caller, userId, tenantId);
    requireVersion(ifMatch, user.version);
    requireNotSelf(caller, userId, "delete");
    await keepSystemAdmin(tx, userId, async () => {
      if (user.otherLinks === 0) await markDeleted(p, tx, caller, user);
      else await unlink(p, tx, caller, userId);
    });
  });
}

/**
 * Soft-deletes a user of any tenants. The email stays taken.
 * @throws USER_NOT_FOUND, MISSING_PERMISSION, PRECONDITION_FAILED, USER_SELF_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function deleteUser(
  p: UserPlatform,
  acting: Acting,
  userId: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [], await lockLinks(tx, userId));
    const user = await lockExistingUser(tx, userId);
    await requireTheirReach(tx, acting, userId, null);
    requireVersion(ifMatch, user.version);
    requireNotSelf(acting, userId, "delete");
    await keepSystemAdmin(
      tx,
      userId,
      () => markDeleted(p, tx, acting && { ...acting, tenantId: null }, user),
    );
  });
}

async function unlink(p: UserPlatform, tx: Tx, caller: TenantCaller, userId: string): Promise<void> {
  const { tenantId } = caller;
  await tx`delete from user_tenants where user_id = ${userId} and tenant_id = ${tenantId}`;
  await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
  await userAccessChanged(p, tx, userId, [tenantId]);
  await recordAudit(tx, caller, "user.unlink", userId, { before: { tenantId } });
  await emitLinksChanged(p, tx, userId, { before: [{ tenantId }], after: [] });
}

async function markDeleted(p: UserPlatform, tx: Tx, acting: Acting, user: LockedUser): Promise<void> {
  await tx`update users set deleted_at = now(), deleted_in_tenant_id = ${acting?.tenantId ?? null},
    version = version + 1, updated_at = now() where id = ${user.id}`;
  await userAccessChanged(p, tx, user.id, { linkedAnd: [] });
  await recordAudit(tx, acting, "user.delete", user.id, { before: { email: user.email } });
  await emitUserDeleted(p, tx, user);
}
