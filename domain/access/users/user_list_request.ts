import { mailForms } from "../../../infra/mail/mail_address.ts";
import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { hasFactor } from "../../rights/second_factor.ts";
import { allOf, matches, type SortDirection } from "../../shared/lists.ts";
import type { PageRequest } from "../../shared/paging.ts";

export const USER_SORTS = ["email", "firstName", "lastName", "createdAt", "lastLoginAt"] as const;

/** Filter, sorting and page of a list of users; absent filters do not filter. */
export interface UserListRequest extends PageRequest {
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
  sortBy?: typeof USER_SORTS[number] | undefined;
  sortDirection: SortDirection;
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
export type Strategy = "find" | "probe";

/** SQL condition: the user `u` passes all filters of the request. */
export function matchesRequest(q: Sql, o: UserListRequest, strategy: Strategy): SqlPart {
  const { isActive, isLockedOut, roleName, hasSecondFactor, isAdministrator, notSignedInForDays } = o;
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
    (o.tenantId ?? o.externalId) !== undefined && isAmong(q, strategy, linkedUsers(q, o)),
    roleName !== undefined &&
    isAmong(q, strategy, roleHolders(q, q`same_text(r.name) = same_text(${roleName})`, o.tenantId)),
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

function linkedUsers(q: Sql, { tenantId, externalId }: UserListRequest): SqlPart {
  const chosen = allOf(q, [
    tenantId !== undefined && q`l.tenant_id = ${tenantId}`,
    externalId !== undefined && q`l.external_id = ${externalId}`,
  ]);
  return q`select l.user_id from user_tenants l where ${chosen}`;
}

/** SQL: the users who hold, in the tenant or in any active one, a role `r` that fits the condition. */
function roleHolders(q: Sql, condition: SqlPart, tenantId: string | undefined): SqlPart {
  const held = q`select l.user_id from user_tenant_roles l join roles r on r.id = l.role_id`;
  const fits = q`${condition} and r.deleted_at is null`;
  if (tenantId !== undefined) return q`${held} where ${fits} and r.tenant_id = ${tenantId}`;
  return q`${held} join tenants t on t.id = r.tenant_id where ${fits} and t.is_active and t.deleted_at is null`;
}

const isAdministrative = (q: Sql): SqlPart =>
  q`r.id in (select rp.role_id from role_permissions rp join permissions p on p.id = rp.permission_id
    where p.code = any(${ADMINISTRATIVE}::text[]) and p.deleted_at is null)`;

/** SQL: the columns by which `order` sorts, and the id. */
export function sortKeys(q: Sql, sortBy: UserListRequest["sortBy"]) {
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

/** SQL of a total order, without the words `order by`. Both directions are exact opposites, and an index supports each. */
export function order(q: Sql, sortBy: UserListRequest["sortBy"], descending: boolean) {
  switch (sortBy) {
    case "email":
      return descending ? q`mail_key(u.email) desc` : q`mail_key(u.email)`;
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
