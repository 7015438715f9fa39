import type { Tx } from "../../infra/postgres/postgres.ts";
import type { Platform } from "../shared/platform.ts";

type Rights = Pick<Platform, "rights">;

/** Ends the validity of these users' tokens: their roles, links or activity have changed. */
export async function invalidateUsers(p: Rights, tx: Tx, userIds: string[]): Promise<void> {
  if (userIds.length === 0) return;
  await tx`update users set security_version = security_version + 1 where id = any(${userIds}::uuid[])`;
  p.rights.changed(tx, userIds);
}

/** Ends the validity of the tokens of everyone who holds one of these roles; returns how many users that is. */
export async function invalidateRoleHolders(p: Rights, tx: Tx, roleIds: string[]): Promise<number> {
  const rows = await tx<{ id: string }[]>`
    update users set security_version = security_version + 1
    where id in (select user_id from user_tenant_roles where role_id = any(${roleIds}::uuid[])) returning id`;
  p.rights.changed(tx, rows.map((row) => row.id));
  return rows.length;
}

/**
 * Ends the validity of the tokens of everyone with an active link to this tenant; a deactivated one gives nothing to
 * lose. Returns how many users that is.
 */
export async function invalidateTenantUsers(p: Rights, tx: Tx, tenantId: string): Promise<number> {
  const rows = await tx<{ id: string }[]>`
    update users set security_version = security_version + 1
    where id in (select user_id from user_tenants where tenant_id = ${tenantId} and is_active) returning id`;
  p.rights.changed(tx, rows.map((row) => row.id));
  return rows.length;
}
