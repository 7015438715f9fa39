import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Caller, isSystemAdmin } from "../rights/caller.ts";
import { nameOrEmail } from "../rights/user_lookup.ts";
import { isUuid } from "../shared/ids.ts";

/** Maximum number of ids of a page of audit rows that are looked up. */
const MAX_LOOKED_UP = 1_000;

/** The tables of other things of a tenant that have names, and the column of the name. */
const NAMED = [
  ["report_executions", "report_name"],
  ["report_schedules", "name"],
  ["report_targets", "name"],
  ["document_templates", "name"],
  ["notification_templates", "name"],
  ["invitations", "email"],
  ["webhook_endpoints", "url"],
  ["api_keys", "name"],
  ["oauth_clients", "name"],
  ["alert_rules", "name"],
  ["applications", "name"],
] as const;

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
 * Names of the things whose ids are in the rows, by id, as far as the caller may see them: all with admin:system, else those
 * of the caller's tenant; files only with the permission to read them. A user without a name has the email address, an erased
 * one is left out.
 */
export const readNames = (q: Sql, caller: Caller, rows: Naming[]): Promise<Map<string, string>> =>
  readNamesOf(q, caller, rows.flatMap(idsIn));

/** Ids of these things. */
export async function readNamesOf(q: Sql, caller: Caller, given: string[]): Promise<Map<string, string>> {
  const ids = [...new Set(given)].slice(0, MAX_LOOKED_UP);
  if (ids.length === 0) return new Map();
  const { tenantId } = caller;
  const seesAll = isSystemAdmin(caller);
  // The subquery hides the number of ids from the planner, which otherwise plans each call; that takes longer than the search.
  const wanted = q`id = any((select ${ids}::uuid[])::uuid[])`;
  const ofTenant = q`(${seesAll} or tenant_id = ${tenantId})`;
  const others = NAMED.map(([table, name]) =>
    q`union all select id, ${q(name)} from ${q(table)} where ${wanted} and ${ofTenant}`
  );
  const found = await q<{ id: string; name: string }[]>`
    select id, ${nameOrEmail(q, "u")} as name from users u
    where ${wanted} and erased_at is null and (${seesAll}
      or exists (select from user_tenants l where l.user_id = u.id and l.tenant_id = ${tenantId}))
    union all
    select id, name from roles where ${wanted} and ${ofTenant}
    union all
    select id, code from permissions where ${wanted} and (${seesAll} or tenant_id is null or tenant_id = ${tenantId})
    union all
    select id, name from tenants where ${wanted} and erased_at is null and (${seesAll} or id = ${tenantId})
    union all
    select id, name from service_accounts where ${wanted}
      and (${seesAll} or tenant_ids is null or ${tenantId}::uuid = any(tenant_ids))
    union all
    select id, file_name from files where ${wanted} and tenant_id = ${tenantId}
      and ${caller.permissions.has("read:files")}
    ${others}`;
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
