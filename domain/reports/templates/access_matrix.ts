import { z } from "zod";
import { boolean, defineReport, text } from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/** Users, their permissions and the roles that grant them: one row per user, role and permission. */
export const accessMatrixReport = defineReport({
  id: "access-matrix",
  name: "Access matrix",
  description: "Every user of the tenant with every permission they hold and the role that grants it",
  version: 2,
  translations: TRANSLATIONS,
  layout: "portrait",
  permissions: ["read:users", "read:roles"],
  parameters: z.object({
    permission: z.string().min(1).max(200).optional().meta({
      title: "Permission",
      description: "Only holders of the permission with this code",
    }),
    roleName: z.string().min(1).max(200).optional().meta({
      title: "Role",
      description: "Only permissions granted by this role",
    }),
    onlyEffective: z.boolean().default(true).meta({
      title: "Only effective",
      description: "Leave out inactive users and deactivated links, whose permissions do not count",
    }),
  }),
  columns: {
    email: text("Email", 34),
    name: text("Name", 26),
    role: text("Role", 22),
    permission: text("Permission", 26),
    category: text("Category", 16),
    isEffective: boolean("Effective"),
    tenant: text("Tenant", 24),
  },
  groupBy: ["tenant", "email"],
  chart: { title: "Grants by permission", by: "permission" },
  query: (sql, { tenantIds, parameters: { permission, roleName, onlyEffective } }) =>
    sql`
    select t.name as tenant, u.email, trim(u.first_name || ' ' || u.last_name) as name, r.name as role,
      p.code as permission, p.category, u.is_active and l.is_active and t.is_active as is_effective
    from user_tenants l
    join tenants t on t.id = l.tenant_id and t.deleted_at is null
    join users u on u.id = l.user_id and u.deleted_at is null
    join user_tenant_roles x on x.user_id = l.user_id and x.tenant_id = l.tenant_id
    join roles r on r.id = x.role_id and r.deleted_at is null
    join role_permissions rp on rp.role_id = r.id
    join permissions p on p.id = rp.permission_id and p.deleted_at is null
    where (${tenantIds}::uuid[] is null or l.tenant_id = any(${tenantIds}::uuid[]))
      and (${permission}::text is null or p.code = ${permission}::text)
      and (${roleName}::text is null or same_text(r.name) = same_text(${roleName}::text))
      and (not ${onlyEffective}::boolean or (u.is_active and l.is_active and t.is_active))
    order by t.name, lower(u.email), r.name, p.code, u.id, r.id, p.id`,
});
