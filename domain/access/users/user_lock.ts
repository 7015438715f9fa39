import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Metadata } from "./metadata.ts";
import { userNotFound } from "./user_details.ts";
import { PLATFORM_REACH } from "../../rights/catalog.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import type { Acting } from "../roles/escalation.ts";

/** The platform members that changes of users need. CLI scripts have no `wakeUps`; workers find their events by polling. */
export type UserPlatform = Pick<RightsPlatform, "sql" | "rights"> & Partial<Pick<Platform, "wakeUps">>;

/** A user row, read when it was locked. */
export interface LockedUser {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  phoneNumber: string | null;
  appIds: string[];
  isActive: boolean;
  metadata: Metadata;
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

/** A locked user of one tenant. The numbers decide whether a caller in that tenant may change the user. */
export interface LockedTenantUser extends LockedUser {
  /** The user's id in another system, of the link to this tenant. */
  externalId: string | null;
  /** Active links to other tenants that are not deleted. */
  otherActiveLinks: number;
  /** Active and deactivated links to other tenants that are not deleted. */
  otherLinks: number;
}

/** Locks a user linked to the tenant. Throws USER_NOT_FOUND for any other user. */
export async function lockTenantUser(tx: Tx, userId: string, tenantId: string): Promise<LockedTenantUser> {
  const user = await lockUser(tx, userId);
  const [links] = await tx<
    { own: number; others: number; activeOthers: number; externalId: string | null }[]
  >`
    select count(*) filter (where l.tenant_id = ${tenantId})::int as own,
      count(*) filter (where l.tenant_id <> ${tenantId})::int as others,
      count(*) filter (where l.tenant_id <> ${tenantId} and l.is_active)::int as active_others,
      min(l.external_id) filter (where l.tenant_id = ${tenantId}) as external_id
    from user_tenants l join tenants t on t.id = l.tenant_id and t.deleted_at is null where l.user_id = ${userId}`;
  if (!user || !links?.own) throw userNotFound(userId);
  const { others: otherLinks, activeOthers: otherActiveLinks, externalId } = links;
  return { ...user, otherLinks, otherActiveLinks, externalId };
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
