import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Caller, servedTenants } from "../../rights/caller.ts";
import { includesPermission, sufficientFor } from "../../rights/catalog.ts";
import { uuid } from "../../shared/shapes.ts";

/** The question whether a user has a permission in a tenant. */
export const AccessQuestion = z.object({
  userId: uuid,
  tenantId: uuid,
  permission: z.string().min(1).max(100).describe("Such as `read:users` or `approve:orders`"),
});
type AccessQuestion = z.output<typeof AccessQuestion>;

export const AccessAnswer = z.object({
  allowed: z.boolean(),
  // The user's security version; 0 also for a tenant that is not the caller's.
  version: z.int().describe("The `ver` of the user's tokens; 0: the user has no link to the tenant"),
});

/** The rows that decide the questions, without rows that no question asks about. Null: no rows. */
interface Found {
  /** The links in question. `isActive`: user, tenant and link are active. `version`: the user's own. */
  links: { userId: string; tenantId: string; isActive: boolean; version: number }[] | null;
  /** The roles of the users in all their tenants. */
  roles: { userId: string; tenantId: string; roleId: string; version: number }[] | null;
  /** The permissions in question that these roles have. */
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
): Promise<z.output<typeof AccessAnswer>[]> {
  if (questions.length === 0) return [];
  const { links, roles, grants } = await find(q, caller, questions);
  const linkOf = new Map(links?.map((link) => [keyOf(link), { ...link, codes: new Set<string>() }]));
  const grantsOf = Map.groupBy(grants ?? [], ({ roleId }) => roleId);
  const versionOfRoles = new Map<string, number>();
  for (const role of roles ?? []) {
    versionOfRoles.set(role.userId, (versionOfRoles.get(role.userId) ?? 0) + role.version);
    for (const { code } of grantsOf.get(role.roleId) ?? []) linkOf.get(keyOf(role))?.codes.add(code);
  }
  return questions.map((question) => {
    const link = linkOf.get(keyOf(question));
    if (!link) return { allowed: false, version: 0 };
    const allowed = link.isActive && includesPermission(link.codes, question.permission);
    return { allowed, version: link.version + (versionOfRoles.get(link.userId) ?? 0) };
  });
}

/**
 * Reads each set once, by the ids of the users. A subquery for each user takes several times as long. `checkAccess` joins
 * the sets: Postgres expects few rows, and compares each row of a set with each of the other. `is true` keeps the tenants
 * out of the index search, which would look for every pair of ids. The version is that of `securityVersionOf`.
 */
async function find(q: Sql, caller: Caller, questions: AccessQuestion[]): Promise<Found> {
  const served = servedTenants(caller);
  const codes = new Set(questions.map(({ permission }) => permission));
  const sufficient = [...new Set([...codes].flatMap(sufficientFor))];
  const userIds = [...new Set(questions.map(({ userId }) => userId))];
  const tenantIds = [...new Set(questions.map(({ tenantId }) => tenantId))];
  const ofAll = caller.serviceAccount ? q`t.type <> 'Platform'` : q`true`;
  const ofCaller = served === "all" ? ofAll : q`t.id = any(${[...served]}::uuid[])`;
  const [found] = await q<[Found]>`
    with held as materialized (
      select h.user_id as "userId", h.tenant_id as "tenantId", h.role_id as "roleId", r.access_version as version
      from user_tenant_roles h join roles r on r.id = h.role_id and r.deleted_at is null
      where h.user_id = any(${userIds}::uuid[])
    )
    select
      (select json_agg(l) from (
        select l.user_id as "userId", l.tenant_id as "tenantId", u.security_version as version,
          l.is_active and u.is_active and t.is_active and t.deleted_at is null as "isActive"
        from user_tenants l join users u on u.id = l.user_id and u.deleted_at is null
        join tenants t on t.id = l.tenant_id and ${ofCaller}
        where l.user_id = any(${userIds}::uuid[]) and (l.tenant_id = any(${tenantIds}::uuid[])) is true) l) as links,
      (select json_agg(held) from held) as roles,
      (select json_agg(g) from (
        select rp.role_id as "roleId", p.code from permissions p join role_permissions rp on rp.permission_id = p.id
        where p.code = any(${sufficient}::text[]) and p.deleted_at is null
          and rp.role_id = any(array(select "roleId" from held))) g) as grants`;
  return found;
}

const keyOf = ({ userId, tenantId }: { userId: string; tenantId: string }): string => `${userId} ${tenantId}`;
