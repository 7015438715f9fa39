import { z } from "zod";
import { optionalName } from "../../shared/name.ts";
import { deletedAt, requiredText, time } from "../../shared/shapes.ts";
import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { holds, isProgram, type TenantCaller } from "../../rights/caller.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { type Versioned, versioned } from "../../shared/version.ts";
import { grantColumns, type Role } from "../roles/roles.ts";
import { storedMetadata } from "./metadata.ts";
import { hasFactor } from "../../rights/second_factor.ts";

/** The first or last name of a user. */
export const userName = optionalName(100);
export const appIds = z.array(requiredText(100)).max(100).transform((ids) => [...new Set(ids)]);

export const EXTERNAL_ID = "The user's id in another system; unique in the tenant";
/** The user's id in another system, of one link. */
const externalIdOfLink = z.string().nullable().describe(EXTERNAL_ID);

const lockout = {
  isLockedOut: z.boolean(),
  lockoutExpiresAt: time.nullable().describe("End of the lockout; a past instant means that it has expired"),
};
const person = {
  id: z.guid(),
  email: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  phoneNumber: z.string().nullable(),
  isActive: z.boolean(),
  ...lockout,
  hasSecondFactor: z.boolean().describe("Whether the user has a confirmed second factor"),
  appIds: z.array(z.string()),
  metadata: storedMetadata,
};
/** A user as tenant routes return it; `roles` are the role names in one tenant. */
export const User = z.object({
  ...person,
  roles: z.array(z.string()).describe("Names of the user's roles in the token's tenant"),
  externalId: externalIdOfLink,
  lastLoginAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
  deletedAt,
}).meta({ id: "UserDto" });
export type User = z.output<typeof User>;

/** A user as administration routes return it, with all links and their roles. */
export const AdminUser = z.object({
  ...person,
  lastLoginAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
  deletedAt,
  tenants: z.array(z.object({
    tenantId: z.guid(),
    roleIds: z.array(z.guid()),
    isDefault: z.boolean(),
    isActive: z.boolean(),
    externalId: externalIdOfLink,
  })),
}).meta({ id: "AdminUserEditDto" });
export type AdminUser = z.output<typeof AdminUser>;

/** A link of a user, with its tenant and roles. */
export const UserTenant = z.object({
  tenantId: z.guid(),
  tenantName: z.string(),
  tenantType: z.string(),
  isTenantActive: z.boolean(),
  isActive: z.boolean(),
  isDefault: z.boolean(),
  externalId: externalIdOfLink,
  roles: z.array(z.object({ id: z.guid(), name: z.string() })),
  createdAt: time,
}).meta({ id: "UserTenantDto" });
export type UserTenant = z.output<typeof UserTenant>;

/** Columns over `users u` that `User` and `AdminUser` share. */
const commonColumns = (q: Sql) =>
  q`u.id, u.email, u.first_name, u.last_name, u.phone_number, u.is_active,
  coalesce(u.lockout_expires_at > now(), false) as is_locked_out, u.lockout_expires_at,
  ${hasFactor(q, q`u.id`)} as has_second_factor,
  u.app_ids, u.metadata, u.last_login_at, u.created_at, u.updated_at, u.deleted_at`;

/** Columns of `User` over `users u`; role names and external id are those in `tenantId`, none if it is null. */
export const userColumns = (q: Sql, tenantId: string | null) =>
  q`${commonColumns(q)},
  (select l.external_id from user_tenants l where l.user_id = u.id and l.tenant_id = ${tenantId}) as external_id,
  array(select r.name from user_tenant_roles l join roles r on r.id = l.role_id and r.deleted_at is null
    where l.user_id = u.id and l.tenant_id = ${tenantId} order by same_text(r.name)) as roles`;

/** Columns of `AdminUser` over `users u`. */
export const adminUserColumns = (q: Sql) =>
  q`${commonColumns(q)},
  coalesce((
    select jsonb_agg(jsonb_build_object(
      'tenantId', l.tenant_id,
      'roleIds', array(select r.role_id from user_tenant_roles r
        where r.user_id = l.user_id and r.tenant_id = l.tenant_id order by r.role_id),
      'isDefault', l.is_default,
      'isActive', l.is_active,
      'externalId', l.external_id) order by l.created_at, l.tenant_id)
    from user_tenants l
    where l.user_id = u.id and (select t.deleted_at is null from tenants t where t.id = l.tenant_id)
  ), '[]') as tenants`;

/** Reads a user of any tenants; role names are those in `tenantId`. Throws USER_NOT_FOUND. */
export async function readUser(
  q: Sql,
  userId: string,
  tenantId: string | null,
): Promise<Versioned<User>> {
  const [row] = await q<(User & { version: number })[]>`
    select ${userColumns(q, tenantId)}, u.version from users u
    where u.id = ${userId} and u.deleted_at is null`;
  return versioned(row, () => userNotFound(userId));
}

/** Reads a user linked to the tenant. Throws USER_NOT_FOUND for any other user. */
export const readTenantUser = (q: Sql, userId: string, tenantId: string): Promise<Versioned<User>> =>
  readLinkedUser(q, tenantId, q`u.id = ${userId}`, userId);

