import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import type { RightsPlatform } from "../../rights/platform.ts";
import { requireUnerased } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import {
  type KeyRecord,
  type KeySource,
  lockLiveKey,
  newExpiry,
  newKey,
  newKeyMembers,
  readKey,
  recordColumns,
  replaceSecret,
  requireLife,
  requireMayGrant,
  requirePermissions,
  revokeKey,
} from "./key_record.ts";

export const NewApiKey = z.object({ ...newKeyMembers, expiresAt: newExpiry }).meta({
  id: "CreateApiKeyRequest",
});

/** The keys of the caller's tenant. */
export const apiKeysOf = (q: Sql, { tenantId }: TenantCaller): KeySource => ({
  table: "api_keys",
  columns: recordColumns(q),
  scope: q`tenant_id = ${tenantId}`,
  notFound: (id) => problem("API_KEY_NOT_FOUND", `The tenant has no API key ${id}.`),
  revoked: (id) => problem("API_KEY_REVOKED_CONFLICT", `The API key ${id} was revoked.`),
});

/**
 * Creates a key with permissions that the caller holds. Only this result has the key itself; only its hash is stored.
 * @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED, PERMISSION_NOT_FOUND, VALIDATION_ERROR (expiresAt)
 */
export async function createApiKey(
  p: Pick<Platform, "sql" | "clock">,
  caller: TenantCaller,
  input: z.output<typeof NewApiKey>,
): Promise<KeyRecord & { key: string }> {
  requireLife(p, input.expiresAt);
  const permissions = [...new Set(input.permissions)].sort();
  requireMayGrant(caller, permissions);
  const { key, hash, start } = newKey();
  return await transact(p.sql, async (tx) => {
    await requireUnerased(tx, caller.userId);
    await requirePermissions(tx, caller.tenantId, permissions);
    const id = newId();
    const [made] = await tx<KeyRecord[]>`
      insert into api_keys (id, tenant_id, created_by, name, hash, start, permissions, expires_at)
      values (${id}, ${caller.tenantId}, ${caller.userId}, ${input.name}, ${hash}, ${start},
        ${permissions}::text[], ${input.expiresAt})
      returning ${recordColumns(tx)}`;
    if (!made) throw new Error("an inserted API key was not returned");
    await recordAudit(tx, caller, "apiKey.create", id, {
      after: { name: input.name, permissions, expiresAt: input.expiresAt },
    });
    return { ...made, key };
  });
}

/**
 * Replaces the secret of a key; the former one stays good for `overlapSeconds`. The key acts on behalf of its creator, so
 * only they get its secret, and only while they hold its permissions. Others revoke it and create their own.
 * @throws API_KEY_NOT_FOUND, PRECONDITION_FAILED, API_KEY_REVOKED_CONFLICT, ROLE_ASSIGNMENT_ESCALATION_BLOCKED
 */
export async function rotateApiKey(
  p: Pick<RightsPlatform, "sql" | "rights">,
  caller: TenantCaller,
  id: string,
  overlapSeconds: number,
  ifMatch: string | null,
): Promise<KeyRecord & { key: string }> {
  return await transact(p.sql, async (tx) => {
    const { value: former } = await lockLiveKey<KeyRecord>(tx, apiKeysOf(tx, caller), id, ifMatch);
    if (former.createdBy !== caller.userId) {
      throw problem(
        "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
        `The API key ${id} acts on behalf of the user ${former.createdBy}; only they can get its new secret.`,
      );
    }
    requireMayGrant(caller, former.permissions);
    const { secret, formerSecretUntil } = await replaceSecret(tx, "api_keys", id, overlapSeconds);
    p.rights.invalidateAfterCommit(tx, [former.createdBy]);
    await recordAudit(tx, caller, "apiKey.rotate", id, { after: { formerSecretUntil } });
    return { ...(await readKey<KeyRecord>(tx, apiKeysOf(tx, caller), id)).value, key: secret };
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
    const key = await revokeKey<KeyRecord>(tx, apiKeysOf(tx, caller), id, ifMatch, caller.userId);
    if (!key) return;
    p.rights.invalidateAfterCommit(tx, [key.createdBy]);
    await recordAudit(tx, caller, "apiKey.revoke", id, { before: { name: key.name } });
  });
}
