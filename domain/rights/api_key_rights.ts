import type { Sql } from "../../infra/postgres/postgres.ts";
import { digest } from "../shared/secrets.ts";
import { TtlCache } from "../shared/ttl_cache.ts";
import { permissionCodes } from "./held_permissions.ts";
import { mayGrantToKey } from "./key_permissions.ts";

/** Distinguishes API keys from access tokens. */
export const KEY_PREFIX = "sk_";
/** Maximum age of cached rights of a key; the same as for sessions, see `Rights`. */
const FRESH_MS = 600;
const MAX_CACHED_KEYS = 5_000;
const USE_WRITE_INTERVAL_MS = 60_000;

/** State and permissions of an API key. */
export interface ApiKeyRights {
  id: string;
  tenantId: string;
  /** The user who created it, on whose behalf it acts. */
  userId: string;
  revoked: boolean;
  expired: boolean;
  /** The user is active, not deleted, and has an active link to the tenant, which is active too. */
  usable: boolean;
  permissions: ReadonlySet<string>;
}

/** Caches the rights of API keys for less than a second, and records when keys were last used. */
export class ApiKeyRightsCache {
  /** Unknown keys are not cached: they would evict keys in use. */
  readonly #keys = new TtlCache<ApiKeyRights | null>({
    ttlMs: FRESH_MS,
    maxEntries: MAX_CACHED_KEYS,
    keeps: (rights) => rights !== null,
  });
  readonly #lastWrites = new Map<string, number>();

  constructor(private readonly sql: Sql) {}

  /** Returns the rights of a key; null for an unknown key. */
  async read(key: string): Promise<ApiKeyRights | null> {
    const hash = digest(key);
    return await this.#keys.read(hash.toString("base64"), () => this.#load(hash));
  }

  /** Clears the cache, because a user's rights or a key changed. */
  invalidate(): void {
    this.#keys.clear();
  }

  /** Records a key's use, at most once a minute. Does not wait for the write; a failed write is dropped. */
  recordUse(keyId: string, ip: string | null): void {
    const now = performance.now();
    const before = this.#lastWrites.get(keyId);
    if (before !== undefined && now - before < USE_WRITE_INTERVAL_MS) return;
    this.#lastWrites.delete(keyId);
    const [oldest] = this.#lastWrites.keys();
    if (oldest !== undefined && this.#lastWrites.size >= MAX_CACHED_KEYS) this.#lastWrites.delete(oldest);
    this.#lastWrites.set(keyId, now);
    const sinceSeconds = USE_WRITE_INTERVAL_MS / 1000 - 1;
    this.sql`update api_keys set last_used_at = now(), last_used_ip = ${ip} where id = ${keyId}
      and (last_used_at is null or last_used_at < now() - make_interval(secs => ${sinceSeconds}))`
      .catch(() => this.#lastWrites.delete(keyId)); // the next use tries again
  }

  async #load(hash: Uint8Array): Promise<ApiKeyRights | null> {
    const { sql } = this;
    const [key] = await sql<(Omit<ApiKeyRights, "permissions"> & { permissions: string[] })[]>`
      select k.id, k.tenant_id, k.created_by as user_id, k.revoked_at is not null as revoked,
        k.expires_at is not null and k.expires_at <= now() as expired,
        u.is_active and u.deleted_at is null and exists (
          select from user_tenants l join tenants t on t.id = l.tenant_id
          where l.user_id = u.id and l.tenant_id = k.tenant_id and l.is_active
            and t.is_active and t.deleted_at is null) as usable,
        k.permissions
      from api_keys k join users u on u.id = k.created_by where k.hash = ${hash}`;
    if (!key) return null;
    const codes = await sql<{ code: string }[]>`${permissionCodes(sql, key.userId, key.tenantId)}`;
    const held = new Set(codes.map(({ code }) => code));
    return { ...key, permissions: new Set(key.permissions.filter((code) => mayGrantToKey(held, code))) };
  }
}
