import type { Queryable, Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { isSystemAdmin, type TenantCaller } from "./caller.ts";
import type { PermissionReach } from "./catalog.ts";
import { matches, orderBy, pageOf, type SortDirection } from "../shared/list_order.ts";
import { type Versioned, versioned } from "../shared/versioned.ts";

export const PERMISSION_SORTS = ["code", "category", "createdAt"] as const;
/** Names a list may be sorted by, and what that means in SQL. */
const SORTS = { code: "p.code", category: "lower(p.category)", createdAt: "p.created_at" };

export interface PermissionDetails {
  id: string;
  code: string;
  description: string | null;
  category: string;
  reach: PermissionReach;
  /** The tenant that made it; null: the catalog. */
  tenantId: string | null;
  isSystem: boolean;
  /** Roles of the caller's tenant that carry it; of all tenants where the caller holds admin:system. */
  roleCount: number;
  createdAt: Date;
  updatedAt: Date;
}

/** What permissions are selected by; absent members select nothing. */
export interface PermissionFilter {
  search?: string | undefined;
  category?: string | undefined;
  reach?: PermissionReach | undefined;
  isSystem?: boolean | undefined;
  includeDeleted?: boolean | undefined;
}

export interface PermissionListRequest extends PermissionFilter, PageRequest {
  sortBy?: typeof PERMISSION_SORTS[number] | undefined;
  sortDirection: SortDirection;
}

/** The catalog's and the caller's tenant's permissions that fit, by code unless sorted otherwise. */
export async function listPermissions(
  sql: Sql,
  caller: TenantCaller,
  request: PermissionListRequest,
): Promise<PagedResult<PermissionDetails>> {
  const chosen = wherePermissions(sql, caller.tenantId, request);
  const order = orderBy(sql, SORTS[request.sortBy ?? "code"], "p.id", request.sortDirection);
  const [[count], items] = await Promise.all([
    sql<{ total: number }[]>`select count(*) as total from permissions p where ${chosen}`,
    sql<PermissionDetails[]>`with page as materialized (
        select * from permissions p where ${chosen} ${order} ${pageOf(sql, request)})
      select ${permissionColumns(sql, caller)} from page p ${order}`,
  ]);
  return pagedResult<PermissionDetails>([...items], count?.total ?? 0, request);
}

/** Reads a permission the caller's tenant knows. Throws PERMISSION_NOT_FOUND. */
export async function readPermission(
  q: Queryable,
  caller: TenantCaller,
  id: string,
): Promise<Versioned<PermissionDetails>> {
  const [row] = await q<(PermissionDetails & { version: number })[]>`
    select ${permissionColumns(q, caller)}, p.version from permissions p
    where p.id = ${id} and ${wherePermissions(q, caller.tenantId, {})}`;
  return versioned(row, () => permissionNotFound(id));
}

/** Reads a permission the caller's tenant knows by its code. Throws PERMISSION_NOT_FOUND. */
export async function readPermissionByCode(
  q: Queryable,
  caller: TenantCaller,
  code: string,
): Promise<Versioned<PermissionDetails>> {
  const [row] = await q<(PermissionDetails & { version: number })[]>`
    select ${permissionColumns(q, caller)}, p.version from permissions p
    where p.code = ${code} and ${wherePermissions(q, caller.tenantId, {})}`;
  return versioned(row, () => permissionNotFound(code));
}

/** The refusal of an unknown, deleted or foreign permission: one wording, so that the three look the same. */
export const permissionNotFound = (named: string) =>
  problem(
    "PERMISSION_NOT_FOUND",
    `No permission ${named} is known in the tenant; it may be misspelt or deleted.`,
  );

/** Columns of `PermissionDetails` over `permissions p`. Deleted roles carry no permissions. */
export const permissionColumns = (q: Queryable, caller: TenantCaller) =>
  q`
  p.id, p.code, p.description, p.category, p.reach, p.tenant_id, p.is_system, p.created_at, p.updated_at,
  ${isSystemAdmin(caller) ? countAllRoles(q) : countOwnRoles(q, caller.tenantId)} as role_count`;

const countAllRoles = (q: Queryable) =>
  q`(select count(*) from role_permissions rp where rp.permission_id = p.id)`;

const countOwnRoles = (q: Queryable, tenantId: string) =>
  q`(select count(*) from roles r join role_permissions rp on rp.role_id = r.id and rp.permission_id = p.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null)`;

/** The condition that `permissions p` is the catalog's or the tenant's and fits. */
export function wherePermissions(q: Queryable, tenantId: string, o: PermissionFilter) {
  const all = [
    q`(p.tenant_id is null or p.tenant_id = ${tenantId})`,
    ...o.includeDeleted ? [] : [q`p.deleted_at is null`],
    ...o.category === undefined ? [] : [q`fold(p.category) = fold(${o.category})`],
    ...o.reach === undefined ? [] : [q`p.reach = ${o.reach}`],
    ...o.isSystem === undefined ? [] : [q`p.is_system = ${o.isSystem}`],
    matches(q, "p.search_text", o.search),
  ];
  return all.reduce((left, right) => q`${left} and ${right}`);
}
