import type { Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { userAccessChanged } from "../access_changes.ts";
import { requireMayAssignRoles } from "../roles/escalation.ts";
import { keepSystemAdmin } from "../roles/last_system_admin.ts";
import { keepTenantAdmin } from "../roles/last_tenant_admin.ts";
import { type LinkTargets, requireCapacity } from "./link_targets.ts";
import { requireTheirReach } from "./platform_reach.ts";
import { requireNotSelf, type UserPlatform } from "./user_lock.ts";

/**
 * Activates or deactivates a user's link to the caller's tenant, which ends the user's sessions. Other tenants stay
 * unchanged. An active link gives its roles, so activating it needs their permissions.
 * @param link the present link; its tenant, its roles and the user are locked
 * @throws MISSING_PERMISSION, USER_SELF_CONFLICT, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, TENANT_CAPACITY_REACHED,
 * LAST_SYSTEM_ADMIN_CONFLICT, LAST_TENANT_ADMIN_CONFLICT
 */
export async function setLinkActive(
  p: UserPlatform,
  tx: Tx,
  caller: TenantCaller,
  link: { userId: string; roleIds: string[]; targets: LinkTargets },
  isActive: boolean,
): Promise<void> {
  const { tenantId } = caller;
  const { userId, roleIds, targets } = link;
  await requireTheirReach(tx, caller, userId, tenantId);
  if (isActive) {
    requireCapacity(targets, [tenantId]);
    await requireMayAssignRoles(tx, caller, roleIds);
  } else requireNotSelf(caller, userId, "deactivate");
  await keepSystemAdmin(tx, userId, () =>
    keepTenantAdmin(tx, tenantId, [userId], async () => {
      await tx`update user_tenants set is_active = ${isActive}
        where user_id = ${userId} and tenant_id = ${tenantId}`;
      await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
      await userAccessChanged(p, tx, userId, [tenantId]);
    }));
  await recordAudit(tx, caller, isActive ? "user.link.activate" : "user.link.deactivate", userId, {
    before: { isActive: !isActive },
    after: { isActive },
  });
}
