// Invalidates in-process caches of database rows, on this instance and on all others, when a transaction changes the rows.
import type { Log } from "../log.ts";
import { type Broadcast, openBroadcast } from "./broadcast.ts";
import { afterCommit, type Sql, type Tx } from "./postgres.ts";

/** Names of caches. Instances send them to each other. */
export type CacheTopic = "templates" | "user totals";

interface Caches {
  clear: Map<string, () => void>;
  broadcast: Broadcast | null;
}

const cachesByPool = new WeakMap<Sql, Caches>();

function cachesOf(sql: Sql): Caches {
  let caches = cachesByPool.get(sql);
  if (!caches) cachesByPool.set(sql, caches = { clear: new Map(), broadcast: null });
  return caches;
}

/** Calls `clear` whenever this or another instance invalidates the cache `topic`. */
export function onCacheInvalidation(sql: Sql, topic: CacheTopic, clear: () => void): void {
  cachesOf(sql).clear.set(topic, clear);
}

/**
 * After `tx` commits, clears the cache `topic` here and on all other instances. `transact` resolves after the other
 * instances have confirmed, or after the broadcast's timeout.
 */
export function invalidateCache(sql: Sql, tx: Tx, topic: CacheTopic): void {
  afterCommit(tx, async () => {
    clearCaches(sql, topic);
    await cachesByPool.get(sql)?.broadcast?.send(topic);
  });
}

/** Clears the cache `topic` of this instance; all caches if `topic` is "", because messages may have been missed. */
function clearCaches(sql: Sql, topic: string): void {
  for (const [name, clear] of cachesByPool.get(sql)?.clear ?? []) if (topic === "" || topic === name) clear();
}

/**
 * Exchanges cache invalidations with other instances until the returned broadcast is stopped.
 * @param pool the pool that the caches belong to
 * @param o.sql a pool whose queries never join a shared transaction
 */
export async function shareCacheInvalidation(
  pool: Sql,
  o: { sql: Sql; log: Log; listens: boolean },
): Promise<Broadcast> {
  const onMessage = (topic: string) => clearCaches(pool, topic);
  return cachesOf(pool).broadcast = await openBroadcast({ name: "steward_changes", onMessage, ...o });
}
