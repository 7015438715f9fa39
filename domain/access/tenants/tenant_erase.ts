import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { AccessPlatform } from "../platform.ts";
import { tenantNotFound } from "../tenant_not_found.ts";
import type { TenantType } from "./tenants.ts";
import { emitTenantChanged, requireNoChildren } from "./tenant_changes.ts";

/** A tenant to erase, also a deleted one. */
interface ErasableTenant {
  id: string;
  name: string;
  type: TenantType;
  isActive: boolean;
  parentTenantId: string | null;
  deletedAt: Date | null;
}

/** Locks a tenant, also a deleted one, until the transaction ends. @throws TENANT_NOT_FOUND */
export async function lockErasableTenant(tx: Tx, id: string): Promise<ErasableTenant> {
  const [tenant] = await tx<ErasableTenant[]>`
    select id, name, type, is_active, parent_tenant_id, deleted_at from tenants where id = ${id} for update`;
  if (!tenant) throw tenantNotFound(id);
  return tenant;
}

/**
 * Deletes a locked tenant that is to be erased: an inactive or deleted one.
 * @param confirmed the name, repeated by the caller
 * @throws TENANT_PLATFORM_CONFLICT, TENANT_ACTIVE_CONFLICT, TENANT_HAS_CHILDREN_CONFLICT, VALIDATION_ERROR (another name)
 */
export async function closeTenant(
  p: AccessPlatform,
  tx: Tx,
  tenant: ErasableTenant,
  confirmed: string,
): Promise<void> {
  const { id } = tenant;
  if (tenant.type === "Platform") {
    throw problem("TENANT_PLATFORM_CONFLICT", "The platform tenant cannot be erased.");
  }
  if (tenant.isActive && tenant.deletedAt === null) {
    throw problem("TENANT_ACTIVE_CONFLICT", `Tenant ${id} is active; deactivate it before it is erased.`);
  }
  await requireNoChildren(tx, id, "erased");
  if (confirmed !== tenant.name) throw invalid({ name: ["expected the name of the tenant, exactly"] });
  await tx`update tenants set is_active = false, deleted_at = coalesce(deleted_at, now()), version = version + 1,
    updated_at = now() where id = ${id}`;
  if (!tenant.deletedAt) await emitTenantChanged(p, tx, id, { ...tenant, isActive: false }, true);
}

/** Locks a tenant against its erasure. @throws TENANT_NOT_FOUND */
export async function requireTenantExists(tx: Tx, id: string): Promise<void> {
  const found = await tx`select from tenants where id = ${id} and erased_at is null for share`;
  if (found.length === 0) throw tenantNotFound(id);
}

/** Users who belong to this tenant and to no other, erased ones left out. At most `limit`, so that callers repeat. */
export async function usersOnlyIn(q: Sql, tenantId: string, limit: number): Promise<string[]> {
  const users = await q<{ id: string }[]>`
    select u.id from user_tenants l join users u on u.id = l.user_id
    where l.tenant_id = ${tenantId} and u.erased_at is null and not exists (
      select from user_tenants o join tenants t on t.id = o.tenant_id and t.deleted_at is null
      where o.user_id = u.id and o.tenant_id <> ${tenantId})
    order by u.id limit ${limit}`;
  return users.map(({ id }) => id);
}
