import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { problem } from "../problems/problem.ts";
import { type Caller, holds } from "./caller.ts";
import { type Acting, requireMayGiveRoles } from "./escalation.ts";
import {
  type Assignment,
  lockLinks,
  lockLinkTargets,
  requireCapacity,
  requireTargets,
} from "./link_targets.ts";
import { userNotFound } from "./user_details.ts";
import { tellLinksChanged } from "./user_events.ts";
import { lockUser, type UserPlatform, userRightsChanged } from "./user_lock.ts";

/**
 * Lets a caller bring existing users into a tenant: with create:users in its context, or with reach across tenants.
 * Whoever has neither is told the same of a tenant that does not exist.
 * @throws FORBIDDEN, MISSING_PERMISSION, CROSS_TENANT_FORBIDDEN
 */
export function requireMayAddUsers(caller: Caller, tenantId: string): void {
  if (holds(caller, "manage:all-users") || holds(caller, "manage:all-tenants")) return;
  if (caller.tenantId === null) {
    throw problem("FORBIDDEN", "The route acts in a tenant, and the token is a global one.");
  }
  if (!holds(caller, "create:users")) {
    throw problem("MISSING_PERMISSION", "The route needs create:users, which the caller does not hold.");
  }
  if (caller.tenantId !== tenantId) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      `The caller acts in ${caller.tenantId}; adding users to ${tenantId} needs reach across tenants.`,
    );
  }
}

/**
 * Links a user to one more tenant without touching their other links, and ends the user's tokens. The checks run in
 * the order that README.md documents; a refusal writes nothing.
 * @param read what is answered, as the link leaves it: afterwards someone else may have changed it again.
 * @throws USER_NOT_FOUND, TENANT_NOT_FOUND, ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED,
 * CROSS_TENANT_FORBIDDEN (taking the default from another tenant without reach), USER_ALREADY_ASSIGNED,
 * TENANT_CAPACITY_REACHED
 */
export async function linkUserToTenant<T>(
  p: UserPlatform,
  acting: Acting,
  userId: string,
  assignment: Assignment,
  read: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { tenantId, roleIds, isDefault } = assignment;
  return await transact(p.sql, async (tx) => {
    await lockLinks(tx, userId);
    const targets = await lockLinkTargets(tx, [assignment]);
    const user = await lockUser(tx, userId);
    if (!user) throw userNotFound(userId);
    requireTargets(targets, [assignment]);
    await requireMayGiveRoles(tx, acting, roleIds);
    const links = await tx<{ tenantId: string; isDefault: boolean; isActive: boolean }[]>`
      select l.tenant_id, l.is_default, l.is_active from user_tenants l
      join tenants t on t.id = l.tenant_id and t.deleted_at is null where l.user_id = ${userId}`;
    const takesDefault = isDefault && links.some((l) => l.isDefault && l.isActive && l.tenantId !== tenantId);
    if (takesDefault && acting && !holds(acting, "manage:all-users")) {
      throw problem(
        "CROSS_TENANT_FORBIDDEN",
        "The user's default is another tenant; moving it needs manage:all-users or admin:system.",
      );
    }
    if (links.some((l) => l.tenantId === tenantId)) {
      throw problem(
        "USER_ALREADY_ASSIGNED",
        `User ${userId} is linked to tenant ${tenantId} already; nothing was changed.`,
      );
    }
    if (assignment.isActive) requireCapacity(targets, [tenantId]);
    await insertLinks(tx, userId, [assignment]);
    await tx`update users set version = version + 1, updated_at = now() where id = ${userId}`;
    await userRightsChanged(p, tx, userId);
    await recordAudit(tx, acting && { ...acting, tenantId }, {
      action: "user.link",
      targetType: "user",
      targetId: userId,
      after: assignment,
    });
    await tellLinksChanged(p, tx, userId, { before: [], after: [assignment] });
    return await read(tx);
  });
}

/** Writes links the user does not have yet. Everything they point at is locked and checked. */
export async function insertLinks(tx: Tx, userId: string, links: Assignment[]): Promise<void> {
  if (links.length === 0) return;
  if (links.some((l) => l.isDefault)) {
    await tx`update user_tenants set is_default = false where user_id = ${userId} and is_default`;
  }
  await tx`insert into user_tenants ${
    tx(links.map((l) => ({
      user_id: userId,
      tenant_id: l.tenantId,
      is_active: l.isActive,
      is_default: l.isDefault,
    })))
  }`;
  await insertLinkRoles(tx, userId, links);
}

