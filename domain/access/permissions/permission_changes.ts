import { z } from "zod";
import {
  findTakenCodes,
  lockPermissionCodes,
  permissionCategory,
  permissionCode,
  permissionDescription,
  type PermissionDetails,
  permissionNotFound,
  readPermission,
} from "./permissions.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller, TenantCaller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import type { Platform } from "../../shared/platform.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { announceRoles, type ChangingAccess } from "../access_changes.ts";
import {
  type DEFAULT_ROLES,
  grantToCatalogRoles,
  lockDefaultRoles,
  takeFromCatalogRoles,
} from "../roles/default_roles.ts";
import { isPermissionOf } from "../roles/roles.ts";
import { softDeleteRow } from "../soft_delete.ts";
import { ownerFor } from "../tenants/tenants.ts";
import { orUndefined } from "../../shared/shapes.ts";

export const NewPermission = z.object({
  code: permissionCode,
  description: permissionDescription.transform((value) => value ?? null),
  category: permissionCategory,
}).meta({ id: "CreatePermissionDto" });
type NewPermission = z.output<typeof NewPermission>;

export const PermissionChange = z.object({
  description: permissionDescription,
  category: orUndefined(permissionCategory),
}).meta({ id: "UpdatePermissionDto", description: "Omitted fields keep their values" });
type PermissionChange = z.output<typeof PermissionChange>;

interface LockedPermission extends NewPermission {
  tenantId: string | null;
  isSystem: boolean;
  version: number;
}

/**
 * Creates a permission with tenant reach: in the catalog with admin:system in the platform tenant, else in the caller's
 * tenant. Throws PERMISSION_ALREADY_EXISTS.
 */
export async function createPermission(
  p: Pick<Platform, "sql">,
  caller: TenantCaller,
  permission: NewPermission,
): Promise<Versioned<PermissionDetails>> {
  return await transact(p.sql, async (tx) => {
    const owner = await ownerFor(tx, caller);
    await lockPermissionCodes(tx, owner);
    const { code, description, category } = permission;
    if ((await findTakenCodes(tx, owner, [code])).length > 0) {
      throw problem("PERMISSION_ALREADY_EXISTS", `A permission with the code ${code} already exists.`);
    }
    const id = newId();
    await tx`insert into permissions (id, tenant_id, code, description, category)
      values (${id}, ${owner}, ${code}, ${description}, ${category})`;
    await recordAudit(tx, caller, "permission.create", id, { after: permission });
    return await readPermission(tx, caller, id);
  });
}

/**
 * Changes a permission's description and category.
 * @throws PERMISSION_NOT_FOUND, PRECONDITION_FAILED, PERMISSION_SYSTEM_PROTECTED_CONFLICT, CROSS_TENANT_FORBIDDEN
 */
export async function updatePermission(
  p: Pick<Platform, "sql">,
  caller: TenantCaller,
  id: string,
  change: PermissionChange,
  ifMatch: string | null,
): Promise<Versioned<PermissionDetails>> {
  return await transact(p.sql, async (tx) => {
    const before = await lockPermission(tx, caller, id, ifMatch);
    const { description = before.description, category = before.category } = change;
    if (description !== before.description || category !== before.category) {
      await tx`update permissions set description = ${description}, category = ${category}, version = version + 1,
        updated_at = now() where id = ${id}`;
      await recordAudit(tx, caller, "permission.update", id, {
        before,
        after: { ...before, description, category },
      });
    }
    return await readPermission(tx, caller, id);
  });
}

/**
 * Deletes a permission that no role has.
 * @throws PERMISSION_NOT_FOUND, PRECONDITION_FAILED, PERMISSION_SYSTEM_PROTECTED_CONFLICT, CROSS_TENANT_FORBIDDEN,
 * PERMISSION_ASSIGNED_CONFLICT
 */
export async function deletePermission(
  p: Pick<RightsPlatform, "sql" | "rights">,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await lockPermission(tx, caller, id, ifMatch);
    const inUse = `Permission ${id} cannot be deleted: roles still have it. Remove it from them first.`;
    await softDeleteRow(tx, "permissions", id, problem("PERMISSION_ASSIGNED_CONFLICT", inUse));
    const accounts = await tx<{ id: string }[]>`
      select id from service_accounts where permissions @> array[${before.code}]`;
    p.rights.invalidateAfterCommit(tx, accounts.map(({ id }) => id));
    await recordAudit(tx, caller, "permission.delete", id, { before });
  });
}

