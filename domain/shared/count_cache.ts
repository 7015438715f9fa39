import { announceChange } from "../../infra/postgres/changes.ts";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import { cacheOfDatabase } from "./ttl_cache.ts";

/** Totals of at least this size are cached: counting so many rows takes longer than reading a page. */
const LARGE = 10_000;
const FRESH_MS = 1_000;
const MAX_ENTRIES = 500;

const cacheOf = cacheOfDatabase<{ counts: unknown; total: number }>("user totals", {
  ttlMs: FRESH_MS,
  maxEntries: MAX_ENTRIES,
  keeps: ({ total }) => total >= LARGE,
  isExact: true,
});

/**
 * Returns a cached large total that is less than a second old, else runs `count`. Changes of users and links invalidate
 * the cache at once (see `invalidateCounts`). Totals under 10,000 are counted every time.
 * @param key identifies the counted rows, with all filters
 */
export async function countCached(q: Sql, key: string, count: () => Promise<number>): Promise<number> {
  return await countsCached(q, key, count, (total) => total);
}

/** Several counts of the same rows, as `countCached` has one. @param totalOf the number of the rows */
export async function countsCached<C>(
  q: Sql,
  key: string,
  count: () => Promise<C>,
  totalOf: (counts: C) => number,
): Promise<C> {
  const { counts } = await cacheOf(q).read(key, async () => {
    const counts = await count();
    return { counts, total: totalOf(counts) };
  });
  return counts as C;
}

/** True if a large total is cached for `key`: a hint for the choice of a query, because the total may have changed. */
export const isKnownLarge = (q: Sql, key: string): boolean => cacheOf(q).has(key);

/** Invalidates all cached totals on every instance when `tx` commits. */
export const invalidateCounts = (tx: Tx): void => announceChange(tx, { topic: "user totals" });
