import type { Sql } from "../../../infra/postgres/postgres.ts";

/** The events that a poll asks for. */
export interface EventScope {
  /** `all`: all tenants except the platform's, also those that are not active. */
  tenants: readonly string[] | "all";
  /** Null: all types. */
  types: readonly string[] | null;
}

/** True if the scope names one of these tenants; with null, if it names any tenants. */
export const asksFor = ({ tenants }: EventScope, tenantIds: string[] | null): boolean =>
  tenants !== "all" && (tenantIds?.some((id) => tenants.includes(id)) ?? true);

/** SQL condition on the tenant of the events `e`. */
export const ofTenants = (q: Sql, { tenants }: EventScope) =>
  tenants === "all"
    ? q`e.tenant_id <> (select id from tenants where type = 'Platform')`
    : q`e.tenant_id = any(${[...tenants]}::uuid[])`;

/** True if the event is in the scope. */
export const covers = (
  { tenants, types }: EventScope,
  event: { tenantId: string; type: string; isOfPlatform: boolean },
): boolean =>
  (tenants === "all" ? !event.isOfPlatform : tenants.includes(event.tenantId)) &&
  (types === null || types.includes(event.type));
