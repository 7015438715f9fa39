import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";
import { type Caller, isProgram } from "./caller.ts";
import { FILE_MODULE } from "./catalog.ts";

/**
 * SQL query of the codes of a user's permissions in a tenant. The result is empty without an active link to an active tenant.
 * @param tenantId null: no tenant context. Then only permissions of the platform tenant count that have platform reach or
 * belong to the file module (for files that belong to no tenant).
 * @param withReach SQL condition: permissions with platform reach count; a session of a tenant's provider has none
 */
export const permissionCodes = (
  q: Sql,
  userId: string | SqlPart,
  tenantId: string | null,
  withReach: SqlPart = q`true`,
) =>
  q`
  select distinct p.code from user_tenants l
    join tenants t on t.id = l.tenant_id and t.is_active and t.deleted_at is null
    join user_tenant_roles r on r.user_id = l.user_id and r.tenant_id = l.tenant_id
    join roles ro on ro.id = r.role_id and ro.deleted_at is null
    join role_permissions rp on rp.role_id = ro.id
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where l.user_id = ${userId} and l.is_active
      and l.tenant_id = coalesce(${tenantId}::uuid, (select id from tenants where type = 'Platform'))
      and (${withReach} or p.reach <> 'Platform')
      and (${tenantId}::uuid is not null or p.reach = 'Platform' or p.code = any(${[...FILE_MODULE]}::text[]))
  order by p.code`;

/**
 * Returns the codes that the caller does not hold. If some are missing, the permissions are read again, because the request's
 * own may be older than the roles that the transaction reads, for example after a change of default roles.
 */
export async function notHeldNow(q: Sql, caller: Caller, codes: string[]): Promise<Set<string>> {
  const missing = new Set(codes).difference(caller.permissions);
  if (missing.size === 0 || isProgram(caller)) return missing;
  const withReach = q`${caller.boundTo === null}`;
  const held = await q<{ code: string }[]>`
    ${permissionCodes(q, caller.userId, caller.tenantId, withReach)}`;
  return missing.difference(new Set(held.map(({ code }) => code)));
}

/** Finds active users of a tenant who hold one of these permissions there. @returns at most `max` ids */
export async function findHolders(
  q: Sql,
  tenantId: string,
  permissions: string[],
  max: number,
): Promise<string[]> {
  const rows = await q<{ id: string }[]>`
    select distinct l.user_id as id from user_tenants l
    join users u on u.id = l.user_id and u.is_active and u.deleted_at is null
    join user_tenant_roles r on r.user_id = l.user_id and r.tenant_id = l.tenant_id
    join roles ro on ro.id = r.role_id and ro.deleted_at is null
    join role_permissions rp on rp.role_id = ro.id
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where l.tenant_id = ${tenantId} and l.is_active and p.code = any(${permissions}::text[])
    order by l.user_id limit ${max}`;
  return rows.map(({ id }) => id);
}
