import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { applications } from "../../records/records.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";

/** An application, and how many active users of the tenant have its code in `appIds`. */
export const ApplicationUsage = z.object({
  id: z.guid(),
  code: z.string(),
  name: z.string(),
  userCount: z.int(),
}).meta({ id: "ApplicationUsageDto" });
type ApplicationUsage = z.output<typeof ApplicationUsage>;

/** A page of the tenant's applications by code, with the number of users of each. */
export async function listApplicationUsage(
  q: Sql,
  caller: TenantCaller,
  page: PageRequest,
): Promise<PagedResult<ApplicationUsage>> {
  const found = await applications.source.list(q, caller, {
    ...page,
    sortBy: "code",
    sortDirection: "Ascending",
    includeDeleted: false,
    filters: {},
  });
  const counts = await countUsersByApplication(q, caller.tenantId, found.items.map(({ code }) => code));
  const items = found.items.map(({ id, code, name }) => ({
    id,
    code,
    name,
    userCount: counts.get(code) ?? 0,
  }));
  return { ...found, items };
}

/** Counts a tenant's active users per application code in their `appIds`. Codes without users are absent. */
async function countUsersByApplication(
  q: Sql,
  tenantId: string,
  codes: string[],
): Promise<Map<string, number>> {
  const rows = await q<{ code: string; users: number }[]>`
    select code, count(*) as users from user_tenants l join users u on u.id = l.user_id
      cross join unnest(u.app_ids) code
    where l.tenant_id = ${tenantId} and l.is_active and u.is_active and u.deleted_at is null
      and code = any(${codes}::text[]) and u.app_ids && ${codes}::text[] and u.app_ids <> '{}'
    group by code`;
  return new Map(rows.map(({ code, users }) => [code, users]));
}
