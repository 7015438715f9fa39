import { announceChange, subscribeToChanges } from "../../infra/postgres/changes.ts";
import { mainPool, type Sql, type Tx } from "../../infra/postgres/postgres.ts";
import { TtlCache } from "../shared/ttl_cache.ts";
import { PLATFORM_REACH } from "./catalog.ts";
import type { ActedBy } from "./caller.ts";
import { permissionCodes } from "./held_permissions.ts";
import { KeyRightsCache } from "./key_rights.ts";
import {
  everyTenantRequiresFactor,
  hasFactor,
  type SecondFactorRules,
  type SessionProof,
} from "./second_factor.ts";
import { securityVersionOf } from "./security_version.ts";
import { boundTo, isAcceptedIn, isOfProvider } from "./tenant_sign_in.ts";

/** Maximum age of cached rights, in ms. It bounds the delay if another instance's announcement of a change is lost. */
const FRESH_MS = 600;
const MAX_CACHED_USERS = 5_000;
/** Maximum number of cached sessions and tenant contexts of one user. */
const MAX_CACHED_SESSIONS = 50;

/** State and permissions of a session in one tenant context. */
export interface SessionRights {
  exists: boolean;
  revoked: boolean;
  /** The user is active and not deleted. */
  usable: boolean;
  /** The session was opened after the last change of the user's roles, permissions or links. */
  current: boolean;
  securityVersion: number;
  /** The user has an active link to the tenant, and the tenant is active and accepts how the session was opened. */
  linked: boolean;
  proof: SessionProof;
  permissions: ReadonlySet<string>;
  /** The only tenant in which the session is good; null: every tenant of the user. */
  onlyTenantId: string | null;
  /** See `Caller`. */
  boundTo: string | null;
  actedBy: ActedBy | null;
}

const NO_RIGHTS: SessionRights = {
  exists: false,
  revoked: false,
  usable: false,
  current: false,
  securityVersion: 0,
  linked: false,
  proof: { isLimited: false, hasFactor: false, isRecent: false },
  permissions: new Set(),
  onlyTenantId: null,
  boundTo: null,
  actedBy: null,
};

/**
 * Caches the rights of sessions for less than a second. A change invalidates the cache on every instance, before the
 * request that made it is answered. If its announcement is lost, entries expire.
 */
export class Rights {
  readonly #users = new Map<string, TtlCache<SessionRights>>();
  /** Cached rights of API keys, which depend on those of their users, and of service accounts. */
  readonly keys: KeyRightsCache;

  /** @param sql the pool for point reads */
  constructor(
    private readonly sql: Sql,
    private readonly rules: SecondFactorRules = { stepUpMinutes: 15, isRequiredForPlatform: false },
  ) {
    this.keys = new KeyRightsCache(sql);
    subscribeToChanges(mainPool(sql), "rights", (userIds) => this.invalidate(userIds));
    subscribeToChanges(mainPool(sql), "tenants", () => this.keys.invalidate());
  }

