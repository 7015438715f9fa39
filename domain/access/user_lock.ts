import type { Tx } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import type { Caller } from "./caller.ts";
import { invalidateUsers } from "./invalidation.ts";
import { recount } from "./large_counts.ts";
import { userNotFound } from "./user_details.ts";

/** What changing users needs of the platform; CLI scripts cannot notify; workers find the events by polling. */
export type UserPlatform = Pick<Platform, "sql" | "rights"> & Partial<Pick<Platform, "wakeUps">>;

/** A user row as it was when it was locked. */
export interface LockedUser {
  id: string;
  email: string;
  firstName: string;
  lastName: string;
  phoneNumber: string | null;
  appIds: string[];
  isActive: boolean;
  version: number;
}

/** Locks a user that is not deleted until the transaction ends; null for everyone else. */
export async function lockUser(tx: Tx, userId: string): Promise<LockedUser | null> {
  const [user] = await tx<LockedUser[]>`
    select id, email, first_name, last_name, phone_number, app_ids, is_active, version from users
    where id = ${userId} and deleted_at is null for no key update`;
  return user ?? null;
}

/** Locks a user whatever their tenants. Throws USER_NOT_FOUND. */
export async function lockExistingUser(tx: Tx, userId: string): Promise<LockedUser> {
  const user = await lockUser(tx, userId);
  if (!user) throw userNotFound(userId);
  return user;
}

/** A locked user with what decides who may change them from inside one tenant. */
export interface LockedTenantUser extends LockedUser {
  /** Links to other tenants that exist, active ones and all. */
  otherActiveLinks: number;
  otherLinks: number;
}

/** Locks a user linked to the tenant. Throws USER_NOT_FOUND for everyone else. */
export async function lockTenantUser(tx: Tx, userId: string, tenantId: string): Promise<LockedTenantUser> {
  const user = await lockUser(tx, userId);
  const [links] = await tx<{ own: number; others: number; activeOthers: number }[]>`
    select count(*) filter (where l.tenant_id = ${tenantId})::int as own,
      count(*) filter (where l.tenant_id <> ${tenantId})::int as others,
      count(*) filter (where l.tenant_id <> ${tenantId} and l.is_active)::int as active_others
    from user_tenants l join tenants t on t.id = l.tenant_id and t.deleted_at is null where l.user_id = ${userId}`;
  if (!user || !links?.own) throw userNotFound(userId);
  return { ...user, otherLinks: links.others, otherActiveLinks: links.activeOthers };
}

/** Callers do not delete or deactivate themselves. */
export function requireNotSelf(acting: Pick<Caller, "userId"> | null, userId: string, attempt: string): void {
  if (acting?.userId !== userId) return;
  throw problem("USER_SELF_CONFLICT", `The caller tried to ${attempt} their own user ${userId}.`);
}

/** Ends the user's tokens, and has large totals counted anew, once `tx` has committed. */
export async function userRightsChanged(p: UserPlatform, tx: Tx, userId: string): Promise<void> {
  await invalidateUsers(p, tx, [userId]);
  recount(p.sql, tx);
}
