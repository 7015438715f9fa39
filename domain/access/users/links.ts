import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { type Actor, recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, type TenantCaller } from "../../rights/caller.ts";
import { userAccessChanged } from "../access_changes.ts";
import { type Acting, requireMayAssignRoles } from "../roles/escalation.ts";
import {
  type Assignment,
  type LinkTargets,
  lockLinks,
  lockLinkTargets,
  requireCapacity,
  requireTargets,
} from "./link_targets.ts";
import { emitLinksChanged } from "./user_events.ts";
import { lockExistingUser, requireNotSelf, requireTheirReach, type UserPlatform } from "./user_details.ts";
import { keepSystemAdmin, keepTenantAdmin } from "../roles/last_admins.ts";

/**
 * Checks that the caller may add existing users to a tenant: with create:users in that tenant, or with platform reach. For
 * other callers the error does not depend on whether the tenant exists.
 * @throws FORBIDDEN, MISSING_PERMISSION, CROSS_TENANT_FORBIDDEN
 */
export function requireMayAddUsers(caller: Caller, tenantId: string): void {
  if (holds(caller, "manage:all-users") || holds(caller, "manage:all-tenants")) return;
  if (caller.tenantId === null) {
    throw problem("FORBIDDEN", "The route needs a tenant, but the token is global.");
  }
  if (!holds(caller, "create:users")) {
    throw problem("MISSING_PERMISSION", "The route needs create:users, which the caller does not hold.");
  }
  if (caller.tenantId !== tenantId) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      `Adding users to tenant ${tenantId} needs manage:all-users or manage:all-tenants; the caller acts in ${caller.tenantId}.`,
    );
  }
}

/**
 * Links a user to one more tenant without changing other links, and invalidates the user's tokens. The checks run in
 * the order documented in README.md. An error writes nothing.
 * @param read reads the answer in this transaction, before another request can change the user again
 * @throws USER_NOT_FOUND, TENANT_NOT_FOUND, ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED,
 * CROSS_TENANT_FORBIDDEN (moving the default from another tenant without platform reach), USER_ALREADY_ASSIGNED,
 * TENANT_CAPACITY_REACHED, USER_EXTERNAL_ID_CONFLICT
 */
export async function linkUserToTenant<T = void>(
  p: UserPlatform,
  acting: Acting,
  userId: string,
  assignment: Assignment,
  read: (tx: Tx) => Promise<T> = () => Promise.resolve() as Promise<T>,
): Promise<T> {
  const { tenantId, roleIds, isDefault } = assignment;
  return await transact(p.sql, async (tx) => {
    await lockLinks(tx, userId);
    const targets = await lockLinkTargets(tx, [assignment]);
    await lockExistingUser(tx, userId);
    requireTargets(targets, [assignment]);
    await requireMayAssignRoles(tx, acting, roleIds);
    const links = await tx<{ tenantId: string; isDefault: boolean; isActive: boolean }[]>`
      select l.tenant_id, l.is_default, l.is_active from user_tenants l
      join tenants t on t.id = l.tenant_id and t.deleted_at is null where l.user_id = ${userId}`;
    const takesDefault = isDefault && links.some((l) => l.isDefault && l.isActive && l.tenantId !== tenantId);
    if (takesDefault && acting && !holds(acting, "manage:all-users")) {
      throw problem(
        "CROSS_TENANT_FORBIDDEN",
        "Another tenant is the user's default; changing the default needs manage:all-users or admin:system.",
      );
    }
    if (links.some((l) => l.tenantId === tenantId)) {
      throw problem(
        "USER_ALREADY_ASSIGNED",
        `User ${userId} is already linked to tenant ${tenantId}; nothing was changed.`,
      );
    }
    if (assignment.isActive) requireCapacity(targets, [tenantId]);
    await insertLinks(tx, userId, [assignment]);
    await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
    await userAccessChanged(p, tx, userId, [tenantId]);
    await recordAudit(tx, acting, "user.link", userId, { tenantId, after: assignment });
    await emitLinksChanged(p, tx, userId, { before: [], after: [assignment] });
    return await read(tx);
  });
}

