import { type ChangeTopic, subscribeToChanges } from "../../infra/postgres/changes.ts";
import { mainPool, type Pool, type Sql } from "../../infra/postgres/postgres.ts";

interface CacheOptions<V> {
  ttlMs: number;
  maxEntries: number;
  /** Returns false for values that must not be cached; default: all values are cached. */
  keeps?: (value: V) => boolean;
  /** True: the first load of a key is not shared, so that a caller never gets a value from before its own write. */
  isExact?: boolean;
}

interface Entry<V> {
  value: Promise<V>;
  loadedAt: number;
  /** False during the first load of an exact cache. */
  isShared: boolean;
}

/**
 * Caches values for a short time, by key. The oldest entry makes room for a new one. Concurrent reads of a key share one
 * load, see `isExact`. Failed loads are not cached.
 */
export class TtlCache<V> {
  readonly #entries = new Map<string, Entry<V>>();

  constructor(private readonly o: CacheOptions<V>) {}

  /** Returns the cached value of `key` if it is younger than `ttlMs`; otherwise calls `load` and caches its result. */
  read(key: string, load: () => Promise<V>): Promise<V> {
    const { ttlMs, maxEntries, keeps, isExact } = this.o;
    const known = this.#entries.get(key);
    if (known?.isShared && performance.now() - known.loadedAt < ttlMs) return known.value;
    const isShared = !isExact || known?.isShared === true;
    const entry = { value: load(), loadedAt: performance.now(), isShared };
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= maxEntries) this.#entries.delete(oldest);
    this.#entries.set(key, entry);
    const remove = () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    entry.value.then((value) => keeps?.(value) === false ? remove() : entry.isShared = true, remove);
    return entry.value;
  }

  /** True if a value is cached for `key`, of any age. */
  has(key: string): boolean {
    return this.#entries.get(key)?.isShared === true;
  }

  /** Expires all entries, so that their next read loads again. `has` still returns true for them. */
  expireAll(): void {
    for (const entry of this.#entries.values()) entry.loadedAt = -Infinity;
  }
}

/**
 * A cache for each database, found by its pool because readers get only a pool or a transaction. Its entries expire when any
 * instance announces a change of the topic.
 */
export function cacheOfDatabase<V>(topic: ChangeTopic, o: CacheOptions<V>): (q: Sql) => TtlCache<V> {
  const caches = new WeakMap<Pool, TtlCache<V>>();
  return (q) => {
    const pool = mainPool(q);
    let cache = caches.get(pool);
    if (!cache) {
      const created = cache = new TtlCache<V>(o);
      caches.set(pool, cache);
      subscribeToChanges(pool, topic, () => created.expireAll());
    }
    return cache;
  };
}
