import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds } from "../../rights/caller.ts";
import { PLATFORM_REACH } from "../../rights/catalog.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import type { Acting } from "../roles/escalation.ts";
import { type LockedTenantUser, type LockedUser, lockExistingUser, lockTenantUser } from "./user_lock.ts";

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
