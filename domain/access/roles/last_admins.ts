import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { ADVISORY_LOCKS } from "../../../infra/postgres/advisory_locks.ts";

/**
 * Runs a change of a user. If the user held admin:system, checks that an active user still holds it afterwards.
 * @throws LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function keepSystemAdmin<T>(tx: Tx, userId: string, change: () => Promise<T>): Promise<T> {
  const held = await tx`select from (${activeHolders(tx)}) holder where holder.user_id = ${userId} limit 1`;
  const result = await change();
  if (held.length > 0) await requireSystemAdminLeft(tx);
  return result;
}

/**
 * Checks that at least one active user holds admin:system. Call it after the change, in the same transaction. The lock
 * serializes concurrent changes, so two of them cannot each remove one of the last two administrators.
 * @throws LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function requireSystemAdminLeft(tx: Tx): Promise<void> {
  await tx`select pg_advisory_xact_lock(${ADVISORY_LOCKS.systemAdmins})`;
  const left = await tx`${activeHolders(tx)} limit 1`;
  if (left.length > 0) return;
  throw problem(
    "LAST_SYSTEM_ADMIN_CONFLICT",
    "The change would leave no active user with admin:system; at least one must remain.",
  );
}

/** Returns the users who are active and hold admin:system. */
export async function findSystemAdmins(tx: Tx, userIds: string[]): Promise<string[]> {
  const holders = await tx<{ userId: string }[]>`
    select distinct holder.user_id from (${activeHolders(tx)}) holder
    where holder.user_id = any((select ${userIds}::uuid[])::uuid[])`; // the subquery: see `findLanes`
  return holders.map(({ userId }) => userId);
}

const activeHolders = (tx: Tx) =>
  tx`
  select h.user_id from permissions p
  join role_permissions rp on rp.permission_id = p.id
  join roles r on r.id = rp.role_id and r.deleted_at is null
  join user_tenant_roles h on h.role_id = r.id
  join user_tenants l on l.user_id = h.user_id and l.tenant_id = h.tenant_id and l.is_active
  join tenants t on t.id = l.tenant_id and t.is_active and t.deleted_at is null
  join users u on u.id = l.user_id and u.is_active and u.deleted_at is null
  where p.code = 'admin:system' and p.tenant_id is null`;

/**
 * Runs a change of users of a tenant, which locks the tenant. If an active one of them held the tenant's role Admin, checks
 * that an active user still holds it afterwards.
 * @throws LAST_TENANT_ADMIN_CONFLICT
 */
export async function keepTenantAdmin<T>(
  tx: Tx,
  tenantId: string,
  userIds: string[],
  change: () => Promise<T>,
): Promise<T> {
  const held = await tx`select from (${activeAdmins(tx, tenantId)}) admin
    where admin.user_id = any((select ${userIds}::uuid[])::uuid[]) limit 1`;
  const result = await change();
  if (held.length === 0) return result;
  const left = await tx`${activeAdmins(tx, tenantId)} limit 1`;
  if (left.length > 0) return result;
  throw problem(
    "LAST_TENANT_ADMIN_CONFLICT",
    "The change would leave no active user with the role Admin in the tenant; at least one must remain.",
  );
}

const activeAdmins = (tx: Tx, tenantId: string) =>
  tx`
  select h.user_id, h.role_id from roles r join user_tenant_roles h on h.role_id = r.id
  join user_tenants l on l.user_id = h.user_id and l.tenant_id = h.tenant_id and l.is_active
  join users u on u.id = l.user_id and u.is_active and u.deleted_at is null
  where r.tenant_id = ${tenantId} and r.is_system and r.name = 'Admin' and r.deleted_at is null`;

/** The id of the role Admin if the user is the only active one who holds it in the locked tenant; else null. */
export async function lastAdminRole(tx: Tx, tenantId: string, userId: string): Promise<string | null> {
  const [admin, other] = await tx<{ userId: string; roleId: string }[]>`
    ${activeAdmins(tx, tenantId)} limit 2`;
  return admin && !other && admin.userId === userId ? admin.roleId : null;
}
