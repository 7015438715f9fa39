import type { Sql } from "../../../../infra/postgres/postgres.ts";

/** A role that a directory or provider sees as a group. */
export interface GroupRole {
  id: string;
  displayName: string;
  externalId: string | null;
}

/** The roles of a tenant that are groups, without those that have platform reach: no provider gives or takes these. */
export const readGroupRoles = (q: Sql, tenantId: string): Promise<GroupRole[]> =>
  q<GroupRole[]>`
    select r.id, coalesce(g.display_name, r.name) as display_name, g.external_id
    from roles r left join scim_groups g on g.role_id = r.id
    where r.tenant_id = ${tenantId} and r.deleted_at is null and g.hidden_by is null and not exists (
      select from role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null
      where rp.role_id = r.id and p.reach = 'Platform')
    order by r.id`;
