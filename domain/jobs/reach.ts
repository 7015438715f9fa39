import type { Queryable } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import type { Actor } from "../audit/audit.ts";

/** Who acts on jobs: a caller, or the operator at the command line, whom no user stands for. */
export type JobActor = Omit<Caller, "userId"> & { userId: string | null };

/** The operator: sees everything, makes the service's own jobs or those of the named tenant. */
export const operator = (tenantId: string | null = null): JobActor => ({
  userId: null,
  sessionId: "",
  apiKeyId: null,
  tokenTenantId: null,
  tenantId,
  permissions: new Set(["admin:system"]),
  traceId: "0".repeat(32),
  ip: null,
});

/** Who the audit names; the operator is the service itself. */
export const auditActor = (actor: JobActor): Actor =>
  actor.userId === null ? null : { ...actor, userId: actor.userId };

/** Whose jobs a caller sees and acts on: one tenant's, or (for admin:system) everyone's and the service's own. */
export type JobReach = { everything: true } | { everything: false; tenantId: string };

/** @param onlyTenantId narrows the reach of a holder of admin:system; others have their own tenant anyway. */
export function jobReach(caller: JobActor, onlyTenantId?: string): JobReach {
  if (!caller.permissions.has("admin:system")) return { everything: false, tenantId: caller.tenantId ?? "" };
  return onlyTenantId ? { everything: false, tenantId: onlyTenantId } : { everything: true };
}

/** The condition `tenant_id` must meet, as a fragment of SQL. */
export const within = (q: Queryable, reach: JobReach, column = "tenant_id") =>
  reach.everything ? q`true` : q`${q(column)} = ${reach.tenantId}::uuid`;

const EVERYTHING = "ffffffff-ffff-ffff-ffff-ffffffffffff";

/** The reach as the counters spell it. */
export const countScope = (reach: JobReach): string => reach.everything ? EVERYTHING : reach.tenantId;
