import { mailForms } from "../../../infra/mail/mail_address.ts";
import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { hasFactor } from "../../rights/second_factor.ts";
import { countCached, isKnownLarge } from "../../shared/count_cache.ts";
import { allOf, countRows, limitTo, matches, pageOf, type SortedPageRequest } from "../../shared/lists.ts";
import { offsetOf, type PagedResult, pagedResult } from "../../shared/paging.ts";
import { type AdminUser, adminUserColumns, type User, userColumns } from "./user_details.ts";

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
  // Reading matches up to a bound would scan most users where few match. Without filters it ends soon, and an index answers a
  // search of three letters.
  const isCountedFirst = filtersOf(request).length > 0 && (request.search?.trim() ?? "").length < 3;
  const few = isCountedFirst || isKnownLarge(q, selection.key) ? null : await readIfFew<T>(q, selection);
  if (few) return few;
  const total = await countCached(q, selection.key, () => countUsers(q, request));
  const found = isCountedFirst && total <= FEW ? await readIfFew<T>(q, selection) : null;
  if (found) return found;
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

/** Joins all links or roles with the users. A subquery would need a hash table of all links in memory. */
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

/** Counts all matches. If these are most users, counts all users and the others. */
async function countUsers(q: Sql, request: UserListRequest): Promise<number> {
  const rare = rareIdsOf(q, request);
  if (rare !== null) {
    const number = numberOf(q, rare, request);
    return await readNumber(q, rare.areWanted ? number : q`${numberOfAll(q, request)} - ${number}`);
  }
  if (filtersOf(request).length === 0) return await readNumber(q, numberOfAll(q, request));
  return await countRows(q, q`users u where ${matchesRequest(q, request, "find")}`);
}

/** The members of a request that are no filters of its own, but its page, its order and its extent. */
const NO_FILTERS = new Set(["page", "pageSize", "sortBy", "sortDirection", "tenantId", "includeDeleted"]);

const filtersOf = (request: UserListRequest): string[] =>
  Object.entries(request).flatMap(([name, value]) => value === undefined || NO_FILTERS.has(name) ? [] : name);

/** Counts the users of a tenant who are not deleted. */
export const countTenantUsers = (q: Sql, tenantId: string): Promise<number> =>
  readNumber(q, numberOfAll(q, { tenantId, includeDeleted: false }));

const readNumber = async (q: Sql, number: SqlPart): Promise<number> => {
  const [row] = await q<{ total: number }[]>`select coalesce(${number}, 0)::bigint as total`;
  return row?.total ?? 0;
};

type Extent = Pick<UserListRequest, "tenantId" | "includeDeleted">;

/** SQL: the number of users of the tenant, or of all. Few links are not active, and few users are deleted. */
function numberOfAll(q: Sql, { includeDeleted, tenantId }: Extent): SqlPart {
  if (tenantId === undefined) {
    return q`(select count(*) from users ${includeDeleted ? q`` : q`where deleted_at is null`})`;
  }
  const inactive =
    q`(select count(*) from user_tenants l join users u on u.id = l.user_id and u.deleted_at is null
    where l.tenant_id = ${tenantId} and not l.is_active)`;
  const deleted = q`(select count(*) from user_tenants l where l.tenant_id = ${tenantId}
    and l.user_id in (select id from users where deleted_at is not null))`;
  const live = q`(select user_count from tenants where id = ${tenantId}) + ${inactive}`;
  return includeDeleted ? q`${live} + ${deleted}` : live;
}

/** Users in a state that few users have. */
interface RareUsers {
  /** SQL: their ids, each once. */
  ids: SqlPart;
  /** False: the request asks for all others. */
  areWanted: boolean;
  /** True: all of them are linked to the tenant of the request. */
  areLinked: boolean;
}

