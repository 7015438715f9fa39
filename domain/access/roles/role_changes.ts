import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { requireVersion } from "../../shared/version.ts";
import type { Versioned } from "../../shared/versioned.ts";
import type { ChangingAccess } from "../access_changes.ts";
import { softDeleteRow } from "../soft_delete.ts";
import { emitRolesChanged } from "./role_events.ts";
import { addPermissions, changePermissions, requireGrantable } from "./role_grants.ts";
import { lockRole, requireOwnRole } from "./role_lock.ts";
import { readRole, type Role } from "./roles.ts";

export interface NewRole {
  name: string;
  description: string | null;
  permissionIds: string[];
}

/** A change of a role. Absent members keep their value. The permissions also stay if their list is null. */
export interface RoleChange {
  name?: string | undefined;
  description?: string | null | undefined;
  permissionIds?: string[] | null | undefined;
}

/**
 * Creates a role in the caller's tenant.
 * @throws PERMISSION_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, ROLE_ALREADY_EXISTS
 */
export async function createRole(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: TenantCaller,
  { name, description, permissionIds }: NewRole,
): Promise<Versioned<Role>> {
  return await transact(p.sql, async (tx) => {
    const permissions = await requireGrantable(tx, caller, permissionIds);
    const id = newId();
    await tx`insert into roles (id, tenant_id, name, description)
      values (${id}, ${caller.tenantId}, ${name}, ${description})`;
    await addPermissions(tx, id, permissions);
    await recordAudit(tx, caller, "role.create", id, {
      after: { name, description, permissions: permissions.map(({ code }) => code).sort() },
    });
    const made = await readRole(tx, caller.tenantId, id);
    await emitRolesChanged(p, tx, [made.value]);
    return made;
  });
}

/**
 * Changes a role. A list of permissions replaces the current ones. If it changes any, the sessions of the role's holders
 * end. Of a catalog role, only the description can be changed.
 * @throws ROLE_NOT_FOUND, PRECONDITION_FAILED, ROLE_SYSTEM_PROTECTED_CONFLICT, PERMISSION_NOT_FOUND,
 * ROLE_ASSIGNMENT_ESCALATION_BLOCKED, ROLE_ALREADY_EXISTS, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function updateRole(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: TenantCaller,
  id: string,
  change: RoleChange,
  ifMatch: string | null,
): Promise<Versioned<Role>> {
  return await transact(p.sql, async (tx) => {
    const role = await lockRole(tx, caller.tenantId, id);
    requireVersion(ifMatch, role.version);
    const { value: before } = await readRole(tx, caller.tenantId, id);
    const { name = role.name, description = role.description } = change;
    if (name !== role.name || change.permissionIds) {
      requireOwnRole(role, "renamed or given a list of permissions");
    }
    const regranted = change.permissionIds
      ? await replacePermissions(p, tx, caller, before, change.permissionIds)
      : 0;
    if (regranted === 0 && name === role.name && description === role.description) {
      return { value: before, version: role.version };
    }
    await tx`update roles set name = ${name}, description = ${description}, version = version + 1, updated_at = now()
      where id = ${id}`;
    const after = await readRole(tx, caller.tenantId, id);
    await recordAudit(tx, caller, "role.update", id, {
      before: audited(before),
      after: audited(after.value),
    });
    await emitRolesChanged(p, tx, [after.value]);
    return after;
  });
}

/**
 * Deletes a role that no user holds.
 * @throws ROLE_NOT_FOUND, PRECONDITION_FAILED, ROLE_SYSTEM_PROTECTED_CONFLICT, ROLE_ASSIGNED_CONFLICT
 */
export async function deleteRole(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const role = await lockRole(tx, caller.tenantId, id);
    requireVersion(ifMatch, role.version);
    requireOwnRole(role, "deleted");
    const { value: before } = await readRole(tx, caller.tenantId, id);
    await tx`delete from role_permissions where role_id = ${id}`;
    const inUse = `Role ${id} cannot be deleted: users still hold it. Remove it from them first.`;
    await softDeleteRow(tx, "roles", id, problem("ROLE_ASSIGNED_CONFLICT", inUse));
    await recordAudit(tx, caller, "role.delete", id, { before: audited(before) });
    await emitRolesChanged(p, tx, [before], true);
  });
}

/** Replaces the permissions of the role. @returns the number of permissions that were added or removed */
async function replacePermissions(
  p: ChangingAccess,
  tx: Tx,
  caller: TenantCaller,
  role: Role,
  permissionIds: string[],
): Promise<number> {
  const had = new Set(role.permissions.map(({ id }) => id));
  const wanted = new Set(permissionIds);
  return await changePermissions(p, tx, { tenantId: caller.tenantId, id: role.id }, {
    added: await requireGrantable(tx, caller, [...wanted].filter((id) => !had.has(id))),
    removed: role.permissions.filter(({ id }) => !wanted.has(id)),
  });
}

const audited = ({ name, description, permissions }: Role) => ({
  name,
  description,
  permissions: permissions.map(({ code }) => code),
});
