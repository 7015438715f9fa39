import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Caller, isSystemAdmin } from "../rights/caller.ts";
import { isUuid } from "../shared/ids.ts";

/** Maximum number of ids of a page of audit rows that are looked up. */
const MAX_LOOKED_UP = 1_000;

/** The members of an audit row that may name users, roles, permissions, tenants and service accounts. */
interface Naming {
  actorId: string | null;
  actedBy: string | null;
  tenantId: string | null;
  targetId: string;
  before: unknown;
  after: unknown;
}

/**
 * Names of the users, roles, permissions, tenants and service accounts whose ids are in the rows, by id, as far as the
 * caller may see them: all with admin:system, else those of the caller's tenant. A user without a name has the email
 * address, an erased one is left out.
 */
export const readNames = (q: Sql, caller: Caller, rows: Naming[]): Promise<Map<string, string>> =>
  readNamesOf(q, caller, rows.flatMap(idsIn));

/** Ids of these things. */
export async function readNamesOf(q: Sql, caller: Caller, given: string[]): Promise<Map<string, string>> {
  const ids = [...new Set(given)].slice(0, MAX_LOOKED_UP);
  if (ids.length === 0) return new Map();
  const { tenantId } = caller;
  const seesAll = isSystemAdmin(caller);
  const wanted = q`id = any(${ids}::uuid[])`;
  const found = await q<{ id: string; name: string }[]>`
    select id, coalesce(nullif(trim(first_name || ' ' || last_name), ''), email) as name from users u
    where ${wanted} and erased_at is null and (${seesAll}
      or exists (select from user_tenants l where l.user_id = u.id and l.tenant_id = ${tenantId}))
    union all
    select id, name from roles where ${wanted} and (${seesAll} or tenant_id = ${tenantId})
    union all
    select id, code from permissions where ${wanted} and (${seesAll} or tenant_id is null or tenant_id = ${tenantId})
    union all
    select id, name from tenants where ${wanted} and erased_at is null and (${seesAll} or id = ${tenantId})
    union all
    select id, name from service_accounts where ${wanted}
      and (${seesAll} or tenant_ids is null or ${tenantId}::uuid = any(tenant_ids))`;
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** The names that belong to one row, by id. */
export const namesOf = (row: Naming, names: Map<string, string>): Record<string, string> =>
  Object.fromEntries(
    [...new Set(idsIn(row))].flatMap((id) => {
      const name = names.get(id);
      return name === undefined ? [] : [[id, name]];
    }),
  );

const idsIn = ({ actorId, actedBy, tenantId, targetId, before, after }: Naming): string[] =>
  [actorId, actedBy, tenantId, targetId, before, after].flatMap(uuidsIn);

function uuidsIn(value: unknown): string[] {
  if (typeof value === "string") return isUuid(value) ? [value.toLowerCase()] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(uuidsIn) : [];
}
