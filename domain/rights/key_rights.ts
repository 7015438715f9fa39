import { mainPool, type Sql } from "../../infra/postgres/postgres.ts";
import { digest } from "../shared/secrets.ts";
import { TtlCache } from "../shared/ttl_cache.ts";
import { type ApiKeyRights, loadApiKey } from "./api_key_rights.ts";
import {
  type AccountPermissions,
  loadPermissionsIn,
  loadServiceAccount,
  type ServiceAccountRights,
} from "./service_account_rights.ts";
import { readSetupLink, type SetupLink } from "./setup_link_rights.ts";
import { LastUses } from "./last_uses.ts";

/** Distinguishes API keys and secrets of service accounts from access tokens. */
export const KEY_PREFIX = "sk_";
/** Maximum age of cached rights of a key; the same as for sessions, see `Rights`. */
const FRESH_MS = 600;
const MAX_CACHED_KEYS = 5_000;
const TABLES = { apiKey: "api_keys", serviceAccount: "service_accounts" } as const;

export type KeyRights = ApiKeyRights | ServiceAccountRights;

/** Unknown keys and tenants are not cached: they would evict those in use. */
const newCache = <V>() =>
  new TtlCache<V | null>({
    ttlMs: FRESH_MS,
    maxEntries: MAX_CACHED_KEYS,
    keeps: (value) => value !== null,
  });

/** Caches the rights of API keys and service accounts for less than a second, and records when they were last used. */
export class KeyRightsCache {
  readonly #keys = newCache<KeyRights>();
  readonly #accounts = newCache<ServiceAccountRights>();
  readonly #permissions = newCache<AccountPermissions>();
  readonly #uses: LastUses;

  constructor(private readonly sql: Sql) {
    this.#uses = new LastUses(mainPool(sql));
  }

  /** Returns the rights of a key; null for an unknown key. */
  async read(key: string): Promise<KeyRights | null> {
    const hash = digest(key);
    return await this.#keys.read(
      hash.toString("base64"),
      async () => await loadApiKey(this.sql, hash) ?? await loadServiceAccount(this.sql, { hash }),
    );
  }

  /** Returns the rights of a service account by a token for its secret of this version; null if it does not exist. */
  async readAccount(id: string, secretVersion: number): Promise<ServiceAccountRights | null> {
    return await this.#accounts.read(
      `${id} ${secretVersion}`,
      () => loadServiceAccount(this.sql, { id, secretVersion }),
    );
  }

  /** Reads a set-up link that may be used. Links are rarely used, so they are not cached. @throws as `readSetupLink` */
  readSetupLink = (token: string): Promise<SetupLink> => readSetupLink(this.sql, token);

  /** The permissions of a service account in a tenant; null if it does not act there. See `loadPermissionsIn`. */
  async permissionsIn(accountId: string, tenantId: string | null): Promise<AccountPermissions | null> {
    return await this.#permissions.read(
      `${accountId} ${tenantId}`,
      () => loadPermissionsIn(this.sql, accountId, tenantId),
    );
  }

  /** Clears the cache, because the rights of a user, key or service account changed, or a tenant. */
  invalidate(): void {
    this.#keys.expireAll();
    this.#accounts.expireAll();
    this.#permissions.expireAll();
  }

  /** Records a key's use, at most once a minute, without waiting for it. */
  recordUse({ kind, id }: KeyRights, ip: string | null): void {
    this.#uses.record(TABLES[kind], id, ip);
  }
}
