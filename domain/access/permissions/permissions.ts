import { z } from "zod";
import { PAIRED_LOCKS } from "../../../infra/postgres/advisory_locks.ts";
import type { Sql, SqlPart, Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, isSystemAdmin, type TenantCaller } from "../../rights/caller.ts";
import type { PermissionReach } from "../../rights/catalog.ts";
import { allOf, countList, matches, orderBy, pageOf, type SortedPageRequest } from "../../shared/lists.ts";
import { type PagedResult, pagedResult } from "../../shared/paging.ts";
import { deletedAt, requiredName, time } from "../../shared/shapes.ts";
import { type Versioned, versioned } from "../../shared/version.ts";

/** Schemas of a permission's code, description and category, for requests and imports. */
export const permissionCode = z.string({ error: "expected a code such as approve:invoices" }).max(100).regex(
  /^[a-z0-9][a-z0-9._-]*:[a-z0-9][a-z0-9._-]*$/,
  "expected action:resource, such as approve:invoices: each part begins with a lower-case letter or a digit, and has only " +
    "these, hyphens, dots and underscores",
).refine((code) => code !== "switch:any-group-tenant", { error: "this code is reserved" });
export const permissionDescription = z.string().trim().normalize("NFC").max(500).nullish().transform((
  value,
) => value === "" ? null : value);
export const permissionCategory = requiredName(100, "expected a category");

export const PERMISSION_SORTS = ["code", "category", "createdAt"] as const;
/** SQL expression of each sort key. */
const SORTS = { code: "p.code", category: "lower(p.category)", createdAt: "p.created_at" };

export const REACHES = ["Platform", "Tenant"] as const satisfies PermissionReach[];

export const PermissionDetails = z.object({
  id: z.guid(),
  code: z.string(),
  description: z.string().nullable(),
  category: z.string(),
  reach: z.enum(REACHES),
  tenantId: z.guid().nullable().describe("The tenant that created it; null: the catalog"),
  isSystem: z.boolean().describe("The service itself uses it"),
  roleCount: z.int().describe(
    "Number of roles with it: of the token's tenant; of all tenants with admin:system",
  ),
  defaultRoles: z.array(z.string()).describe("Names of the catalog roles that have it in every tenant"),
  createdAt: time,
  updatedAt: time,
  deletedAt,
}).meta({ id: "PermissionDetailsDto" });
export type PermissionDetails = z.output<typeof PermissionDetails>;

/** Filter of permissions; absent members do not filter. */
interface PermissionFilter {
  search?: string | undefined;
  category?: string | undefined;
  reach?: PermissionReach | undefined;
  isSystem?: boolean | undefined;
  includeDeleted?: boolean | undefined;
}

/** Lists matching permissions of the catalog and of the caller's tenant; sorted by code unless `sortBy` is given. */
export async function listPermissions(
  q: Sql,
  caller: TenantCaller,
  request: PermissionFilter & SortedPageRequest<typeof PERMISSION_SORTS[number]>,
): Promise<PagedResult<PermissionDetails>> {
  const chosen = wherePermissions(q, caller.tenantId, request);
  const order = orderBy(q, SORTS[request.sortBy ?? "code"], "p.id", request.sortDirection);
  const [total, items] = await Promise.all([
    countList(q, q`permissions p where ${chosen}`),
    q<PermissionDetails[]>`with page as materialized (
        select * from permissions p where ${chosen} ${order} ${pageOf(q, request)})
      select ${permissionColumns(q, caller)} from page p ${order}`,
  ]);
  return pagedResult<PermissionDetails>([...items], total, request);
}

/** Reads a permission of the catalog or of the caller's tenant by id. Throws PERMISSION_NOT_FOUND. */
export const readPermission = (q: Sql, caller: Caller, id: string): Promise<Versioned<PermissionDetails>> =>
  readWhere(q, caller, q`p.id = ${id}`, id);

/** Reads a permission of the catalog or of the caller's tenant by code. Throws PERMISSION_NOT_FOUND. */
export const readPermissionByCode = (
  q: Sql,
  caller: TenantCaller,
  code: string,
): Promise<Versioned<PermissionDetails>> => readWhere(q, caller, q`p.code = ${code}`, code);

async function readWhere(
  q: Sql,
  caller: Caller,
  condition: SqlPart,
  idOrCode: string,
): Promise<Versioned<PermissionDetails>> {
  const [row] = await q<(PermissionDetails & { version: number })[]>`
    select ${permissionColumns(q, caller)}, p.version from permissions p
    where ${condition} and ${wherePermissions(q, caller.tenantId, {})}`;
  return versioned(row, () => permissionNotFound(idOrCode));
}

/** The error for an unknown, deleted or other tenant's permission, so that callers cannot tell them apart. */
export const permissionNotFound = (idOrCode: string) =>
  problem("PERMISSION_NOT_FOUND", `The tenant has no permission ${idOrCode}; it may be misspelt or deleted.`);

/** Columns of `PermissionDetails` over `permissions p`. Deleted roles have no permissions. */
const permissionColumns = (q: Sql, caller: Caller) =>
  q`
  p.id, p.code, p.description, p.category, p.reach, p.tenant_id, p.is_system, p.created_at, p.updated_at,
  p.deleted_at,
  ${isSystemAdmin(caller) ? countAllRoles(q) : countOwnRoles(q, caller.tenantId)} as role_count,
  array(select d.role_name from default_role_permissions d
    where d.permission_code = p.code and p.tenant_id is null order by d.role_name) as default_roles`;

