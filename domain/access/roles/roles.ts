import { z } from "zod";
import { deletedAt, time } from "../../shared/shapes.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import {
  allOf,
  countList,
  matches,
  orderBy,
  pageOf,
  readPage,
  type SortedPageRequest,
} from "../../shared/lists.ts";
import { type Versioned, versioned } from "../../shared/version.ts";
import { tenantNotFound } from "../tenant_not_found.ts";

export const ROLE_SORTS = ["name", "createdAt", "userCount"] as const;
/** SQL expression of each sort key. */
const SORTS = { name: "same_text(r.name)", createdAt: "r.created_at", userCount: "user_count" };
const byName = (q: Sql) => orderBy(q, SORTS.name, "r.id", "Ascending");

/** A role of a tenant with its permissions. */
export const Role = z.object({
  id: z.guid(),
  tenantId: z.guid().describe("The tenant of the role; it can be assigned only there"),
  tenantName: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  isSystemRole: z.boolean().describe("The role belongs to the catalog"),
  permissions: z.array(z.object({ id: z.guid(), code: z.string() })),
  createdAt: time,
  updatedAt: time,
}).meta({ id: "RoleDto" });
export type Role = z.output<typeof Role>;

export const RoleWithUserCount = Role.omit({ permissions: true }).extend({
  userCount: z.int().describe("Number of users with the role, without deleted users"),
  permissionCount: z.int(),
  deletedAt,
}).meta({ id: "RoleWithUserCountDto" });
export type RoleWithUserCount = z.output<typeof RoleWithUserCount>;

type RoleLookupItem = Pick<Role, "id" | "name" | "description">;

/** Filter of roles; absent members do not filter. */
interface RoleFilter {
  search?: string | undefined;
  isSystemRole?: boolean | undefined;
  includeDeleted?: boolean | undefined;
  ids?: string[] | undefined;
}

type RoleListRequest = RoleFilter & SortedPageRequest<typeof ROLE_SORTS[number]>;

/** Reads a role of the tenant with its permissions. Throws ROLE_NOT_FOUND. */
export async function readRole(q: Sql, tenantId: string, id: string): Promise<Versioned<Role>> {
  const [row] = await q<(Role & { version: number })[]>`
    select ${grantColumns(q)}, r.version from roles r
    where r.id = ${id} and r.tenant_id = ${tenantId} and r.deleted_at is null`;
  return versioned(row, () => roleNotFound(id));
}

/** Reads a role of the tenant with its numbers of users and permissions. Throws ROLE_NOT_FOUND. */
export async function readCountedRole(
  q: Sql,
  tenantId: string,
  id: string,
): Promise<Versioned<RoleWithUserCount>> {
  const [row] = await q<(RoleWithUserCount & { version: number })[]>`
    select ${countedColumns(q)}, r.version from roles r
    where r.id = ${id} and r.tenant_id = ${tenantId} and r.deleted_at is null`;
  return versioned(row, () => roleNotFound(id));
}

/**
 * Lists the tenant's matching roles, sorted by name unless `sortBy` is given. Users are counted only for the roles of
 * the page, unless the list is sorted by that number.
 */
export async function listRoles(
  q: Sql,
  tenantId: string,
  request: RoleListRequest,
): Promise<PagedResult<RoleWithUserCount>> {
  const { sortBy = "name", sortDirection } = request;
  const chosen = where(q, tenantId, request);
  const order = orderBy(q, SORTS[sortBy], "r.id", sortDirection);
  const page = pageOf(q, request);
  const byCount = sortBy === "userCount";
  const roles = byCount
    ? q`roles r where ${chosen}`
    : q`(select * from roles r where ${chosen} ${order} ${page}) r`;
  const [total, items] = await Promise.all([
    countList(q, q`roles r where ${chosen}`),
    q<RoleWithUserCount[]>`
      select ${countedColumns(q)} from ${roles} ${order} ${byCount ? page : q``}`,
  ]);
  return pagedResult<RoleWithUserCount>([...items], total, request);
}

/** Lists the roles of any tenant, for the administration routes. Throws TENANT_NOT_FOUND. */
export async function listRolesOfTenant(
  q: Sql,
  tenantId: string,
  request: RoleListRequest,
): Promise<PagedResult<RoleWithUserCount>> {
  await requireTenant(q, tenantId);
  return await listRoles(q, tenantId, request);
}

/** Lists the tenant's matching roles with their permissions, sorted by name. */
export async function listRoleGrants(
  q: Sql,
  tenantId: string,
  request: RoleFilter & PageRequest,
): Promise<PagedResult<Role>> {
  const from = q`roles r where ${where(q, tenantId, request)}`;
  return await readPage(q, { columns: grantColumns(q), from, order: byName(q) }, request);
}

