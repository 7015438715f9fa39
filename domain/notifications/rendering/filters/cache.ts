const MAX_ENTRIES = 256;

/**
 * Remembers costly immutable values, Intl formatters above all, by key. Holds 256 at most and forgets the oldest
 * first, so that argument values taken from data cannot make it grow.
 */
export function getOrCreate<T>(cache: Map<string, T>, key: string, make: () => T): T {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = make();
  const oldest = cache.keys().next();
  if (cache.size >= MAX_ENTRIES && !oldest.done) cache.delete(oldest.value);
  cache.set(key, made);
  return made;
}
