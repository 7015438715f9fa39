import type { Sql } from "../../infra/postgres/postgres.ts";

/** Ids of the active users of a tenant who hold one of these permissions there, at most `most`. */
export async function findHolders(
  q: Sql,
  tenantId: string,
  permissions: string[],
  most: number,
): Promise<string[]> {
  const rows = await q<{ id: string }[]>`
    select distinct l.user_id as id from user_tenants l
    join users u on u.id = l.user_id and u.is_active and u.deleted_at is null
    join user_tenant_roles r on r.user_id = l.user_id and r.tenant_id = l.tenant_id
    join roles ro on ro.id = r.role_id and ro.deleted_at is null
    join role_permissions rp on rp.role_id = ro.id
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where l.tenant_id = ${tenantId} and l.is_active and p.code = any(${permissions}::text[])
    order by l.user_id limit ${most}`;
  return rows.map(({ id }) => id);
}
