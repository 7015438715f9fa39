// Invalidates in-process caches of database rows, on this instance and on all others, when a transaction changes the rows.
import type { Log } from "../log.ts";
import { type Broadcast, openBroadcast } from "./broadcast.ts";
import { afterCommit, mainPool, type Pool, type Tx } from "./postgres.ts";

/** Names of caches. Instances send them to each other. */
export type CacheTopic = "templates" | "user totals";

interface Caches {
  clear: Map<string, () => void>;
  broadcast: Broadcast | null;
}

const cachesByPool = new WeakMap<Pool, Caches>();

function cachesOf(pool: Pool): Caches {
  let caches = cachesByPool.get(pool);
  if (!caches) cachesByPool.set(pool, caches = { clear: new Map(), broadcast: null });
  return caches;
}

/** Calls `clear` whenever this or another instance invalidates the cache `topic`. */
export function onCacheInvalidation(pool: Pool, topic: CacheTopic, clear: () => void): void {
  cachesOf(pool).clear.set(topic, clear);
}

/**
 * After `tx` commits, clears the cache `topic` here and on all other instances. `transact` resolves after the other
 * instances have confirmed, or after the broadcast's timeout.
 */
export function invalidateCache(tx: Tx, topic: CacheTopic): void {
  const pool = mainPool(tx);
  afterCommit(tx, async () => {
    clearCaches(pool, topic);
    await cachesByPool.get(pool)?.broadcast?.send(topic);
  });
}

/** Clears the cache `topic` of this instance; all caches if `topic` is "", because messages may have been missed. */
function clearCaches(pool: Pool, topic: string): void {
  for (const [name, clear] of cachesByPool.get(pool)?.clear ?? []) {
    if (topic === "" || topic === name) clear();
  }
}

/** Exchanges cache invalidations with other instances until the returned broadcast is stopped. */
export async function shareCacheInvalidation(
  pool: Pool,
  o: { log: Log; listens: boolean },
): Promise<Broadcast> {
  const onMessage = (topic: string) => clearCaches(pool, topic);
  return cachesOf(pool).broadcast = await openBroadcast({
    sql: pool,
    name: "steward_changes",
    onMessage,
    ...o,
  });
}
