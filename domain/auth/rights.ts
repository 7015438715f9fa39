import type { Log } from "../../infra/log.ts";
import { type Broadcast, openBroadcast } from "../../infra/postgres/broadcast.ts";
import { afterCommit, type Sql, type Tx } from "../../infra/postgres/postgres.ts";
import { ApiKeyRightsCache } from "./api_key_rights.ts";
import { permissionCodes } from "./held_permissions.ts";

/** A change made elsewhere is seen at the latest this much later, even when it was not heard of. */
const FRESH_MS = 600;
const USERS_REMEMBERED = 5_000;
/** More changed users than this are told to other instances as "everyone". */
const NAMED_AT_MOST = 100;

/** What a session may do in one tenant's context, as the database has it. */
export interface SessionRights {
  exists: boolean;
  revoked: boolean;
  /** The user is active and not deleted. */
  usable: boolean;
  /** The session was opened after the last change to the user's role, permission or link. */
  current: boolean;
  securityVersion: number;
  /** The user has an active link to the tenant and the tenant is active. */
  linked: boolean;
  permissions: ReadonlySet<string>;
}

const NO_RIGHTS: SessionRights = {
  exists: false,
  revoked: false,
  usable: false,
  current: false,
  securityVersion: 0,
  linked: false,
  permissions: new Set(),
};

interface Remembered {
  rights: Promise<SessionRights>;
  loadedAt: number;
}

/**
 * Remembers what sessions may do, for less than a second. A change is forgotten before its answer is sent, on this
 * instance and on all others that hear of it; on one that does not, when the entry is too old.
 */
export class Rights {
  #users = new Map<string, Map<string, Remembered>>();
  #others: Broadcast | null = null;
  /** The same for API keys: what changes a user's rights changes those of their keys. */
  readonly apiKeys: ApiKeyRightsCache;

  constructor(private readonly sql: Sql) {
    this.apiKeys = new ApiKeyRightsCache(sql);
  }

  /** Exchanges changes of rights with other instances until the returned broadcast is stopped. */
  async connect(o: { sql: Sql; log: Log; listens: boolean }): Promise<Broadcast> {
    const onMessage = (payload: string) => this.forget(payload);
    return this.#others = await openBroadcast({ name: "steward_access", onMessage, ...o });
  }

  /** The rights of a session in `tenantId`'s context; null stands for the service as a whole. */
  async read(userId: string, sessionId: string, tenantId: string | null): Promise<SessionRights> {
    const key = `${sessionId} ${tenantId}`;
    const known = this.#users.get(userId)?.get(key);
    if (known && performance.now() - known.loadedAt < FRESH_MS) return await known.rights;
    const entry = { rights: this.#load(userId, sessionId, tenantId), loadedAt: performance.now() };
    let sessions = this.#users.get(userId);
    if (!sessions) {
      if (this.#users.size >= USERS_REMEMBERED) this.#users.delete(this.#users.keys().next().value ?? "");
      this.#users.set(userId, sessions = new Map());
    }
    if (sessions.size >= 50) sessions.clear();
    sessions.set(key, entry);
    entry.rights.catch(() => this.forget(userId));
    return await entry.rights;
  }

  /** Forgets users here and on every instance once `tx` has committed; `"everyone"` where there are too many. */
  changed(tx: Tx, userIds: string[] | "everyone"): void {
    if (userIds.length === 0) return;
    const payload = userIds === "everyone" || userIds.length > NAMED_AT_MOST ? "everyone" : userIds.join(",");
    afterCommit(tx, async () => {
      this.forget(payload);
      await this.#others?.send(payload);
    });
  }

  /** Takes what was told: comma-separated user ids, or `everyone`, or nothing when something may have been missed. */
  forget(payload: string): void {
    this.apiKeys.forget();
    if (payload === "" || payload === "everyone") this.#users.clear();
    else for (const userId of payload.split(",")) this.#users.delete(userId);
  }

  async #load(userId: string, sessionId: string, tenantId: string | null): Promise<SessionRights> {
    const { sql } = this;
    const [row] = await sql<(Omit<SessionRights, "exists" | "permissions"> & { permissions: string[] })[]>`
      select s.revoked_at is not null or s.expires_at < now() as revoked,
        u.is_active and u.deleted_at is null as usable,
        s.security_version = u.security_version as current, u.security_version,
        exists (select from user_tenants l join tenants t on t.id = l.tenant_id
          where l.user_id = u.id and l.tenant_id = ${tenantId} and l.is_active
            and t.is_active and t.deleted_at is null) as linked,
        array(${permissionCodes(sql, userId, tenantId)}) as permissions
      from sessions s join users u on u.id = s.user_id
      where s.id = ${sessionId} and s.user_id = ${userId}`;
    return row ? { ...row, exists: true, permissions: new Set(row.permissions) } : NO_RIGHTS;
  }
}
