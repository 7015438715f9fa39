import type { Queryable, Sql } from "../../infra/postgres/postgres.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { countRemembered, isKnownLarge } from "./large_counts.ts";
import { limitTo, matches, pageOf, type SortDirection } from "../shared/list_order.ts";
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

/** Up to so many rows are found first and sorted then; of more, a page is read in the order of an index. */
const FEW = 2_000;
/** Probing links and roles user by user is the shorter way to a page as long as not many users come before it. */
const FEW_PROBES = 500;

interface Selection {
  request: UserListRequest;
  /** Names the selection among remembered totals. */
  key: string;
}

/** In either way the ids of the page come first and the details of those few rows after. */
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

/** Counts and reads at once; null when there are more than a few rows. */
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

/** Counts, or remembers the total, and reads a page in the order of an index, from whichever end is nearer. */
async function readLargeList<T extends User | AdminUser>(
  sql: Sql,
  selection: Selection,
  columns: ReturnType<typeof userColumns>,
): Promise<PagedResult<T>> {
  const { request } = selection;
  const total = await countRemembered(sql, selection.key, () => countUsers(sql, selection, "hash"));
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

async function countUsers(sql: Sql, selection: Selection, way: Way): Promise<number> {
  const [row] = await sql<{ total: number }[]>`
    select count(*) as total from users u where ${where(sql, selection, way)}`;
  return row?.total ?? 0;
}

/**
 * How links and roles are looked up. `find`: from their side, for few rows. `hash`: all of them once, into a hash
 * that every user is held against. `probe`: user by user, while a page fills. The planner cannot know how many rows a
 * tenant or role has, so it is kept from choosing: by `is true`, under which it leaves a subquery alone, and by
 * `limit`, which it does not hash.
 */
type Way = "find" | "hash" | "probe";

function where(q: Queryable, { request: o }: Selection, way: Way) {
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
      : [among(q, way, q`select l.user_id from user_tenants l where l.tenant_id = ${o.tenantId}`)],
    ...o.roleName === undefined ? [] : [among(q, way, roleHolders(q, o.roleName, o.tenantId))],
  ];
  return all.reduce((left, right) => q`${left} and ${right}`);
}

type Fragment = ReturnType<typeof sortKeys>;

/** The condition that the user is one of `userIds`, a query of `l.user_id`. */
function among(q: Queryable, way: Way, userIds: Fragment): Fragment {
  if (way === "find") return q`u.id in (${userIds})`;
  if (way === "hash") return q`(u.id in (${userIds})) is true`;
  return q`(${userIds} and l.user_id = u.id limit 1) is not null`;
}

function roleHolders(q: Queryable, roleName: string, tenantId: string | undefined): Fragment {
  const held = q`select l.user_id from user_tenant_roles l join roles r on r.id = l.role_id`;
  const named = q`lower(r.name) = lower(${roleName}) and r.deleted_at is null`;
  if (tenantId !== undefined) return q`${held} where ${named} and r.tenant_id = ${tenantId}`;
  return q`${held} join tenants t on t.id = r.tenant_id where ${named} and t.is_active and t.deleted_at is null`;
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
