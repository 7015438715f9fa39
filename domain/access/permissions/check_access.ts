import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Caller, servedTenants } from "../../rights/caller.ts";
import { includesPermission, sufficientFor } from "../../rights/catalog.ts";

/** The question whether a user has a permission in a tenant. */
export interface AccessQuestion {
  userId: string;
  tenantId: string;
  permission: string;
}

export interface AccessAnswer {
  allowed: boolean;
  /** The user's security version; 0: no user with a link to the tenant, or not a tenant of the caller. */
  version: number;
}

/** What the questions need to know, without the rows that none of them is about. Null: no rows. */
interface Found {
  users: { id: string; isActive: boolean; version: number }[] | null;
  tenants: { id: string; isActive: boolean }[] | null;
  links: { userId: string; tenantId: string; isActive: boolean }[] | null;
  /** The roles of the users in all their tenants. */
  roles: { userId: string; tenantId: string; roleId: string; version: number }[] | null;
  /** Which of these roles have which of the permissions in question. */
  grants: { roleId: string; code: string }[] | null;
}

/**
 * Answers the questions in their order, by one query. Only users with a link to a tenant of the caller have permissions
 * there: the answers for all others do not tell whether user or tenant exist.
 */
export async function checkAccess(
  q: Sql,
  caller: Caller,
  questions: AccessQuestion[],
): Promise<AccessAnswer[]> {
  if (questions.length === 0) return [];
  const { users, tenants, links, roles, grants } = await find(q, caller, questions);
  const userOf = new Map(users?.map((user) => [user.id, user]));
  const tenantOf = new Map(tenants?.map((tenant) => [tenant.id, tenant]));
  const linkOf = new Map(links?.map((link) => [keyOf(link), link]));
  const codesOf = Map.groupBy(grants ?? [], ({ roleId }) => roleId);
  const rolesOf = Map.groupBy(roles ?? [], keyOf);
  const versionOfRoles = new Map<string, number>();
  for (const { userId, version } of roles ?? []) {
    versionOfRoles.set(userId, (versionOfRoles.get(userId) ?? 0) + version);
  }
  return questions.map((question) => {
    const [user, tenant] = [userOf.get(question.userId), tenantOf.get(question.tenantId)];
    const link = linkOf.get(keyOf(question));
    if (!user || !tenant || !link) return { allowed: false, version: 0 };
    const held = (rolesOf.get(keyOf(question)) ?? []).flatMap(({ roleId }) => codesOf.get(roleId) ?? []);
    const allowed = user.isActive && tenant.isActive && link.isActive &&
      includesPermission(new Set(held.map(({ code }) => code)), question.permission);
    return { allowed, version: user.version + (versionOfRoles.get(user.id) ?? 0) };
  });
}

/**
 * Reads each set once, by the ids of the users. A subquery for each user takes several times as long. `checkAccess` joins
 * the sets: Postgres expects few rows, and compares each row of a set with each of the other. `is true` keeps the tenants
 * out of the index search, which would look for every pair of ids. The version is that of `securityVersionOf`.
 */
async function find(q: Sql, caller: Caller, questions: AccessQuestion[]): Promise<Found> {
  const served = servedTenants(caller);
  const permissions = [...new Set(questions.flatMap(({ permission }) => sufficientFor(permission)))];
  const userIds = [...new Set(questions.map(({ userId }) => userId))];
  const tenantIds = [...new Set(questions.map(({ tenantId }) => tenantId))];
  const ofCaller = served === "all" ? q`type <> 'Platform'` : q`id = any(${[...served]}::uuid[])`;
  const [found] = await q<[Found]>`
    with held as materialized (
      select h.user_id as "userId", h.tenant_id as "tenantId", h.role_id as "roleId", r.access_version as version
      from user_tenant_roles h join roles r on r.id = h.role_id and r.deleted_at is null
      where h.user_id = any(${userIds}::uuid[])
    )
    select
      (select json_agg(u) from (
        select id, is_active as "isActive", security_version as version from users
        where id = any(${userIds}::uuid[]) and deleted_at is null) u) as users,
      (select json_agg(t) from (
        select id, is_active and deleted_at is null as "isActive" from tenants
        where id = any(${tenantIds}::uuid[]) and ${ofCaller}) t) as tenants,
      (select json_agg(l) from (
        select user_id as "userId", tenant_id as "tenantId", is_active as "isActive" from user_tenants
        where user_id = any(${userIds}::uuid[]) and (tenant_id = any(${tenantIds}::uuid[])) is true) l) as links,
      (select json_agg(held) from held) as roles,
      (select json_agg(g) from (
        select rp.role_id as "roleId", p.code from permissions p join role_permissions rp on rp.permission_id = p.id
        where p.code = any(${permissions}::text[]) and p.deleted_at is null
          and rp.role_id = any(array(select "roleId" from held))) g) as grants`;
  return found;
}

const keyOf = ({ userId, tenantId }: { userId: string; tenantId: string }): string => `${userId} ${tenantId}`;