/** Lists names of the tenant's matching roles for selection lists, sorted by name. */
export async function lookUpRoles(
  q: Sql,
  tenantId: string,
  request: RoleFilter & PageRequest,
): Promise<PagedResult<RoleLookupItem>> {
  const from = q`roles r where ${where(q, tenantId, request)}`;
  return await readPage(q, { columns: q`r.id, r.name, r.description`, from, order: byName(q) }, request);
}

/** Lists names of any tenant's matching roles, sorted by name. Throws TENANT_NOT_FOUND. */
export async function lookUpRolesOfTenant(
  q: Sql,
  tenantId: string,
  request: RoleFilter & PageRequest,
): Promise<PagedResult<RoleLookupItem>> {
  await requireTenant(q, tenantId);
  return await lookUpRoles(q, tenantId, request);
}

export const RolesSummary = z.object({
  totalRoles: z.int(),
  systemRoles: z.int(),
  customRoles: z.int(),
  rolesWithoutUsers: z.int(),
  // Users who hold at least one of the roles.
  usersWithRoles: z.int(),
}).meta({ id: "RolesSummaryDto" });
export type RolesSummary = z.output<typeof RolesSummary>;

/**
 * Counts the tenant's matching roles and their users. The holders of each role are read from the index: the planner does not
 * know that a role has few of them, and would read those of all tenants, for `exists` once for each role.
 */
export async function summarizeRoles(q: Sql, tenantId: string, filter: RoleFilter): Promise<RolesSummary> {
  const from = q`roles r where ${where(q, tenantId, filter)}`;
  const holders = q`(select distinct h.user_id from (select r.id from ${from}) chosen cross join lateral (
    select h.user_id from user_tenant_roles h where h.role_id = chosen.id order by h.user_id offset 0) h) holders`;
  const [[row], usersWithRoles] = await Promise.all([
    q<Omit<RolesSummary, "usersWithRoles">[]>`
      select count(*) as total_roles,
        count(*) filter (where r.is_system) as system_roles,
        count(*) filter (where not r.is_system) as custom_roles,
        count(*) filter (where (select h.user_id from user_tenant_roles h where h.role_id = r.id
          order by h.user_id limit 1) is null) as roles_without_users
      from ${from}`,
    countList(q, holders),
  ]);
  if (!row) throw new Error("an aggregate query returned no row");
  return { ...row, usersWithRoles };
}

/** The error for an unknown, deleted or other tenant's role, so that callers cannot tell them apart. */
export const roleNotFound = (id: string) =>
  problem("ROLE_NOT_FOUND", `The tenant has no role ${id}; the id may be wrong or the role deleted.`);

/** SQL condition: the row of `permissions` is live, and of the catalog or of the tenant. */
export const isPermissionOf = (q: Sql, tenantId: string | null) =>
  q`(deleted_at is null and (tenant_id is null or tenant_id = ${tenantId}))`;

/** The error for unknown permissions of a list, of which it names the first five. */
export const permissionsNotFound = (ids: string[]) =>
  problem("PERMISSION_NOT_FOUND", `The tenant has no permission ${ids.slice(0, 5).join(", ")}.`);

const ownColumns = (q: Sql) =>
  q`r.id, r.tenant_id, (select t.name from tenants t where t.id = r.tenant_id) as tenant_name, r.name, r.description,
    r.is_system as is_system_role, r.created_at, r.updated_at`;

/** Columns of `Role` over `roles r`. A deleted permission is one of no role. */
export const grantColumns = (q: Sql) =>
  q`${ownColumns(q)},
    coalesce((select jsonb_agg(jsonb_build_object('id', p.id, 'code', p.code) order by p.code)
      from role_permissions rp join permissions p on p.id = rp.permission_id where rp.role_id = r.id), '[]')
      as permissions`;

/** Columns of `RoleWithUserCount` over `roles r`. Deleted users hold no roles, so an index-only scan can count users. */
const countedColumns = (q: Sql) =>
  q`${ownColumns(q)},
    (select count(*) from user_tenant_roles h where h.role_id = r.id) as user_count,
    (select count(*) from role_permissions rp where rp.role_id = r.id) as permission_count, r.deleted_at`;

function where(q: Sql, tenantId: string, o: RoleFilter) {
  return allOf(q, [
    q`r.tenant_id = ${tenantId}`,
    !o.includeDeleted && q`r.deleted_at is null`,
    o.isSystemRole !== undefined && q`r.is_system = ${o.isSystemRole}`,
    o.ids !== undefined && q`r.id = any(${o.ids}::uuid[])`,
    matches(q, "r.search_text", o.search),
  ]);
}

async function requireTenant(q: Sql, id: string): Promise<void> {
  const found = await q`select from tenants where id = ${id} and deleted_at is null`;
  if (found.length === 0) throw tenantNotFound(id);
}
