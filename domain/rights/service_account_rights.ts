import type { Sql } from "../../infra/postgres/postgres.ts";
import { isOfFileModule } from "./catalog.ts";
import { type HeldSecret, type KeyState, keyState, secretOfHash } from "./key_state.ts";

/** State of a service account. */
export interface ServiceAccountRights extends KeyState {
  kind: "serviceAccount";
  clientId: string;
  /** The version of the secret at hand, incremented by a new one. Access tokens stand for the secret of their version. */
  secretVersion: number;
  /** Null: all tenants except the platform's, also future ones. */
  tenantIds: string[] | null;
}

/**
 * Reads the service account whose current or former secret has this hash, or the one with this id for the holder of a
 * token that was issued for the secret of this version; null if there is none.
 */
export async function loadServiceAccount(
  q: Sql,
  by: { id: string; secretVersion: number } | { hash: Uint8Array },
): Promise<ServiceAccountRights | null> {
  const secret = "id" in by ? secretOfVersion(q, by.secretVersion) : secretOfHash(q, by.hash);
  const isIt = "id" in by ? q`k.id = ${by.id}` : q`${secret.isCurrent} or ${secret.isFormer}`;
  const [account] = await q<Omit<ServiceAccountRights, "kind">[]>`
    select ${keyState(q, secret)}, client_id, tenant_ids,
      case when ${secret.isCurrent} then secret_version else secret_version - 1 end as secret_version
    from service_accounts k where ${isIt}`;
  return account ? { ...account, kind: "serviceAccount" } : null;
}

const secretOfVersion = (q: Sql, version: number): HeldSecret => ({
  isCurrent: q`k.secret_version = ${version}`,
  isFormer: q`k.secret_version - 1 = ${version}`,
});

/** The permissions of a service account in a request. */
export interface AccountPermissions {
  /**
   * The permissions that count in the tenant. Without a tenant: permissions with platform reach and, with admin:system,
   * permissions of the file module.
   */
  permissions: ReadonlySet<string>;
  /** The permissions that the account holds in its tenants, for routes that serve all of them at once. */
  inTenants: ReadonlySet<string>;
}

/**
 * Reads the permissions of a service account in one of its tenants. Permissions with platform reach count only in the
 * platform tenant and without a tenant.
 * @param tenantId null: no tenant context
 * @returns null if the account does not act in the tenant, or the tenant is not active.
 */
export async function loadPermissionsIn(
  q: Sql,
  accountId: string,
  tenantId: string | null,
): Promise<AccountPermissions | null> {
  const [row] = await q<{ held: string[]; acrossTenants: string[]; isPlatform: boolean }[]>`
    select coalesce(t.type = 'Platform', false) as is_platform,
      array(select distinct p.code from permissions p where p.code = any(a.permissions) and p.deleted_at is null
        and p.reach = 'Tenant' and (p.tenant_id is null or p.tenant_id = t.id)) as held,
      array(select p.code from permissions p where p.code = any(a.permissions) and p.deleted_at is null
        and p.reach = 'Platform') as across_tenants
    from service_accounts a left join tenants t on t.id = ${tenantId}
    where a.id = ${accountId} and (${tenantId}::uuid is null
      or t.is_active and t.deleted_at is null
        and (t.id = any(a.tenant_ids) or a.tenant_ids is null and t.type <> 'Platform'))`;
  if (!row) return null;
  const { held, acrossTenants, isPlatform } = row;
  const inTenants = new Set(held);
  if (tenantId !== null) {
    return { permissions: new Set(isPlatform ? [...held, ...acrossTenants] : held), inTenants };
  }
  const ofFiles = acrossTenants.includes("admin:system") ? held.filter(isOfFileModule) : [];
  return { permissions: new Set([...acrossTenants, ...ofFiles]), inTenants };
}
