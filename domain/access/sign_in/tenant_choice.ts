import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";

/** The tenant that a sign-in requests. */
export interface WantedTenant {
  /** Null: the user's default tenant. */
  tenantId: string | null;
  /** True requests a token without a tenant. */
  global: boolean;
}

/**
 * Chooses the tenant of a sign-in: the requested one, else that of `defaultTenantOf`, else none.
 * @throws TENANT_FORBIDDEN if the user has no active link to the requested tenant.
 */
export async function chooseTenant(
  q: Sql,
  userId: string,
  wanted: WantedTenant,
): Promise<string | null> {
  if (wanted.global) return null;
  if (wanted.tenantId) {
    await requireActiveLink(q, userId, wanted.tenantId);
    return wanted.tenantId;
  }
  return await defaultTenantOf(q, userId);
}

/** The tenant that a user signs in to without naming one: the default, else the oldest active link's; null: none. */
export async function defaultTenantOf(q: Sql, userId: string): Promise<string | null> {
  const [link] = await q<{ tenantId: string }[]>`
    select l.tenant_id from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.is_active and t.is_active and t.deleted_at is null
    order by l.is_default desc, l.created_at, l.tenant_id limit 1`;
  return link?.tenantId ?? null;
}

/** Checks that the user has an active link to the tenant, regardless of permissions. Throws TENANT_FORBIDDEN. */
export async function requireActiveLink(q: Sql, userId: string, tenantId: string): Promise<void> {
  if (await hasActiveLink(q, userId, tenantId)) return;
  throw problem(
    "TENANT_FORBIDDEN",
    `The caller has no active link to tenant ${tenantId}, or the tenant is not active.`,
  );
}

/** True if the user has an active link to the tenant, and the tenant is active. */
export async function hasActiveLink(q: Sql, userId: string, tenantId: string): Promise<boolean> {
  const rows = await q`select from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.tenant_id = ${tenantId} and l.is_active and t.is_active and t.deleted_at is null`;
  return rows.length > 0;
}
