import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";

/** The state of a session's second factor. */
export interface SessionProof {
  /** A second factor is required and the session lacks it. So the session may only add a factor or step up. */
  isLimited: boolean;
  /** The user has a second factor, so sensitive actions need a recent sign-in. */
  hasFactor: boolean;
  /** The last sign-in or step-up, with a second factor if the user has one, is recent. */
  isRecent: boolean;
}

/** Settings of second factors. */
export interface SecondFactorRules {
  /** Minutes for which a sign-in or step-up counts as recent. */
  stepUpMinutes: number;
  /** Holders of permissions with platform reach need a second factor. */
  isRequiredForPlatform: boolean;
}

/** SQL condition: the user of the column `userId` has a second factor. */
export const hasFactor = (q: Sql, userId: SqlPart) =>
  q`exists (select from user_factors f where f.user_id = ${userId} and f.confirmed_at is not null)`;

/**
 * True if the user has a second factor. To decide by it, lock the user first: the statement that waits for the lock does not
 * see a factor that was added meanwhile.
 */
export async function userHasFactor(q: Sql, userId: string): Promise<boolean> {
  const [user] = await q<{ hasFactor: boolean }[]>`select ${hasFactor(q, q`${userId}::uuid`)} as has_factor`;
  return user?.hasFactor ?? false;
}

/**
 * SQL condition: the user of the column `userId` has active links, and all of their tenants require a second factor. It stops
 * at the first link to another tenant, because some users have thousands of links.
 */
export function everyTenantRequiresFactor(q: Sql, userId: SqlPart): SqlPart {
  const links = q`select from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.is_active and t.is_active and t.deleted_at is null`;
  return q`(exists (${links}) and not exists (${links} and not t.require_second_factor))`;
}
