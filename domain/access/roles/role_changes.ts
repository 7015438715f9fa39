import { z } from "zod";
import { orUndefined, requiredName, uuid } from "../../shared/shapes.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { holds, type TenantCaller } from "../../rights/caller.ts";
import { requireStepUpOfFactorHolder } from "../../rights/checks.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { type ChangingAccess, roleAccessChanged } from "../access_changes.ts";
import { requireSystemAdminLeft } from "./last_admins.ts";
import { isPermissionOf, permissionsNotFound, readRole, type Role, roleNotFound } from "./roles.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { softDeleteRow } from "../soft_delete.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { emitEvents, type NewEvent } from "../../events/emit.ts";

type GrantedPermission = Role["permissions"][number];

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
    const added = await changePermissions(p, tx, caller.tenantId, roleId, { added: permissions });
    const [after] = permissions;
    if (added > 0) await recordGrant(p, tx, caller, "role.permission.assign", roleId, { after });
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
    const removed = await changePermissions(p, tx, caller.tenantId, roleId, { removed: permissions });
    const [before] = permissions;
    if (removed > 0) await recordGrant(p, tx, caller, "role.permission.revoke", roleId, { before });
    return await readRole(tx, caller.tenantId, roleId);
  });
}

/**
 * Reads the permissions of `ids` and checks that the caller may grant them: one with platform reach only if they hold it.
 * Granting platform reach needs a recent sign-in of users with a second factor.
 * @throws PERMISSION_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN
 */
async function requireGrantable(tx: Tx, caller: TenantCaller, ids: string[]): Promise<GrantedPermission[]> {
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
async function changePermissions(
  p: ChangingAccess,
  tx: Tx,
  tenantId: string,
  roleId: string,
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
async function addPermissions(tx: Tx, roleId: string, added: GrantedPermission[]): Promise<number> {
  const { count } = await tx`insert into role_permissions (role_id, permission_id)
    select ${roleId}, id from unnest(${added.map(({ id }) => id)}::uuid[]) id on conflict do nothing`;
  return count;
}

/** Reads permissions of the catalog and the tenant by id. Throws PERMISSION_NOT_FOUND if one is missing. */
async function findPermissions(tx: Tx, tenantId: string, ids: string[]) {
  const wanted = new Set(ids);
  if (wanted.size === 0) return [];
  const found = await tx<(GrantedPermission & { reach: "Platform" | "Tenant" })[]>`
    select id, code, reach from permissions where id = any(${ids}::uuid[]) and ${
    isPermissionOf(tx, tenantId)
  }`;
  for (const { id } of found) wanted.delete(id);
  if (wanted.size === 0) return [...found];
  throw permissionsNotFound([...wanted]);
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

const name = requiredName(100);
const description = z.string().trim().normalize("NFC").max(500).nullable();
const permissionIds = z.array(uuid).max(10_000).nullish();

export const NewRole = z.object({
  name,
  description: description.optional().transform((value) => value || null),
  permissionIds: permissionIds.transform((ids) => ids ?? []),
}).meta({ id: "CreateRoleDto" });
type NewRole = z.output<typeof NewRole>;

export const RoleChange = z.object({
  name: orUndefined(name),
  description: description.optional().transform((value) => value === "" ? null : value),
  permissionIds: permissionIds.describe(
    "null or absent: unchanged; empty: removes all; otherwise replaces the list",
  ),
}).meta({ id: "UpdateRoleDto", description: "Omitted fields keep their values" });
type RoleChange = z.output<typeof RoleChange>;

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
    const changed = { before: audited(before), after: audited(after.value) };
    await recordAudit(tx, caller, "role.update", id, changed);
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
  return await changePermissions(p, tx, caller.tenantId, role.id, {
    added: await requireGrantable(tx, caller, [...wanted].filter((id) => !had.has(id))),
    removed: role.permissions.filter(({ id }) => !wanted.has(id)),
  });
}

const audited = ({ name, description, permissions }: Role) => ({
  name,
  description,
  permissions: permissions.map(({ code }) => code),
});

type LockedRole = Pick<Role, "id" | "name" | "description"> & { isSystem: boolean; version: number };

/** Locks a role of the tenant against concurrent changes and assignments. Throws ROLE_NOT_FOUND. */
async function lockRole(tx: Tx, tenantId: string, id: string): Promise<LockedRole> {
  const [role] = await tx<LockedRole[]>`
    select id, name, description, is_system, version from roles
    where id = ${id} and tenant_id = ${tenantId} and deleted_at is null for no key update`;
  if (!role) throw roleNotFound(id);
  return role;
}

/**
 * Rejects catalog roles.
 * @param attempted past participle for the message, such as "deleted". Throws ROLE_SYSTEM_PROTECTED_CONFLICT.
 */
function requireOwnRole({ name, isSystem }: LockedRole, attempted: string): void {
  if (!isSystem) return;
  throw problem("ROLE_SYSTEM_PROTECTED_CONFLICT", `"${name}" is a catalog role and cannot be ${attempted}.`);
}

/** Emits `role.changed` for roles that were created, changed or deleted, or whose permissions were changed. */
export async function emitRolesChanged(
  p: { wakeUps?: WakeUps },
  tx: Tx,
  roles: Pick<Role, "id" | "tenantId" | "name" | "permissions">[],
  isDeleted = false,
): Promise<void> {
  const events = roles.map(({ id, tenantId, name, permissions }): NewEvent => ({
    type: "role.changed",
    tenantId,
    data: {
      roleId: id,
      name,
      permissions: isDeleted ? [] : permissions.map(({ code }) => code),
      isDeleted,
    },
  }));
  await emitEvents(p, tx, events);
}
