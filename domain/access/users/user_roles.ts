import { transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { requireVersion } from "../../shared/version.ts";
import { userAccessChanged } from "../access_changes.ts";
import { requireMayAssignRoles } from "../roles/escalation.ts";
import type { Role } from "../roles/roles.ts";
import { keepSystemAdmin } from "../roles/last_system_admin.ts";
import { lockLinks, lockLinkTargets, requireTargets } from "./link_targets.ts";
import { insertLinkRoles } from "./links.ts";
import { requireTheirReach } from "./platform_reach.ts";
import { readUserRoles } from "./user_details.ts";
import { lockTenantUser, type UserPlatform } from "./user_lock.ts";

/**
 * Replaces a user's roles in the caller's tenant with `roleIds`; other tenants stay unchanged. Roles the user already
 * holds need no permissions of the caller. A change invalidates the user's tokens.
 * @throws USER_NOT_FOUND, PRECONDITION_FAILED, ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, MISSING_PERMISSION,
 * LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function setTenantUserRoles(
  p: UserPlatform,
  caller: TenantCaller,
  userId: string,
  roleIds: string[],
  ifMatch: string | null,
): Promise<Role[]> {
  const { tenantId } = caller;
  return await transact(p.sql, async (tx) => {
    await lockLinks(tx, userId);
    const link = { tenantId, roleIds };
    const targets = await lockLinkTargets(tx, [link]);
    const user = await lockTenantUser(tx, userId, tenantId);
    requireVersion(ifMatch, user.version);
    requireTargets(targets, [link]);
    const rows = await tx<{ roleId: string }[]>`
      select role_id from user_tenant_roles where user_id = ${userId} and tenant_id = ${tenantId} order by role_id`;
    const held = rows.map((row) => row.roleId);
    const given = roleIds.filter((id) => !held.includes(id));
    const taken = held.filter((id) => !roleIds.includes(id));
    await requireMayAssignRoles(tx, caller, given);
    if (given.length + taken.length > 0) {
      await requireTheirReach(tx, caller, userId, tenantId);
      await keepSystemAdmin(tx, userId, async () => {
        await tx`delete from user_tenant_roles
          where user_id = ${userId} and tenant_id = ${tenantId} and role_id = any(${taken}::uuid[])`;
        await insertLinkRoles(tx, userId, [{ tenantId, roleIds: given }]);
        await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
        await userAccessChanged(p, tx, userId, [tenantId]);
      });
      await recordAudit(tx, caller, "user.set-roles", userId, {
        before: { roleIds: held },
        after: { roleIds: [...roleIds].sort() },
      });
    }
    return await readUserRoles(tx, userId, tenantId);
  });
}
