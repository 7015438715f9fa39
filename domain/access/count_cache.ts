import { invalidateCache, onCacheInvalidation } from "../../infra/postgres/cache_invalidation.ts";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";

/** Totals of at least this size are cached: counting so many rows takes longer than reading a page. */
const LARGE = 10_000;
const FRESH_MS = 1_000;
const MAX_ENTRIES = 500;

interface CachedCount {
  total: Promise<number>;
  countedAt: number;
}

class CountCache {
  entries = new Map<string, CachedCount>();
  /** Number of invalidations. A count that started before an invalidation is not cached after it. */
  changes = 0;
}

const caches = new WeakMap<Sql, CountCache>();

/**
 * Returns a cached large total that is less than a second old, else runs `count`. Changes of users and links invalidate
 * the cache at once (see `invalidateCounts`). Totals under 10,000 are counted every time.
 * @param key identifies what is counted, with all filters.
 */
export async function countCached(sql: Sql, key: string, count: () => Promise<number>): Promise<number> {
  const cache = cacheOf(sql);
  const known = cache.entries.get(key);
  if (known && performance.now() - known.countedAt < FRESH_MS) return await known.total;
  const { changes } = cache;
  const entry = { total: count(), countedAt: performance.now() };
  if (known) cache.entries.set(key, entry); // known to be large: concurrent callers wait for this count
  try {
    const total = await entry.total;
    if (total >= LARGE && !known && changes === cache.changes) store(cache, key, entry);
    if (total < LARGE && cache.entries.get(key) === entry) cache.entries.delete(key);
    return total;
  } catch (error) {
    if (cache.entries.get(key) === entry) cache.entries.delete(key);
    throw error;
  }
}

/** Is a large total cached for `key`? Only a hint for choosing a query, because the total may have changed. */
export const isKnownLarge = (sql: Sql, key: string): boolean => caches.get(sql)?.entries.has(key) ?? false;

/** Invalidates all cached totals on every instance when `tx` commits. */
export const invalidateCounts = (sql: Sql, tx: Tx): void => invalidateCache(sql, tx, "user totals");

const cacheOf = (sql: Sql): CountCache => caches.get(sql) ?? createCache(sql);

function createCache(sql: Sql): CountCache {
  const cache = new CountCache();
  caches.set(sql, cache);
  onCacheInvalidation(sql, "user totals", () => {
    cache.changes++;
    for (const entry of cache.entries.values()) entry.countedAt = -Infinity;
  });
  return cache;
}

function store({ entries }: CountCache, key: string, entry: CachedCount): void {
  if (entries.size >= MAX_ENTRIES) entries.delete(entries.keys().next().value ?? "");
  entries.set(key, entry);
}
