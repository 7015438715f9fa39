import type { Sql } from "../../../infra/postgres/postgres.ts";

/** Counts a tenant's active users per application code in their `appIds`. Codes without users are absent. */
export async function countUsersByApplication(
  q: Sql,
  tenantId: string,
  codes: string[],
): Promise<Map<string, number>> {
  const rows = await q<{ code: string; users: number }[]>`
    select code, count(*) as users from user_tenants l join users u on u.id = l.user_id
      cross join unnest(u.app_ids) code
    where l.tenant_id = ${tenantId} and l.is_active and u.is_active and u.deleted_at is null
      and code = any(${codes}::text[])
    group by code`;
  return new Map(rows.map(({ code, users }) => [code, users]));
}
