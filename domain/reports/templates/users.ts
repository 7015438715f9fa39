import { z } from "zod";
import {
  boolean,
  dayParameter,
  defineReport,
  detail,
  instant,
  tenantName,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/** Users with access to the tenant: one row per link between a user and a tenant. */
export const usersReport = defineReport({
  id: "users",
  name: "Users",
  description: "The users linked to the tenant, with their roles, state and last sign-in",
  version: 2,
  translations: TRANSLATIONS,
  permissions: ["read:users"],
  parameters: z.object({
    isActive: z.boolean().optional().meta({
      title: "Active",
      description: "Only active or only inactive users",
    }),
    roleName: z.string().min(1).max(200).optional().meta({
      title: "Role",
      description: "Only users who hold the role with this name",
    }),
    createdFrom: dayParameter("Created from", "Only users created on or after this day (UTC)"),
    createdTo: dayParameter("Created to", "Only users created on or before this day (UTC)"),
  }),
  columns: {
    email: text("Email", 34),
    firstName: text("First name", 18),
    lastName: text("Last name", 18),
    phoneNumber: detail(text("Phone", 18)),
    isActive: boolean("Active"),
    isLinkActive: boolean("Link active"),
    isLockedOut: detail(boolean("Locked out")),
    roles: text("Roles", 28),
    lastLoginAt: instant("Last sign-in"),
    createdAt: detail(instant("Created")),
    tenant: tenantName(),
  },
  chart: { title: "Users by roles held", by: "roles" },
  query: (sql, { tenantIds, parameters: { isActive, roleName, createdFrom, createdTo } }) =>
    sql`
    select t.name as tenant, u.email, u.first_name, u.last_name, u.phone_number, u.is_active,
      l.is_active as is_link_active, coalesce(u.lockout_expires_at > now(), false) as is_locked_out,
      held.roles, u.last_login_at, u.created_at
    from user_tenants l
    join tenants t on t.id = l.tenant_id and t.deleted_at is null
    join users u on u.id = l.user_id and u.deleted_at is null
    cross join lateral (
      select string_agg(r.name, ', ' order by r.name) as roles,
        coalesce(bool_or(same_text(r.name) = same_text(${roleName}::text)), false) as holds_role
      from user_tenant_roles x join roles r on r.id = x.role_id and r.deleted_at is null
      where x.user_id = l.user_id and x.tenant_id = l.tenant_id
    ) held
    where (${tenantIds}::uuid[] is null or l.tenant_id = any(${tenantIds}::uuid[]))
      and (${isActive}::boolean is null or u.is_active = ${isActive}::boolean)
      and (${roleName}::text is null or held.holds_role)
      and (${createdFrom}::date is null or u.created_at >= ${createdFrom}::date)
      and (${createdTo}::date is null or u.created_at < ${createdTo}::date + 1)
    order by t.name, lower(u.email), u.id, t.id`,
});
