import type { Tx } from "../../infra/postgres/postgres.ts";
import type { RightsPlatform } from "./platform.ts";

type Rights = Pick<RightsPlatform, "rights">;

/** Invalidates these users' tokens, because their roles, links or active state changed. */
export async function invalidateUsers(p: Rights, tx: Tx, userIds: string[]): Promise<void> {
  if (userIds.length === 0) return;
  await tx`update users set security_version = security_version + 1 where id = any(${userIds}::uuid[])`;
  p.rights.invalidateAfterCommit(tx, userIds);
}

/** Invalidates the tokens of all users who hold one of these roles. Returns the number of users. */
export async function invalidateRoleHolders(p: Rights, tx: Tx, roleIds: string[]): Promise<number> {
  const rows = await tx<{ id: string }[]>`
    update users set security_version = security_version + 1
    where id in (select user_id from user_tenant_roles where role_id = any(${roleIds}::uuid[])) returning id`;
  p.rights.invalidateAfterCommit(tx, rows.map((row) => row.id));
  return rows.length;
}

/**
 * Invalidates the tokens of all users with an active link to this tenant. A deactivated link gives no permissions, so
 * it does not matter. Returns the number of users.
 */
export async function invalidateTenantUsers(p: Rights, tx: Tx, tenantId: string): Promise<number> {
  const rows = await tx<{ id: string }[]>`
    update users set security_version = security_version + 1
    where id in (select user_id from user_tenants where tenant_id = ${tenantId} and is_active) returning id`;
  p.rights.invalidateAfterCommit(tx, rows.map((row) => row.id));
  return rows.length;
}
