import { z } from "zod";
import { announceChange } from "../../../infra/postgres/changes.ts";
import { type Sql, type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import type { WakeUps } from "../../../infra/wakeups/wakeups.ts";
import { recordAudit } from "../../audit/audit.ts";
import { emitEvents } from "../../events/emit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { definedMembers } from "../../shared/defined_members.ts";
import { newId } from "../../shared/ids.ts";
import { countRows } from "../../shared/lists.ts";
import type { Platform } from "../../shared/platform.ts";
import { enumName, orNull, orUndefined, requiredName, uuid, withDefault } from "../../shared/shapes.ts";
import { requireVersion, type Versioned } from "../../shared/version.ts";
import { type ChangingAccess, tenantAccessChanged } from "../access_changes.ts";
import type { AccessPlatform } from "../platform.ts";
import { createCatalogRoles } from "../roles/default_roles.ts";
import { requireSystemAdminLeft } from "../roles/last_admins.ts";
import { tenantNotFound } from "../tenant_not_found.ts";
import {
  ACT_AS,
  readTenant,
  requireWithinReach,
  type Tenant,
  TENANT_TYPES,
  type TenantReach,
  type TenantType,
} from "./tenants.ts";

const LARGEST_INTEGER = 2_147_483_647;
const name = requiredName(200);
const maxUsers = z.int().min(1).max(LARGEST_INTEGER);
const parentTenantId = uuid.describe("A tenant of type Group");

export const NewTenant = z.object({
  name,
  type: enumName(TENANT_TYPES).default("Standard"),
  parentTenantId: orNull(parentTenantId),
  maxUsers: orNull(maxUsers),
  isActive: withDefault(z.boolean(), true),
  requireSecondFactor: withDefault(z.boolean(), false),
  actAs: withDefault(enumName(ACT_AS), "allowed"),
}).meta({ id: "CreateTenantDto" });
type NewTenant = z.output<typeof NewTenant>;

export const TenantChange = z.object({
  name: orUndefined(name),
  parentTenantId: parentTenantId.nullable().optional(),
  maxUsers: maxUsers.nullable().optional(),
  isActive: orUndefined(z.boolean()),
  requireSecondFactor: orUndefined(z.boolean()),
  actAs: orUndefined(enumName(ACT_AS)),
}).meta({
  id: "UpdateTenantDto",
  description: "Omitted fields keep their values; null removes the parent or the limit",
});
type TenantChange = z.output<typeof TenantChange>;

interface LockedTenant extends Omit<Tenant, "userCount" | "createdAt" | "updatedAt" | "deletedAt"> {
  version: number;
}

/**
 * Creates a tenant with its catalog roles.
 * @throws CROSS_TENANT_FORBIDDEN, TENANT_PLATFORM_CONFLICT, TENANT_NOT_FOUND (the parent), VALIDATION_ERROR,
 * TENANT_ALREADY_EXISTS
 */
export async function createTenant(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: TenantCaller,
  reach: TenantReach,
  tenant: NewTenant,
): Promise<Versioned<Tenant>> {
  return await transact(p.sql, async (tx) => {
    if (!reach.everywhere && (tenant.parentTenantId === null || tenant.parentTenantId !== reach.childrenOf)) {
      throw problem(
        "CROSS_TENANT_FORBIDDEN",
        "The caller may only create children of their own group; creating other tenants needs manage:all-tenants.",
      );
    }
    if (tenant.type === "Platform") {
      throw problem(
        "TENANT_PLATFORM_CONFLICT",
        "A second platform tenant cannot be created; the only one is created at the first start.",
      );
    }
    if (tenant.parentTenantId !== null) await requireParent(tx, tenant.type, tenant.parentTenantId);
    const id = newId();
    await tx`insert into tenants (id, name, type, is_active, parent_tenant_id, max_users, require_second_factor, act_as)
      values (${id}, ${tenant.name}, ${tenant.type}, ${tenant.isActive}, ${tenant.parentTenantId}, ${tenant.maxUsers},
        ${tenant.requireSecondFactor}, ${tenant.actAs})`;
    await createCatalogRoles(tx, id, tenant.type);
    await recordAudit(tx, caller, "tenant.create", id, { after: tenant });
    await emitEvents(p, tx, [{ type: "tenant.created", tenantId: id, data: dataOf(tenant) }]);
    return await readTenant(tx, reach, id);
  });
}

/**
 * Changes a tenant. Activating or deactivating it invalidates its users' tokens.
 * @throws TENANT_NOT_FOUND, CROSS_TENANT_FORBIDDEN, PRECONDITION_FAILED, TENANT_PLATFORM_CONFLICT, VALIDATION_ERROR,
 * TENANT_ALREADY_EXISTS, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function updateTenant(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: TenantCaller,
  reach: TenantReach,
  id: string,
  change: TenantChange,
  ifMatch: string | null,
): Promise<Versioned<Tenant>> {
  return await transact(p.sql, async (tx) => {
    const { version, ...before } = await lockTenant(tx, reach, id, ifMatch, tx`for no key update`);
    const after: typeof before = { ...before, ...definedMembers(change) };
    if (before.type === "Platform" && (!after.isActive || after.parentTenantId !== null)) {
      throw problem("TENANT_PLATFORM_CONFLICT", "The platform tenant cannot be deactivated or get a parent.");
    }
    if (after.parentTenantId !== before.parentTenantId) await requireMove(tx, reach, after);
    if (JSON.stringify(after) !== JSON.stringify(before)) {
      await tx`update tenants set name = ${after.name}, parent_tenant_id = ${after.parentTenantId},
        max_users = ${after.maxUsers}, is_active = ${after.isActive},
        require_second_factor = ${after.requireSecondFactor}, act_as = ${after.actAs},
        version = ${version + 1}, updated_at = now()
        where id = ${id}`;
      await recordAudit(tx, caller, "tenant.update", id, { before, after });
      await emitTenantChanged(p, tx, id, after);
      announceChange(tx, { topic: "looks", ids: [id] });
    }
    if (after.requireSecondFactor !== before.requireSecondFactor) {
      p.rights.invalidateAfterCommit(tx, "everyone");
    }
    if (after.isActive !== before.isActive) {
      await tenantAccessChanged(p, tx, id);
      if (!after.isActive) await keepSystemAdmin(tx, id);
    }
    return await readTenant(tx, reach, id);
  });
}

/**
 * Soft-deletes a tenant without children and invalidates its users' tokens.
 * @throws TENANT_NOT_FOUND, CROSS_TENANT_FORBIDDEN, PRECONDITION_FAILED, TENANT_PLATFORM_CONFLICT,
 * TENANT_HAS_CHILDREN_CONFLICT, LAST_SYSTEM_ADMIN_CONFLICT
 */
export async function deleteTenant(
  p: Pick<RightsPlatform, "sql"> & ChangingAccess,
  caller: TenantCaller,
  reach: TenantReach,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    // `for update` also blocks concurrent inserts of children, whose foreign key check locks the parent.
    const { version: _, ...before } = await lockTenant(tx, reach, id, ifMatch, tx`for update`);
    if (before.type === "Platform") {
      throw problem("TENANT_PLATFORM_CONFLICT", "The platform tenant cannot be deleted.");
    }
    await requireNoChildren(tx, id, "deleted");
    await tx`update tenants set deleted_at = now(), updated_at = now(), version = version + 1 where id = ${id}`;
    await recordAudit(tx, caller, "tenant.delete", id, { before });
    await emitTenantChanged(p, tx, id, before, true);
    await tenantAccessChanged(p, tx, id);
    await keepSystemAdmin(tx, id);
  });
}

