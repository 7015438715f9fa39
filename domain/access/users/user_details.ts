import { z } from "zod";
import { deletedAt, optionalName, requiredText, time } from "../../shared/shapes.ts";
import type { Sql, SqlPart, Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, isProgram, type TenantCaller } from "../../rights/caller.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { type Versioned, versioned } from "../../shared/version.ts";
import { grantColumns, type Role } from "../roles/roles.ts";
import { storedMetadata } from "./metadata.ts";
import { hasFactor } from "../../rights/second_factor.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import type { Platform } from "../../shared/platform.ts";
import { PLATFORM_REACH } from "../../rights/catalog.ts";
import type { Acting } from "../roles/escalation.ts";

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
const times = { lastLoginAt: time.nullable(), createdAt: time, updatedAt: time, deletedAt };
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
  ...times,
}).meta({ id: "UserDto" });
export type User = z.output<typeof User>;

/** A user as administration routes return it, with all links and their roles. */
export const AdminUser = z.object({
  ...person,
  ...times,
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
export const readUser = (q: Sql, userId: string, tenantId: string | null): Promise<Versioned<User>> =>
  readFrom<User>(q, userColumns(q, tenantId), q`users u where u.id = ${userId}`, userId);

/** Reads a user linked to the tenant. Throws USER_NOT_FOUND for any other user. */
export const readTenantUser = (q: Sql, userId: string, tenantId: string): Promise<Versioned<User>> =>
  readLinkedUser(q, tenantId, q`u.id = ${userId}`, userId);

/** Reads a user linked to the tenant by email, in any letter case. Throws USER_NOT_FOUND. */
export const readTenantUserByEmail = (q: Sql, email: string, tenantId: string): Promise<Versioned<User>> =>
  readLinkedUser(q, tenantId, q`mail_key(u.email) = mail_key(${email})`, email);

function readLinkedUser(q: Sql, tenantId: string, condition: SqlPart, idOrEmail: string) {
  const from =
    q`users u join user_tenants m on m.user_id = u.id and m.tenant_id = ${tenantId} where ${condition}`;
  return readFrom<User>(q, userColumns(q, tenantId), from, idOrEmail);
}

/** Reads a user with all their links. Throws USER_NOT_FOUND. */
export const readAdminUser = (q: Sql, userId: string): Promise<Versioned<AdminUser>> =>
  readFrom<AdminUser>(q, adminUserColumns(q), q`users u where u.id = ${userId}`, userId);

/** Reads one user. @param from tables, with `users u`, and condition */
async function readFrom<T extends object>(
  q: Sql,
  columns: SqlPart,
  from: SqlPart,
  idOrEmail: string,
): Promise<Versioned<T>> {
  const [row] = await q<(T & { version: number })[]>`
    select ${columns}, u.version from ${from} and u.deleted_at is null`;
  return versioned(row, () => userNotFound(idOrEmail)) as Versioned<T>;
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
export async function readUserTenantsAs(q: Sql, caller: TenantCaller, userId: string): Promise<UserTenant[]> {
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

/** The platform members that changes of users need. CLI scripts have no `wakeUps`; workers find their events by polling. */
export type UserPlatform = Pick<RightsPlatform, "sql" | "rights"> & Partial<Pick<Platform, "wakeUps">>;

/** A user row, read when it was locked. */
export interface LockedUser
  extends Omit<z.output<z.ZodObject<typeof person>>, keyof typeof lockout | "hasSecondFactor"> {
  version: number;
}

/** Locks a user until the transaction ends; null if the user does not exist or is deleted. */
export async function lockUser(tx: Tx, userId: string): Promise<LockedUser | null> {
  const [user] = await tx<LockedUser[]>`
    select id, email, first_name, last_name, phone_number, app_ids, is_active, metadata, version from users
    where id = ${userId} and deleted_at is null for no key update`;
  return user ?? null;
}

/** Locks a user until the transaction ends. Throws USER_NOT_FOUND if the user does not exist or is deleted. */
export async function lockExistingUser(tx: Tx, userId: string): Promise<LockedUser> {
  const user = await lockUser(tx, userId);
  if (!user) throw userNotFound(userId);
  return user;
}

/** The links of a user, as a tenant sees them. The numbers decide whether a caller in that tenant may change the user. */
interface LinkNumbers {
  isLinked: boolean;
  /** The user's id in another system, of the link to this tenant. */
  externalId: string | null;
  /** Active links to other tenants that are not deleted. */
  otherActiveLinks: number;
  /** Active and deactivated links to other tenants that are not deleted. */
  otherLinks: number;
}

/** A locked user of one tenant. */
export interface LockedTenantUser extends LockedUser, Omit<LinkNumbers, "isLinked"> {}

/** Locks a user linked to the tenant. Throws USER_NOT_FOUND for any other user. */
export async function lockTenantUser(tx: Tx, userId: string, tenantId: string): Promise<LockedTenantUser> {
  const user = await lockUser(tx, userId);
  const { isLinked, ...links } = await readLinkNumbers(tx, userId, tenantId);
  if (!user || !isLinked) throw userNotFound(userId);
  return { ...user, ...links };
}

/** Reads the link of a user to a tenant, and the numbers of the links to others. Deleted tenants do not count. */
export async function readLinkNumbers(tx: Tx, userId: string, tenantId: string): Promise<LinkNumbers> {
  const [links] = await tx<LinkNumbers[]>`
    select coalesce(bool_or(l.tenant_id = ${tenantId}), false) as is_linked,
      count(*) filter (where l.tenant_id <> ${tenantId})::int as other_links,
      count(*) filter (where l.tenant_id <> ${tenantId} and l.is_active)::int as other_active_links,
      min(l.external_id) filter (where l.tenant_id = ${tenantId}) as external_id
    from user_tenants l join tenants t on t.id = l.tenant_id and t.deleted_at is null where l.user_id = ${userId}`;
  if (!links) throw new Error("an aggregate query returned no row");
  return links;
}

/** Prevents callers from deleting or deactivating themselves. Throws USER_SELF_CONFLICT. */
export function requireNotSelf(acting: Pick<Caller, "userId"> | null, userId: string, attempt: string): void {
  if (acting?.userId !== userId) return;
  throw problem("USER_SELF_CONFLICT", `The caller cannot ${attempt} their own user ${userId}.`);
}

/**
 * Checks that the caller holds all permissions with platform reach of the user to be changed. Otherwise an administrator of
 * the platform tenant could lock out a system administrator, or take over that account. Only permissions count, as for
 * the limit on assigning roles. Call it when the user is locked.
 * @param within for a change of one link: only permissions that the user holds in this tenant count; null: all count
 * @throws MISSING_PERMISSION
 */
export async function requireTheirReach(
  tx: Tx,
  acting: Acting,
  userId: string,
  within: string | null,
): Promise<void> {
  if (acting === null || holds(acting, "admin:system")) return;
  const held = await tx<{ code: string }[]>`${permissionCodes(tx, userId, within)}`;
  const missing = missingReach(acting.permissions, held.map(({ code }) => code));
  if (missing.length === 0) return;
  const codes = missing.join(", ");
  throw problem(
    "MISSING_PERMISSION",
    `User ${userId} was not read or changed: the user holds ${codes}, which the caller does not hold.`,
  );
}

/**
 * Checks that the caller may change a user of their tenant. If the user has active links to other tenants, the caller needs
 * manage:all-users. If the user has platform reach, the caller needs it too.
 * @throws CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function requireReach(tx: Tx, caller: Caller, user: LockedTenantUser): Promise<void> {
  if (user.otherActiveLinks > 0 && !holds(caller, "manage:all-users")) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      `User ${user.id} is active in other tenants; changing them needs manage:all-users or admin:system.`,
    );
  }
  await requireTheirReach(tx, caller, user.id, null);
}

/**
 * Locks a user whom the caller may change.
 * @param within the user must belong to this tenant; null: any user
 * @throws USER_NOT_FOUND, CROSS_TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function lockChangeableUser(
  tx: Tx,
  caller: Caller,
  userId: string,
  within: string | null,
): Promise<LockedUser> {
  if (within !== null) {
    const user = await lockTenantUser(tx, userId, within);
    await requireReach(tx, caller, user);
    return user;
  }
  const user = await lockExistingUser(tx, userId);
  await requireTheirReach(tx, caller, userId, null);
  return user;
}

/** The permissions with platform reach among `held` that the holder of `own` lacks. */
export const missingReach = (own: ReadonlySet<string>, held: readonly string[]): string[] =>
  own.has("admin:system") ? [] : held.filter((code) => PLATFORM_REACH.has(code) && !own.has(code));

/**
 * Reads the permissions that users hold, by user id. Inactive users are included.
 * @param within the tenant context; null: none
 */
export async function findPlatformReach(
  tx: Tx,
  userIds: string[],
  within: string | null = null,
): Promise<Map<string, string[]>> {
  const rows = await tx<{ userId: string; codes: string[] }[]>`
    select u.id as user_id, array(${permissionCodes(tx, tx`u.id`, within)}) as codes
    from unnest(${userIds}::uuid[]) u (id)`;
  return new Map(rows.map(({ userId, codes }) => [userId, codes]));
}
