import type { Sql } from "../../infra/postgres/postgres.ts";
import { countUsersByApplication } from "../access/users/user_applications.ts";
import type { TenantCaller } from "../rights/caller.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import { applications } from "./applications.ts";

/** An application, and how many active users of the tenant have its code in `appIds`. */
export interface ApplicationUsage {
  id: string;
  code: string;
  name: string;
  userCount: number;
}

/** A page of the tenant's applications by code, with the number of users of each. */
export async function listApplicationUsage(
  sql: Sql,
  caller: TenantCaller,
  page: PageRequest,
): Promise<PagedResult<ApplicationUsage>> {
  const found = await applications.source.list(sql, caller, {
    ...page,
    sortBy: "code",
    sortDirection: "Ascending",
    includeDeleted: false,
    filters: {},
  });
  const counts = await countUsersByApplication(sql, caller.tenantId, found.items.map(({ code }) => code));
  const items = found.items.map(({ id, code, name }) => ({
    id,
    code,
    name,
    userCount: counts.get(code) ?? 0,
  }));
  return { ...found, items };
}