/** Inserts links the user does not have yet. The caller has locked and checked tenants and roles. */
export async function insertLinks(tx: Tx, userId: string, links: Assignment[]): Promise<void> {
  if (links.length === 0) return;
  if (links.some((l) => l.isDefault)) {
    await tx`update user_tenants set is_default = false where user_id = ${userId} and is_default`;
  }
  const rows = links.map((l) => ({
    user_id: userId,
    tenant_id: l.tenantId,
    is_active: l.isActive,
    is_default: l.isDefault,
    external_id: l.externalId ?? null,
  }));
  await tx`insert into user_tenants ${tx(rows)}`;
  await insertLinkRoles(tx, userId, links);
}

/** Assigns roles on existing links of the user. The caller has locked and checked tenants and roles. */
async function insertLinkRoles(
  tx: Tx,
  userId: string,
  links: Pick<Assignment, "tenantId" | "roleIds">[],
): Promise<void> {
  const pairs = links.flatMap((l) => l.roleIds.map((roleId) => ({ tenantId: l.tenantId, roleId })));
  if (pairs.length === 0) return;
  await tx`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${userId}, tenant_id, role_id from unnest(${pairs.map((x) => x.tenantId)}::uuid[],
      ${pairs.map((x) => x.roleId)}::uuid[]) as pair (tenant_id, role_id)
    on conflict do nothing`;
}

/** Reads the ids of the roles that a user holds in a tenant. */
export async function readHeldRoles(tx: Tx, userId: string, tenantId: string): Promise<string[]> {
  const rows = await tx<{ roleId: string }[]>`
    select role_id from user_tenant_roles where user_id = ${userId} and tenant_id = ${tenantId} order by role_id`;
  return rows.map(({ roleId }) => roleId);
}

/**
 * Gives a locked user roles of a tenant and takes others, and invalidates the user's tokens.
 * @param o.held ids of the roles before
 */
export async function changeHeldRoles(
  p: UserPlatform,
  tx: Tx,
  actor: Actor,
  o: { userId: string; tenantId: string; held: string[]; given: string[]; taken: string[] },
): Promise<void> {
  const { userId, tenantId, held, given, taken } = o;
  await tx`delete from user_tenant_roles
    where user_id = ${userId} and tenant_id = ${tenantId} and role_id = any(${taken}::uuid[])`;
  await insertLinkRoles(tx, userId, [{ tenantId, roleIds: given }]);
  await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
  await userAccessChanged(p, tx, userId, [tenantId]);
  const after = [...held.filter((id) => !taken.includes(id)), ...given].sort();
  await recordAudit(tx, actor, "user.set-roles", userId, {
    before: { roleIds: held },
    after: { roleIds: after },
  });
}

/**
 * Replaces the user's links with `wanted`, except those to deleted tenants, which no answer shows. The caller has locked the
 * targets, then the user. Links that stay keep their creation date. The default changes only if a wanted link takes it or
 * its link is removed. Roles that the user already holds on an active link need no permissions of the acting caller.
 * @returns `changed`: any link changed; `rightsChanged`: a change affects the user's rights; `before`: the former links
 */
