import type { Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudits } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { invalidateCounts } from "../../shared/count_cache.ts";
import { usersAccessChanged } from "../access_changes.ts";
import { requireMayAssignRoles } from "../roles/escalation.ts";
import { findSystemAdmins, keepTenantAdmin, requireSystemAdminLeft } from "../roles/last_admins.ts";
import { lockLinkTargets, requireOwnTargets } from "./link_targets.ts";
import { findPlatformReach, missingReach, userNotFound, type UserPlatform } from "./user_details.ts";

/**
 * Gives a role of the caller's tenant to users and takes it from others, with a fixed number of statements. Sessions of
 * these users end. Writers of links hold the lock of the tenant, so the roles do not change until the commit.
 * @returns the number of users who got or lost the role
 * @throws ROLE_NOT_FOUND, USER_NOT_FOUND (a given user is not of the tenant), ROLE_ASSIGNMENT_ESCALATION_BLOCKED,
 * MISSING_PERMISSION, LAST_SYSTEM_ADMIN_CONFLICT, LAST_TENANT_ADMIN_CONFLICT
 */
export async function changeRoleHolders(
  p: UserPlatform,
  tx: Tx,
  caller: TenantCaller,
  roleId: string,
  wanted: { given: string[]; taken: string[] },
): Promise<number> {
  const { tenantId } = caller;
  const link = { tenantId, roleIds: [roleId] };
  requireOwnTargets(await lockLinkTargets(tx, [link]), link);
  const users = await lockMembers(tx, tenantId, [...wanted.given, ...wanted.taken]);
  const missing = wanted.given.find((id) => !users.has(id));
  if (missing !== undefined) throw userNotFound(missing);
  const given = wanted.given.filter((id) => !users.get(id)?.includes(roleId));
  const taken = wanted.taken.filter((id) => users.get(id)?.includes(roleId));
  const changed = [...given, ...taken];
  if (changed.length === 0) return 0;
  if (given.length > 0) await requireMayAssignRoles(tx, caller, [roleId]);
  await requireReachOf(tx, caller, changed);
  const admins = await findSystemAdmins(tx, taken);
  await keepTenantAdmin(tx, tenantId, taken, async () => {
    await tx`delete from user_tenant_roles
      where role_id = ${roleId} and tenant_id = ${tenantId} and user_id = any(${taken}::uuid[])`;
    await tx`insert into user_tenant_roles (user_id, tenant_id, role_id)
      select id, ${tenantId}, ${roleId} from unnest(${given}::uuid[]) id on conflict do nothing`;
  });
  if (admins.length > 0) await requireSystemAdminLeft(tx);
  await tx`update users set version = version + 1, updated_at = now() where id = any(${changed}::uuid[])`;
  const changes = changed.map((userId) => ({ userId, tenantIds: [tenantId], everywhere: false }));
  await usersAccessChanged(p, tx, changes);
  invalidateCounts(tx);
  const entries = changed.map((id) => {
    const before = users.get(id) ?? [];
    const after = before.includes(roleId)
      ? before.filter((each) => each !== roleId)
      : [...before, roleId].sort();
    const target = { action: "user.set-roles", targetType: "user", targetId: id };
    return { ...target, before: { roleIds: before }, after: { roleIds: after } };
  });
  await recordAudits(tx, caller, entries);
  return changed.length;
}

/** Locks those of the users who belong to the tenant. @returns the roles that each holds there */
async function lockMembers(tx: Tx, tenantId: string, ids: string[]): Promise<Map<string, string[]>> {
  const rows = await tx<{ id: string; roleIds: string[] }[]>`
    select u.id, array(select h.role_id from user_tenant_roles h
      where h.user_id = u.id and h.tenant_id = ${tenantId} order by h.role_id) as role_ids
    from users u where u.id = any(${ids}::uuid[]) and u.deleted_at is null
      and exists (select from user_tenants l where l.user_id = u.id and l.tenant_id = ${tenantId})
    order by u.id for no key update of u`;
  return new Map(rows.map(({ id, roleIds }) => [id, roleIds]));
}

/** Checks that the caller has the platform reach that the users have in this tenant. @throws MISSING_PERMISSION */
async function requireReachOf(tx: Tx, caller: TenantCaller, ids: string[]): Promise<void> {
  const reach = await findPlatformReach(tx, ids, caller.tenantId);
  const missing = new Set([...reach.values()].flatMap((held) => missingReach(caller.permissions, held)));
  if (missing.size === 0) return;
  const codes = [...missing].join(", ");
  throw problem(
    "MISSING_PERMISSION",
    `The role's holders were not changed: one holds ${codes}, which the caller does not hold.`,
  );
}
