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
import type { TenantCaller } from "../../rights/caller.ts";
import { newId } from "../../shared/ids.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import type { Platform } from "../../shared/platform.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
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
    where id = ${id} and deleted_at is null and (tenant_id is null or tenant_id = ${caller.tenantId})
    for no key update`;
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