const countAllRoles = (q: Sql) => q`(select count(*) from role_permissions rp where rp.permission_id = p.id)`;

const countOwnRoles = (q: Sql, tenantId: string | null) =>
  q`(select count(*) from roles r join role_permissions rp on rp.role_id = r.id and rp.permission_id = p.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null)`;

/** SQL condition: `permissions p` belongs to the catalog or the tenant and matches the filter. */
function wherePermissions(q: Sql, tenantId: string | null, o: PermissionFilter) {
  return allOf(q, [
    q`(p.tenant_id is null or p.tenant_id = ${tenantId})`,
    !o.includeDeleted && q`p.deleted_at is null`,
    o.category !== undefined && q`fold(p.category) = fold(${o.category})`,
    o.reach !== undefined && q`p.reach = ${o.reach}`,
    o.isSystem !== undefined && q`p.is_system = ${o.isSystem}`,
    matches(q, "p.search_text", o.search),
  ]);
}

export const CATALOG_SORTS = ["category", "permissionCount"] as const;
/** SQL expression that is equal for the spellings of one category. */
const CATEGORY = "same_text(p.category)";
/** SQL expression of each sort key. */
const CATEGORY_SORTS = { category: CATEGORY, permissionCount: "count(*)" };

/** Columns of a category. It is spelled as its built-in permissions have it, or the oldest other one. */
const categoryColumns = (q: Sql) =>
  q`(array_agg(p.category order by p.is_system desc, p.id))[1] as category, count(*) as permission_count`;

export const CategorySuggestion = z.object({ category: z.string(), permissionCount: z.int() });
type CategorySuggestion = z.output<typeof CategorySuggestion>;
export const PermissionCatalogGroup = CategorySuggestion.extend({ permissions: z.array(PermissionDetails) })
  .meta({ id: "PermissionCatalogGroupDto" });
type PermissionCatalogGroup = z.output<typeof PermissionCatalogGroup>;

/** A page of categories, each with its permissions that match the filter. */
export async function readPermissionCatalog(
  q: Sql,
  caller: TenantCaller,
  request: PermissionFilter & SortedPageRequest<typeof CATALOG_SORTS[number]>,
): Promise<PagedResult<PermissionCatalogGroup>> {
  const chosen = wherePermissions(q, caller.tenantId, request);
  const key = q.unsafe(CATEGORY);
  const order = orderBy(q, CATEGORY_SORTS[request.sortBy ?? "category"], CATEGORY, request.sortDirection);
  const [[count], groups] = await Promise.all([
    q<{ total: number }[]>`select count(distinct ${key}) as total from permissions p where ${chosen}`,
    q<(CategorySuggestion & { ids: string[] })[]>`
      select ${categoryColumns(q)}, array_agg(p.id order by p.code, p.id) as ids
      from permissions p where ${chosen} group by ${key} ${order} ${pageOf(q, request)}`,
  ]);
  const permissions = await q<PermissionDetails[]>`
    select ${permissionColumns(q, caller)} from permissions p
    where p.id = any(${groups.flatMap(({ ids }) => ids)}::uuid[])`;
  const byId = new Map(permissions.map((each) => [each.id, each]));
  const items = groups.map(({ ids, ...group }) => ({
    ...group,
    permissions: ids.flatMap((id) => byId.get(id) ?? []),
  }));
  return pagedResult(items, count?.total ?? 0, request);
}

/** Categories whose name contains `search`, for autocompletion: first prefix matches, then by number of permissions. */
export async function suggestCategories(
  q: Sql,
  caller: TenantCaller,
  { search, limit }: { search?: string | undefined; limit: number },
): Promise<CategorySuggestion[]> {
  const text = search?.trim();
  const key = q.unsafe(CATEGORY);
  const begins = text ? q`fold(min(p.category)) like substr(search_pattern(${text}), 2) desc,` : q``;
  return await q<CategorySuggestion[]>`
    select ${categoryColumns(q)} from permissions p
    where ${wherePermissions(q, caller.tenantId, {})} and ${matches(q, "fold(p.category)", search)}
    group by ${key} order by ${begins} count(*) desc, ${key} limit ${limit}`;
}

/** Owner of a permission: a tenant's id, or null for the catalog. */
export type PermissionOwner = string | null;

/**
 * Locks the codes this owner may use against concurrent writers, until `tx` ends: writers of a tenant share the lock of the
 * catalog and lock their tenant. A code belongs either to the catalog or to tenants: permissions are checked by code, so a
 * tenant must not be able to create its own `admin:system`.
 */
export async function lockPermissionCodes(tx: Tx, owner: PermissionOwner): Promise<void> {
  const { permissionCodes: key } = PAIRED_LOCKS;
  if (owner === null) {
    await tx`select pg_advisory_xact_lock(${key}, 0)`;
  } else {
    await tx`select pg_advisory_xact_lock_shared(${key}, 0)`;
    await tx`select pg_advisory_xact_lock(${key}, hashtext(${owner}))`;
  }
}

export type TakenCode = Pick<
  PermissionDetails,
  "id" | "code" | "description" | "category" | "tenantId" | "isSystem"
>;

/** Existing permissions that conflict with `owner` creating these codes; locks them. Call `lockPermissionCodes` first. */
export async function findTakenCodes(tx: Tx, owner: PermissionOwner, codes: string[]): Promise<TakenCode[]> {
  return await tx<TakenCode[]>`
    select id, code, description, category, tenant_id, is_system from permissions
    where code = any(${codes}::text[]) and deleted_at is null
      and (${owner}::uuid is null or tenant_id is null or tenant_id = ${owner}) for no key update`;
}
