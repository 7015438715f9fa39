import type { Tx } from "../../../infra/postgres/postgres.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { type Caller, isSystemAdmin } from "../../rights/caller.ts";
import { tenantNotFound } from "../tenant_not_found.ts";
import { requireMayGrant, requirePermissions } from "./key_grants.ts";
import type { AccountTenants } from "./service_accounts.ts";

/** The permissions of a service account, and the tenants in which it has them. */
export interface AccountGrants {
  permissions: string[];
  tenants: AccountTenants;
}

/**
 * Checks that the caller may give these permissions in these tenants. Only the holder of admin:system may name other
 * tenants than their own. Permissions with platform reach need all tenants, or the platform tenant.
 * @throws CROSS_TENANT_FORBIDDEN, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, TENANT_NOT_FOUND, PERMISSION_NOT_FOUND,
 * VALIDATION_ERROR
 */
export async function requireGrants(tx: Tx, caller: Caller, grants: AccountGrants): Promise<void> {
  const { permissions, tenants } = grants;
  const isOwn = tenants !== "all" && tenants.every((id) => id === caller.tenantId);
  if (!isOwn && !isSystemAdmin(caller)) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      "The service account would act in other tenants than the caller's; that needs admin:system.",
    );
  }
  requireMayGrant(caller, permissions);
  const hasPlatform = tenants === "all" || await requireTenants(tx, tenants);
  const [onlyTenant = null] = tenants === "all" || tenants.length > 1 ? [] : tenants;
  const known = await requirePermissions(tx, onlyTenant, permissions);
  const acrossTenants = known.filter(({ reach }) => reach === "Platform").map(({ code }) => code);
  if (acrossTenants.length === 0 || hasPlatform) return;
  const codes = acrossTenants.join(", ");
  throw invalid({
    permissions: [`${codes}: such a permission reaches every tenant; expected tenants "all"`],
  });
}

/** Checks that the tenants exist. Returns whether the platform tenant is one of them. */
async function requireTenants(tx: Tx, tenantIds: string[]): Promise<boolean> {
  const found = await tx<{ id: string; type: string }[]>`
    select id, type from tenants where id = any(${tenantIds}::uuid[]) and deleted_at is null order by id for key share`;
  const missing = tenantIds.find((id) => !found.some((tenant) => tenant.id === id));
  if (missing !== undefined) throw tenantNotFound(missing);
  return found.some(({ type }) => type === "Platform");
}