  /** Returns the rights of a session in a tenant; `tenantId` null: without tenant context. */
  read(userId: string, sessionId: string, tenantId: string | null): Promise<SessionRights> {
    let sessions = this.#users.get(userId);
    if (!sessions) {
      const [oldest] = this.#users.keys();
      if (oldest !== undefined && this.#users.size >= MAX_CACHED_USERS) this.#users.delete(oldest);
      sessions = new TtlCache<SessionRights>({
        ttlMs: FRESH_MS,
        maxEntries: MAX_CACHED_SESSIONS,
        keeps: ({ actedBy }) => actedBy === null, // a change of the actor's rights expires only those of the actor
      });
      this.#users.set(userId, sessions);
    }
    return sessions.read(
      `${sessionId} ${tenantId}`,
      () => this.readUncached(this.sql, { userId, sessionId, tenantId }),
    );
  }

  /** Invalidates the cached rights of users on every instance after `tx` commits. */
  invalidateAfterCommit(tx: Tx, userIds: string[] | "everyone"): void {
    if (userIds === "everyone") announceChange(tx, { topic: "rights" });
    else if (userIds.length > 0) announceChange(tx, { topic: "rights", ids: userIds });
  }

  /** Invalidates the cached rights of users on this instance; null: of everyone. */
  invalidate(userIds: readonly string[] | null): void {
    this.keys.invalidate();
    if (userIds === null) this.#users.clear();
    else for (const userId of userIds) this.#users.delete(userId);
  }

  /** Returns the rights of a session as they are in the database, for changes that must not rely on the cache. */
  async readUncached(
    q: Sql,
    { userId, sessionId, tenantId }: { userId: string; sessionId: string; tenantId: string | null },
  ): Promise<SessionRights> {
    const { rules } = this;
    const [row] = await q<SessionRow[]>`
      select s.revoked_at is not null or s.expires_at < now() as revoked,
        u.is_active and u.deleted_at is null as usable,
        s.security_version = version.number
          and (s.actor_id is null or exists (${liveActor(q)})) as current, version.number as security_version,
        coalesce(link.tenant_id = ${tenantId}, visit.tenant_id = ${tenantId}, false)
          and ${isAcceptedIn(q, q`s`, q`${tenantId}::uuid`)} as linked,
        s.only_tenant_id, ${boundTo(q)} as bound_to, s.actor_id, s.may_write,
        coalesce(visit.require_second_factor, link.require_second_factor, false)
          or ${tenantId}::uuid is null and ${everyTenantRequiresFactor(q, q`u.id`)} as is_factor_required,
        'mfa' = any(s.amr) as has_two_factors, ${hasFactor(q, q`u.id`)} as has_factor,
        s.authenticated_at > now() - make_interval(mins => ${rules.stepUpMinutes}) as is_recent,
        case when visit.tenant_id is null
          then array(${permissionCodes(q, userId, tenantId, q`not ${isOfProvider(q, q`s`)}`)})
          else array['admin:system'] end as permissions
      from sessions s join users u on u.id = s.user_id
      cross join lateral (select ${securityVersionOf(q)} as number) version
      left join lateral (
        select l.tenant_id, t.require_second_factor from user_tenants l join tenants t on t.id = l.tenant_id
        where l.user_id = u.id and l.is_active and t.is_active and t.deleted_at is null
          and l.tenant_id = coalesce(${tenantId}::uuid, (select id from tenants where type = 'Platform'))) link on true
      left join lateral (
        select t.id as tenant_id, t.require_second_factor from tenants t
        where s.actor_id = u.id and t.id = s.only_tenant_id and t.is_active and t.deleted_at is null) visit on true
      where s.id = ${sessionId} and s.user_id = ${userId}`;
    return row ? sessionRights(row, rules) : NO_RIGHTS;
  }
}

/** SQL: the actor's own session gives access, if `s` is the session of a delegation. */
const liveActor = (q: Sql) =>
  q`select from sessions own join users u on u.id = own.user_id
    where own.id = s.actor_session_id and own.revoked_at is null and own.expires_at > now()
      and own.security_version = ${securityVersionOf(q)} and u.is_active and u.deleted_at is null
      and (s.actor_id = s.user_id or ${isAcceptedIn(q, q`own`, q`s.only_tenant_id`)})
      and ${tenantLetsAct(q)}`;

/** SQL: the tenant of a delegation, whose session is `s`, is active and lets others act as its users. */
export const tenantLetsAct = (q: Sql) =>
  q`exists (select from tenants where id = s.only_tenant_id and is_active and deleted_at is null
      and (act_as <> 'forbidden' or s.actor_id = s.user_id))`;

interface SessionRow extends Omit<SessionRights, "exists" | "permissions" | "proof" | "actedBy"> {
  permissions: string[];
  actorId: string | null;
  mayWrite: boolean;
  /** The tenant requires a second factor; without a tenant context, the platform tenant or all tenants of the user. */
  isFactorRequired: boolean;
  hasTwoFactors: boolean;
  hasFactor: boolean;
  isRecent: boolean;
}

function sessionRights(row: SessionRow, rules: SecondFactorRules): SessionRights {
  const { isFactorRequired, hasTwoFactors, hasFactor, isRecent, actorId, mayWrite, ...rest } = row;
  const isRequired = isFactorRequired ||
    rules.isRequiredForPlatform && row.permissions.some((code) => PLATFORM_REACH.has(code));
  const proof = {
    isLimited: isRequired && !hasTwoFactors,
    hasFactor,
    isRecent: isRecent && (hasTwoFactors || !hasFactor),
  };
  const actedBy = actorId === null ? null : { userId: actorId, mayWrite };
  return { ...rest, exists: true, permissions: new Set(row.permissions), proof, actedBy };
}
