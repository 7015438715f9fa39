import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Actor } from "../audit/audit.ts";
import type { Caller } from "../rights/caller.ts";

/** The actor of a request about jobs: a caller, or the operator at the command line, who has no user id. */
export type JobActor = Omit<Caller, "userId"> & { userId: string | null };

/** The operator: sees all jobs, and creates jobs of the given tenant or (null) of the service itself. */
export const operator = (tenantId: string | null = null): JobActor => ({
  userId: null,
  sessionId: "",
  proof: null,
  apiKeyId: null,
  serviceAccount: null,
  clientId: null,
  actedBy: null,
  boundTo: null,
  tokenTenantId: null,
  tenantId,
  permissions: new Set(["admin:system"]),
  traceId: "0".repeat(32),
  ip: null,
});

/** The actor of audit rows; null (the service itself) for the operator. */
export const auditActor = (actor: JobActor): Actor =>
  actor.userId === null ? null : { ...actor, userId: actor.userId };

/** The jobs that a caller may see and change: those of one tenant or, with admin:system, all tenants' and the service's own. */
export type JobReach = { everything: true } | { everything: false; tenantId: string };

/**
 * Returns the jobs that a caller may see and change.
 * @param onlyTenantId limits a caller with admin:system to one tenant; other callers always have their own tenant
 */
export function jobReach(caller: JobActor, onlyTenantId?: string): JobReach {
  if (!caller.permissions.has("admin:system")) return { everything: false, tenantId: caller.tenantId ?? "" };
  return onlyTenantId ? { everything: false, tenantId: onlyTenantId } : { everything: true };
}

/** SQL condition on the tenant column that limits rows to the reach. */
export const within = (q: Sql, reach: JobReach, column = "tenant_id") =>
  reach.everything ? q`true` : q`${q(column)} = ${reach.tenantId}::uuid`;

/** Scope of the counters for the service's own jobs, which have no tenant. */
export const SERVICE_SCOPE = "00000000-0000-0000-0000-000000000000";
/** Scope of the counters for all jobs. */
export const EVERYTHING = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The reach as a value of the counters' `scope` column. */
export const countScope = (reach: JobReach): string => reach.everything ? EVERYTHING : reach.tenantId;
