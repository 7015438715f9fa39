import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { newId } from "../../shared/ids.ts";
import type { PagedResult } from "../../shared/paging.ts";
import type { Platform } from "../../shared/platform.ts";
import { requireVersion } from "../../shared/version.ts";
import { requireMayGrant, requirePermissions } from "./key_grants.ts";
import { type KeyListRequest, listKeys } from "./key_list.ts";
import { newKey } from "./new_key.ts";

/** Maximum lifetime of a key that expires. */
export const MAX_LIFE_DAYS = 731;

/** A stored key, without its secret. */
export interface ApiKey {
  id: string;
  name: string;
  /** The first characters of the key. */
  start: string;
  permissions: string[];
  createdBy: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
  revokedBy: string | null;
  lastUsedAt: Date | null;
  lastUsedIp: string | null;
}

export interface NewApiKey {
  name: string;
  permissions: string[];
  /** Null: until it is revoked. */
  expiresAt: Date | null;
}

const columns = (q: Sql) =>
  q`id, name, start, permissions, created_by, created_at, expires_at, revoked_at, revoked_by, last_used_at,
    last_used_ip`;

/** Lists the tenant's keys; revoked ones only with `includeDeleted`. */
export const listApiKeys = (
  q: Sql,
  { tenantId }: TenantCaller,
  request: KeyListRequest,
): Promise<PagedResult<ApiKey>> =>
  listKeys(q, { table: "api_keys", columns: columns(q), scope: q`tenant_id = ${tenantId}` }, request);

/** Version of a key, for its ETag. A key can only change by being revoked. */
export const apiKeyVersion = ({ revokedAt }: ApiKey): number => revokedAt ? 2 : 1;

/** Reads a key of the tenant, also a revoked one. Throws API_KEY_NOT_FOUND. */
export async function readApiKey(
  q: Sql,
  { tenantId }: TenantCaller,
  id: string,
  lock = false,
): Promise<ApiKey> {
  const [key] = await q<ApiKey[]>`
    select ${columns(q)} from api_keys where id = ${id} and tenant_id = ${tenantId}
    ${lock ? q`for update` : q``}`;
  if (!key) throw problem("API_KEY_NOT_FOUND", `The tenant has no API key ${id}.`);
  return key;
}

/**
 * Creates a key with permissions that the caller holds. Only this result has the key itself; only its hash is stored.
 * @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED, PERMISSION_NOT_FOUND, VALIDATION_ERROR (expiresAt)
 */
export async function createApiKey(
  p: Pick<Platform, "sql" | "clock">,
  caller: TenantCaller,
  input: NewApiKey,
): Promise<ApiKey & { key: string }> {
  requireLife(p, input.expiresAt);
  const permissions = [...new Set(input.permissions)].sort();
  requireMayGrant(caller, permissions);
  const { key, hash, start } = newKey();
  return await transact(p.sql, async (tx) => {
    await requirePermissions(tx, caller.tenantId, permissions);
    const id = newId();
    const [made] = await tx<ApiKey[]>`
      insert into api_keys (id, tenant_id, created_by, name, hash, start, permissions, expires_at)
      values (${id}, ${caller.tenantId}, ${caller.userId}, ${input.name}, ${hash}, ${start},
        ${permissions}::text[], ${input.expiresAt})
      returning ${columns(tx)}`;
    if (!made) throw new Error("an inserted API key was not returned");
    await recordAudit(tx, caller, "apiKey.create", id, {
      after: { name: input.name, permissions, expiresAt: input.expiresAt },
    });
    return { ...made, key };
  });
}

/**
 * Revokes a key; the next request with it is rejected. Does nothing if it is already revoked.
 * @throws API_KEY_NOT_FOUND, PRECONDITION_FAILED
 */
export async function revokeApiKey(
  p: Pick<RightsPlatform, "sql" | "rights">,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const key = await readApiKey(tx, caller, id, true);
    requireVersion(ifMatch, apiKeyVersion(key));
    if (key.revokedAt) return;
    const { name, createdBy } = key;
    await tx`update api_keys set revoked_at = now(), revoked_by = ${caller.userId} where id = ${id}`;
    p.rights.invalidateAfterCommit(tx, [createdBy]);
    await recordAudit(tx, caller, "apiKey.revoke", id, { before: { name } });
  });
}

function requireLife({ clock }: Pick<Platform, "clock">, expiresAt: Date | null): void {
  if (expiresAt === null) return;
  const days = (expiresAt.getTime() - clock.now().getTime()) / 86_400_000;
  if (days > 0 && days <= MAX_LIFE_DAYS) return;
  throw invalid({ expiresAt: [`expected a time in the future, at most ${MAX_LIFE_DAYS} days from now`] });
}
