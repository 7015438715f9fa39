import type { Queryable } from "../../infra/postgres/postgres.ts";
import { type Caller, isSystemAdmin } from "../access/caller.ts";

/** Whose jobs a caller sees and acts on: one tenant's, or (for admin:system) everyone's and the service's own. */
export type JobReach = { everything: true } | { everything: false; tenantId: string };

/** @param onlyTenantId narrows the reach of a holder of admin:system; others have their own tenant anyway. */
export function jobReach(caller: Caller, onlyTenantId?: string): JobReach {
  if (!isSystemAdmin(caller)) return { everything: false, tenantId: caller.tenantId ?? "" };
  return onlyTenantId ? { everything: false, tenantId: onlyTenantId } : { everything: true };
}

/** The condition `tenant_id` must meet, as a fragment of SQL. */
export const within = (q: Queryable, reach: JobReach, column = "tenant_id") =>
  reach.everything ? q`true` : q`${q(column)} = ${reach.tenantId}::uuid`;

const EVERYTHING = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The reach as the counters spell it. */
export const countScope = (reach: JobReach): string => reach.everything ? EVERYTHING : reach.tenantId;
