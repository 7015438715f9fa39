import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { matches, orderBy, pageOf, type SortDirection } from "../../shared/list_order.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import {
  permissionColumns,
  type PermissionDetails,
  type PermissionFilter,
  wherePermissions,
} from "./permissions.ts";

export const CATALOG_SORTS = ["category", "permissionCount"] as const;
/** SQL expression of each sort key. */
const SORTS = { category: "lower(p.category)", permissionCount: "count(*)" };

export interface PermissionCatalogGroup {
  category: string;
  permissionCount: number;
  permissions: PermissionDetails[];
}
export type CategorySuggestion = Omit<PermissionCatalogGroup, "permissions">;

export interface CatalogRequest extends PermissionFilter, PageRequest {
  sortBy?: typeof CATALOG_SORTS[number] | undefined;
  sortDirection: SortDirection;
}

/** A page of categories, each with its permissions that match the filter. */
export async function readPermissionCatalog(
  sql: Sql,
  caller: TenantCaller,
  request: CatalogRequest,
): Promise<PagedResult<PermissionCatalogGroup>> {
  const chosen = wherePermissions(sql, caller.tenantId, request);
  const [[count], groups] = await Promise.all([
    sql<{ total: number }[]>`select count(distinct p.category) as total from permissions p where ${chosen}`,
    sql<CategorySuggestion[]>`
      select p.category, count(*) as permission_count from permissions p where ${chosen} group by p.category
      ${orderBy(sql, SORTS[request.sortBy ?? "category"], "p.category", request.sortDirection)}
      ${pageOf(sql, request)}`,
  ]);
  const permissions = await sql<PermissionDetails[]>`
    select ${permissionColumns(sql, caller)} from permissions p
    where ${chosen} and p.category = any(${groups.map(({ category }) => category)}::text[])
    order by p.code, p.id`;
  const byCategory = Map.groupBy(permissions, ({ category }) => category);
  const items = groups.map((group) => ({ ...group, permissions: byCategory.get(group.category) ?? [] }));
  return pagedResult(items, count?.total ?? 0, request);
}

/** Categories whose name contains `search`, for autocompletion: first prefix matches, then by number of permissions. */
export async function suggestCategories(
  sql: Sql,
  caller: TenantCaller,
  { search, limit }: { search?: string | undefined; limit: number },
): Promise<CategorySuggestion[]> {
  const text = search?.trim();
  const begins = text ? sql`fold(p.category) like substr(search_pattern(${text}), 2) desc,` : sql``;
  return await sql<CategorySuggestion[]>`
    select p.category, count(*) as permission_count from permissions p
    where ${wherePermissions(sql, caller.tenantId, {})} and ${matches(sql, "fold(p.category)", search)}
    group by p.category order by ${begins} count(*) desc, p.category limit ${limit}`;
}
