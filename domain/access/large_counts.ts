import { invalidateCache, onCacheInvalidation } from "../../infra/postgres/cache_invalidation.ts";
import type { Sql, Tx } from "../../infra/postgres/postgres.ts";

/** A total from here on is remembered for a moment: counting so many rows takes longer than reading a page. */
const LARGE = 10_000;
const FRESH_MS = 1_000;
const REMEMBERED = 500;

interface Remembered {
  total: Promise<number>;
  countedAt: number;
}

class Memory {
  entries = new Map<string, Remembered>();
  /** Grows with every change, so that a count begun before it is not remembered after it. */
  changes = 0;
}

const memories = new WeakMap<Sql, Memory>();

/**
 * Runs `count`, or answers a large total counted less than a second ago. Users and links that come, go or change their
 * activity are counted at once (see `recount`), all else within a second; totals under 10,000 are always counted anew.
 * @param key what is counted, with all its filters.
 */
export async function countRemembered(sql: Sql, key: string, count: () => Promise<number>): Promise<number> {
  const memory = memoryOf(sql);
  const known = memory.entries.get(key);
  if (known && performance.now() - known.countedAt < FRESH_MS) return await known.total;
  const { changes } = memory;
  const entry = { total: count(), countedAt: performance.now() };
  if (known) memory.entries.set(key, entry); // known to be large: whoever asks meanwhile waits for this count
  try {
    const total = await entry.total;
    if (total >= LARGE && !known && changes === memory.changes) remember(memory, key, entry);
    if (total < LARGE && memory.entries.get(key) === entry) memory.entries.delete(key);
    return total;
  } catch (error) {
    if (memory.entries.get(key) === entry) memory.entries.delete(key);
    throw error;
  }
}

/** Was this counted before and found large? A hint on which way to go; the total may have changed since. */
export const isKnownLarge = (sql: Sql, key: string): boolean => memories.get(sql)?.entries.has(key) ?? false;

/** Has every large total counted anew once `tx` has committed, on every instance. */
export const recount = (sql: Sql, tx: Tx): void => invalidateCache(sql, tx, "user totals");

const memoryOf = (sql: Sql): Memory => memories.get(sql) ?? openMemory(sql);

function openMemory(sql: Sql): Memory {
  const memory = new Memory();
  memories.set(sql, memory);
  onCacheInvalidation(sql, "user totals", () => {
    memory.changes++;
    for (const entry of memory.entries.values()) entry.countedAt = -Infinity;
  });
  return memory;
}

function remember({ entries }: Memory, key: string, entry: Remembered): void {
  if (entries.size >= REMEMBERED) entries.delete(entries.keys().next().value ?? "");
  entries.set(key, entry);
}
