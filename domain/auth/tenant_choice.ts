import type { Queryable } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";

/** The tenant a sign-in asks for. */
export interface WantedTenant {
  /** Null: none in particular. */
  tenantId: string | null;
  /** Wants a token without a tenant. */
  global: boolean;
}

/**
 * The tenant a sign-in lands in: the one asked for, else the default link's, else the first active one, else none.
 * @throws TENANT_FORBIDDEN when the one asked for is not open to the user.
 */
export async function chooseTenant(
  q: Queryable,
  userId: string,
  wanted: WantedTenant,
): Promise<string | null> {
  if (wanted.global) return null;
  if (wanted.tenantId) {
    await requireActiveLink(q, userId, wanted.tenantId);
    return wanted.tenantId;
  }
  const [link] = await q<{ tenantId: string }[]>`
    select l.tenant_id from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.is_active and t.is_active and t.deleted_at is null
    order by l.is_default desc, l.created_at, l.tenant_id limit 1`;
  return link?.tenantId ?? null;
}

/** Refuses a tenant the user has no active link to, whatever their permissions. Throws TENANT_FORBIDDEN. */
export async function requireActiveLink(q: Queryable, userId: string, tenantId: string): Promise<void> {
  if (await hasActiveLink(q, userId, tenantId)) return;
  throw problem(
    "TENANT_FORBIDDEN",
    `The caller has no active link to tenant ${tenantId}, or it is not active.`,
  );
}

/** Has the user an active link to the tenant, and is the tenant active? */
export async function hasActiveLink(q: Queryable, userId: string, tenantId: string): Promise<boolean> {
  const rows = await q`select from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.tenant_id = ${tenantId} and l.is_active and t.is_active and t.deleted_at is null`;
  return rows.length > 0;
}
