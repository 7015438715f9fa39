import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, isSystemAdmin, type TenantCaller } from "../../rights/caller.ts";
import {
  allOf,
  matches,
  orderBy,
  readPage,
  type SortedPageRequest,
  summarizeList,
} from "../../shared/lists.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { deletedAt, time } from "../../shared/shapes.ts";
import { type Versioned, versioned } from "../../shared/version.ts";
import { tenantNotFound } from "../tenant_not_found.ts";

export const TENANT_TYPES = ["Platform", "Group", "Standard"] as const;
export type TenantType = typeof TENANT_TYPES[number];

/** `grouped`: has a parent; `groups`: may have children; `standalone`: neither. */
export const HIERARCHY_SCOPES = ["all", "grouped", "groups", "standalone"] as const;
type HierarchyScope = typeof HIERARCHY_SCOPES[number];

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
type TenantLookupItem = Pick<Tenant, "id" | "name" | "type" | "isActive" | "parentTenantId">;

/** Filter of tenants; absent members do not filter. */
interface TenantFilter {
  search?: string | undefined;
  isActive?: boolean | undefined;
  type?: TenantType | undefined;
  hierarchyScope?: HierarchyScope | undefined;
  parentTenantId?: string | undefined;
  includeDeleted?: boolean | undefined;
  ids?: string[] | undefined;
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
  request: TenantFilter & SortedPageRequest<typeof TENANT_SORTS[number]>,
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
  return await readPage(q, { columns, from, order: orderBy(q, SORTS.name, "t.id", "Ascending") }, request);
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
  return await summarizeList<TenantsSummary>(q, {
    counts: q`count(*) as total_tenants,
      count(*) filter (where t.is_active) as active_tenants,
      count(*) filter (where not t.is_active) as inactive_tenants,
      count(*) filter (where ${inScope(q, "groups")}) as group_tenants,
      count(*) filter (where ${inScope(q, "grouped")}) as grouped_tenants,
      count(*) filter (where ${inScope(q, "standalone")}) as standalone_tenants,
      coalesce(sum(t.user_count), 0) as total_users,
      count(*) filter (where t.user_count >= t.max_users) as tenants_at_capacity`,
    from: q`tenants t where ${where(q, reach, filter)}`,
    totalOf: ({ totalTenants }) => totalTenants,
  });
}

function where(q: Sql, reach: TenantReach, o: TenantFilter) {
  return allOf(q, [
    reach.everywhere ? q`true` : q`(t.id = ${reach.own} or t.parent_tenant_id = ${reach.childrenOf})`,
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

/** SQL condition of each scope. */
const SCOPES: Record<HierarchyScope, string> = {
  all: "true",
  grouped: "t.parent_tenant_id is not null",
  groups: "t.type = 'Group'",
  standalone: "(t.parent_tenant_id is null and t.type <> 'Group')",
};
const inScope = (q: Sql, scope: HierarchyScope) => q.unsafe(SCOPES[scope]);

/** The tenants a caller may act on with one permission. */
export interface TenantReach {
  everywhere: boolean;
  /** The caller's own tenant; null if the permission does not include it. */
  own: string | null;
  /** The group whose children are included; null if none are. */
  childrenOf: string | null;
}

/** Reach over all tenants, as on the administration routes. */
export const EVERYWHERE: TenantReach = { everywhere: true, own: null, childrenOf: null };

/** The permissions that let a group tenant read its child tenants. */
const READS_CHILDREN = { list: "read:group-tenants", summary: "read:group-analytics" } as const;
export const CHANGES_CHILDREN = "manage:child-tenants";

/**
 * Returns the tenants that the caller may read: their own with read:tenants; in a group tenant, the group and its children
 * with read:group-tenants (lists) or read:group-analytics (summaries); all with manage:all-tenants.
 * @throws MISSING_PERMISSION
 */
export async function reachForReading(
  q: Sql,
  caller: TenantCaller,
  what: keyof typeof READS_CHILDREN = "list",
): Promise<TenantReach> {
  const reach = await readReach(q, caller, "read:tenants", READS_CHILDREN[what]);
  return reach.childrenOf === null ? reach : { ...reach, own: caller.tenantId };
}

/**
 * Returns the tenants that the caller may change: their own with `permission`; in a group tenant, its children with
 * manage:child-tenants; all with `permission` and manage:all-tenants.
 * @throws MISSING_PERMISSION
 */
export async function reachForChanging(
  q: Sql,
  caller: TenantCaller,
  permission: string,
): Promise<TenantReach> {
  return await readReach(q, caller, permission, CHANGES_CHILDREN);
}

async function readReach(
  q: Sql,
  caller: TenantCaller,
  onOwn: string,
  onChildren: string,
): Promise<TenantReach> {
  const reachesOwn = holds(caller, onOwn);
  if (reachesOwn && holds(caller, "manage:all-tenants")) return EVERYWHERE;
  const reachesChildren = holds(caller, onChildren) && await typeOf(q, caller.tenantId) === "Group";
  if (!reachesOwn && !reachesChildren) {
    throw problem(
      "MISSING_PERMISSION",
      `The route needs ${onOwn}, or ${onChildren} in a group tenant; the caller holds neither.`,
    );
  }
  return {
    everywhere: false,
    own: reachesOwn ? caller.tenantId : null,
    childrenOf: reachesChildren ? caller.tenantId : null,
  };
}

async function typeOf(q: Sql, tenantId: string): Promise<TenantType | undefined> {
  const [tenant] = await q<{ type: TenantType }[]>`select type from tenants where id = ${tenantId}`;
  return tenant?.type;
}

/**
 * Checks that a tenant is within reach.
 * @throws CROSS_TENANT_FORBIDDEN; MISSING_PERMISSION for the caller's own group, if only its children are within reach
 */
export function requireWithinReach(
  reach: TenantReach,
  tenant: { id: string; parentTenantId: string | null },
): void {
  const { everywhere, own, childrenOf } = reach;
  if (everywhere || tenant.id === own) return;
  if (childrenOf !== null && tenant.parentTenantId === childrenOf) return;
  if (tenant.id === childrenOf) {
    throw problem(
      "MISSING_PERMISSION",
      "The caller's permission is for the children of the group; the route needs another one for the group itself.",
    );
  }
  throw problem(
    "CROSS_TENANT_FORBIDDEN",
    `The caller may not act on tenant ${tenant.id}, only on their own tenant and, in a group, its children.`,
  );
}

/**
 * The owner of a permission or an OAuth client that the caller creates: the tenant of the request. For a system
 * administrator in the platform tenant or without a tenant it is null: the catalog, or the platform.
 */
export async function ownerFor(q: Sql, caller: Caller): Promise<string | null> {
  const { tenantId } = caller;
  if (tenantId === null || !isSystemAdmin(caller)) return tenantId;
  return await typeOf(q, tenantId) === "Platform" ? null : tenantId;
}
