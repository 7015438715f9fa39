import { z } from "zod";
import {
  boolean,
  decimal,
  defineReport,
  detail,
  instant,
  integer,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/** All tenants of the service: one row per tenant. */
export const tenantsOverviewReport = defineReport({
  id: "tenants-overview",
  name: "Tenants overview",
  description: "Every tenant with its users, capacity, roles, files and last sign-in",
  version: 1,
  translations: TRANSLATIONS,
  permissions: ["admin:system"],
  isGlobal: true,
  parameters: z.object({
    type: z.enum(["Platform", "Group", "Standard"]).optional().meta({
      title: "Type",
      description: "Only tenants of this type",
    }),
    isActive: z.boolean().optional().meta({
      title: "Active",
      description: "Only active or only inactive tenants",
    }),
  }),
  columns: {
    name: text("Tenant", 30),
    type: detail(text("Type", 10)),
    isActive: boolean("Active"),
    parent: detail(text("Group", 24)),
    userCount: integer("Users"),
    maxUsers: detail(integer("Capacity")),
    percentUsed: decimal("Capacity used (%)"),
    roleCount: detail(integer("Roles")),
    fileCount: integer("Files"),
    fileBytes: integer("Bytes of files", 13),
    lastLoginAt: instant("Last sign-in"),
    createdAt: detail(instant("Created")),
  },
  totals: { userCount: "sum", fileCount: "sum", fileBytes: "sum" },
  chart: { title: "Users by tenant", by: "name", sum: "userCount" },
  query: (sql, { parameters: { type, isActive } }) =>
    sql`
    select t.name, t.type, t.is_active, g.name as parent, t.user_count, t.max_users,
      round(t.user_count * 100.0 / t.max_users, 1) as percent_used,
      (select count(*) from roles r where r.tenant_id = t.id and r.deleted_at is null) as role_count,
      stored.file_count, stored.file_bytes,
      (select max(u.last_login_at) from user_tenants l join users u on u.id = l.user_id and u.deleted_at is null
        where l.tenant_id = t.id and l.is_active) as last_login_at,
      t.created_at
    from tenants t
    left join tenants g on g.id = t.parent_tenant_id
    cross join lateral (
      select count(*) as file_count, coalesce(sum(f.size_bytes), 0)::bigint as file_bytes
      from files f where f.tenant_id = t.id and f.status = 'Available'
    ) stored
    where t.deleted_at is null
      and (${type}::text is null or t.type = ${type}::text::tenant_type)
      and (${isActive}::boolean is null or t.is_active = ${isActive}::boolean)
    order by t.name, t.id`,
});
