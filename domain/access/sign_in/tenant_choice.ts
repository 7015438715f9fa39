import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { noAccess } from "../../rights/authenticate.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import type { SessionProvider } from "./sessions.ts";
import { acceptsPassword } from "../../rights/tenant_sign_in.ts";

/** The tenant that a sign-in requests. */
export interface WantedTenant {
  /** Null: the user's default tenant. */
  tenantId: string | null;
  /** True requests a token without a tenant. */
  global: boolean;
}

/**
 * Chooses the tenant of a sign-in: the provider's, else the requested one, else that of `defaultTenantOf`, else none.
 * @param provider the tenant's provider that signs in; null: the password, a passkey or a provider of the service
 * @throws TENANT_FORBIDDEN if the user has no active link to it, or it does not accept this way to sign in
 */
export async function chooseTenant(
  q: Sql,
  userId: string,
  wanted: WantedTenant,
  provider: SessionProvider | null = null,
): Promise<string | null> {
  if (provider) {
    await requireProviderUser(q, userId, provider.tenantId);
    return provider.tenantId;
  }
  if (wanted.global) return null;
  const tenantId = wanted.tenantId ?? await defaultTenantOf(q, userId);
  if (tenantId !== null) await requireActiveLink(q, userId, tenantId);
  return tenantId;
}

/**
 * Checks that a tenant's provider may sign a user in. Users with platform reach are refused: what runs in their name without
 * a session, such as a report, would have it too.
 */
async function requireProviderUser(q: Sql, userId: string, tenantId: string): Promise<void> {
  await requireActiveLink(q, userId, tenantId, tenantId);
  const reach = await q`select from (${permissionCodes(q, userId, tenantId)}) held
    where held.code in (select code from permissions where reach = 'Platform')`;
  if (reach.length === 0) return;
  throw problem(
    "TENANT_FORBIDDEN",
    `The user has platform reach in tenant ${tenantId}, so its provider cannot sign them in.`,
  );
}

/**
 * The tenant that a user signs in to without naming one: the default, else the oldest active link's; null: none. Tenants that
 * accept only their own providers come last.
 */
export async function defaultTenantOf(q: Sql, userId: string): Promise<string | null> {
  const [link] = await q<{ tenantId: string }[]>`
    select l.tenant_id from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.is_active and t.is_active and t.deleted_at is null
    order by ${acceptsPassword(q)} desc, l.is_default desc, l.created_at, l.tenant_id limit 1`;
  return link?.tenantId ?? null;
}

/**
 * Checks that the user has an active link to the tenant, regardless of permissions, and that the tenant accepts the sign-in.
 * @param boundTo see `Caller`
 * @throws TENANT_FORBIDDEN
 */
export async function requireActiveLink(
  q: Sql,
  userId: string,
  tenantId: string,
  boundTo: string | null = null,
): Promise<void> {
  if (!await hasActiveLink(q, userId, tenantId, boundTo)) throw noAccess(tenantId);
}

/** True if the user has an active link to the tenant, and the tenant is active and accepts the sign-in. */
export async function hasActiveLink(
  q: Sql,
  userId: string,
  tenantId: string,
  boundTo: string | null,
): Promise<boolean> {
  const accepts = boundTo === null ? acceptsPassword(q) : q`t.id = ${boundTo}`;
  const rows = await q`select from user_tenants l join tenants t on t.id = l.tenant_id
    where l.user_id = ${userId} and l.tenant_id = ${tenantId} and l.is_active and t.is_active and t.deleted_at is null
      and ${accepts}`;
  return rows.length > 0;
}
