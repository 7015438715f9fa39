import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { holds } from "../../rights/caller.ts";
import { PLATFORM_REACH } from "../../rights/catalog.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import type { Acting } from "../roles/escalation.ts";

/**
 * Checks that the caller has the platform reach of the user it changes. Otherwise an administrator of the platform tenant
 * could lock out a system administrator, or take over that account. Like the limit on assigning roles, it looks
 * at permissions only. Call it when the user is locked.
 * @param within for a change of one link: only what the user holds in this tenant; null: what it holds at all
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
  throw problem(
    "MISSING_PERMISSION",
    `User ${userId} was not changed: the user holds ${missing.join(", ")}, which the caller does not hold.`,
  );
}

/** The permissions with platform reach among `held` that the holder of `own` lacks. */
export const missingReach = (own: ReadonlySet<string>, held: readonly string[]): string[] =>
  own.has("admin:system") ? [] : held.filter((code) => PLATFORM_REACH.has(code) && !own.has(code));

/** The permissions that users hold in the platform tenant, by user. Inactive users have theirs too. */
export async function findPlatformReach(tx: Tx, userIds: string[]): Promise<Map<string, string[]>> {
  const rows = await tx<{ userId: string; codes: string[] }[]>`
    select u.id as user_id, array(${permissionCodes(tx, tx`u.id`, null)}) as codes
    from unnest(${userIds}::uuid[]) u (id)`;
  return new Map(rows.map(({ userId, codes }) => [userId, codes]));
}
