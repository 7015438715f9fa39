import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { holds, type TenantCaller } from "../../rights/caller.ts";
import { requireStepUpOfFactorHolder } from "../../rights/checks.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { requireVersion } from "../../shared/version.ts";
import type { Versioned } from "../../shared/versioned.ts";
import { type ChangingAccess, roleAccessChanged } from "../access_changes.ts";
import { requireSystemAdminLeft } from "./last_system_admin.ts";
import { emitRolesChanged } from "./role_events.ts";
import { lockRole, requireOwnRole } from "./role_lock.ts";
import { readRole, type Role } from "./roles.ts";

export interface GrantedPermission {
  id: string;
  code: string;
}

/**
 * Adds one permission to a role of the caller's tenant, also to a catalog role. Does nothing if the role has it.
 * @throws ROLE_NOT_FOUND, PERMISSION_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED
 */
export async function assignPermission(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: TenantCaller,
  roleId: string,
  permissionId: string,
): Promise<Versioned<Role>> {
  return await transact(p.sql, async (tx) => {
    await lockRole(tx, caller.tenantId, roleId);
    const permissions = await requireGrantable(tx, caller, [permissionId]);
    if (
      await changePermissions(p, tx, { tenantId: caller.tenantId, id: roleId }, { added: permissions }) > 0
    ) {
      await recordGrant(p, tx, caller, "role.permission.assign", roleId, { after: permissions[0] });
    }
    return await readRole(tx, caller.tenantId, roleId);
  });
}

/**
 * Removes one permission from a role that is not a catalog role. Does nothing if the role does not have it.
 * @throws ROLE_NOT_FOUND, PRECONDITION_FAILED, ROLE_SYSTEM_PROTECTED_CONFLICT, PERMISSION_NOT_FOUND,
 * LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function revokePermission(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: TenantCaller,
  roleId: string,
  permissionId: string,
  ifMatch: string | null,
): Promise<Versioned<Role>> {
  return await transact(p.sql, async (tx) => {
    const role = await lockRole(tx, caller.tenantId, roleId);
    requireVersion(ifMatch, role.version);
    requireOwnRole(role, "changed to have fewer permissions");
    const permissions = await findPermissions(tx, caller.tenantId, [permissionId]);
    if (
      await changePermissions(p, tx, { tenantId: caller.tenantId, id: roleId }, { removed: permissions }) > 0
    ) {
      await recordGrant(p, tx, caller, "role.permission.revoke", roleId, { before: permissions[0] });
    }
    return await readRole(tx, caller.tenantId, roleId);
  });
}

/**
 * Reads the permissions of `ids` and checks that the caller may grant them: one with platform reach only if they hold it.
 * Granting platform reach needs a recent sign-in of users with a second factor.
 * @throws PERMISSION_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN
 */
export async function requireGrantable(
  tx: Tx,
  caller: TenantCaller,
  ids: string[],
): Promise<GrantedPermission[]> {
  const permissions = await findPermissions(tx, caller.tenantId, ids);
  const notHeld = permissions.filter(({ reach, code }) => reach === "Platform" && !holds(caller, code));
  if (notHeld.length > 0) {
    const codes = notHeld.map(({ code }) => code).join(", ");
    throw problem(
      "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
      `The caller may not grant ${codes}: only a user who holds a platform-reach permission may grant it.`,
    );
  }
  if (permissions.some(({ reach }) => reach === "Platform")) requireStepUpOfFactorHolder(caller);
  return permissions;
}

/**
 * Adds permissions to a role and removes others. If that changes anything, invalidates its holders' tokens.
 * @returns the number of permissions added plus the number removed.
 * @throws LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function changePermissions(
  p: ChangingAccess,
  tx: Tx,
  { tenantId, id: roleId }: { tenantId: string; id: string },
  { added = [], removed = [] }: { added?: GrantedPermission[]; removed?: GrantedPermission[] },
): Promise<number> {
  const given = await addPermissions(tx, roleId, added);
  const { count: taken } = await tx`delete from role_permissions
    where role_id = ${roleId} and permission_id = any(${removed.map(({ id }) => id)}::uuid[])`;
  if (given + taken > 0) await roleAccessChanged(p, tx, tenantId, roleId);
  if (taken > 0 && removed.some(({ code }) => code === "admin:system")) await requireSystemAdminLeft(tx);
  return given + taken;
}

/** Adds permissions to a role; returns how many it did not have. */
export async function addPermissions(tx: Tx, roleId: string, added: GrantedPermission[]): Promise<number> {
  const { count } = await tx`insert into role_permissions (role_id, permission_id)
    select ${roleId}, id from unnest(${added.map(({ id }) => id)}::uuid[]) id on conflict do nothing`;
  return count;
}

/** Reads permissions of the catalog and the tenant by id. Throws PERMISSION_NOT_FOUND if one is missing. */
async function findPermissions(tx: Tx, tenantId: string, ids: string[]) {
  const wanted = new Set(ids);
  if (wanted.size === 0) return [];
  const found = await tx<(GrantedPermission & { reach: "Platform" | "Tenant" })[]>`
    select id, code, reach from permissions
    where id = any(${ids}::uuid[]) and deleted_at is null and (tenant_id is null or tenant_id = ${tenantId})`;
  for (const { id } of found) wanted.delete(id);
  if (wanted.size === 0) return [...found];
  throw problem(
    "PERMISSION_NOT_FOUND",
    `The tenant has no permission ${[...wanted].slice(0, 5).join(", ")}.`,
  );
}

async function recordGrant(
  p: ChangingAccess,
  tx: Tx,
  caller: TenantCaller,
  action: string,
  roleId: string,
  change: { before?: unknown; after?: unknown },
): Promise<void> {
  await tx`update roles set version = version + 1, updated_at = now() where id = ${roleId}`;
  await recordAudit(tx, caller, action, roleId, change);
  const { value } = await readRole(tx, caller.tenantId, roleId);
  await emitRolesChanged(p, tx, [value]);
}
