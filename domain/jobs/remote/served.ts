import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../rights/caller.ts";
import { REMOTE_MARK } from "../job_row.ts";

/** With more combinations of types and tenants than this, the lanes of all tenants are searched. */
const MAX_PREFIXES = 500;

/**
 * The tenants whose jobs a caller works on: these, all except these, or all and the service's own jobs (tenant null).
 */
export type Served = { tenantIds: readonly string[] } | { except: readonly string[] } | { everything: true };

/**
 * The tenants whose jobs the caller works on: its tenant, the active tenants of a service account, or (platform)
 * everything.
 */
export async function tenantsServed(q: Sql, { tenantId, serviceAccount }: Caller): Promise<Served> {
  if (tenantId !== null) return { tenantIds: [tenantId] };
  if (!serviceAccount) return { everything: true };
  const { tenantIds } = serviceAccount;
  const condition = tenantIds === null
    ? q`type = 'Platform' or not is_active or deleted_at is not null`
    : q`id = any(${[...tenantIds]}::uuid[]) and is_active and deleted_at is null`;
  const rows = await q<{ id: string }[]>`select id from tenants where ${condition}`;
  const ids = rows.map(({ id }) => id);
  return tenantIds === null ? { except: ids } : { tenantIds: ids };
}

/** SQL condition on `j.tenant_id`: the caller works on jobs of this tenant. */
export function servedBy(q: Sql, served: Served) {
  if ("tenantIds" in served) return q`j.tenant_id = any(${[...served.tenantIds]}::uuid[])`;
  return "except" in served ? q`j.tenant_id <> all(${[...served.except]}::uuid[])` : q`true`;
}

/** True if the caller works on jobs of this tenant; with null, on jobs of the service itself. */
export function serves(served: Served, tenantId: string | null): boolean {
  if ("everything" in served) return true;
  if (tenantId === null) return false;
  return "except" in served ? !served.except.includes(tenantId) : served.tenantIds.includes(tenantId);
}

/** First characters of the names of the lanes with jobs of these types and tenants. */
export function lanePrefixes(types: readonly string[], served: Served): string[] {
  const tenantIds = "tenantIds" in served ? served.tenantIds : null;
  const ofType = types.map((type) => `${REMOTE_MARK}${type}|`);
  if (tenantIds === null || types.length * tenantIds.length > MAX_PREFIXES) return ofType;
  return ofType.flatMap((prefix) => tenantIds.map((tenantId) => `${prefix}${tenantId}|`));
}
