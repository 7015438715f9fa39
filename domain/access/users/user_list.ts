import type { Sql } from "../../../infra/postgres/postgres.ts";
import { countCached, isKnownLarge } from "../../shared/count_cache.ts";
import { offsetOf, type PagedResult, pagedResult } from "../../shared/paging.ts";
import { countRows, limitTo, pageOf } from "../../shared/lists.ts";
import { type AdminUser, adminUserColumns, type User, userColumns } from "./user_details.ts";
import { matchesRequest, order, sortKeys, type UserListRequest } from "./user_list_request.ts";

/** Lists the users of one tenant. */
export async function listTenantUsers(
  q: Sql,
  tenantId: string,
  request: UserListRequest,
): Promise<PagedResult<User>> {
  return await listUsers<User>(q, { ...request, tenantId }, userColumns(q, tenantId));
}

/** Lists the users of all tenants, or those linked to `request.tenantId`. */
export async function listAllUsers(q: Sql, request: UserListRequest): Promise<PagedResult<AdminUser>> {
  return await listUsers<AdminUser>(q, request, adminUserColumns(q));
}

/** Up to this number, all matches are read and then sorted. */
const FEW = 2_000;
/** Links and roles are checked user by user if at most this many users come before the page. */
const FEW_SKIPPED = 500;

type Columns = ReturnType<typeof userColumns>;

interface Selection {
  request: UserListRequest;
  columns: Columns;
  /** Key of the total in the count cache. */
  key: string;
}

/** A page of a list in index order, counted from the nearer end of the list. */
interface Slice {
  skipped: number;
  length: number;
  descending: boolean;
}

/**
 * Chooses among three queries. All first find the ids of the page, then read the details of those rows. The planner
 * cannot choose: it does not know how many users a tenant, a role name or a search text has.
 */
async function listUsers<T extends User | AdminUser>(
  q: Sql,
  request: UserListRequest,
  columns: Columns,
): Promise<PagedResult<T>> {
  const { page: _, pageSize: __, sortBy: ___, sortDirection: ____, ...filter } = request;
  const selection: Selection = { request, columns, key: `users ${JSON.stringify(filter)}` };
  const few = isKnownLarge(q, selection.key) ? null : await readIfFew<T>(q, selection);
  if (few) return few;
  const total = await countCached(q, selection.key, () => countUsers(q, request));
  const offset = offsetOf(request);
  if (offset >= total) return pagedResult<T>([], total, request);
  const length = Math.min(request.pageSize, total - offset);
  const fromEnd = offset > total / 2;
  const descending = (request.sortDirection === "Descending") !== fromEnd;
  const slice = { skipped: fromEnd ? total - offset - length : offset, length, descending };
  const read = slice.skipped <= FEW_SKIPPED ? readNearEnd<T> : readFarFromEnds<T>;
  return pagedResult<T>(await read(q, selection, slice), total, request);
}

/**
 * Reads and counts all matches, starting from links or roles, and sorts them. Null if more than `FEW` match.
 * 1,000,000 users, 1,000 of them in the tenant: 4 ms. The next query needs 128 ms for the first page, and 4,006 ms for
 * the 26th, because it checks 517,784 users.
 *
 *     Nested Loop (rows=1000)
 *       -> Index Only Scan using user_tenants_tenant (rows=1000)
 *       -> Index Scan using users_pkey (rows=1 loops=1000)
 */
async function readIfFew<T extends User | AdminUser>(
  q: Sql,
  { request, columns }: Selection,
): Promise<PagedResult<T> | null> {
  const sorted = order(q, request.sortBy, request.sortDirection === "Descending");
  const rows = await q<(T & { total: number })[]>`
    with found as materialized (
      select ${sortKeys(q, request.sortBy)} from users u where ${matchesRequest(q, request, "find")}
      limit ${FEW + 1}
    ), page as materialized (
      select u.id from found u order by ${sorted} ${pageOf(q, request)}
    )
    select ${columns}, (select count(*) from found) as total
    from users u where u.id = any(array(select id from page)) order by ${sorted}`;
  const [first] = rows;
  const total = first?.total ?? (request.page === 1 ? 0 : await countUsers(q, request));
  if (total > FEW) return null;
  return pagedResult<T>(rows.map(({ total: _, ...row }) => row as unknown as T), total, request);
}

/**
 * Reads users in the order of the list and checks each for its link or role, until the page is full.
 * 1,000,000 users, 100,000 of them in the tenant, first page: 0.3 ms. With a hash table of the links: 43 ms.
 *
 *     Limit (rows=20)
 *       -> Index Scan using users_email_unique (rows=20, 131 removed)
 *            SubPlan: Index Only Scan using user_tenants_tenant (loops=151)
 */
const readNearEnd = <T extends User | AdminUser>(q: Sql, s: Selection, slice: Slice): Promise<T[]> =>
  readSlice<T>(q, s, matchesRequest(q, s.request, "probe"), slice);

/** Joins all links or roles with the users. Memory does not limit the number of links, as it would a hash table of a subquery. */
const readFarFromEnds = <T extends User | AdminUser>(q: Sql, s: Selection, slice: Slice): Promise<T[]> =>
  readSlice<T>(q, s, matchesRequest(q, s.request, "find"), slice);

async function readSlice<T extends User | AdminUser>(
  q: Sql,
  { request, columns }: Selection,
  condition: ReturnType<typeof matchesRequest>,
  { skipped, length, descending }: Slice,
): Promise<T[]> {
  return await q<T[]>`
    with page as materialized (
      select u.id from users u where ${condition} order by ${order(q, request.sortBy, descending)}
      ${limitTo(q, { offset: skipped, limit: length })}
    )
    select ${columns} from users u where u.id = any(array(select id from page))
    order by ${order(q, request.sortBy, request.sortDirection === "Descending")}`;
}

async function countUsers(q: Sql, request: UserListRequest): Promise<number> {
  const { includeDeleted, tenantId, page: _, pageSize: __, sortBy: ___, sortDirection: ____, ...filters } =
    request;
  const hasFilters = Object.values(filters).some((each) => each !== undefined);
  if (hasFilters || tenantId === undefined) {
    return await countRows(q, q`users u where ${matchesRequest(q, request, "find")}`);
  }
  // An index has all links of a tenant, and another one the deleted users, who are few.
  const links = q`user_tenants l where l.tenant_id = ${tenantId}`;
  const ofDeleted = q`${links} and l.user_id in (select id from users where deleted_at is not null)`;
  return await countRows(q, links) - (includeDeleted ? 0 : await countRows(q, ofDeleted));
}
