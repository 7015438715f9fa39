import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { announceRoles, type ChangingAccess } from "../access_changes.ts";
import { type PermissionDetails, permissionNotFound, readPermission } from "./permissions.ts";
import {
  type DEFAULT_ROLES,
  grantToCatalogRoles,
  lockDefaultRoles,
  takeFromCatalogRoles,
} from "../roles/default_roles.ts";

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
    const before = await readDefaultRoles(tx, code);
    const had = new Set(before.map(({ roleName }) => roleName));
    const wanted = new Set<string>(roles);
    const added = [...wanted].filter((roleName) => !had.has(roleName));
    const removed = before.filter(({ roleName }) => !wanted.has(roleName));
    requireRemovable(code, removed);
    if (added.length + removed.length > 0) {
      const removedNames = removed.map(({ roleName }) => roleName);
      await writeDefaultRoles(tx, code, added, removedNames);
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

const readDefaultRoles = async (tx: Tx, code: string): Promise<DefaultRole[]> =>
  await tx<DefaultRole[]>`select role_name, is_declared from default_role_permissions
    where permission_code = ${code} order by role_name`;

function requireRemovable(code: string, removed: DefaultRole[]): void {
  const declared = removed.filter(({ isDeclared }) => isDeclared).map(({ roleName }) => roleName);
  if (declared.length === 0) return;
  throw problem(
    "ROLE_SYSTEM_PROTECTED_CONFLICT",
    `${code} cannot be taken from ${
      declared.join(", ")
    }: the service or an extension declares that it has it.`,
  );
}

async function writeDefaultRoles(tx: Tx, code: string, added: string[], removed: string[]): Promise<void> {
  await tx`delete from default_role_permissions
    where permission_code = ${code} and role_name = any(${removed}::text[])`;
  await tx`insert into default_role_permissions (role_name, permission_code, is_declared)
    select name, ${code}, false from unnest(${added}::text[]) name`;
}