/** Gives roles on links the user has. Everything they point at is locked and checked. */
export async function insertLinkRoles(
  tx: Tx,
  userId: string,
  links: Pick<Assignment, "tenantId" | "roleIds">[],
): Promise<void> {
  const pairs = links.flatMap((l) => l.roleIds.map((roleId) => ({ tenantId: l.tenantId, roleId })));
  if (pairs.length === 0) return;
  await tx`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${userId}, tenant_id, role_id from unnest(${pairs.map((x) => x.tenantId)}::uuid[], ${
    pairs.map((x) => x.roleId)
  }::uuid[]) as pair (tenant_id, role_id)
    on conflict do nothing`;
}

/**
 * Makes the user's links exactly `wanted` (the user row is locked by the caller of this function, after the targets).
 * Links that stay keep their date, and the default stays where it is unless a link takes it or its link goes.
 * Roles the user holds on an active link already are not given anew, so they need no rights of the acting caller.
 * @returns whether anything was changed, and the links before.
 */
export async function replaceLinks(
  tx: Tx,
  acting: Acting,
  userId: string,
  wanted: Assignment[],
  targets: Awaited<ReturnType<typeof lockLinkTargets>>,
): Promise<{ changed: boolean; before: Assignment[] }> {
  requireTargets(targets, wanted);
  const before = await tx<Assignment[]>`
    select l.tenant_id, l.is_active, l.is_default,
      array(select r.role_id from user_tenant_roles r
        where r.user_id = l.user_id and r.tenant_id = l.tenant_id order by r.role_id) as role_ids
    from user_tenants l where l.user_id = ${userId} order by l.created_at, l.tenant_id`;
  const existing = new Map(before.map((link) => [link.tenantId, link]));
  const given = wanted.flatMap((link) => {
    const now = existing.get(link.tenantId);
    const held = now && (now.isActive || !link.isActive) ? now.roleIds : [];
    return link.roleIds.filter((roleId) => !held.includes(roleId));
  });
  await requireMayGiveRoles(tx, acting, given);
  requireCapacity(
    targets,
    wanted.filter((l) => l.isActive && !existing.get(l.tenantId)?.isActive).map((l) => l.tenantId),
  );

  const kept = wanted.filter((link) => existing.has(link.tenantId));
  const added = wanted.filter((link) => !existing.has(link.tenantId));
  const gone = before.filter((link) => !wanted.some((l) => l.tenantId === link.tenantId));
  const altered = kept.filter((link) => existing.get(link.tenantId)?.isActive !== link.isActive);
  const dropped = kept.flatMap((link) =>
    (existing.get(link.tenantId)?.roleIds ?? []).filter((id) => !link.roleIds.includes(id))
  );
  const granted = kept.some((link) =>
    link.roleIds.some((id) => !existing.get(link.tenantId)?.roleIds.includes(id))
  );
  const movesDefault = wanted.some((link) => link.isDefault && !existing.get(link.tenantId)?.isDefault);
  const changed = added.length + gone.length + altered.length + dropped.length > 0 || granted || movesDefault;
  if (!changed) return { changed, before };

  await tx`delete from user_tenants where user_id = ${userId} and tenant_id = any(${
    gone.map((l) => l.tenantId)
  }::uuid[])`;
  await tx`update user_tenants set is_active = not is_active
    where user_id = ${userId} and tenant_id = any(${altered.map((l) => l.tenantId)}::uuid[])`;
  await tx`delete from user_tenant_roles where user_id = ${userId} and role_id = any(${dropped}::uuid[])`;
  await insertLinkRoles(tx, userId, kept);
  const keptDefault = kept.find((link) => link.isDefault);
  if (keptDefault && movesDefault) {
    await tx`update user_tenants set is_default = false where user_id = ${userId} and is_default`;
    await tx`update user_tenants set is_default = true
      where user_id = ${userId} and tenant_id = ${keptDefault.tenantId}`;
  }
  await insertLinks(tx, userId, added);
  return { changed, before };
}