/** The rarer users of the two states that the only filter of the request tells apart. Null: it has another filter, or several. */
function rareIdsOf(q: Sql, o: UserListRequest): RareUsers | null {
  if (filtersOf(o).length !== 1) return null;
  const { isActive, isLockedOut, hasSecondFactor, isAdministrator, roleName, tenantId } = o;
  const ofState = (ids: SqlPart, areWanted: boolean) => ({ ids, areWanted, areLinked: false });
  if (isActive !== undefined && tenantId !== undefined) { // of all tenants, an index has both sides
    const live = o.includeDeleted ? q`` : q`and deleted_at is null`;
    return ofState(q`select id from users where not is_active ${live}`, !isActive);
  }
  if (isLockedOut !== undefined) {
    return ofState(q`select id from users where lockout_expires_at > now()`, isLockedOut);
  }
  if (hasSecondFactor !== undefined) {
    const ids = q`select distinct user_id as id from user_factors where confirmed_at is not null`;
    return ofState(ids, hasSecondFactor);
  }
  const held = roleName === undefined
    ? isAdministrator !== undefined && isAdministrative(q)
    : isNamed(q, roleName);
  if (!held) return null;
  const holders = q`select user_id as id from (${roleHolders(q, held, tenantId)}) holders`;
  // A tenant has one role of a name.
  const ids = roleName !== undefined && tenantId !== undefined ? holders : q`${holders} group by user_id`;
  return { ids, areWanted: isAdministrator !== false, areLinked: tenantId !== undefined };
}

/** SQL: the number of these users, of the tenant and not deleted, as the request asks. */
function numberOf(
  q: Sql,
  { ids, areLinked }: RareUsers,
  { includeDeleted, tenantId }: UserListRequest,
): SqlPart {
  const isLinked = tenantId !== undefined && !areLinked && q`found.id in (${linkedUsers(q, { tenantId })})`;
  const isLive = !includeDeleted &&
    q`not exists (select from users d where d.id = found.id and d.deleted_at is not null)`;
  return q`(select count(*) from (${ids}) found where ${allOf(q, [q`true`, isLinked, isLive])})`;
}

export const USER_SORTS = ["email", "firstName", "lastName", "createdAt", "lastLoginAt"] as const;

/** Filter, sorting and page of a list of users; absent filters do not filter. */
export interface UserListRequest extends SortedPageRequest<typeof USER_SORTS[number]> {
  search?: string | undefined;
  isActive?: boolean | undefined;
  /** Name of a role that the users hold in `tenantId`; if that is absent, in any active tenant. */
  roleName?: string | undefined;
  /** True: only users with a lockout that has not expired; false: only users without one. */
  isLockedOut?: boolean | undefined;
  hasSecondFactor?: boolean | undefined;
  /** True: only users who hold one of `ADMINISTRATIVE` in `tenantId`; if that is absent, in any active tenant. */
  isAdministrator?: boolean | undefined;
  /** Days in which the users have neither signed in nor been created. */
  notSignedInForDays?: number | undefined;
  includeDeleted: boolean;
  /** Id of a tenant to which the users have an active or deactivated link. */
  tenantId?: string | undefined;
  /** External id of the users' link to `tenantId`; if that is absent, of a link to any tenant. */
  externalId?: string | undefined;
}

/** Who holds one of these changes the rights of others, or acts in their place. */
const ADMINISTRATIVE = [
  "admin:system",
  "manage:all-users",
  "manage:all-tenants",
  "update:users",
  "update:roles",
];

/**
 * The plan by which a query finds users by link or role. `find` joins them, for few rows or for all. `probe` checks user by
 * user until the page is full. The planner cannot estimate how many rows a tenant or role has. So the SQL forces this plan:
 * `limit` keeps the planner from turning the subquery into a join, and from hashing it.
 */
type Strategy = "find" | "probe";

/** SQL condition: the user `u` passes all filters of the request. */
function matchesRequest(q: Sql, o: UserListRequest, strategy: Strategy): SqlPart {
  const { isActive, isLockedOut, roleName, hasSecondFactor, isAdministrator, notSignedInForDays } = o;
  /** Holders of a role of the tenant are linked to it. */
  const holdsRole = roleName !== undefined || isAdministrator === true;
  const unlocked = q`(u.lockout_expires_at is null or u.lockout_expires_at <= now())`;
  return allOf(q, [
    matchesSearch(q, o.search),
    !o.includeDeleted && q`u.deleted_at is null`,
    isActive !== undefined && (isActive ? q`u.is_active` : q`not u.is_active`),
    hasSecondFactor !== undefined &&
    (hasSecondFactor ? hasFactor(q, q`u.id`) : q`not ${hasFactor(q, q`u.id`)}`),
    notSignedInForDays !== undefined &&
    q`coalesce(u.last_login_at, u.created_at) <= now() - make_interval(days => ${notSignedInForDays})`,
    isLockedOut !== undefined && (isLockedOut ? q`u.lockout_expires_at > now()` : unlocked),
    (o.externalId !== undefined || o.tenantId !== undefined && !holdsRole) &&
    isAmong(q, strategy, linkedUsers(q, o)),
    roleName !== undefined &&
    isAmong(q, strategy, roleHolders(q, isNamed(q, roleName), o.tenantId)),
    isAdministrator === true && isAmong(q, strategy, roleHolders(q, isAdministrative(q), o.tenantId)),
    isAdministrator === false &&
    q`u.id not in (${roleHolders(q, isAdministrative(q), o.tenantId)})`,
  ]);
}

