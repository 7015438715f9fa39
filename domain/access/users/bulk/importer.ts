import type { Sql } from "../../../../infra/postgres/postgres.ts";
import { PLATFORM_REACH } from "../../../rights/catalog.ts";
import { permissionCodes } from "../../../rights/held_permissions.ts";
import { loadPermissionsIn } from "../../../rights/service_account_rights.ts";

/** Who asked for an import, and what they were allowed to do then. */
export interface Requester {
  userId: string;
  apiKeyId: string | null;
  isServiceAccount: boolean;
  /** The tenant of the request; null: none. */
  actingTenantId: string | null;
  permissions: string[];
}

/**
 * The permissions that the requester holds; of those that they did not have at the request, only ones with tenant reach. A
 * key or service account gets no further ones. None if the user, the key or the service account is no longer active: an
 * import must not act for somebody who has lost access meanwhile.
 */
export async function permissionsNow(q: Sql, o: Requester): Promise<ReadonlySet<string>> {
  if (o.isServiceAccount) {
    const live = await q`select from service_accounts where id = ${o.userId} and revoked_at is null`;
    const held = live.length > 0 ? await loadPermissionsIn(q, o.userId, o.actingTenantId) : null;
    return new Set(o.permissions.filter((code) => held?.permissions.has(code)));
  }
  const [row] = await q<{ codes: string[]; isLive: boolean }[]>`
    select array(${permissionCodes(q, o.userId, o.actingTenantId)}) as codes,
      u.is_active and u.deleted_at is null and (${o.apiKeyId}::uuid is null or exists (select from api_keys
        where id = ${o.apiKeyId} and revoked_at is null and (expires_at is null or expires_at > now()))) as is_live
    from users u where u.id = ${o.userId}`;
  const codes = new Set(row?.isLive ? row.codes : []);
  const gained = o.apiKeyId === null ? codes.difference(PLATFORM_REACH) : new Set<string>();
  return new Set(o.permissions.filter((code) => codes.has(code))).union(gained);
}
