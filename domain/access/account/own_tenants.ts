import type { Sql } from "../../../infra/postgres/postgres.ts";
import { acceptsPassword } from "../../rights/tenant_sign_in.ts";
import { allOf, matches } from "../../shared/list_order.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { readPage } from "../../shared/read_page.ts";

/** A tenant that a user may switch to. */
export interface OwnTenant {
  id: string;
  name: string;
  type: string;
  isDefault: boolean;
}

/**
 * SQL of the tenants `t` that a user may switch to: active links `l` to active tenants.
 * @param only the one tenant in which the session is good; null: all that accept a sign-in by password
 */
export const ownTenants = (q: Sql, userId: string, only: string | null) =>
  q`user_tenants l join tenants t on t.id = l.tenant_id and t.is_active and t.deleted_at is null
    and l.is_active and l.user_id = ${userId} and ${only === null ? acceptsPassword(q) : q`t.id = ${only}`}`;

/** The default first, then the platform, then by name. */
export const ownTenantOrder = (q: Sql) =>
  q`order by l.is_default desc, t.type = 'Platform' desc, same_text(t.name), t.id`;

/** Finds tenants that a user may switch to, by a part of their name or by ids. @param only see `ownTenants` */
export async function findOwnTenants(
  q: Sql,
  userId: string,
  only: string | null,
  { search, ids, ...page }: PageRequest & { search?: string | undefined; ids?: string[] | undefined },
): Promise<PagedResult<OwnTenant>> {
  const found = allOf(q, [
    matches(q, "t.search_text", search),
    ids !== undefined && q`t.id = any(${ids}::uuid[])`,
  ]);
  return await readPage(q, {
    columns: q`t.id, t.name, t.type, l.is_default`,
    from: q`${ownTenants(q, userId, only)} where ${found}`,
    order: ownTenantOrder(q),
  }, page);
}
