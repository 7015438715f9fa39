import { z } from "zod";
import {
  boolean,
  dayParameter,
  decimal,
  defineReport,
  detail,
  filter,
  instant,
  integer,
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
    isActive: filter(z.boolean(), "Active", "Only active or only inactive users"),
    roleName: filter(z.string().min(1).max(200), "Role", "Only users who hold the role with this name"),
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

/** Changes: one row per audit entry, newest first. Actors and API keys of other tenants are shown by id only. */
export const auditLogReport = defineReport({
  id: "audit-log",
  name: "Audit log",
  description: "The changes made in the tenant: who, when, what it was before and after",
  version: 3,
  translations: TRANSLATIONS,
  permissions: ["read:users"],
  parameters: z.object({
    from: dayParameter("From", "Only entries on or after this day (UTC)"),
    to: dayParameter("To", "Only entries on or before this day (UTC)"),
    action: filter(z.string().min(1).max(100), "Action", "Only this action, such as user.update"),
    actorId: filter(z.guid(), "Actor", "Only changes made by this user"),
  }),
  columns: {
    at: instant("At"),
    action: text("Action", 24),
    actor: text("Actor", 32),
    apiKey: detail(text("API key", 16)),
    targetType: text("Target type", 14),
    targetId: text("Target", 22),
    before: text("Before", 32),
    after: text("After", 32),
    tenant: tenantName(),
    ip: detail(text("Address", 16)),
    traceId: detail(text("Trace", 36)),
  },
  chart: { title: "Changes by action", by: "action" },
  query: (sql, { tenantIds, parameters: { from, to, action, actorId } }) =>
    sql`
    select a.at, a.action, coalesce(u.email, s.name, a.actor_id::text) as actor,
      coalesce(k.name, a.api_key_id::text) as api_key, a.target_type, a.target_id,
      with_personal_values(a.before, v.before)::text as before, with_personal_values(a.after, v.after)::text as after,
      t.name as tenant, coalesce(a.ip, v.ip) as ip, a.trace_id
    from audit_log a
    left join audit_values v on v.audit_id = a.id
    left join users u on u.id = a.actor_id and u.erased_at is null and (${tenantIds}::uuid[] is null or exists (
      select from user_tenants l where l.user_id = u.id and l.tenant_id = any(${tenantIds}::uuid[])))
    left join service_accounts s on s.id = a.actor_id
    left join api_keys k on k.id = a.api_key_id and (${tenantIds}::uuid[] is null or k.tenant_id = any(${tenantIds}::uuid[]))
    left join tenants t on t.id = a.tenant_id
    where (${tenantIds}::uuid[] is null or a.tenant_id = any(${tenantIds}::uuid[]))
      and (${from}::date is null or a.at >= ${from}::date)
      and (${to}::date is null or a.at < ${to}::date + 1)
      and (${action}::text is null or a.action = ${action}::text)
      and (${actorId}::uuid is null or a.actor_id = ${actorId}::uuid)
    order by a.id desc`,
});

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
    permission: filter(
      z.string().min(1).max(200),
      "Permission",
      "Only holders of the permission with this code",
    ),
    roleName: filter(z.string().min(1).max(200), "Role", "Only permissions granted by this role"),
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
    roleName: filter(z.string().min(1).max(200), "Role", "Only the role with this name"),
    isSystemRole: filter(z.boolean(), "System role", "Only built-in roles, or only the tenant's own roles"),
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
    type: filter(z.enum(["Platform", "Group", "Standard"]), "Type", "Only tenants of this type"),
    isActive: filter(z.boolean(), "Active", "Only active or only inactive tenants"),
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
