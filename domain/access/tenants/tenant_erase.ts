import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { untilDone } from "../../shared/batches.ts";
import { ERASED_AT_ONCE } from "../../shared/personal_data.ts";
import type { AccessPlatform } from "../platform.ts";
import { emitTenantChanged } from "./tenant_events.ts";
import { tenantNotFound, type TenantType } from "./tenants.ts";
import { requireNoChildren } from "./tenant_changes.ts";

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

/** Deletes links, roles, permissions and keys of a tenant. Its row stays without a name, because ids refer to it. */
export async function eraseTenantAccess({ sql }: AccessPlatform, tenantId: string): Promise<void> {
  await untilDone(() => transact(sql, (tx) => deleteLinks(tx, tenantId)));
  await sql`update browser_sessions set tenant_id = null where tenant_id = ${tenantId}`;
  await sql`delete from invitations where tenant_id = ${tenantId}`;
  await sql`delete from api_keys where tenant_id = ${tenantId}`;
  await sql`delete from service_accounts where only_tenant_id = ${tenantId}`;
  await transact(sql, async (tx) => {
    await tx`delete from roles where tenant_id = ${tenantId}`;
    await tx`delete from role_permissions
      where permission_id in (select id from permissions where tenant_id = ${tenantId})`;
    await tx`delete from permissions where tenant_id = ${tenantId}`;
    await tx`update tenants set name = 'erased-' || id, parent_tenant_id = null, erased_at = now(), updated_at = now()
      where id = ${tenantId}`;
  });
}

/**
 * Deletes some links of an erased tenant. They gave no rights since it is inactive, so the sessions of their users go on:
 * the trigger on the links' roles raises a user's version by one for each changed role, and the users' own numbers fall by
 * as much. The locks keep the sum the same for everyone who reads it.
 */
async function deleteLinks(tx: Tx, tenantId: string): Promise<{ count: number }> {
  const users = await tx<{ id: string }[]>`select id from users where id = any(array(
      select user_id from user_tenants where tenant_id = ${tenantId} limit ${ERASED_AT_ONCE}))
    order by id for no key update`;
  const ids = users.map(({ id }) => id);
  await tx`select from roles where tenant_id = ${tenantId} order by id for share`;
  await tx`
    update users u set security_version = u.security_version - held.roles
    from (select h.user_id, count(*)::integer as roles from user_tenant_roles h join roles r on r.id = h.role_id
      where h.tenant_id = ${tenantId} and h.user_id = any(${ids}::uuid[]) and r.access_version > 0
      group by h.user_id) held
    where u.id = held.user_id`;
  return await tx`delete from user_tenants where tenant_id = ${tenantId} and user_id = any(${ids}::uuid[])`;
}
