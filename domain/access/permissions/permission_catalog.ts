import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { matches, orderBy, pageOf, type SortDirection } from "../../shared/lists.ts";
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
  q: Sql,
  caller: TenantCaller,
  request: CatalogRequest,
): Promise<PagedResult<PermissionCatalogGroup>> {
  const chosen = wherePermissions(q, caller.tenantId, request);
  const [[count], groups] = await Promise.all([
    q<{ total: number }[]>`select count(distinct p.category) as total from permissions p where ${chosen}`,
    q<CategorySuggestion[]>`
      select p.category, count(*) as permission_count from permissions p where ${chosen} group by p.category
      ${orderBy(q, SORTS[request.sortBy ?? "category"], "p.category", request.sortDirection)}
      ${pageOf(q, request)}`,
  ]);
  const permissions = await q<PermissionDetails[]>`
    select ${permissionColumns(q, caller)} from permissions p
    where ${chosen} and p.category = any(${groups.map(({ category }) => category)}::text[])
    order by p.code, p.id`;
  const byCategory = Map.groupBy(permissions, ({ category }) => category);
  const items = groups.map((group) => ({ ...group, permissions: byCategory.get(group.category) ?? [] }));
  return pagedResult(items, count?.total ?? 0, request);
}

/** Categories whose name contains `search`, for autocompletion: first prefix matches, then by number of permissions. */
export async function suggestCategories(
  q: Sql,
  caller: TenantCaller,
  { search, limit }: { search?: string | undefined; limit: number },
): Promise<CategorySuggestion[]> {
  const text = search?.trim();
  const begins = text ? q`fold(p.category) like substr(search_pattern(${text}), 2) desc,` : q``;
  return await q<CategorySuggestion[]>`
    select p.category, count(*) as permission_count from permissions p
    where ${wherePermissions(q, caller.tenantId, {})} and ${matches(q, "fold(p.category)", search)}
    group by p.category order by ${begins} count(*) desc, p.category limit ${limit}`;
}
