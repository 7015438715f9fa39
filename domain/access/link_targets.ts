import type { Tx } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";

/** One link as a caller wants it: a tenant with roles in it. */
export interface Assignment {
  tenantId: string;
  roleIds: string[];
  /** True makes it the user's default; false leaves the current default alone. */
  isDefault: boolean;
  /** False: a deactivated link. */
  isActive: boolean;
}

export interface LockedTenant {
  id: string;
  name: string;
  maxUsers: number | null;
  userCount: number;
}

/** What links point at, locked until the transaction ends. */
export interface LinkTargets {
  tenants: Map<string, LockedTenant>;
  /** Ids of roles that exist, by `roleKey`. */
  roles: Set<string>;
}

const roleKey = (tenantId: string, roleId: string) => `${tenantId} ${roleId}`;

/** First key of the advisory locks on users' links; the second is taken from the user's id. */
const LINKS_OF_USER = 731_502;

/**
 * Makes writers of one user's links take turns, and tells which tenants the links name then. Taken first of all, so
 * that these tenants can be locked before the user: a writer who finds out about one later would lock out of order.
 */
export async function lockLinks(tx: Tx, userId: string): Promise<string[]> {
  await tx`select pg_advisory_xact_lock(${LINKS_OF_USER}, hashtext(${userId}))`;
  const rows = await tx<{ tenantId: string }[]>`select tenant_id from user_tenants where user_id = ${userId}`;
  return rows.map((row) => row.tenantId);
}

/**
 * Locks what links are about to point at, in the order every writer of links keeps to: after `lockLinks`, tenants by
 * id (their capacity stays as it is seen here), roles by id, then the user. A role that is being changed is waited
 * for, and its next change waits for the link: else that change would not find the new holder, whose sessions it ends.
 * @param besides tenants whose links may go.
 */
export async function lockLinkTargets(
  tx: Tx,
  assignments: Pick<Assignment, "tenantId" | "roleIds">[],
  besides: string[] = [],
): Promise<LinkTargets> {
  const tenantIds = [...new Set([...assignments.map((a) => a.tenantId), ...besides])];
  const tenants = await tx<(LockedTenant & { isDeleted: boolean })[]>`
    select id, name, max_users, user_count, deleted_at is not null as is_deleted from tenants
    where id = any(${tenantIds}::uuid[]) order by id for no key update`;
  const roleIds = [...new Set(assignments.flatMap((a) => a.roleIds))];
  const roles = roleIds.length === 0 ? [] : await tx<{ id: string; tenantId: string }[]>`
    select id, tenant_id from roles where id = any(${roleIds}::uuid[]) and deleted_at is null order by id for share`;
  return {
    tenants: new Map(tenants.filter((t) => !t.isDeleted).map((t) => [t.id, t])),
    roles: new Set(roles.map((r) => roleKey(r.tenantId, r.id))),
  };
}

/** Refuses links to tenants that do not exist, then roles that do not exist in their link's tenant. */
export function requireTargets(
  targets: LinkTargets,
  assignments: Pick<Assignment, "tenantId" | "roleIds">[],
): void {
  for (const { tenantId } of assignments) {
    if (!targets.tenants.has(tenantId)) {
      throw problem("TENANT_NOT_FOUND", `No tenant ${tenantId} exists to link the user to.`);
    }
  }
  for (const { tenantId, roleIds } of assignments) {
    const missing = roleIds.find((roleId) => !targets.roles.has(roleKey(tenantId, roleId)));
    if (missing) throw roleNotOfTenant(targets.tenants.get(tenantId)?.name ?? "", tenantId, missing);
  }
}

/** One wording for a role that is missing and one of another tenant: the two look the same. */
const roleNotOfTenant = (tenantName: string, tenantId: string, roleId: string) =>
  problem(
    "ROLE_NOT_FOUND",
    `Tenant "${tenantName}" (${tenantId}) has no role ${roleId}. A role belongs to the tenant it was made in, which ` +
      "its tenantId and tenantName tell; GET /api/v1/roles lists those of the tenant a request acts in.",
  );

/** Refuses one more active user in any of these tenants that is full. */
export function requireCapacity(targets: LinkTargets, tenantIds: string[]): void {
  for (const id of tenantIds) {
    const tenant = targets.tenants.get(id);
    if (!tenant || tenant.maxUsers === null || tenant.userCount < tenant.maxUsers) continue;
    throw problem(
      "TENANT_CAPACITY_REACHED",
      `Tenant ${tenant.name} has ${tenant.userCount} active users; maxUsers is ${tenant.maxUsers}.`,
    );
  }
}
