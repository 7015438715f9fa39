import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, type TenantCaller } from "../../rights/caller.ts";

/** The tenants a caller may act on with one permission. */
export interface TenantReach {
  everywhere: boolean;
  /** The caller's own tenant; null if the permission does not include it. */
  own: string | null;
  /** The group whose children are included; null if none are. */
  childrenOf: string | null;
}

/** Reach over all tenants, as on the administration routes. */
export const EVERYWHERE: TenantReach = { everywhere: true, own: null, childrenOf: null };

/** The permissions that let a group tenant read its child tenants. */
const READS_CHILDREN = { list: "read:group-tenants", summary: "read:group-analytics" } as const;
export const CHANGES_CHILDREN = "manage:child-tenants";

/**
 * Returns the tenants that the caller may read: their own with read:tenants; in a group tenant, the group and its children
 * with read:group-tenants (lists) or read:group-analytics (summaries); all with manage:all-tenants.
 * @throws MISSING_PERMISSION
 */
export async function reachForReading(
  q: Sql,
  caller: TenantCaller,
  what: keyof typeof READS_CHILDREN = "list",
): Promise<TenantReach> {
  const reach = await readReach(q, caller, "read:tenants", READS_CHILDREN[what]);
  return reach.childrenOf === null ? reach : { ...reach, own: caller.tenantId };
}

/**
 * Returns the tenants that the caller may change: their own with `permission`; in a group tenant, its children with
 * manage:child-tenants; all with `permission` and manage:all-tenants.
 * @throws MISSING_PERMISSION
 */
export async function reachForChanging(
  q: Sql,
  caller: TenantCaller,
  permission: string,
): Promise<TenantReach> {
  return await readReach(q, caller, permission, CHANGES_CHILDREN);
}

async function readReach(
  q: Sql,
  caller: TenantCaller,
  onOwn: string,
  onChildren: string,
): Promise<TenantReach> {
  const reachesOwn = holds(caller, onOwn);
  if (reachesOwn && hasPlatformReach(caller)) return EVERYWHERE;
  const reachesChildren = holds(caller, onChildren) && await isGroup(q, caller.tenantId);
  if (!reachesOwn && !reachesChildren) {
    throw problem(
      "MISSING_PERMISSION",
      `The route needs ${onOwn}, or ${onChildren} in a group tenant; the caller holds neither.`,
    );
  }
  return {
    everywhere: false,
    own: reachesOwn ? caller.tenantId : null,
    childrenOf: reachesChildren ? caller.tenantId : null,
  };
}

const hasPlatformReach = (caller: Caller): boolean => holds(caller, "manage:all-tenants");

async function isGroup(q: Sql, tenantId: string): Promise<boolean> {
  const [tenant] = await q<{ type: string }[]>`select type from tenants where id = ${tenantId}`;
  return tenant?.type === "Group";
}

/** SQL condition: `tenants t` is within reach. */
export function withinReach(q: Sql, { everywhere, own, childrenOf }: TenantReach) {
  return everywhere ? q`true` : q`(t.id = ${own} or t.parent_tenant_id = ${childrenOf})`;
}

/**
 * Checks that a tenant is within reach.
 * @throws CROSS_TENANT_FORBIDDEN; MISSING_PERMISSION for the caller's own group, if only its children are within reach
 */
export function requireWithinReach(
  reach: TenantReach,
  tenant: { id: string; parentTenantId: string | null },
): void {
  const { everywhere, own, childrenOf } = reach;
  if (everywhere || tenant.id === own) return;
  if (childrenOf !== null && tenant.parentTenantId === childrenOf) return;
  if (tenant.id === childrenOf) {
    throw problem(
      "MISSING_PERMISSION",
      "The caller's permission is for the children of the group; the route needs another one for the group itself.",
    );
  }
  throw problem(
    "CROSS_TENANT_FORBIDDEN",
    `The caller may not act on tenant ${tenant.id}, only on their own tenant and, in a group, its children.`,
  );
}
