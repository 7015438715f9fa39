import type { Sql, SqlPart } from "../../infra/postgres/postgres.ts";

/** What the session of a caller has proved. */
export interface SessionProof {
  /** A second factor is required here and the session has none: it is good only for adding one or for a step-up. */
  isLimited: boolean;
  /** The user has a second factor, so sensitive acts need a recent sign-in. */
  hasFactor: boolean;
  /** The last sign-in or step-up, with a second factor if the user has one, is recent. */
  isRecent: boolean;
}

/** Settings of second factors. */
export interface SecondFactorRules {
  /** How long a sign-in or step-up counts as recent. */
  stepUpMinutes: number;
  /** Holders of permissions with platform reach need a second factor. */
  isRequiredForPlatform: boolean;
}

/** SQL: has the user of the column `userId` a second factor? */
export const hasFactor = (q: Sql, userId: SqlPart) =>
  q`exists (select from user_factors f where f.user_id = ${userId} and f.confirmed_at is not null)`;

/**
 * SQL: has the user of the column `userId` active links, all of them to tenants that require a second factor? Stops at the
 * first link to another tenant, because some users have thousands.
 */
export function everyTenantRequiresFactor(q: Sql, userId: SqlPart): SqlPart {
  const links = q`select from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.is_active and t.is_active and t.deleted_at is null`;
  return q`(exists (${links}) and not exists (${links} and not t.require_second_factor))`;
}
