import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, isSystemAdmin } from "../../rights/caller.ts";
import type { PagedResult } from "../../shared/paging.ts";
import { type Versioned, versioned } from "../../shared/versioned.ts";
import { type KeyListRequest, listKeys } from "./key_list.ts";
import { type KeyRecord, recordColumns } from "./key_record.ts";

/** The tenants of a service account: these, or all except the platform's, also future ones. */
export type AccountTenants = string[] | "all";

/** A stored service account, without its secret. */
export interface ServiceAccount extends KeyRecord {
  clientId: string;
  tenants: AccountTenants;
}

const columns = (q: Sql) =>
  q`${recordColumns(q)}, client_id, coalesce(to_jsonb(tenant_ids), '"all"') as tenants`;

/** SQL condition: the caller manages the account. Without admin:system, it must act only in the caller's tenant. */
const managedBy = (q: Sql, caller: Caller) =>
  isSystemAdmin(caller) ? q`true` : q`only_tenant_id = ${caller.tenantId}`;

/** Lists the accounts that the caller manages; revoked ones only with `includeDeleted`. */
export const listServiceAccounts = (
  q: Sql,
  caller: Caller,
  request: KeyListRequest,
): Promise<PagedResult<ServiceAccount>> =>
  listKeys(
    q,
    { table: "service_accounts", columns: columns(q), scope: managedBy(q, caller) },
    request,
  );

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
