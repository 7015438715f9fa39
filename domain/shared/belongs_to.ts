import type { Sql } from "../../infra/postgres/postgres.ts";

/** Stands for all tenants, and what belongs to none. */
export const EVERY_TENANT = "every tenant";

/** SQL condition: a row belongs to the tenant or, for null, to none. An index on the column can serve both. */
export const belongsTo = (q: Sql, tenantId: string | null, column = "tenant_id") =>
  tenantId === EVERY_TENANT
    ? q`true`
    : tenantId === null
    ? q`${q(column)} is null`
    : q`${q(column)} = ${tenantId}`;
