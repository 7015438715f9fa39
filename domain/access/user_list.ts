import type { Queryable, Sql } from "../../infra/postgres/postgres.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { countRemembered } from "./large_counts.ts";
import { matches, type SortDirection } from "./list_order.ts";
import { type AdminUser, adminUserColumns, type User, userColumns } from "./user_details.ts";

export const USER_SORTS = ["email", "firstName", "lastName", "createdAt", "lastLoginAt"] as const;

/** What a users list selects and how it is sorted; absent members select nothing. */
export interface UserListRequest extends PageRequest {
  search?: string | undefined;
  isActive?: boolean | undefined;
  /** In the tenant of `tenantId`; where that is absent, in any active tenant. */
  roleName?: string | undefined;
  /** At the time of the request; an expired lockout counts as none. */
  isLockedOut?: boolean | undefined;
  includeDeleted: boolean;
  /** Users linked to this tenant, actively or not. */
  tenantId?: string | undefined;
  sortBy?: typeof USER_SORTS[number] | undefined;
  sortDirection: SortDirection;
}

/** Up to so many rows are sorted after they were found; more are read in the order of an index until the page is full. */
const SORTED_AFTERWARDS = 2_000;

/** The users of one tenant. */
export async function listTenantUsers(
  sql: Sql,
  tenantId: string,
  request: UserListRequest,
): Promise<PagedResult<User>> {
  return await listUsers<User>(sql, { ...request, tenantId }, userColumns(sql, tenantId));
}

/** The users of all tenants, or those linked to `request.tenantId`. */
export async function listAllUsers(sql: Sql, request: UserListRequest): Promise<PagedResult<AdminUser>> {
  return await listUsers<AdminUser>(sql, request, adminUserColumns(sql));
}

/**
 * Counts first: how many rows there are tells which way to the page is short. The page's ids are found before any
 * detail is read; a page nearer to the end is read from the end.
 */
async function listUsers<T extends User | AdminUser>(
  sql: Sql,
  request: UserListRequest,
  columns: ReturnType<typeof userColumns>,
): Promise<PagedResult<T>> {
  const { page, pageSize, sortBy: _, sortDirection: __, ...filter } = request;
  const total = await countRemembered(sql, `users ${JSON.stringify(filter)}`, () => countUsers(sql, request));
  const offset = offsetOf({ page, pageSize });
  if (offset >= total) return pagedResult<T>([], total, request);

  const length = Math.min(pageSize, total - offset);
  const fromEnd = offset > total / 2;
  const descending = request.sortDirection === "Descending";
  const scan = () => order(sql, request.sortBy, descending !== fromEnd);
  const skip = fromEnd ? total - offset - length : offset;
  const ids = total <= SORTED_AFTERWARDS
    ? sql`with found as materialized (select ${sortKeys(sql, request.sortBy)} from users u where ${
      where(sql, request)
    })
      select u.id from found u order by ${scan()}
      limit ${length} offset ${skip}`
    : sql`select u.id from users u where ${
      where(sql, request)
    } order by ${scan()} limit ${length} offset ${skip}`;
  const rows = await sql<T[]>`
    with page as materialized (${ids})
    select ${columns} from users u where u.id in (select id from page)
    order by ${order(sql, request.sortBy, descending)}`;
  return pagedResult<T>([...rows], total, request);
}

async function countUsers(sql: Sql, request: UserListRequest): Promise<number> {
  const [row] = await sql<{ total: number }[]>`select count(*)::int as total from users u where ${
    where(sql, request)
  }`;
  return row?.total ?? 0;
}

function where(q: Queryable, o: UserListRequest) {
  const all = [
    o.includeDeleted ? q`true` : q`u.deleted_at is null`,
    ...o.isActive === undefined ? [] : [o.isActive ? q`u.is_active` : q`not u.is_active`],
    ...o.isLockedOut === undefined ? [] : [
      o.isLockedOut
        ? q`u.lockout_expires_at > now()`
        : q`(u.lockout_expires_at is null or u.lockout_expires_at <= now())`,
    ],
    matches(q, "u.search_text", o.search),
    ...o.tenantId === undefined
      ? []
      : [q`u.id in (select m.user_id from user_tenants m where m.tenant_id = ${o.tenantId})`],
    ...o.roleName === undefined ? [] : [q`u.id in (${roleHolders(q, o.roleName, o.tenantId)})`],
  ];
  return all.reduce((left, right) => q`${left} and ${right}`);
}

function roleHolders(q: Queryable, roleName: string, tenantId: string | undefined) {
  const held = q`select l.user_id from roles r join user_tenant_roles l on l.role_id = r.id`;
  const named = q`lower(r.name) = lower(${roleName}) and r.deleted_at is null`;
  if (tenantId !== undefined) return q`${held} where ${named} and r.tenant_id = ${tenantId}`;
  return q`${held}
    join tenants t on t.id = r.tenant_id and t.is_active and t.deleted_at is null
    join user_tenants m on m.user_id = l.user_id and m.tenant_id = l.tenant_id and m.is_active
    where ${named}`;
}

function sortKeys(q: Queryable, sortBy: UserListRequest["sortBy"]) {
  switch (sortBy) {
    case "email":
      return q`u.id, u.email`;
    case "firstName":
      return q`u.id, u.first_name`;
    case "lastName":
      return q`u.id, u.last_name`;
    case "createdAt":
      return q`u.id, u.created_at`;
    case "lastLoginAt":
      return q`u.id, u.last_login_at`;
    case undefined:
      return q`u.id`;
  }
}

/** A total order; each is the exact reverse of its other direction, and each has an index. */
function order(q: Queryable, sortBy: UserListRequest["sortBy"], descending: boolean) {
  switch (sortBy) {
    case "email":
      return descending ? q`lower(u.email) desc` : q`lower(u.email)`;
    case "firstName":
      return descending ? q`lower(u.first_name) desc, u.id desc` : q`lower(u.first_name), u.id`;
    case "lastName":
      return descending ? q`lower(u.last_name) desc, u.id desc` : q`lower(u.last_name), u.id`;
    case "createdAt":
      return descending ? q`u.created_at desc, u.id desc` : q`u.created_at, u.id`;
    case "lastLoginAt":
      return descending
        ? q`u.last_login_at desc nulls last, u.id desc`
        : q`u.last_login_at nulls first, u.id`;
    case undefined:
      return descending ? q`u.id desc` : q`u.id`;
  }
}
