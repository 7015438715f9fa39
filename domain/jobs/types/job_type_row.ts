import type { Sql } from "../../../infra/postgres/postgres.ts";

/** At most `count` jobs per `perSeconds` seconds; with `key`, for each value at this path of the arguments. */
export interface RateLimit {
  count: number;
  perSeconds: number;
  key: string | null;
}

/** A declared job type, as callers see it. */
export interface DeclaredJobType {
  name: string;
  /** Null: declared for all tenants. */
  tenantId: string | null;
  description: string | null;
  argsSchema: Record<string, unknown> | null;
  timeoutSeconds: number;
  maxRetries: number;
  concurrency: number | null;
  rateLimit: RateLimit | null;
  secretArgs: string[];
  push: { url: string } | null;
  createdBy: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** A row of `job_types` without its signing secret. */
export interface JobTypeRow extends Omit<DeclaredJobType, "argsSchema" | "rateLimit" | "push"> {
  id: string;
  argsSchema: string | null;
  rateCount: number | null;
  ratePerSeconds: number | null;
  rateKey: string | null;
  maskedArgs: string[];
  searchableArgs: string[];
  pushUrl: string | null;
  version: number;
  deletedAt: Date | null;
}

export const JOB_TYPE_COLUMNS =
  `id, name, tenant_id, description, args_schema, timeout_seconds, max_retries, concurrency, rate_count,
  rate_per_seconds, rate_key, secret_args, masked_args, searchable_args, push_url, version, created_by, created_at, updated_at, deleted_at`;

export function declaredJobType(row: JobTypeRow): DeclaredJobType {
  const { name, tenantId, description, timeoutSeconds, maxRetries, concurrency, secretArgs } = row;
  const { createdBy, createdAt, updatedAt } = row;
  return {
    name,
    tenantId,
    description,
    argsSchema: row.argsSchema === null ? null : JSON.parse(row.argsSchema),
    timeoutSeconds,
    maxRetries,
    concurrency,
    rateLimit: row.rateCount === null || row.ratePerSeconds === null
      ? null
      : { count: row.rateCount, perSeconds: row.ratePerSeconds, key: row.rateKey },
    secretArgs,
    push: row.pushUrl === null ? null : { url: row.pushUrl },
    createdBy,
    createdAt,
    updatedAt,
  };
}

/** SQL condition: the type belongs to the tenant or, for null, to all tenants. */
export const ofTenant = (q: Sql, tenantId: string | null) =>
  tenantId === null ? q`tenant_id is null` : q`tenant_id = ${tenantId}::uuid`;

/** SQL condition: the tenant can use the type, because it is its own or one of all tenants. */
export const usableBy = (q: Sql, tenantId: string | null) =>
  tenantId === null ? q`tenant_id is null` : q`(tenant_id is null or tenant_id = ${tenantId}::uuid)`;
