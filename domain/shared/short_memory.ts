interface Entry<V> {
  value: Promise<V>;
  loadedAt: number;
}

/**
 * Caches values for a short time, by key. The oldest entry makes room for a new one. Concurrent reads of a key share one
 * load. Failed loads are not cached.
 */
export class ShortMemory<V> {
  readonly #entries = new Map<string, Entry<V>>();

  /** @param o.keeps false for values that are not worth an entry; default: all are */
  constructor(private readonly o: { ttlMs: number; maxEntries: number; keeps?: (value: V) => boolean }) {}

  /** The cached value of `key`, if it is younger than the time to live; otherwise what `load` returns. */
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

  /** Has every key loaded again by its next read. `has` still knows them. */
  expireAll(): void {
    for (const entry of this.#entries.values()) entry.loadedAt = -Infinity;
  }
}
