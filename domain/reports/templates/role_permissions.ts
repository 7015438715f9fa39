import { z } from "zod";
import { boolean, defineReport, integer, text } from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/** Roles and their permissions: one row per role and permission; roles without permissions have one row. */
export const rolePermissionsReport = defineReport({
  id: "role-permissions",
  name: "Role permissions",
  description: "The tenant's roles with the permissions each grants and how many users hold it",
  version: 2,
  translations: TRANSLATIONS,
  layout: "portrait",
  permissions: ["read:roles"],
  parameters: z.object({
    roleName: z.string().min(1).max(200).optional().meta({
      title: "Role",
      description: "Only the role with this name",
    }),
    isSystemRole: z.boolean().optional().meta({
      title: "System role",
      description: "Only built-in roles, or only the tenant's own roles",
    }),
  }),
  columns: {
    role: text("Role", 24),
    isSystemRole: boolean("System role"),
    userCount: integer("Users"),
    permission: text("Permission", 28),
    category: text("Category", 16),
    description: text("What it allows", 44),
    tenant: text("Tenant", 24),
  },
  groupBy: ["tenant", "role"],
  chart: { title: "Permissions by role", by: "role" },
  query: (sql, { tenantIds, parameters: { roleName, isSystemRole } }) =>
    sql`
    select t.name as tenant, r.name as role, r.is_system as is_system_role, held.user_count, p.code as permission,
      p.category, p.description
    from roles r
    join tenants t on t.id = r.tenant_id and t.deleted_at is null
    cross join lateral (
      select count(*) as user_count from user_tenant_roles x
      join user_tenants l on l.user_id = x.user_id and l.tenant_id = x.tenant_id and l.is_active
      join users u on u.id = x.user_id and u.deleted_at is null
      where x.role_id = r.id
    ) held
    left join (role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null)
      on rp.role_id = r.id
    where r.deleted_at is null
      and (${tenantIds}::uuid[] is null or r.tenant_id = any(${tenantIds}::uuid[]))
      and (${roleName}::text is null or same_text(r.name) = same_text(${roleName}::text))
      and (${isSystemRole}::boolean is null or r.is_system = ${isSystemRole}::boolean)
    order by t.name, r.name, p.code, t.id, r.id`,
});
