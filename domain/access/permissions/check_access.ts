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

/** A user in a tenant. */
interface Member {
  userId: string;
  tenantId: string;
  version: number;
  /** The user, the link and the tenant are active. */
  isActive: boolean;
  /** Which of the permissions in question the user's roles in the tenant have. */
  held: string[];
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
  const served = servedTenants(caller);
  const permissions = new Set(questions.flatMap(({ permission }) => sufficientFor(permission)));
  const userIds = [...new Set(questions.map(({ userId }) => userId))];
  const tenantIds = [...new Set(questions.map(({ tenantId }) => tenantId))];
  const ofCaller = served === "all" ? q`t.type <> 'Platform'` : q`t.id = any(${[...served]}::uuid[])`;
  // Each set is read once by the ids of the users: a subquery for each user takes several times as long, and a join with
  // the pairs may scan whole tables. `is true` keeps the tenants out of the index search, which would look for every pair
  // of ids. The version is that of `securityVersionOf`.
  const members = await q<Member[]>`
    with linked as materialized (
      select l.user_id, l.tenant_id, l.is_active from user_tenants l
      where l.user_id = any(${userIds}::uuid[]) and (l.tenant_id = any(${tenantIds}::uuid[])) is true
    ), known as materialized (
      select id, is_active, security_version from users where id = any(${userIds}::uuid[]) and deleted_at is null
    ), held as materialized (
      select h.user_id, h.tenant_id, r.id as role_id, r.access_version
      from user_tenant_roles h join roles r on r.id = h.role_id and r.deleted_at is null
      where h.user_id = any(${userIds}::uuid[])
    ), versions as materialized (
      select user_id, sum(access_version)::integer as version from held group by user_id
    ), granted as materialized (
      select rp.role_id, p.code from permissions p join role_permissions rp on rp.permission_id = p.id
      where p.code = any(${[...permissions]}::text[]) and p.deleted_at is null
        and rp.role_id = any(array(select role_id from held))
    ), codes as materialized (
      select held.user_id, held.tenant_id, array_agg(granted.code) as held
      from held join granted using (role_id) group by held.user_id, held.tenant_id
    )
    select l.user_id, l.tenant_id, u.security_version + coalesce(versions.version, 0) as version,
      u.is_active and l.is_active and t.is_active and t.deleted_at is null as is_active,
      coalesce(codes.held, '{}') as held
    from linked l join known u on u.id = l.user_id join tenants t on t.id = l.tenant_id and ${ofCaller}
    left join versions on versions.user_id = l.user_id
    left join codes on codes.user_id = l.user_id and codes.tenant_id = l.tenant_id`;
  const found = new Map(members.map((member) => [keyOf(member), member]));
  return questions.map((question) => {
    const member = found.get(keyOf(question));
    const allowed = member?.isActive === true &&
      includesPermission(new Set(member.held), question.permission);
    return { allowed, version: member?.version ?? 0 };
  });
}

const keyOf = ({ userId, tenantId }: { userId: string; tenantId: string }): string => `${userId} ${tenantId}`;
