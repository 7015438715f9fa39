import type { Sql } from "../../infra/postgres/postgres.ts";
import { includesPermission } from "./catalog.ts";
import { permissionCodes } from "./held_permissions.ts";
import { type KeyState, keyState, secretOfHash } from "./key_state.ts";
import { securityVersionOf } from "./security_version.ts";

/** State and permissions of an API key. */
export interface ApiKeyRights extends KeyState {
  kind: "apiKey";
  tenantId: string;
  /** The user who created it, on whose behalf it acts. */
  userId: string;
  /** The user is active, not deleted, and has an active link to the tenant, which is active too. */
  usable: boolean;
  permissions: ReadonlySet<string>;
  /** The security version of the user. */
  securityVersion: number;
}

/** Reads the rights of the API key whose current or former secret has this hash; null if no key has it. */
export async function loadApiKey(q: Sql, hash: Uint8Array): Promise<ApiKeyRights | null> {
  const secret = secretOfHash(q, hash);
  const [key] = await q<(Omit<ApiKeyRights, "kind" | "permissions"> & { permissions: string[] })[]>`
    select ${keyState(q, secret)}, k.tenant_id, k.created_by as user_id,
      u.is_active and u.deleted_at is null and exists (
        select from user_tenants l join tenants t on t.id = l.tenant_id
        where l.user_id = u.id and l.tenant_id = k.tenant_id and l.is_active
          and t.is_active and t.deleted_at is null) as usable,
      k.permissions, ${securityVersionOf(q)} as security_version
    from api_keys k join users u on u.id = k.created_by
    where ${secret.isCurrent} or ${secret.isFormer}`;
  if (!key) return null;
  const codes = await q<{ code: string }[]>`${permissionCodes(q, key.userId, key.tenantId)}`;
  const held = new Set(codes.map(({ code }) => code));
  const permissions = new Set(key.permissions.filter((code) => includesPermission(held, code)));
  return { ...key, kind: "apiKey", permissions };
}
