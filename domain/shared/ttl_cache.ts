interface Entry<V> {
  value: Promise<V>;
  loadedAt: number;
}

/**
 * Caches values for a short time, by key. The oldest entry makes room for a new one. Concurrent reads of a key share one
 * load. Failed loads are not cached.
 */
export class TtlCache<V> {
  readonly #entries = new Map<string, Entry<V>>();

  /** @param o.keeps returns false for values that must not be cached; default: all values are cached */
  constructor(private readonly o: { ttlMs: number; maxEntries: number; keeps?: (value: V) => boolean }) {}

  /** Returns the cached value of `key` if it is younger than `ttlMs`; otherwise calls `load` and caches its result. */
  read(key: string, load: () => Promise<V>): Promise<V> {
    const { ttlMs, maxEntries, keeps } = this.o;
    const known = this.#entries.get(key);
    if (known && performance.now() - known.loadedAt < ttlMs) return known.value;
    const entry = { value: load(), loadedAt: performance.now() };
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= maxEntries) this.#entries.delete(oldest);
    this.#entries.set(key, entry);
    const remove = () => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    entry.value.then((value) => keeps?.(value) === false && remove(), remove);
    return entry.value;
  }

  /** True if there is an entry for `key`, of any age. */
  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Removes all entries. */
  clear(): void {
    this.#entries.clear();
  }

  /** Expires all entries, so that their next read loads again. `has` still returns true for them. */
  expireAll(): void {
    for (const entry of this.#entries.values()) entry.loadedAt = -Infinity;
  }
}
