import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { noAccess } from "../../rights/authenticate.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { acceptsPassword } from "../../rights/tenant_sign_in.ts";

/** A tenant's own provider that signs a user in. */
export interface TenantProvider {
  id: string;
  tenantId: string;
}

/** The tenant that a sign-in requests. */
export interface WantedTenant {
  /** Null: the user's default tenant. */
  tenantId: string | null;
  /** True requests a token without a tenant. */
  global: boolean;
  /** The tenant's provider that signs in; null or absent: the password, a passkey or a provider of the service. */
  tenantProvider?: TenantProvider | null;
}

/**
 * Chooses the tenant of a sign-in: the provider's, else the requested one, else that of `defaultTenantOf`, else none.
 * @throws TENANT_FORBIDDEN if the user has no active link to it, or it does not accept this way to sign in
 */
export async function chooseTenant(
  q: Sql,
  userId: string,
  wanted: WantedTenant,
): Promise<string | null> {
  if (wanted.tenantProvider) return await providerTenant(q, userId, wanted.tenantProvider, wanted);
  if (wanted.global) return null;
  const tenantId = wanted.tenantId ?? await defaultTenantOf(q, userId);
  if (tenantId !== null) await requireActiveLink(q, userId, tenantId);
  return tenantId;
}

/**
 * The tenant of a provider. The lock makes a concurrent change of the provider wait, which then ends this sign-in's session.
 * Users with platform reach are refused, because what runs in their name without a session, such as a report, has it too.
 */
async function providerTenant(
  q: Sql,
  userId: string,
  provider: TenantProvider,
  { tenantId, global }: WantedTenant,
): Promise<string> {
  const own = provider.tenantId;
  if (global || tenantId !== null && tenantId !== own) {
    throw problem("TENANT_FORBIDDEN", `The provider signs in to tenant ${own} only.`);
  }
  const [enabled] = await q`
    select from sign_in_providers where id = ${provider.id} and tenant_id = ${own} and is_enabled for share`;
  if (!enabled) throw problem("TENANT_FORBIDDEN", `The provider of tenant ${own} is not enabled.`);
  await requireActiveLink(q, userId, own, own);
  const reach = await q`select from (${permissionCodes(q, userId, own)}) held
    where held.code in (select code from permissions where reach = 'Platform')`;
  if (reach.length === 0) return own;
  throw problem(
    "TENANT_FORBIDDEN",
    "The user has platform reach in the tenant, so its provider cannot sign them in.",
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
