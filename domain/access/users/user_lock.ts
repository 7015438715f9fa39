import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Metadata } from "./metadata.ts";
import { userNotFound } from "./user_details.ts";

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
