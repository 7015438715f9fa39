import { z } from "zod";
import { PAIRED_LOCKS } from "../../../infra/postgres/advisory_locks.ts";
import type { Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { noAccess } from "../../rights/authenticate.ts";
import { requiredText, uuid, withDefault } from "../../shared/shapes.ts";
import type { Tenant } from "../tenants/tenants.ts";
import { EXTERNAL_ID } from "./user_details.ts";

const NIL = "00000000-0000-0000-0000-000000000000";
/** A UUID that identifies something: the nil UUID is refused. */
export const namedId = uuid.refine((id) => id !== NIL, { error: "must not be empty" });

const uniqueIds = z.array(namedId).transform((ids) => [...new Set(ids)]);
const atMost50 = { error: "expected at most 50 different ids" };

/** Roles of a link, optional. */
const roleIds = withDefault(uniqueIds, []).pipe(z.array(z.string()).max(50, atMost50));

/** Roles of a link, which may be none. */
export const anyRoleIds = uniqueIds.pipe(z.array(z.string()).max(50, atMost50));

/** Roles of a link, at least one. */
export const requiredRoleIds = uniqueIds.pipe(
  z.array(z.string()).min(1, { error: "expected at least one id" }).max(50, atMost50),
);

export const isDefault = withDefault(z.boolean(), false).describe(
  "true makes this the user's default tenant; false changes nothing",
);

export const externalId = requiredText(200).nullish().describe(EXTERNAL_ID);

/** A requested link: a tenant, and the user's roles in it. An absent external id of an existing link stays. */
const Assignment = z.object({
  tenantId: namedId,
  roleIds,
  isDefault,
  isActive: withDefault(z.boolean(), true),
  externalId,
}).meta({ id: "TenantAssignment" });
export type Assignment = z.output<typeof Assignment>;
export const assignments = z.array(Assignment).max(1_000).superRefine((links, context) => {
  const repeated = links.find((link, at) => links.findIndex((l) => l.tenantId === link.tenantId) !== at);
  if (repeated) context.addIssue(`tenant ${repeated.tenantId} is named more than once`);
  if (links.filter((link) => link.isDefault).length > 1) {
    context.addIssue("at most one link can be the default");
  }
});

export type LockedTenant = Pick<Tenant, "id" | "name" | "isActive" | "maxUsers" | "userCount">;

/** The tenants and roles that links refer to, locked until the transaction ends. */
export interface LinkTargets {
  tenants: Map<string, LockedTenant>;
  /** The roles that exist, as `roleKey`. */
  roles: Set<string>;
}

const roleKey = (tenantId: string, roleId: string) => `${tenantId} ${roleId}`;

/**
 * Serializes writers of one user's links and returns the tenants of the current links. Take this lock first, so that
 * these tenants can be locked before the user. Finding a tenant after locking the user would break the lock order.
 */
export async function lockLinks(tx: Tx, userId: string): Promise<string[]> {
  await tx`select pg_advisory_xact_lock(${PAIRED_LOCKS.linksOfUser}, hashtext(${userId}))`;
  const rows = await tx<{ tenantId: string }[]>`select tenant_id from user_tenants where user_id = ${userId}`;
  return rows.map((row) => row.tenantId);
}

/**
 * Locks the tenants and roles that new links refer to. All writers of links use the same lock order to avoid deadlocks:
 * `lockLinks`, tenants by id (which fixes their user counts), roles by id, then the user. The lock on a role makes a
 * change of its permissions wait for the new link. Otherwise that change would miss the new holder and not end their
 * sessions.
 * @param alsoTenantIds tenants to lock too, because links to them may be removed.
 */
export async function lockLinkTargets(
  tx: Tx,
  assignments: Pick<Assignment, "tenantId" | "roleIds">[],
  alsoTenantIds: string[] = [],
): Promise<LinkTargets> {
  const tenantIds = [...new Set([...assignments.map((a) => a.tenantId), ...alsoTenantIds])];
  const tenants = await tx<(LockedTenant & { isDeleted: boolean })[]>`
    select id, name, is_active, max_users, user_count, deleted_at is not null as is_deleted from tenants
    where id = any(${tenantIds}::uuid[]) order by id for no key update`;
  const roleIds = [...new Set(assignments.flatMap((a) => a.roleIds))];
  const roles = roleIds.length === 0 ? [] : await tx<{ id: string; tenantId: string }[]>`
    select id, tenant_id from roles where id = any(${roleIds}::uuid[]) and deleted_at is null order by id for share`;
  return {
    tenants: new Map(tenants.filter((t) => !t.isDeleted).map((t) => [t.id, t])),
    roles: new Set(roles.map((r) => roleKey(r.tenantId, r.id))),
  };
}

/**
 * Checks that the tenants exist, then that the roles exist in the tenant of their link.
 * @throws TENANT_NOT_FOUND, ROLE_NOT_FOUND
 */
export function requireTargets(
  targets: LinkTargets,
  assignments: Pick<Assignment, "tenantId" | "roleIds">[],
): void {
  for (const { tenantId } of assignments) {
    if (!targets.tenants.has(tenantId)) {
      throw problem(
        "TENANT_NOT_FOUND",
        `The user cannot be linked to tenant ${tenantId}: no such tenant exists.`,
      );
    }
  }
  for (const { tenantId, roleIds } of assignments) {
    const missing = roleIds.find((roleId) => !targets.roles.has(roleKey(tenantId, roleId)));
    if (missing) throw roleNotOfTenant(targets.tenants.get(tenantId)?.name ?? "", tenantId, missing);
  }
}

/**
 * Checks the targets of a link to the tenant in which the caller acts. Without that tenant, which was deleted during the
 * request, the caller has no access.
 * @throws TENANT_FORBIDDEN, ROLE_NOT_FOUND
 */
export function requireOwnTargets(
  targets: LinkTargets,
  link: Pick<Assignment, "tenantId" | "roleIds">,
): void {
  if (!targets.tenants.has(link.tenantId)) throw noAccess(link.tenantId);
  requireTargets(targets, [link]);
}

/** The error for a missing role and for a role of another tenant, so that callers cannot tell them apart. */
const roleNotOfTenant = (tenantName: string, tenantId: string, roleId: string) =>
  problem(
    "ROLE_NOT_FOUND",
    `Tenant "${tenantName}" (${tenantId}) has no role ${roleId}. A role belongs to one tenant (see its tenantId and ` +
      "tenantName). GET /api/v1/roles lists the roles of the tenant that the request acts in.",
  );

/** Checks that each of these tenants can take one more active user. Throws TENANT_CAPACITY_REACHED. */
export function requireCapacity(targets: LinkTargets, tenantIds: string[]): void {
  for (const id of tenantIds) {
    const tenant = targets.tenants.get(id);
    if (!tenant || tenant.maxUsers === null || tenant.userCount < tenant.maxUsers) continue;
    throw problem(
      "TENANT_CAPACITY_REACHED",
      `Tenant ${tenant.name} cannot take another user: it has ${tenant.userCount} active users; maxUsers is ${tenant.maxUsers}.`,
    );
  }
}
