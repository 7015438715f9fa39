import { z } from "zod";
import { givenPhoneNumber, optionalName, time } from "../../shared/shapes.ts";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { acceptsPassword, requireNoOtherTenant } from "../../rights/tenant_sign_in.ts";
import type { Platform } from "../../shared/platform.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { emitUserUpdated } from "../users/user_events.ts";
import { lockUser } from "../users/user_details.ts";
import { changedPhoneNumber } from "../../shared/phone_number.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { allOf, matches, readPage } from "../../shared/lists.ts";

/** A tenant that a user may switch to: an active link to an active tenant. */
export const OwnTenant = z.object({
  id: z.guid(),
  name: z.string(),
  type: z.string(),
  isDefault: z.boolean(),
}).meta({ id: "OwnTenantDto" });
type OwnTenant = z.output<typeof OwnTenant>;

/** The signed-in user, as the sign-in routes return it. */
export const Profile = z.object({
  user: z.object({
    id: z.guid(),
    email: z.string(),
    firstName: z.string(),
    lastName: z.string(),
    phoneNumber: z.string().nullable(),
    appIds: z.array(z.string()),
    roles: z.array(z.string()),
    lastLoginAt: time.nullable(),
    createdAt: time,
    updatedAt: time,
  }),
  tenant: z.object({ id: z.guid(), name: z.string(), type: z.string() }).nullable(),
  permissions: z.array(z.string()),
  tenants: z.array(OwnTenant).describe("Tenants the user can switch to, the default first"),
}).meta({
  id: "ProfileDto",
  description: "The signed-in user, the tenant of the token, and the permissions there",
});
type Profile = z.output<typeof Profile>;

const name = optionalName(100).nullish().transform((value) => value === null ? "" : value);

/** Fields a user may change of their own account. */
export const ProfileChange = z.object({
  firstName: name,
  lastName: name,
  phoneNumber: givenPhoneNumber,
}).meta({ id: "UpdateMeRequest", description: "Omitted fields keep their values; null clears them" });

/**
 * Reads a user's profile with roles and permissions in the tenant context; `tenantId` null: no tenant context.
 * @param only see `ownTenants`
 * @param maxTenants limits `tenants`
 */
export async function readProfile(
  q: Sql,
  userId: string,
  tenantId: string | null,
  only: string | null = null,
  maxTenants: number | null = null,
): Promise<Versioned<Profile>> {
  const [row] = await q<(Profile["user"] & Omit<Profile, "user"> & { version: number })[]>`
    select u.id, u.email, u.first_name, u.last_name, u.phone_number, u.app_ids, u.last_login_at, u.created_at,
      u.updated_at, u.version,
      array(select r.name from user_tenant_roles l join roles r on r.id = l.role_id and r.deleted_at is null
        where l.user_id = u.id and l.tenant_id = ${tenantId} order by r.name) as roles,
      (select jsonb_build_object('id', t.id, 'name', t.name, 'type', t.type)
        from tenants t where t.id = ${tenantId}) as tenant,
      array(${permissionCodes(q, userId, tenantId)}) as permissions,
      to_jsonb(array(
        select jsonb_build_object('id', t.id, 'name', t.name, 'type', t.type, 'isDefault', l.is_default)
        from ${ownTenants(q, userId, only)} ${ownTenantOrder(q)} limit ${maxTenants}
      )) as tenants
    from users u where u.id = ${userId}`;
  if (!row) throw problem("SESSION_INVALIDATED", "The user no longer exists.");
  const { version, tenant, permissions, tenants, ...user } = row;
  return { value: { user, tenant, permissions, tenants }, version };
}

/**
 * Changes the caller's own names and phone number.
 * @throws PRECONDITION_FAILED, TENANT_SESSION_FORBIDDEN
 */
export async function updateOwnProfile(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: Caller,
  change: z.output<typeof ProfileChange>,
  ifMatch: string | null,
): Promise<Versioned<Profile>> {
  return await transact(p.sql, async (tx) => {
    const user = await lockUser(tx, caller.userId);
    await requireNoOtherTenant(tx, caller);
    if (!user) throw problem("SESSION_INVALIDATED", "The user no longer exists.");
    requireVersion(ifMatch, user.version);
    const { firstName, lastName, phoneNumber } = user;
    const before = { firstName, lastName, phoneNumber };
    const after = {
      firstName: change.firstName ?? firstName,
      lastName: change.lastName ?? lastName,
      phoneNumber: change.phoneNumber === undefined
        ? phoneNumber
        : changedPhoneNumber(change.phoneNumber, phoneNumber),
    };
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      await tx`update users set first_name = ${after.firstName}, last_name = ${after.lastName},
        phone_number = ${after.phoneNumber}, version = version + 1, updated_at = now() where id = ${user.id}`;
      await recordAudit(tx, caller, "user.update", user.id, { before, after });
      const fields = ["firstName", "lastName", "phoneNumber"] as const;
      const changed = fields.filter((name) => before[name] !== after[name]);
      await emitUserUpdated(p, tx, { ...user, ...after }, changed);
    }
    return await readProfile(tx, caller.userId, caller.tenantId, caller.boundTo);
  });
}

/**
 * SQL of the tenants `t` that a user may switch to: active links `l` to active tenants.
 * @param only the one tenant in which the session is good; null: all that accept a sign-in by password
 */
const ownTenants = (q: Sql, userId: string, only: string | null) =>
  q`user_tenants l join tenants t on t.id = l.tenant_id and t.is_active and t.deleted_at is null
    and l.is_active and l.user_id = ${userId} and ${only === null ? acceptsPassword(q) : q`t.id = ${only}`}`;

/** The default first, then the platform, then by name. */
const ownTenantOrder = (q: Sql) =>
  q`order by l.is_default desc, t.type = 'Platform' desc, same_text(t.name), t.id`;

/** Finds tenants that a user may switch to, by a part of their name or by ids. @param only see `ownTenants` */
export async function findOwnTenants(
  q: Sql,
  userId: string,
  only: string | null,
  { search, ids, ...page }: PageRequest & { search?: string | undefined; ids?: string[] | undefined },
): Promise<PagedResult<OwnTenant>> {
  const found = allOf(q, [
    matches(q, "t.search_text", search),
    ids !== undefined && q`t.id = any(${ids}::uuid[])`,
  ]);
  return await readPage(q, {
    columns: q`t.id, t.name, t.type, l.is_default`,
    from: q`${ownTenants(q, userId, only)} where ${found}`,
    order: ownTenantOrder(q),
  }, page);
}
