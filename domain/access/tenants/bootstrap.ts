import { hashPasswordAtStart } from "../../../infra/passwords.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { findPasswordMistake } from "../passwords/password_rules.ts";
import { CATALOG_PERMISSIONS, CATALOG_ROLES, type CatalogPermission } from "../../rights/catalog.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { announceRoles } from "../access_changes.ts";
import { createCatalogRoles, declareRoleGrants, type RoleGrant } from "../roles/default_roles.ts";
import { ADVISORY_LOCKS } from "../../../infra/postgres/advisory_locks.ts";

/** The permissions and default roles that extensions add to the catalog. */
export interface CatalogAdditions {
  permissions: readonly CatalogPermission[];
  roleGrants: readonly RoleGrant[];
}

/**
 * Updates the catalog. In a database without a platform tenant, also creates that tenant and its first administrator.
 * Safe to run at every start and from many instances at once.
 * @returns true if this call created the platform tenant.
 */
export async function bootstrap(
  p: Pick<Platform, "sql" | "config">,
  additions: CatalogAdditions = { permissions: [], roleGrants: [] },
): Promise<boolean> {
  return await transact(p.sql, async (tx) => {
    await tx`select pg_advisory_xact_lock(${ADVISORY_LOCKS.bootstrap})`;
    await writeCatalogPermissions(tx, [...CATALOG_PERMISSIONS, ...additions.permissions]);
    await updateRoleDescriptions(tx);
    const builtIn = CATALOG_ROLES.flatMap(({ name, permissions }) =>
      permissions.map((code) => ({ roleName: name, code }))
    );
    const changed = await declareRoleGrants(tx, [...builtIn, ...additions.roleGrants]);
    await announceRoles({}, tx, changed);
    const [platform] = await tx<{ id: string }[]>`select id from tenants where type = 'Platform'`;
    if (platform) return false;
    const tenantId = newId();
    await tx`insert into tenants (id, name, type) values (${tenantId}, 'Platform', 'Platform')`;
    await createCatalogRoles(tx, tenantId, "Platform");
    await createFirstAdministrator(p, tx, tenantId);
    return true;
  });
}

/** Adds new permissions, and updates the descriptions and categories of built-in ones. */
async function writeCatalogPermissions(tx: Tx, permissions: CatalogPermission[]): Promise<void> {
  const rows = permissions.map((permission) => ({ id: newId(), ...permission, is_system: true }));
  await tx`insert into permissions ${tx(rows)}
    on conflict (code, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) where deleted_at is null
    do update set description = excluded.description, category = excluded.category,
      version = permissions.version + 1, updated_at = now()
    where permissions.is_system
      and (permissions.description, permissions.category) is distinct from (excluded.description, excluded.category)`;
}

/**
 * Updates the descriptions of catalog roles, except those that a tenant has changed. `updated_at` stays: it differs from
 * `created_at` only after a change by a tenant.
 */
async function updateRoleDescriptions(tx: Tx): Promise<void> {
  const names = CATALOG_ROLES.map(({ name }) => name);
  const descriptions = CATALOG_ROLES.map(({ description }) => description);
  await tx`
    update roles r set description = c.description, version = r.version + 1
    from unnest(${names}::text[], ${descriptions}::text[]) c (name, description)
    where r.is_system and r.name = c.name and r.deleted_at is null and r.updated_at = r.created_at
      and r.description is distinct from c.description`;
}

async function createFirstAdministrator(
  p: Pick<Platform, "config">,
  tx: Tx,
  tenantId: string,
): Promise<void> {
  const { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: password } = p.config;
  if (!email || !password) {
    throw new Error(
      "cannot create the first administrator in the empty database: BOOTSTRAP_ADMIN_EMAIL or BOOTSTRAP_ADMIN_PASSWORD is not set; the first start needs both",
    );
  }
  const names = { firstName: "System", lastName: "Administrator" };
  const mistake = await findPasswordMistake(p, password, { email, ...names, tenantNames: ["Platform"] });
  if (mistake !== null) {
    throw new Error(`cannot create the first administrator: BOOTSTRAP_ADMIN_PASSWORD: ${mistake}`);
  }
  const userId = newId();
  const passwordHash = await hashPasswordAtStart(password);
  await tx`insert into users (id, email, password_hash, first_name, last_name)
    values (${userId}, ${email}, ${passwordHash}, ${names.firstName}, ${names.lastName})`;
  await tx`insert into user_tenants (user_id, tenant_id, is_default) values (${userId}, ${tenantId}, true)`;
  await tx`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${userId}, ${tenantId}, id from roles where tenant_id = ${tenantId} and name in ('SystemAdmin', 'Admin')`;
  await recordAudit(tx, null, "user.bootstrap", userId, { after: { email } });
}