async function lockPermission(
  tx: Tx,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<NewPermission> {
  const [permission] = await tx<LockedPermission[]>`
    select code, description, category, tenant_id, is_system, version from permissions
    where id = ${id} and ${isPermissionOf(tx, caller.tenantId)} for no key update`;
  if (!permission) throw permissionNotFound(id);
  const { tenantId, isSystem, version, ...fields } = permission;
  if (isSystem) {
    throw problem(
      "PERMISSION_SYSTEM_PROTECTED_CONFLICT",
      `${fields.code} is a built-in permission; it cannot be changed or deleted.`,
    );
  }
  if (tenantId !== await ownerFor(tx, caller) && tenantId === null) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      `${fields.code} belongs to the catalog; changing it needs admin:system in the platform tenant.`,
    );
  }
  requireVersion(ifMatch, version);
  return fields;
}

/**
 * Sets the catalog roles that have a permission of the catalog in every tenant, present and future. All other catalog
 * roles lose it. No session ends: permissions are read at every request.
 * @throws PERMISSION_NOT_FOUND, PRECONDITION_FAILED, PERMISSION_SYSTEM_PROTECTED_CONFLICT (platform reach),
 * ROLE_SYSTEM_PROTECTED_CONFLICT (the service or an extension declares that a role has it)
 */
export async function setDefaultRoles(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: Caller,
  permissionId: string,
  roles: typeof DEFAULT_ROLES[number][],
  ifMatch: string | null,
): Promise<Versioned<PermissionDetails>> {
  return await transact(p.sql, async (tx) => {
    await lockDefaultRoles(tx, "exclusive");
    const code = await lockCatalogPermission(tx, permissionId, ifMatch);
    const before = await tx<DefaultRole[]>`select role_name, is_declared from default_role_permissions
      where permission_code = ${code} order by role_name`;
    const had = new Set(before.map(({ roleName }) => roleName));
    const wanted = new Set<string>(roles);
    const added = [...wanted].filter((roleName) => !had.has(roleName));
    const removed = before.filter(({ roleName }) => !wanted.has(roleName));
    requireRemovable(code, removed);
    if (added.length + removed.length > 0) {
      const removedNames = removed.map(({ roleName }) => roleName);
      await tx`delete from default_role_permissions
        where permission_code = ${code} and role_name = any(${removedNames}::text[])`;
      await tx`insert into default_role_permissions (role_name, permission_code, is_declared)
        select name, ${code}, false from unnest(${added}::text[]) name`;
      await tx`update permissions set version = version + 1, updated_at = now() where id = ${permissionId}`;
      const changed = [
        ...await grantToCatalogRoles(tx, added.map((roleName) => ({ roleName, code }))),
        ...await takeFromCatalogRoles(tx, removedNames.map((roleName) => ({ roleName, code }))),
      ];
      await recordAudit(tx, caller, "permission.default-roles", permissionId, {
        before: { code, roles: [...had] },
        after: { code, roles: [...wanted].sort() },
      });
      p.rights.invalidateAfterCommit(tx, "everyone");
      await announceRoles(p, tx, changed);
    }
    return await readPermission(tx, caller, permissionId);
  });
}

/** Locks a permission of the catalog that roles of all tenants may have, and returns its code. */
async function lockCatalogPermission(tx: Tx, id: string, ifMatch: string | null): Promise<string> {
  const [permission] = await tx<{ code: string; reach: string; version: number }[]>`
    select code, reach, version from permissions
    where id = ${id} and tenant_id is null and deleted_at is null for no key update`;
  if (!permission) throw permissionNotFound(id);
  const { code, reach, version } = permission;
  requireVersion(ifMatch, version);
  if (reach === "Tenant") return code;
  throw problem(
    "PERMISSION_SYSTEM_PROTECTED_CONFLICT",
    `${code} acts in all tenants, so no role of every tenant can have it.`,
  );
}

interface DefaultRole {
  roleName: string;
  isDeclared: boolean;
}

function requireRemovable(code: string, removed: DefaultRole[]): void {
  const declared = removed.filter(({ isDeclared }) => isDeclared).map(({ roleName }) => roleName).join(", ");
  if (declared === "") return;
  throw problem(
    "ROLE_SYSTEM_PROTECTED_CONFLICT",
    `${code} cannot be taken from ${declared}: the service or an extension declares that it has it.`,
  );
}
