import type { Sql, SqlPart, Tx } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";

/** The user data that other areas need to send a message to a user. */
export interface AddressedUser {
  id: string;
  email: string;
  /** True if a link that was mailed to the email was used. */
  isEmailVerified: boolean;
  phoneNumber: string | null;
  firstName: string;
  lastName: string;
}

/**
 * Locks a user against an erasure until the transaction ends, before it writes a row about them: an erasure that begins later
 * finds the row. A request may have been authenticated before the erasure.
 * @returns false if the user was erased or does not exist
 */
export async function lockUnerased(tx: Tx, userId: string): Promise<boolean> {
  const { count } = await tx`select from users where id = ${userId} and erased_at is null for share`;
  return count > 0;
}

/** Locks the caller as `lockUnerased` does. @throws SESSION_INVALIDATED */
export async function requireUnerased(tx: Tx, userId: string): Promise<void> {
  if (!await lockUnerased(tx, userId)) throw problem("SESSION_INVALIDATED", "The user was erased.");
}

/** First and last name; null if the user has none. */
export const fullName = (
  { firstName, lastName }: Pick<AddressedUser, "firstName" | "lastName">,
): string | null => `${firstName} ${lastName}`.trim() || null;

/** SQL expression: first and last name of a user, else the email. @param user alias of `users` */
export const nameOrEmail = (q: Sql, user: string) =>
  q.unsafe(`coalesce(nullif(trim(${user}.first_name || ' ' || ${user}.last_name), ''), ${user}.email)`);

/**
 * Returns the users of `ids` that are active and have an active link to the tenant. Leaves out all others, so that
 * callers cannot tell unknown users from users of another tenant.
 * @param tenantId null: no link is needed.
 */
export async function findUsersInTenant(
  q: Sql,
  tenantId: string | null,
  ids: string[],
): Promise<AddressedUser[]> {
  return ids.length === 0 ? [] : await findActive(q, tenantId, q`u.id = any(${ids}::uuid[])`);
}

/** Finds users as `findUsersInTenant` does, by email in any letter case. */
export async function findUsersByEmail(
  q: Sql,
  tenantId: string | null,
  emails: string[],
): Promise<AddressedUser[]> {
  if (emails.length === 0) return [];
  const lower = q`select mail_key(email) from unnest(${emails}::text[]) as given (email)`;
  return await findActive(q, tenantId, q`mail_key(u.email) = any(array(${lower}))`);
}

const findActive = (q: Sql, tenantId: string | null, chosen: SqlPart) =>
  q<AddressedUser[]>`
    select u.id, u.email, u.email_verified_at is not null as is_email_verified, u.phone_number, u.first_name, u.last_name
    from users u where ${chosen} and u.is_active and u.deleted_at is null
      and (${tenantId}::uuid is null or exists (
        select from user_tenants l where l.user_id = u.id and l.tenant_id = ${tenantId} and l.is_active))`;
