import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Caller, isSystemAdmin } from "../../rights/caller.ts";

/**
 * The owner of a permission or an OAuth client that the caller creates: the tenant of the request. For a system
 * administrator in the platform tenant or without a tenant it is null: the catalog, or the platform.
 */
export async function ownerFor(q: Sql, caller: Caller): Promise<string | null> {
  const { tenantId } = caller;
  if (tenantId === null || !isSystemAdmin(caller)) return tenantId;
  const [tenant] = await q<{ type: string }[]>`select type from tenants where id = ${tenantId}`;
  return tenant?.type === "Platform" ? null : tenantId;
}
