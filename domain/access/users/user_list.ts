import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countCached, isKnownLarge } from "../../shared/count_cache.ts";
import { limitTo, matches, pageOf, type SortDirection } from "../../shared/list_order.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { type AdminUser, adminUserColumns, type User, userColumns } from "./user_details.ts";

export const USER_SORTS = ["email", "firstName", "lastName", "createdAt", "lastLoginAt"] as const;

/** Filter, sorting and page of a list of users; absent filters do not filter. */
export interface UserListRequest extends PageRequest {
  search?: string | undefined;
  isActive?: boolean | undefined;
  /** Users who hold a role of this name in `tenantId`; if that is absent, in any active tenant. */
  roleName?: string | undefined;
  /** Whether a lockout is in effect; an expired lockout does not count. */
  isLockedOut?: boolean | undefined;
  includeDeleted: boolean;
  /** Users with an active or deactivated link to this tenant. */
  tenantId?: string | undefined;
  sortBy?: typeof USER_SORTS[number] | undefined;
  sortDirection: SortDirection;
}

/** Lists the users of one tenant. */
export async function listTenantUsers(
  sql: Sql,
  tenantId: string,
  request: UserListRequest,
): Promise<PagedResult<User>> {
  return await listUsers<User>(sql, { ...request, tenantId }, userColumns(sql, tenantId));
}

/** Lists the users of all tenants, or those linked to `request.tenantId`. */
export async function listAllUsers(sql: Sql, request: UserListRequest): Promise<PagedResult<AdminUser>> {
  return await listUsers<AdminUser>(sql, request, adminUserColumns(sql));
}

/** Up to this many matching rows are read and then sorted. If more match, the page is read in index order. */
const FEW = 2_000;
/** Checking links and roles user by user is faster if at most this many users come before the page. */
const FEW_PROBES = 500;

interface Selection {
  request: UserListRequest;
  /** Key of the total in the count cache. */
  key: string;
}

/** Both strategies first find the ids of the page, then read the details of those rows. */
async function listUsers<T extends User | AdminUser>(
  sql: Sql,
  request: UserListRequest,
  columns: ReturnType<typeof userColumns>,
): Promise<PagedResult<T>> {
  const { page: _, pageSize: __, sortBy: ___, sortDirection: ____, ...filter } = request;
  const selection: Selection = { request, key: `users ${JSON.stringify(filter)}` };
  if (isKnownLarge(sql, selection.key)) return await readLargeList<T>(sql, selection, columns);
  return await readSmallList<T>(sql, selection, columns) ?? await readLargeList<T>(sql, selection, columns);
}

/** Counts and reads in one query; null if more than `FEW` rows match. */
async function readSmallList<T extends User | AdminUser>(
  sql: Sql,
  selection: Selection,
  columns: ReturnType<typeof userColumns>,
): Promise<PagedResult<T> | null> {
  const { request } = selection;
  const sorted = () => order(sql, request.sortBy, request.sortDirection === "Descending");
  const rows = await sql<(T & { total: number })[]>`
    with found as materialized (
      select ${sortKeys(sql, request.sortBy)} from users u where ${where(sql, selection, "find")} limit ${
    FEW + 1
  }
    ), page as materialized (
      select u.id from found u order by ${sorted()} ${pageOf(sql, request)}
    )
    select ${columns}, (select count(*) from found) as total
    from users u where u.id = any(array(select id from page)) order by ${sorted()}`;
  const [first] = rows;
  if (!first) {
    const total = request.page === 1 ? 0 : await countUsers(sql, selection, "find");
    return total > FEW ? null : pagedResult<T>([], total, request);
  }
  if (first.total > FEW) return null;
  return pagedResult<T>(rows.map(({ total: _, ...row }) => row as unknown as T), first.total, request);
}

/** Counts (or uses the cached total), then reads the page in index order, from the nearer end of the index. */
async function readLargeList<T extends User | AdminUser>(
  sql: Sql,
  selection: Selection,
  columns: ReturnType<typeof userColumns>,
): Promise<PagedResult<T>> {
  const { request } = selection;
  const total = await countCached(sql, selection.key, () => countUsers(sql, selection, "hash"));
  const offset = offsetOf(request);
  if (offset >= total) return pagedResult<T>([], total, request);
  const length = Math.min(request.pageSize, total - offset);
  const fromEnd = offset > total / 2;
  const skipped = fromEnd ? total - offset - length : offset;
  const descending = request.sortDirection === "Descending";
  const rows = await sql<T[]>`
    with page as materialized (
      select u.id from users u where ${where(sql, selection, skipped <= FEW_PROBES ? "probe" : "hash")}
      order by ${order(sql, request.sortBy, descending !== fromEnd)} ${
    limitTo(sql, { offset: skipped, limit: length })
  }
    )
    select ${columns} from users u where u.id = any(array(select id from page))
    order by ${order(sql, request.sortBy, descending)}`;
  return pagedResult<T>([...rows], total, request);
}

async function countUsers(sql: Sql, selection: Selection, strategy: Strategy): Promise<number> {
  const [row] = await sql<{ total: number }[]>`
    select count(*) as total from users u where ${where(sql, selection, strategy)}`;
  return row?.total ?? 0;
}

/**
 * How a query finds users by link or role. `find` starts from the links or roles, for few rows. `hash` reads all of them
 * into a hash table and checks each user against it. `probe` checks user by user until the page is full. The planner
 * cannot estimate how many rows a tenant or role has. So the SQL forces its choice: `is true` keeps it from turning the
 * subquery into a join, and `limit` keeps it from hashing the subquery.
 */
type Strategy = "find" | "hash" | "probe";

function where(q: Sql, { request: o }: Selection, strategy: Strategy) {
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
      : [among(q, strategy, q`select l.user_id from user_tenants l where l.tenant_id = ${o.tenantId}`)],
    ...o.roleName === undefined ? [] : [among(q, strategy, roleHolders(q, o.roleName, o.tenantId))],
  ];
  return all.reduce((left, right) => q`${left} and ${right}`);
}

type Fragment = ReturnType<typeof sortKeys>;

/** SQL condition: the user is in the result of `userIds`, a query of `l.user_id`. */
function among(q: Sql, strategy: Strategy, userIds: Fragment): Fragment {
  if (strategy === "find") return q`u.id in (${userIds})`;
  if (strategy === "hash") return q`(u.id in (${userIds})) is true`;
  return q`(${userIds} and l.user_id = u.id limit 1) is not null`;
}

function roleHolders(q: Sql, roleName: string, tenantId: string | undefined): Fragment {
  const held = q`select l.user_id from user_tenant_roles l join roles r on r.id = l.role_id`;
  const named = q`lower(r.name) = lower(${roleName}) and r.deleted_at is null`;
  if (tenantId !== undefined) return q`${held} where ${named} and r.tenant_id = ${tenantId}`;
  return q`${held} join tenants t on t.id = r.tenant_id where ${named} and t.is_active and t.deleted_at is null`;
}

function sortKeys(q: Sql, sortBy: UserListRequest["sortBy"]) {
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

/** A total order. Ascending and descending are exact opposites, and an index supports each. */
function order(q: Sql, sortBy: UserListRequest["sortBy"], descending: boolean) {
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
