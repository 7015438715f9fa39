const MAX_ENTRIES = 256;

/**
 * Returns the cached value of `key`, or makes and caches it. For immutable values that are expensive to make, mostly Intl
 * formatters. The oldest entry is evicted at MAX_ENTRIES, so that languages and arguments of callers cannot fill the memory.
 */
export function getOrCreate<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const made = make();
  const oldest = cache.keys().next();
  if (cache.size >= MAX_ENTRIES && !oldest.done) cache.delete(oldest.value);
  cache.set(key, made);
  return made;
}
