import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { allOf, matches, orderBy, readPage, type SortDirection } from "../../shared/lists.ts";
import { deletedAt, time } from "../../shared/shapes.ts";
import { type Versioned, versioned } from "../../shared/version.ts";
import { tenantNotFound } from "../tenant_not_found.ts";
import { requireWithinReach, type TenantReach, withinReach } from "./tenant_reach.ts";

export const TENANT_TYPES = ["Platform", "Group", "Standard"] as const;
export type TenantType = typeof TENANT_TYPES[number];

/** `grouped`: has a parent; `groups`: may have children; `standalone`: neither. */
export const HIERARCHY_SCOPES = ["all", "grouped", "groups", "standalone"] as const;
export type HierarchyScope = typeof HIERARCHY_SCOPES[number];

/** SQL expression of each sort key. */
const SORTS = {
  name: "same_text(t.name)",
  // The names are in this order, unlike the enumeration. An index needs an expression that is immutable.
  type: "case t.type when 'Group' then 1 when 'Platform' then 2 else 3 end",
  createdAt: "t.created_at",
  userCount: "t.user_count",
};
export const TENANT_SORTS = ["name", "type", "createdAt", "userCount"] as const;

/** How a tenant treats administrators who want to act as its users. */
export const ACT_AS = ["allowed", "consent", "forbidden"] as const;

export const Tenant = z.object({
  id: z.guid(),
  name: z.string(),
  type: z.enum(TENANT_TYPES),
  isActive: z.boolean(),
  parentTenantId: z.guid().nullable(),
  maxUsers: z.int().nullable().describe("Maximum number of active users; null: no limit"),
  userCount: z.int(),
  requireSecondFactor: z.boolean().describe("Sessions without a second factor are good only for adding one"),
  actAs: z.enum(ACT_AS).describe(
    "Administrators may act as users of the tenant: always, with the user's consent, or never",
  ),
  createdAt: time,
  updatedAt: time,
  deletedAt,
}).meta({ id: "TenantDto" });
export type Tenant = z.output<typeof Tenant>;
export type TenantLookupItem = Pick<Tenant, "id" | "name" | "type" | "isActive" | "parentTenantId">;

/** Filter of tenants; absent members do not filter. */
export interface TenantFilter {
  search?: string | undefined;
  isActive?: boolean | undefined;
  type?: TenantType | undefined;
  hierarchyScope?: HierarchyScope | undefined;
  parentTenantId?: string | undefined;
  includeDeleted?: boolean | undefined;
  ids?: string[] | undefined;
}

export interface TenantListRequest extends TenantFilter, PageRequest {
  sortBy?: typeof TENANT_SORTS[number] | undefined;
  sortDirection: SortDirection;
}

const tenantColumns = (q: Sql) =>
  q`t.id, t.name, t.type, t.is_active, t.parent_tenant_id, t.max_users, t.user_count, t.require_second_factor, t.act_as, t.created_at,
    t.updated_at, t.deleted_at`;

/** Reads a tenant within reach. Throws TENANT_NOT_FOUND, CROSS_TENANT_FORBIDDEN. */
export async function readTenant(q: Sql, reach: TenantReach, id: string): Promise<Versioned<Tenant>> {
  const [row] = await q<(Tenant & { version: number })[]>`
    select ${tenantColumns(q)}, t.version from tenants t where t.id = ${id} and t.deleted_at is null`;
  const tenant = versioned(row, () => tenantNotFound(id));
  requireWithinReach(reach, tenant.value);
  return tenant;
}

/** Lists the matching tenants within reach, sorted by name unless `sortBy` is given. */
export async function listTenants(
  q: Sql,
  reach: TenantReach,
  request: TenantListRequest,
): Promise<PagedResult<Tenant>> {
  const from = q`tenants t where ${where(q, reach, request)}`;
  const order = orderBy(q, SORTS[request.sortBy ?? "name"], "t.id", request.sortDirection);
  return await readPage(q, { columns: tenantColumns(q), from, order }, request);
}

/** Lists names of matching tenants within reach for selection lists, sorted by name. */
export async function lookUpTenants(
  q: Sql,
  reach: TenantReach,
  request: TenantFilter & PageRequest,
): Promise<PagedResult<TenantLookupItem>> {
  const columns = q`t.id, t.name, t.type, t.is_active, t.parent_tenant_id`;
  const from = q`tenants t where ${where(q, reach, request)}`;
  return await readPage(
    q,
    { columns, from, order: orderBy(q, SORTS.name, "t.id", "Ascending") },
    request,
  );
}

export const TenantsSummary = z.object({
  totalTenants: z.int(),
  activeTenants: z.int(),
  inactiveTenants: z.int(),
  groupTenants: z.int(),
  groupedTenants: z.int(),
  standaloneTenants: z.int(),
  totalUsers: z.int().describe("Active links; a user of two tenants counts twice"),
  tenantsAtCapacity: z.int(),
}).meta({ id: "TenantsSummaryDto" });
export type TenantsSummary = z.output<typeof TenantsSummary>;

/** Counts the matching tenants within reach. */
export async function summarizeTenants(
  q: Sql,
  reach: TenantReach,
  filter: TenantFilter,
): Promise<TenantsSummary> {
  const [row] = await q<TenantsSummary[]>`
    select count(*) as total_tenants,
      count(*) filter (where t.is_active) as active_tenants,
      count(*) filter (where not t.is_active) as inactive_tenants,
      count(*) filter (where ${inScope(q, "groups")}) as group_tenants,
      count(*) filter (where ${inScope(q, "grouped")}) as grouped_tenants,
      count(*) filter (where ${inScope(q, "standalone")}) as standalone_tenants,
      coalesce(sum(t.user_count), 0) as total_users,
      count(*) filter (where t.user_count >= t.max_users) as tenants_at_capacity
    from tenants t where ${where(q, reach, filter)}`;
  if (!row) throw new Error("an aggregate query returned no row");
  return row;
}

function where(q: Sql, reach: TenantReach, o: TenantFilter) {
  return allOf(q, [
    withinReach(q, reach),
    !o.includeDeleted && q`t.deleted_at is null`,
    o.isActive !== undefined && (o.isActive ? q`t.is_active` : q`not t.is_active`),
    // The type is a literal: nearly all tenants have one type, and a plan for any type would expect as many of each.
    o.type !== undefined && q`t.type = ${q.unsafe(`'${o.type}'`)}`,
    o.parentTenantId !== undefined && q`t.parent_tenant_id = ${o.parentTenantId}`,
    o.ids !== undefined && q`t.id = any(${o.ids}::uuid[])`,
    inScope(q, o.hierarchyScope ?? "all"),
    matches(q, "t.search_text", o.search),
  ]);
}

function inScope(q: Sql, scope: HierarchyScope) {
  switch (scope) {
    case "all":
      return q`true`;
    case "grouped":
      return q`t.parent_tenant_id is not null`;
    case "groups":
      return q`t.type = 'Group'`;
    case "standalone":
      return q`(t.parent_tenant_id is null and t.type <> 'Group')`;
  }
}
