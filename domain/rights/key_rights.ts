import { mainPool, type Sql, type SqlPart } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { digest } from "../shared/secrets.ts";
import { TtlCache } from "../shared/ttl_cache.ts";
import { includesPermission, isOfFileModule } from "./catalog.ts";
import { permissionCodes } from "./held_permissions.ts";
import { LastUses } from "./last_uses.ts";
import { securityVersionOf } from "./security_version.ts";

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
async function loadApiKey(q: Sql, hash: Uint8Array): Promise<ApiKeyRights | null> {
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

/** State of a service account. */
export interface ServiceAccountRights extends KeyState {
  kind: "serviceAccount";
  clientId: string;
  /** The version of the secret at hand, incremented by a new one. Access tokens stand for the secret of their version. */
  secretVersion: number;
  /** Null: all tenants except the platform's, also future ones. */
  tenantIds: string[] | null;
}

/**
 * Reads the service account whose current or former secret has this hash, or the one with this id for the holder of a
 * token that was issued for the secret of this version; null if no account is found.
 */
async function loadServiceAccount(
  q: Sql,
  by: { id: string; secretVersion: number } | { hash: Uint8Array },
): Promise<ServiceAccountRights | null> {
  const secret = "id" in by ? secretOfVersion(q, by.secretVersion) : secretOfHash(q, by.hash);
  const isIt = "id" in by ? q`k.id = ${by.id}` : q`${secret.isCurrent} or ${secret.isFormer}`;
  const [account] = await q<Omit<ServiceAccountRights, "kind">[]>`
    select ${keyState(q, secret)}, client_id, tenant_ids,
      case when ${secret.isCurrent} then secret_version else secret_version - 1 end as secret_version
    from service_accounts k where ${isIt}`;
  return account ? { ...account, kind: "serviceAccount" } : null;
}

const secretOfVersion = (q: Sql, version: number): HeldSecret => ({
  isCurrent: q`k.secret_version = ${version}`,
  isFormer: q`k.secret_version - 1 = ${version}`,
});

/** The permissions of a service account in a request. */
interface AccountPermissions {
  /**
   * The permissions that count in the tenant. Without a tenant: permissions with platform reach and, with admin:system,
   * permissions of the file module.
   */
  permissions: ReadonlySet<string>;
  /** The permissions that the account holds in its tenants, for routes that serve all of them at once. */
  inTenants: ReadonlySet<string>;
}

/**
 * Reads the permissions of a service account in one of its tenants. Permissions with platform reach count only in the
 * platform tenant and without a tenant.
 * @param tenantId null: no tenant context
 * @returns null if the account does not act in the tenant, or the tenant is not active.
 */
async function loadPermissionsIn(
  q: Sql,
  accountId: string,
  tenantId: string | null,
): Promise<AccountPermissions | null> {
  const [row] = await q<{ held: string[]; acrossTenants: string[]; isPlatform: boolean }[]>`
    select coalesce(t.type = 'Platform', false) as is_platform,
      array(select distinct p.code from permissions p where p.code = any(a.permissions) and p.deleted_at is null
        and p.reach = 'Tenant' and (p.tenant_id is null or p.tenant_id = t.id)) as held,
      array(select p.code from permissions p where p.code = any(a.permissions) and p.deleted_at is null
        and p.reach = 'Platform') as across_tenants
    from service_accounts a left join tenants t on t.id = ${tenantId}
    where a.id = ${accountId} and (${tenantId}::uuid is null
      or t.is_active and t.deleted_at is null
        and (t.id = any(a.tenant_ids) or a.tenant_ids is null and t.type <> 'Platform'))`;
  if (!row) return null;
  const { held, acrossTenants, isPlatform } = row;
  const inTenants = new Set(held);
  if (tenantId !== null) {
    return { permissions: new Set(isPlatform ? [...held, ...acrossTenants] : held), inTenants };
  }
  const ofFiles = acrossTenants.includes("admin:system") ? held.filter(isOfFileModule) : [];
  return { permissions: new Set([...acrossTenants, ...ofFiles]), inTenants };
}

/** Distinguishes the tokens of set-up links from access tokens and keys. */
export const SETUP_PREFIX = "su_";
/** The one permission of a set-up link, which its creator must hold. */
export const SETUP_PERMISSION = "manage:sign-in";

/** A link by which a stranger to the service sets up the sign-in of a tenant. */
interface SetupLink {
  id: string;
  tenantId: string;
  tenantName: string;
  /** A user or a service account. */
  createdBy: string;
}

/**
 * Reads a set-up link that may be used.
 * @throws TOKEN_INVALID, TOKEN_REVOKED, TOKEN_EXPIRED, SESSION_INVALIDATED (its creator does not hold the permission any more)
 */
async function readSetupLink(q: Sql, token: string): Promise<SetupLink> {
  const [link] = await q<(SetupLink & { isRevoked: boolean; isExpired: boolean })[]>`
    select l.id, tenant_id, t.name as tenant_name, created_by, revoked_at is not null as is_revoked,
      expires_at <= now() as is_expired
    from sign_in_setup_links l join tenants t on t.id = tenant_id where token_hash = ${digest(token)}`;
  if (!link) throw problem("TOKEN_INVALID", "The set-up link is unknown.");
  if (link.isRevoked) throw problem("TOKEN_REVOKED", "The set-up link was revoked.");
  if (link.isExpired) throw problem("TOKEN_EXPIRED", "The set-up link is older than 24 hours.");
  if (includesPermission(await permissionsNow(q, link.createdBy, link.tenantId), SETUP_PERMISSION)) {
    return link;
  }
  throw problem(
    "SESSION_INVALIDATED",
    `The creator of the set-up link does not hold ${SETUP_PERMISSION} in the tenant any more, or it is not active.`,
  );
}

/**
 * Reads the permissions that a user or a service account has now; none if it is not active.
 * @param tenantId null: no tenant context
 */
export async function permissionsNow(
  q: Sql,
  id: string,
  tenantId: string | null,
): Promise<ReadonlySet<string>> {
  const [found] = await q<{ isUser: boolean }[]>`
    select true as is_user from users where id = ${id} and is_active and deleted_at is null
    union all select false from service_accounts
      where id = ${id} and revoked_at is null and (expires_at is null or expires_at > now())`;
  if (!found) return new Set();
  if (!found.isUser) return (await loadPermissionsIn(q, id, tenantId))?.permissions ?? new Set();
  const codes = await q<{ code: string }[]>`${permissionCodes(q, id, tenantId)}`;
  return new Set(codes.map(({ code }) => code));
}

/** State of an API key or service account, as seen by the holder of its current or former secret. */
interface KeyState {
  id: string;
  revoked: boolean;
  expired: boolean;
  /** The secret was replaced, and the time in which it stayed good is over. */
  replaced: boolean;
  /** The end of the key or of its former secret, whichever is held; null: none. */
  endsAt: Date | null;
}

/** SQL conditions on a row `k`: the secret at hand is its current one, or its former one. */
interface HeldSecret {
  isCurrent: SqlPart;
  isFormer: SqlPart;
}

const secretOfHash = (q: Sql, hash: Uint8Array): HeldSecret => ({
  isCurrent: q`k.hash = ${hash}`,
  isFormer: q`k.former_hash = ${hash}`,
});

/** SQL columns of the state of the key `k`. */
const keyState = (q: Sql, { isCurrent, isFormer }: HeldSecret) =>
  q`k.id, k.revoked_at is not null as revoked, coalesce(k.expires_at <= now(), false) as expired,
    not (${isCurrent} or coalesce(${isFormer} and k.former_until > now(), false)) as replaced,
    least(k.expires_at, case when not ${isCurrent} then k.former_until end) as ends_at`;
