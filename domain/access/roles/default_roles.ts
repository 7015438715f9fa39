import { z } from "zod";
import { ADVISORY_LOCKS } from "../../../infra/postgres/advisory_locks.ts";
import { type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { emitEvents } from "../../events/emit.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { CATALOG_ROLES } from "../../rights/catalog.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { passOver, runBatches } from "../../shared/batches.ts";
import { FIRST_ID, newId } from "../../shared/ids.ts";
import { accessChangedEvent, ANNOUNCE_ROLES_JOB } from "../access_changes.ts";
import type { AccessPlatform } from "../platform.ts";
import { emitRolesChanged } from "./role_changes.ts";
import { grantColumns, type Role } from "./roles.ts";

/** The catalog roles of every tenant, which may get further permissions by default. */
export const DEFAULT_ROLES = ["Admin", "GroupAdmin", "Visitor"] as const;

/** A permission that the catalog role with this name has in every tenant. */
export interface RoleGrant {
  roleName: string;
  code: string;
}

/**
 * Locks the default permissions until `tx` ends: shared to create the roles of a tenant, exclusively to change them. So
 * a new tenant gets the changed defaults, or the change finds its roles.
 */
export async function lockDefaultRoles(tx: Tx, mode: "shared" | "exclusive"): Promise<void> {
  if (mode === "shared") await tx`select pg_advisory_xact_lock_shared(${ADVISORY_LOCKS.defaultRoles})`;
  else await tx`select pg_advisory_xact_lock(${ADVISORY_LOCKS.defaultRoles})`;
}

/** Creates the catalog roles that a tenant of this type has, with their default permissions. */
export async function createCatalogRoles(tx: Tx, tenantId: string, type: string): Promise<void> {
  await lockDefaultRoles(tx, "shared");
  const roles = CATALOG_ROLES.filter((role) => role.where === "everywhere" || type === "Platform");
  const rows = roles.map(({ name, description }) => ({
    id: newId(),
    tenant_id: tenantId,
    name,
    description,
    is_system: true,
  }));
  await tx`insert into roles ${tx(rows)}`;
  await tx`
    insert into role_permissions (role_id, permission_id)
    select r.id, p.id
    from unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ name }) => name)}::text[]) r (id, name)
    join default_role_permissions d on d.role_name = r.name
    join permissions p on p.code = d.permission_code and p.tenant_id is null and p.deleted_at is null`;
}

/**
 * Stores the grants that the service and its extensions declare, and adds those that are new to the catalog roles of all
 * tenants. Grants that are no longer declared stay, but may then be removed over the API.
 * @returns the names of the roles of existing tenants that got permissions
 */
export async function declareRoleGrants(tx: Tx, grants: RoleGrant[]): Promise<string[]> {
  await lockDefaultRoles(tx, "exclusive");
  const roleNames = grants.map(({ roleName }) => roleName);
  const codes = grants.map(({ code }) => code);
  await tx`
    update default_role_permissions d set is_declared = not d.is_declared
    where d.is_declared <> exists (select from unnest(${roleNames}::text[], ${codes}::text[]) declared (name, code)
      where declared.name = d.role_name and declared.code = d.permission_code)`;
  const added = await tx<RoleGrant[]>`
    insert into default_role_permissions (role_name, permission_code)
    select * from unnest(${roleNames}::text[], ${codes}::text[])
    on conflict do nothing returning role_name, permission_code as code`;
  return await grantToCatalogRoles(tx, added);
}

/**
 * Adds permissions of the catalog to the roles of all tenants with these names.
 * @returns the names of the roles that did not have them all
 */
export async function grantToCatalogRoles(tx: Tx, grants: readonly RoleGrant[]): Promise<string[]> {
  const grant = (roleNames: string[], codes: string[]) =>
    tx`insert into role_permissions (role_id, permission_id)
    select r.id, p.id from unnest(${roleNames}::text[], ${codes}::text[]) added (role_name, code)
    join roles r on r.name = added.role_name and r.is_system and r.deleted_at is null
    join permissions p on p.code = added.code and p.tenant_id is null and p.deleted_at is null
    on conflict do nothing returning role_id`;
  return await changeCatalogRoles(tx, grants, grant);
}

/**
 * Takes permissions of the catalog from the roles of all tenants with these names.
 * @returns the names of the roles that had any of them
 */
export async function takeFromCatalogRoles(tx: Tx, grants: readonly RoleGrant[]): Promise<string[]> {
  const take = (roleNames: string[], codes: string[]) =>
    tx`delete from role_permissions rp
    using unnest(${roleNames}::text[], ${codes}::text[]) removed (role_name, code), roles r, permissions p
    where r.name = removed.role_name and r.is_system and r.deleted_at is null and rp.role_id = r.id
      and p.code = removed.code and p.tenant_id is null and p.deleted_at is null and rp.permission_id = p.id
    returning rp.role_id`;
  return await changeCatalogRoles(tx, grants, take);
}

/**
 * Locks the roles in the order of their ids, like assignments do, runs a change of their permissions, and counts a new
 * version of the changed ones. `updated_at` stays: it tells whether a tenant has changed the role.
 * @param change returns SQL that returns the `role_id` of each changed role
 * @returns the names of the changed roles
 */
async function changeCatalogRoles(
  tx: Tx,
  grants: readonly RoleGrant[],
  change: (roleNames: string[], codes: string[]) => SqlPart,
): Promise<string[]> {
  if (grants.length === 0) return [];
  const roleNames = grants.map(({ roleName }) => roleName);
  const codes = grants.map(({ code }) => code);
  await tx`select count(*) from (select from roles
    where is_system and name = any(${roleNames}::text[]) and deleted_at is null order by id for no key update) locked`;
  const [changed] = await tx<{ names: string[] }[]>`
    with changed as (${change(roleNames, codes)}), counted as (
      update roles set version = version + 1 where id in (select role_id from changed) returning name)
    select coalesce(array_agg(distinct name), '{}') as names from counted`;
  return changed?.names ?? [];
}

const BATCH = 500;

/**
 * Emits `role.changed` for the catalog roles of all tenants with these names, and `user.access-changed` for their users.
 * The users keep their security version, because no session ends. A repeated run repeats events, which receivers must
 * accept anyway.
 */
export const announceRolesJob = defineJob({
  ...ANNOUNCE_ROLES_JOB,
  args: z.object({ roleNames: z.array(z.string()).min(1) }),
  timeoutMs: 3_600_000,
  async run({ roleNames }, { platform, db, signal }: JobContext<AccessPlatform>) {
    let users = 0;
    const roles = await passOver(BATCH, async (after) => {
      signal.throwIfAborted();
      const page = await transact(db, async (tx) => {
        const page = await readRoles(tx, roleNames, after);
        await emitRolesChanged(platform, tx, page);
        return page;
      });
      users += await announceHolders(page.map(({ id }) => id), { platform, db, signal });
      return page;
    });
    return { roles, users };
  },
});

const readRoles = (tx: Tx, names: string[], after: string): Promise<Role[]> =>
  tx<Role[]>`
    select ${grantColumns(tx)} from roles r where r.is_system and r.name = any(${names}::text[])
      and r.deleted_at is null and r.id > ${after} order by r.id limit ${BATCH}`;

interface Holder {
  userId: string;
  tenantId: string;
  roleId: string;
  version: number;
}

/** Emits `user.access-changed` for all users of the roles, in batches. */
async function announceHolders(
  roleIds: string[],
  { platform, db, signal }: Pick<JobContext<AccessPlatform>, "platform" | "db" | "signal">,
): Promise<number> {
  let after = { roleId: FIRST_ID, userId: FIRST_ID };
  return await runBatches(BATCH, async () => {
    signal.throwIfAborted();
    const holders = await transact(db, async (tx) => {
      const holders = await tx<Holder[]>`
        select m.role_id, m.user_id, m.tenant_id, ${securityVersionOf(tx)} as version
        from user_tenant_roles m join users u on u.id = m.user_id
        where m.role_id = any(${roleIds}::uuid[]) and (m.role_id, m.user_id) > (${after.roleId}, ${after.userId})
        order by m.role_id, m.user_id limit ${BATCH}`;
      await emitEvents(platform, tx, holders.map((holder) => accessChangedEvent(holder, holder.tenantId)));
      return holders;
    });
    after = holders.at(-1) ?? after;
    return holders.length;
  });
}