/** Checks that a locked tenant has no children. @throws TENANT_HAS_CHILDREN_CONFLICT */
async function requireNoChildren(tx: Tx, id: string, attempted: "deleted" | "erased"): Promise<void> {
  const children = await countRows(tx, tx`tenants where parent_tenant_id = ${id} and deleted_at is null`);
  if (children === 0) return;
  throw problem(
    "TENANT_HAS_CHILDREN_CONFLICT",
    `Group ${id} cannot be ${attempted}: it has ${children} child tenants. Delete or move them first.`,
  );
}

/** @throws TENANT_NOT_FOUND, CROSS_TENANT_FORBIDDEN, PRECONDITION_FAILED */
async function lockTenant(
  tx: Tx,
  reach: TenantReach,
  id: string,
  ifMatch: string | null,
  lock: SqlPart,
): Promise<LockedTenant> {
  const [tenant] = await tx<LockedTenant[]>`
    select id, name, type, is_active, parent_tenant_id, max_users, require_second_factor, act_as, version
    from tenants where id = ${id} and deleted_at is null ${lock}`;
  if (!tenant) throw tenantNotFound(id);
  requireWithinReach(reach, tenant);
  requireVersion(ifMatch, tenant.version);
  return tenant;
}

/** Checks a change of parent. It moves the tenant out of one group's reach into another's, so it needs platform reach. */
async function requireMove(
  tx: Tx,
  reach: TenantReach,
  { type, parentTenantId }: Pick<Tenant, "type" | "parentTenantId">,
): Promise<void> {
  if (!reach.everywhere) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      "Moving a tenant into or out of a group needs manage:all-tenants.",
    );
  }
  if (parentTenantId !== null) await requireParent(tx, type, parentTenantId);
}

/** Checks that the parent is an existing group and the child is not a group: the hierarchy has one level. */
async function requireParent(tx: Tx, type: TenantType, parentTenantId: string): Promise<void> {
  if (type === "Group") throw invalid({ parentTenantId: ["a Group tenant cannot have a parent"] });
  const [parent] = await tx<{ type: TenantType }[]>`
    select type from tenants where id = ${parentTenantId} and deleted_at is null for key share`;
  if (!parent) throw tenantNotFound(parentTenantId);
  if (parent.type !== "Group") {
    throw invalid({ parentTenantId: [`expected a Group tenant, found a ${parent.type} one`] });
  }
}

/** Checks that an active holder of admin:system remains. Skips the check if no role of the tenant has admin:system. */
async function keepSystemAdmin(tx: Tx, tenantId: string): Promise<void> {
  const granting = await tx`
    select from roles r join role_permissions rp on rp.role_id = r.id join permissions p on p.id = rp.permission_id
    where r.tenant_id = ${tenantId} and p.code = 'admin:system' limit 1`;
  if (granting.length > 0) await requireSystemAdminLeft(tx);
}

type Fields = Pick<Tenant, "name" | "type" | "isActive" | "parentTenantId">;

const dataOf = ({ name, type, isActive, parentTenantId }: Fields) => ({
  name,
  type,
  isActive,
  parentTenantId,
});

/** Emits `tenant.changed`, also when the tenant was deleted. */
const emitTenantChanged = (
  p: { wakeUps?: WakeUps },
  tx: Tx,
  tenantId: string,
  tenant: Fields,
  isDeleted = false,
) => emitEvents(p, tx, [{ type: "tenant.changed", tenantId, data: { ...dataOf(tenant), isDeleted } }]);

/** A tenant to erase, also a deleted one. */
type ErasableTenant = Pick<Tenant, "id" | "name" | "type" | "isActive" | "parentTenantId" | "deletedAt">;

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