export async function replaceLinks(
  tx: Tx,
  acting: Acting,
  userId: string,
  wanted: Assignment[],
  targets: LinkTargets,
): Promise<{ changed: boolean; rightsChanged: boolean; before: Assignment[] }> {
  requireTargets(targets, wanted);
  const before = await tx<Assignment[]>`
    select l.tenant_id, l.is_active, l.is_default, l.external_id,
      array(select r.role_id from user_tenant_roles r
        where r.user_id = l.user_id and r.tenant_id = l.tenant_id order by r.role_id) as role_ids
    from user_tenants l join tenants t on t.id = l.tenant_id and t.deleted_at is null
    where l.user_id = ${userId} order by l.created_at, l.tenant_id`;
  const existing = new Map(before.map((link) => [link.tenantId, link]));
  const newRoleIds = wanted.flatMap((link) => {
    const now = existing.get(link.tenantId);
    const held = now && (now.isActive || !link.isActive) ? now.roleIds : [];
    return link.roleIds.filter((roleId) => !held.includes(roleId));
  });
  await requireMayAssignRoles(tx, acting, newRoleIds);
  requireCapacity(
    targets,
    wanted.filter((l) => l.isActive && !existing.get(l.tenantId)?.isActive).map((l) => l.tenantId),
  );

  const kept = wanted.filter((link) => existing.has(link.tenantId));
  const added = wanted.filter((link) => !existing.has(link.tenantId));
  const removed = before.filter((link) => !wanted.some((l) => l.tenantId === link.tenantId));
  const toggled = kept.filter((link) => existing.get(link.tenantId)?.isActive !== link.isActive);
  const revoked = kept.flatMap((link) =>
    (existing.get(link.tenantId)?.roleIds ?? []).filter((id) => !link.roleIds.includes(id))
  );
  const granted = kept.some((link) =>
    link.roleIds.some((id) => !existing.get(link.tenantId)?.roleIds.includes(id))
  );
  const movesDefault = wanted.some((link) => link.isDefault && !existing.get(link.tenantId)?.isDefault);
  const rightsChanged = added.length + removed.length + toggled.length + revoked.length > 0 || granted ||
    movesDefault;
  const renamed = kept.filter(({ tenantId, externalId }) =>
    externalId !== undefined && externalId !== existing.get(tenantId)?.externalId
  );
  for (const { tenantId, externalId } of renamed) {
    await setExternalId(tx, userId, tenantId, externalId ?? null);
  }
  const changed = rightsChanged || renamed.length > 0;
  if (!rightsChanged) return { changed, rightsChanged, before };

  await tx`delete from user_tenants
    where user_id = ${userId} and tenant_id = any(${removed.map((l) => l.tenantId)}::uuid[])`;
  await tx`update user_tenants set is_active = not is_active
    where user_id = ${userId} and tenant_id = any(${toggled.map((l) => l.tenantId)}::uuid[])`;
  await tx`delete from user_tenant_roles where user_id = ${userId} and role_id = any(${revoked}::uuid[])`;
  await insertLinkRoles(tx, userId, kept);
  const keptDefault = kept.find((link) => link.isDefault);
  if (keptDefault && movesDefault) {
    await tx`update user_tenants set is_default = false where user_id = ${userId} and is_default`;
    await tx`update user_tenants set is_default = true
      where user_id = ${userId} and tenant_id = ${keptDefault.tenantId}`;
  }
  await insertLinks(tx, userId, added);
  return { changed, rightsChanged, before };
}

/** Changes the user's id in another system for one tenant; null removes it. Throws USER_EXTERNAL_ID_CONFLICT. */
export async function setExternalId(
  tx: Tx,
  userId: string,
  tenantId: string,
  externalId: string | null,
): Promise<void> {
  await tx`update user_tenants set external_id = ${externalId}
    where user_id = ${userId} and tenant_id = ${tenantId}`;
}

/**
 * Activates or deactivates a user's link to the caller's tenant, which ends the user's sessions. Other tenants stay
 * unchanged. An active link gives its roles, so activating it needs their permissions.
 * @param link the present link; its tenant, its roles and the user are locked
 * @throws MISSING_PERMISSION, USER_SELF_CONFLICT, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, TENANT_CAPACITY_REACHED,
 * LAST_SYSTEM_ADMIN_CONFLICT, LAST_TENANT_ADMIN_CONFLICT
 */
export async function setLinkActive(
  p: UserPlatform,
  tx: Tx,
  caller: TenantCaller,
  link: { userId: string; roleIds: string[]; targets: LinkTargets },
  isActive: boolean,
): Promise<void> {
  const { tenantId } = caller;
  const { userId, roleIds, targets } = link;
  await requireTheirReach(tx, caller, userId, tenantId);
  if (isActive) {
    requireCapacity(targets, [tenantId]);
    await requireMayAssignRoles(tx, caller, roleIds);
  } else requireNotSelf(caller, userId, "deactivate");
  await keepSystemAdmin(tx, userId, () =>
    keepTenantAdmin(tx, tenantId, [userId], async () => {
      await tx`update user_tenants set is_active = ${isActive}
        where user_id = ${userId} and tenant_id = ${tenantId}`;
      await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
      await userAccessChanged(p, tx, userId, [tenantId]);
    }));
  await recordAudit(tx, caller, isActive ? "user.link.activate" : "user.link.deactivate", userId, {
    before: { isActive: !isActive },
    after: { isActive },
  });
}
