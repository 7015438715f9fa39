import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, isSystemAdmin } from "../../rights/caller.ts";
import { matches, orderBy, pageOf, type SortDirection } from "../../shared/list_order.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../../shared/paging.ts";
import { type Versioned, versioned } from "../../shared/versioned.ts";

/** The tenants of a service account: these, or all except the platform's, also future ones. */
export type AccountTenants = string[] | "all";

/** A stored service account, without its secret. */
export interface ServiceAccount {
  id: string;
  clientId: string;
  name: string;
  /** The first characters of the secret. */
  start: string;
  permissions: string[];
  tenants: AccountTenants;
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
  revokedAt: Date | null;
  revokedBy: string | null;
  lastUsedAt: Date | null;
  lastUsedIp: string | null;
}

/** SQL expression of each sort key. */
const SORTS = { createdAt: "created_at", name: "lower(name)", lastUsedAt: "last_used_at" } as const;
export const ACCOUNT_SORTS = Object.keys(SORTS) as [keyof typeof SORTS, ...(keyof typeof SORTS)[]];

export interface AccountListRequest extends PageRequest {
  sortBy?: keyof typeof SORTS | undefined;
  sortDirection: SortDirection;
  search?: string | undefined;
  /** Include revoked accounts. */
  includeDeleted: boolean;
}

const columns = (q: Sql) =>
  q`id, client_id, name, start, permissions, coalesce(to_jsonb(tenant_ids), '"all"') as tenants, created_by, created_at,
    updated_at, revoked_at, revoked_by, last_used_at, last_used_ip`;

/** The accounts that the caller manages: those of only the own tenant; with admin:system, all. */
const managedBy = (q: Sql, caller: Caller) =>
  isSystemAdmin(caller) ? q`true` : q`only_tenant_id = ${caller.tenantId}`;

/** Lists the accounts that the caller manages; revoked ones only with `includeDeleted`. */
export async function listServiceAccounts(
  sql: Sql,
  caller: Caller,
  request: AccountListRequest,
): Promise<PagedResult<ServiceAccount>> {
  const where = sql`${managedBy(sql, caller)} and ${matches(sql, "search_text", request.search)}
    and ${request.includeDeleted ? sql`true` : sql`revoked_at is null`}`;
  const order = orderBy(sql, SORTS[request.sortBy ?? "createdAt"], "id", request.sortDirection);
  const [[count], items] = await Promise.all([
    sql<{ total: number }[]>`select count(*) as total from service_accounts where ${where}`,
    sql<ServiceAccount[]>`select ${columns(sql)} from service_accounts where ${where} ${order}
      ${pageOf(sql, request)}`,
  ]);
  return pagedResult<ServiceAccount>([...items], count?.total ?? 0, request);
}

/** Reads an account that the caller manages, also a revoked one. @throws SERVICE_ACCOUNT_NOT_FOUND */
export async function readServiceAccount(
  q: Sql,
  caller: Caller,
  id: string,
  lock = false,
): Promise<Versioned<ServiceAccount>> {
  const [row] = await q<(ServiceAccount & { version: number })[]>`
    select ${columns(q)}, version from service_accounts where id = ${id} and ${managedBy(q, caller)}
    ${lock ? q`for no key update` : q``}`;
  return versioned(
    row,
    () => problem("SERVICE_ACCOUNT_NOT_FOUND", `The caller manages no service account ${id}.`),
  );
}
