import { invalidateCache, onCacheInvalidation } from "../../../infra/postgres/cache_invalidation.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { sharedTransaction } from "../../../infra/postgres/shared_transaction.ts";
import { TtlCache } from "../../shared/ttl_cache.ts";
import { findTemplate, type FoundTemplate } from "./read.ts";

/** Lifetime of an entry. It bounds how long a change made by another instance is missed if its invalidation is lost. */
const TTL_MS = 600;
const MAX_ENTRIES = 500;

type Requirements = Pick<FoundTemplate, "requiredVariables" | "versionId">;

const cachesByPool = new WeakMap<Sql, TtlCache<Requirements>>();

/** The cache of a database pool. All TemplateCaches of the pool share it. */
function cacheOf(sql: Sql): TtlCache<Requirements> {
  const existing = cachesByPool.get(sql);
  if (existing) return existing;
  const cache = new TtlCache<Requirements>({ ttlMs: TTL_MS, maxEntries: MAX_ENTRIES });
  cachesByPool.set(sql, cache);
  onCacheInvalidation(sql, "templates", () => cache.clear());
  return cache;
}

/** Caches the current version of templates and their required variables, because many messages use the same template. */
export class TemplateCache {
  readonly #cache: TtlCache<Requirements>;

  constructor(private readonly sql: Sql) {
    this.#cache = cacheOf(sql);
  }

  /** @throws NOTIFICATION_TEMPLATE_NOT_FOUND, VALIDATION_ERROR for an invalid locale */
  async find(tenantId: string | null, slug: string, locale: string | null): Promise<Requirements> {
    // a read in a shared transaction may fail with that transaction, so it is not cached
    if (sharedTransaction()) return await findTemplate(this.sql, tenantId, slug, locale);
    const key = JSON.stringify([tenantId, slug, locale]);
    return await this.#cache.read(key, () => this.#read(tenantId, slug, locale));
  }

  async #read(tenantId: string | null, slug: string, locale: string | null): Promise<Requirements> {
    const { requiredVariables, versionId } = await findTemplate(this.sql, tenantId, slug, locale);
    return { requiredVariables, versionId };
  }
}

/** Clears the template cache of every instance when `tx` commits. */
export const invalidateTemplates = (sql: Sql, tx: Tx): void => invalidateCache(sql, tx, "templates");