/** Reads a user linked to the tenant by email, in any letter case. Throws USER_NOT_FOUND. */
export const readTenantUserByEmail = (q: Sql, email: string, tenantId: string): Promise<Versioned<User>> =>
  readLinkedUser(q, tenantId, q`mail_key(u.email) = mail_key(${email})`, email);

async function readLinkedUser(
  q: Sql,
  tenantId: string,
  condition: SqlPart,
  idOrEmail: string,
): Promise<Versioned<User>> {
  const [row] = await q<(User & { version: number })[]>`
    select ${userColumns(q, tenantId)}, u.version
    from users u join user_tenants m on m.user_id = u.id and m.tenant_id = ${tenantId}
    where ${condition} and u.deleted_at is null`;
  return versioned(row, () => userNotFound(idOrEmail));
}

/** Reads a user with all their links. Throws USER_NOT_FOUND. */
export async function readAdminUser(q: Sql, userId: string): Promise<Versioned<AdminUser>> {
  const [row] = await q<(AdminUser & { version: number })[]>`
    select ${adminUserColumns(q)}, u.version from users u where u.id = ${userId} and u.deleted_at is null`;
  return versioned(row, () => userNotFound(userId));
}

/** Reads all links of a user, the default first. Throws USER_NOT_FOUND. */
export async function readUserTenants(q: Sql, userId: string): Promise<UserTenant[]> {
  await requireUser(q, userId, null);
  return await readLinks(q, userId, { tenantId: null, externalIdIn: null });
}

/**
 * Reads all links of a user of the caller's tenant, the default first. A program gets only the link to its own tenant.
 * External ids of other tenants are null for callers without platform reach: they are those tenants' own data.
 * Throws USER_NOT_FOUND for any other user.
 */
export async function readUserTenantsAs(
  q: Sql,
  caller: TenantCaller,
  userId: string,
): Promise<UserTenant[]> {
  await requireUser(q, userId, caller.tenantId);
  return await readLinks(q, userId, {
    tenantId: isProgram(caller) ? caller.tenantId : null,
    externalIdIn: holds(caller, "manage:all-users") ? null : caller.tenantId,
  });
}

/** Reads the user's link to one tenant. Throws USER_NOT_FOUND if there is none. */
export async function readUserTenant(q: Sql, userId: string, tenantId: string): Promise<UserTenant> {
  const [link] = await readLinks(q, userId, { tenantId, externalIdIn: null });
  if (!link) throw userNotFound(userId);
  return link;
}

/**
 * @param o.tenantId only the link to this tenant; null: all
 * @param o.externalIdIn only this tenant's external id is shown; null: all are
 */
async function readLinks(
  q: Sql,
  userId: string,
  { tenantId, externalIdIn }: { tenantId: string | null; externalIdIn: string | null },
): Promise<UserTenant[]> {
  return await q<UserTenant[]>`
    select t.id as tenant_id, t.name as tenant_name, t.type as tenant_type, t.is_active as is_tenant_active,
      l.is_active, l.is_default, l.created_at,
      case when ${externalIdIn}::uuid is null or l.tenant_id = ${externalIdIn} then l.external_id end as external_id,
      coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name) order by same_text(r.name))
        from user_tenant_roles h join roles r on r.id = h.role_id and r.deleted_at is null
        where h.user_id = l.user_id and h.tenant_id = l.tenant_id), '[]') as roles
    from user_tenants l join tenants t on t.id = l.tenant_id and t.deleted_at is null
    where l.user_id = ${userId} and (${tenantId}::uuid is null or l.tenant_id = ${tenantId})
    order by l.is_default desc, l.created_at, t.id`;
}

/** Reads the roles of a user in the tenant, sorted by name. Throws USER_NOT_FOUND. */
export async function readUserRoles(q: Sql, userId: string, tenantId: string): Promise<Role[]> {
  await requireUser(q, userId, tenantId);
  return await q<Role[]>`
    select ${grantColumns(q)} from user_tenant_roles l
    join roles r on r.id = l.role_id and r.deleted_at is null
    where l.user_id = ${userId} and l.tenant_id = ${tenantId} order by same_text(r.name), r.id`;
}

/**
 * Reads the codes of a user's permissions in the tenant; none while the link or the tenant is not active.
 * @throws USER_NOT_FOUND
 */
export async function readUserPermissions(q: Sql, userId: string, tenantId: string): Promise<string[]> {
  await requireUser(q, userId, tenantId);
  const rows = await q<{ code: string }[]>`${permissionCodes(q, userId, tenantId)}`;
  return rows.map((row) => row.code);
}

/** The error for an unknown, deleted or other tenant's user, so that callers cannot tell them apart. */
export const userNotFound = (idOrEmail: string) =>
  problem("USER_NOT_FOUND", `There is no user ${idOrEmail} here; the id may be wrong or the user deleted.`);

/**
 * Checks that a user exists.
 * @param tenantId the user must be linked to it; null: any user
 * @throws USER_NOT_FOUND
 */
async function requireUser(q: Sql, userId: string, tenantId: string | null): Promise<void> {
  const rows = await q`select from users u where u.id = ${userId} and u.deleted_at is null
    and (${tenantId}::uuid is null
      or exists (select from user_tenants m where m.user_id = u.id and m.tenant_id = ${tenantId}))`;
  if (rows.length === 0) throw userNotFound(userId);
}
