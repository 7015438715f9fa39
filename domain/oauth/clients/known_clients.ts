import { subscribeToChanges } from "../../../infra/postgres/changes.ts";
import { mainPool, type Sql } from "../../../infra/postgres/postgres.ts";
import { TtlCache } from "../../shared/ttl_cache.ts";
import { clientColumns, type OAuthClient } from "./client.ts";
import { LastUses } from "../../rights/last_uses.ts";

/** Maximum age of a cached client; the same as for rights, see `Rights`. */
const FRESH_MS = 600;
const MAX_CACHED = 5_000;

/** A client that is not revoked and whose tenant is active. */
export type KnownClient = OAuthClient & { secretHash: Uint8Array | null };

/** Caches clients by client id for less than a second, and records when they were last used. */
export class KnownClients {
  /** Unknown ids are not cached: they would evict those in use. */
  readonly #clients = new TtlCache<KnownClient | null>({
    ttlMs: FRESH_MS,
    maxEntries: MAX_CACHED,
    keeps: (client) => client !== null,
  });
  readonly #uses: LastUses;

  constructor(private readonly sql: Sql) {
    this.#uses = new LastUses(sql);
    for (const topic of ["oauth clients", "tenants"] as const) {
      subscribeToChanges(mainPool(sql), topic, () => this.#clients.expireAll());
    }
  }

  /** Returns the live client with this client id; null if no live client has it. */
  async read(clientId: string): Promise<KnownClient | null> {
    return await this.#clients.read(clientId, () => this.#load(clientId));
  }

  async #load(clientId: string): Promise<KnownClient | null> {
    const { sql } = this;
    const [client] = await sql<KnownClient[]>`
      select ${clientColumns(sql)}, secret_hash from oauth_clients c where client_id = ${clientId}
        and revoked_at is null and (tenant_id is null or exists (
          select from tenants t where t.id = c.tenant_id and t.is_active and t.deleted_at is null))`;
    return client ?? null;
  }

  /** Records a client's use, at most once a minute, without waiting for it. */
  recordUse({ id }: Pick<KnownClient, "id">): void {
    this.#uses.record("oauth_clients", id);
  }
}
