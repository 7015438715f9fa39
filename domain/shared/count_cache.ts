import { announceChange, subscribeToChanges } from "../../infra/postgres/changes.ts";
import { mainPool, type Pool, type Sql, type Tx } from "../../infra/postgres/postgres.ts";
import { TtlCache } from "./ttl_cache.ts";

/** Totals of at least this size are cached: counting so many rows takes longer than reading a page. */
const LARGE = 10_000;
const FRESH_MS = 1_000;
const MAX_ENTRIES = 500;

const caches = new WeakMap<Pool, TtlCache<number>>();

/**
 * Returns a cached large total that is less than a second old, else runs `count`. Changes of users and links invalidate
 * the cache at once (see `invalidateCounts`). Totals under 10,000 are counted every time.
 * @param key identifies what is counted, with all filters.
 */
export async function countCached(sql: Sql, key: string, count: () => Promise<number>): Promise<number> {
  return await cacheOf(mainPool(sql)).read(key, count);
}

/** Is a large total cached for `key`? Only a hint for choosing a query, because the total may have changed. */
export const isKnownLarge = (sql: Sql, key: string): boolean => caches.get(mainPool(sql))?.has(key) ?? false;

/** Invalidates all cached totals on every instance when `tx` commits. */
export const invalidateCounts = (tx: Tx): void => announceChange(tx, { topic: "user totals" });

const cacheOf = (pool: Pool): TtlCache<number> => caches.get(pool) ?? createCache(pool);

function createCache(pool: Pool): TtlCache<number> {
  const cache = new TtlCache<number>({
    ttlMs: FRESH_MS,
    maxEntries: MAX_ENTRIES,
    keeps: (total) => total >= LARGE,
  });
  caches.set(pool, cache);
  subscribeToChanges(pool, "user totals", () => cache.expireAll());
  return cache;
}
