import { z } from "zod";
import { time } from "../../shared/shapes.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { invalid } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { newKey } from "./new_key.ts";

/** Maximum lifetime of a key or account that expires. */
export const MAX_LIFE_DAYS = 731;
/** Maximum time in which a former secret stays good beside the new one. */
export const MAX_OVERLAP_SECONDS = 604_800;

/** Who made an API key, service account or OAuth client, whether it is revoked, and when it was used. */
export const keyRecord = {
  createdBy: z.guid(),
  createdAt: time,
  updatedAt: time,
  revokedAt: time.nullable(),
  revokedBy: z.guid().nullable(),
  lastUsedAt: time.nullable().describe("Exact to the minute"),
};

/** A stored API key or service account, without its secret. */
export const KeyRecord = z.object({
  id: z.guid(),
  name: z.string(),
  start: z.string().describe("The first characters of the secret, to identify it"),
  permissions: z.array(z.string()),
  ...keyRecord,
  // Null: until it is revoked.
  expiresAt: time.nullable(),
  formerSecretUntil: time.nullable().describe(
    "The secret before the last rotation stays good until then; null: it is refused",
  ),
  lastUsedIp: z.string().nullable(),
});
export type KeyRecord = z.output<typeof KeyRecord>;

export const recordColumns = (q: Sql) =>
  q`id, name, start, permissions, created_by, created_at, updated_at, expires_at,
    case when revoked_at is null and former_until > now() then former_until end as former_secret_until,
    revoked_at, revoked_by, last_used_at, last_used_ip`;

type KeyTable = "api_keys" | "service_accounts";

/**
 * Gives a key a new secret. The current one stays good for some seconds, a former one ends at once.
 * @param overlapSeconds 0: the current one is forgotten, so it is refused like an unknown one
 */
export async function replaceSecret(
  tx: Tx,
  table: KeyTable,
  id: string,
  overlapSeconds: number,
): Promise<{ secret: string; formerSecretUntil: Date | null }> {
  const { key, hash, start } = newKey();
  const stays = overlapSeconds > 0;
  const tokensEnd = table === "service_accounts" ? tx`, secret_version = secret_version + 1` : tx``;
  const [row] = await tx<{ formerSecretUntil: Date | null }[]>`
    update ${tx(table)} set hash = ${hash}, start = ${start}, former_hash = ${stays ? tx`hash` : null},
      former_until = ${stays ? tx`now() + make_interval(secs => ${overlapSeconds})` : null},
      version = version + 1, updated_at = now() ${tokensEnd}
    where id = ${id} returning former_until as former_secret_until`;
  return { secret: key, formerSecretUntil: row?.formerSecretUntil ?? null };
}

/** Ends a key with both of its secrets. */
export async function setKeyRevoked(tx: Tx, table: KeyTable, id: string, userId: string): Promise<void> {
  await tx`update ${tx(table)} set revoked_at = now(), revoked_by = ${userId}, version = version + 1,
    updated_at = now() where id = ${id}`;
}

/** Checks that a key would expire in the future, and not too late. @throws VALIDATION_ERROR (expiresAt) */
export function requireLife({ clock }: Pick<Platform, "clock">, expiresAt: Date | null): void {
  if (expiresAt === null) return;
  const days = (expiresAt.getTime() - clock.now().getTime()) / 86_400_000;
  if (days > 0 && days <= MAX_LIFE_DAYS) return;
  throw invalid({ expiresAt: [`expected a time in the future, at most ${MAX_LIFE_DAYS} days from now`] });
}
