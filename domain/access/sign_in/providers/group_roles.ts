import type { Sql } from "../../../../infra/postgres/postgres.ts";

/** A role that a directory or provider sees as a group. */
interface GroupRole {
  id: string;
  /** One of the given texts is its name as a group, or its id in the directory. */
  isNamed: boolean;
}

/** The roles of a tenant that are groups, without those that have platform reach: no provider gives or takes these. */
export const readGroupRoles = (q: Sql, tenantId: string, groups: string[] = []): Promise<GroupRole[]> =>
  q<GroupRole[]>`
    select r.id, coalesce(g.external_id = any(${groups}::text[]), false) or same_text(coalesce(g.display_name, r.name))
        = any(array(select same_text(n) from unnest(${groups}::text[]) n)) as is_named
    from roles r left join scim_groups g on g.role_id = r.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null and g.hidden_by is null and not exists (
      select from role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null
      where rp.role_id = r.id and p.reach = 'Platform')
    order by r.id`;
