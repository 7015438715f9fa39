import type { Queryable } from "../../infra/postgres/postgres.ts";

/** What other areas may know of a user they address. */
export interface AddressedUser {
  id: string;
  email: string;
  phoneNumber: string | null;
  firstName: string;
  lastName: string;
}

/**
 * The users of `ids` that exist, are active, and have an active link to the tenant; ids of others are left out, so
 * that an unknown user and one of another tenant look the same.
 * @param tenantId null stands for the service itself, which knows every user.
 */
export async function findUsersInTenant(
  q: Queryable,
  tenantId: string | null,
  ids: string[],
): Promise<AddressedUser[]> {
  if (ids.length === 0) return [];
  return await q<AddressedUser[]>`
    select u.id, u.email, u.phone_number, u.first_name, u.last_name from users u
    where u.id = any(${ids}::uuid[]) and u.is_active and u.deleted_at is null
      and (${tenantId}::uuid is null or exists (
        select from user_tenants l where l.user_id = u.id and l.tenant_id = ${tenantId} and l.is_active))`;
}

/** The users of `emails` (in any letter case) that exist, are active, and have an active link to the tenant. */
export async function findUsersByEmail(
  q: Queryable,
  tenantId: string | null,
  emails: string[],
): Promise<AddressedUser[]> {
  if (emails.length === 0) return [];
  return await q<AddressedUser[]>`
    select u.id, u.email, u.phone_number, u.first_name, u.last_name from users u
    where lower(u.email) = any(array(select lower(email) from unnest(${emails}::text[]) as given (email)))
      and u.is_active and u.deleted_at is null
      and (${tenantId}::uuid is null or exists (
        select from user_tenants l where l.user_id = u.id and l.tenant_id = ${tenantId} and l.is_active))`;
}
