import { DAY_MS } from "../../../infra/clock.ts";
import type { Buffer } from "node:buffer";
import { z } from "zod";
import type { Sql, SqlPart, Tx } from "../../../infra/postgres/postgres.ts";
import { invalid, type Problem, problem } from "../../problems/problem.ts";
import { type Caller, holds } from "../../rights/caller.ts";
import type { PermissionReach } from "../../rights/catalog.ts";
import { howToGet } from "../../rights/checks.ts";
import { KEY_PREFIX } from "../../rights/key_rights.ts";
import { allOf, matches, orderBy, readPage, type SortedPageRequest } from "../../shared/lists.ts";
import type { PagedResult } from "../../shared/paging.ts";
import type { Platform } from "../../shared/platform.ts";
import { digest, newSecret } from "../../shared/secrets.ts";
import { instant, orNull, requiredName, time } from "../../shared/shapes.ts";
import { requireVersion, type Versioned, versioned } from "../../shared/version.ts";
import { isPermissionOf } from "../roles/roles.ts";

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

/** The members that a new API key or service account is given. Without an end, it is good until it is revoked. */
export const newKeyMembers = {
  name: requiredName(200),
  permissions: z.array(z.string().trim().min(1).max(200)).min(1).max(200),
};
export const newExpiry = orNull(instant).describe(`At most ${MAX_LIFE_DAYS} days ahead; absent: never`);

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

/** Checks that a key would expire in the future, and not too late. @throws VALIDATION_ERROR (expiresAt) */
export function requireLife({ clock }: Pick<Platform, "clock">, expiresAt: Date | null): void {
  if (expiresAt === null) return;
  const days = (expiresAt.getTime() - clock.now().getTime()) / DAY_MS;
  if (days > 0 && days <= MAX_LIFE_DAYS) return;
  throw invalid({ expiresAt: [`expected a time in the future, at most ${MAX_LIFE_DAYS} days from now`] });
}

/** Number of characters after a key's prefix that are stored as plain text, so that people recognise the key. */
const SHOWN_LENGTH = 6;

/** A new key, its hash, and its first characters. Only the hash and the start are stored. */
export function newKey(prefix = KEY_PREFIX): { key: string; hash: Buffer; start: string } {
  const key = prefix + newSecret();
  return { key, hash: digest(key), start: key.slice(0, prefix.length + SHOWN_LENGTH) };
}

/** Checks that the caller may give these permissions to a key. @throws ROLE_ASSIGNMENT_ESCALATION_BLOCKED */
export function requireMayGrant(caller: Pick<Caller, "permissions">, codes: string[]): void {
  const notHeld = codes.filter((code) => !holds(caller, code));
  if (notHeld.length === 0) return;
  const named = notHeld.join(", ");
  throw problem(
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
    `The key cannot have the permissions ${named}, which the caller does not hold.${howToGet(notHeld)}`,
  );
}

/**
 * Checks that these permissions exist: in the catalog, or defined by the tenant that is given. Returns the reach of each.
 * @throws PERMISSION_NOT_FOUND
 */
export async function requirePermissions(
  q: Sql,
  tenantId: string | null,
  codes: string[],
): Promise<{ code: string; reach: PermissionReach }[]> {
  const known = await q<{ code: string; reach: PermissionReach }[]>`
    select code, reach from permissions where code = any(${codes}::text[]) and ${
    isPermissionOf(q, tenantId)
  }`;
  const unknown = codes.filter((code) => !known.some((row) => row.code === code));
  if (unknown.length > 0) {
    throw problem("PERMISSION_NOT_FOUND", `The key cannot have unknown permissions: ${unknown.join(", ")}.`);
  }
  return [...known];
}

/** SQL expression of each sort key. */
const SORTS = { createdAt: "created_at", name: "lower(name)", lastUsedAt: "last_used_at" } as const;
export const KEY_SORTS = Object.keys(SORTS) as [keyof typeof SORTS, ...(keyof typeof SORTS)[]];

interface KeyListRequest extends SortedPageRequest<keyof typeof SORTS> {
  search?: string | undefined;
  /** Include revoked rows. */
  includeDeleted: boolean;
  /** Days in which the key has neither been used nor created. */
  unusedForDays?: number | undefined;
  /** Only keys that are good and will not be after these days. */
  expiresWithinDays?: number | undefined;
}

/** API keys, service accounts or OAuth clients: `columns` of the rows of `table` that `scope` allows the caller to see. */
export interface KeySource {
  table: KeyTable | "oauth_clients";
  columns: SqlPart;
  scope: SqlPart;
  notFound(id: string): Problem;
  /** The error for a change of a revoked key. */
  revoked(id: string): Problem;
}

/** Reads a key, also a revoked one. @throws `notFound` */
export async function readKey<T extends object>(
  q: Sql,
  { table, columns, scope, notFound }: KeySource,
  id: string,
  lock: SqlPart = q``,
): Promise<Versioned<T>> {
  const [row] = await q<(T & { version: number })[]>`
    select ${columns}, version from ${q(table)} where id = ${id} and ${scope} ${lock}`;
  return versioned(row, () => notFound(id)) as Versioned<T>;
}

type Revocable = Pick<KeyRecord, "revokedAt">;

/** Locks a key that is not revoked. @throws `notFound`, PRECONDITION_FAILED, `revoked` */
export async function lockLiveKey<T extends Revocable>(
  tx: Tx,
  source: KeySource,
  id: string,
  ifMatch: string | null,
): Promise<Versioned<T>> {
  const key = await readKey<T>(tx, source, id, tx`for no key update`);
  requireVersion(ifMatch, key.version);
  if (key.value.revokedAt) throw source.revoked(id);
  return key;
}

/** Ends a key with all of its secrets. @returns null if it was revoked before @throws `notFound`, PRECONDITION_FAILED */
export async function revokeKey<T extends Revocable>(
  tx: Tx,
  source: KeySource,
  id: string,
  ifMatch: string | null,
  userId: string,
): Promise<T | null> {
  const { value, version } = await readKey<T>(tx, source, id, tx`for no key update`);
  requireVersion(ifMatch, version);
  if (value.revokedAt) return null;
  await tx`update ${tx(source.table)} set revoked_at = now(), revoked_by = ${userId}, version = version + 1,
    updated_at = now() where id = ${id}`;
  return value;
}

/** Lists API keys, service accounts or OAuth clients; revoked ones only with `includeDeleted`. */
export async function listKeys<T extends object>(
  q: Sql,
  { table, columns, scope }: KeySource,
  request: KeyListRequest,
): Promise<PagedResult<T>> {
  const shown = request.includeDeleted ? q`true` : q`revoked_at is null`;
  const { unusedForDays, expiresWithinDays } = request;
  const where = allOf(q, [
    q`${scope} and ${matches(q, "search_text", request.search)} and ${shown}`,
    unusedForDays !== undefined &&
    q`coalesce(last_used_at, created_at) <= now() - make_interval(days => ${unusedForDays})`,
    expiresWithinDays !== undefined &&
    q`expires_at > now() and expires_at <= now() + make_interval(days => ${expiresWithinDays})`,
  ]);
  const order = orderBy(q, SORTS[request.sortBy ?? "createdAt"], "id", request.sortDirection);
  return await readPage(q, { columns, from: q`${q(table)} where ${where}`, order }, request);
}