/** SQL condition: the user matches the search text. An email address matches with its domain in ASCII or in Unicode. */
function matchesSearch(q: Sql, search: string | undefined): SqlPart {
  const forms = mailForms(search?.trim().toLowerCase() ?? "").map((form) =>
    matches(q, "u.search_text", form)
  );
  return q`(${forms.reduce((left, right) => q`${left} or ${right}`)})`;
}

/** SQL condition: the user is in the result of `userIds`, a query of `l.user_id`. */
function isAmong(q: Sql, strategy: Strategy, userIds: SqlPart): SqlPart {
  if (strategy === "find") return q`u.id in (${userIds})`;
  return q`(${userIds} and l.user_id = u.id limit 1) is not null`;
}

function linkedUsers(
  q: Sql,
  { tenantId, externalId }: Pick<UserListRequest, "tenantId" | "externalId">,
): SqlPart {
  const chosen = allOf(q, [
    tenantId !== undefined && q`l.tenant_id = ${tenantId}`,
    externalId !== undefined && q`l.external_id = ${externalId}`,
  ]);
  return q`select l.user_id from user_tenants l where ${chosen}`;
}

/** SQL: the users who hold, in the tenant or in any active one, a role `r` that fits the condition. */
function roleHolders(q: Sql, condition: SqlPart, tenantId: string | undefined): SqlPart {
  const roles = tenantId !== undefined
    ? q`roles r where r.tenant_id = ${tenantId}`
    : q`roles r join tenants t on t.id = r.tenant_id where t.is_active and t.deleted_at is null`;
  const ids = q`array(select r.id from ${roles} and r.deleted_at is null and ${condition})`;
  return q`select l.user_id from user_tenant_roles l where l.role_id = any(${ids})`;
}

const isNamed = (q: Sql, roleName: string): SqlPart => q`same_text(r.name) = same_text(${roleName})`;

const isAdministrative = (q: Sql): SqlPart =>
  q`r.id in (select rp.role_id from role_permissions rp join permissions p on p.id = rp.permission_id
    where p.code = any(${ADMINISTRATIVE}::text[]) and p.deleted_at is null)`;

const orderOf = (column: string, key: string) => ({
  column,
  up: `${key}, u.id`,
  down: `${key} desc, u.id desc`,
});

/** By sort key: its column, and the expressions of a total order in both directions, which an index supports. */
const ORDERS = {
  email: { column: "u.email", up: "mail_key(u.email)", down: "mail_key(u.email) desc" },
  firstName: orderOf("u.first_name", "lower(u.first_name)"),
  lastName: orderOf("u.last_name", "lower(u.last_name)"),
  createdAt: orderOf("u.created_at", "u.created_at"),
  lastLoginAt: {
    column: "u.last_login_at",
    up: "u.last_login_at nulls first, u.id",
    down: "u.last_login_at desc nulls last, u.id desc",
  },
} satisfies Record<typeof USER_SORTS[number], unknown>;

/** SQL: the id, and the column by which `order` sorts. */
const sortKeys = (q: Sql, sortBy: UserListRequest["sortBy"]): SqlPart =>
  q.unsafe(sortBy ? `u.id, ${ORDERS[sortBy].column}` : "u.id");

/** SQL of a total order, without the words `order by`. */
const order = (q: Sql, sortBy: UserListRequest["sortBy"], descending: boolean): SqlPart => {
  const { up, down } = sortBy ? ORDERS[sortBy] : { up: "u.id", down: "u.id desc" };
  return q.unsafe(descending ? down : up);
};
