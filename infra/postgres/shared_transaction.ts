// Makes several functions that each open a transaction join one shared transaction, so that the work of one request
// commits together. The shared transaction is found through AsyncLocalStorage.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Sql, Tx } from "./postgres.ts";

interface Scope {
  /** The shared transaction; null if there is none or it has ended. */
  tx: Tx | null;
  /** Runs at the start of every transaction that begins in this scope; null if nothing is to run. */
  setup: ((tx: Tx) => Promise<void>) | null;
}

const scopes = new AsyncLocalStorage<Scope>();

/** The shared transaction of the current work, or null. Code that batches writes of many callers must check it. */
export const sharedTransaction = (): Tx | null => scopes.getStore()?.tx ?? null;

/** The setup that runs at the start of each transaction of the current work, or null. */
export const transactionSetup = (): Scope["setup"] => scopes.getStore()?.setup ?? null;

/** Runs `work` as part of `tx`. Callbacks that run after `work` has ended, such as timers, no longer join `tx`. */
export async function runInSharedTransaction<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  const scope: Scope = { tx, setup: null };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.tx = null;
  }
}

/** Runs `work`. Every transaction that it opens starts with `setup`. */
export async function withTransactionSetup<T>(
  setup: (tx: Tx) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const scope: Scope = { tx: null, setup };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.setup = null;
  }
}

/** Runs `work` outside of the caller's shared transaction. */
export const outsideSharedTransaction = <T>(work: () => T): T => scopes.run({ tx: null, setup: null }, work);

const upkeep = new AsyncLocalStorage<true>();

/** Runs `work` with the connections and limits of upkeep: its statements may scan whole tables. */
export const onUpkeepPool = <T>(work: () => T): T => upkeep.run(true, work);

/**
 * Wraps the pool: queries inside a shared transaction run on its connection, and queries inside `onUpkeepPool` run on
 * `upkeepSql`.
 */
export function transactionAwarePool(sql: Sql, upkeepSql: Sql): Sql {
  const pool = () => upkeep.getStore() ? upkeepSql : sql;
  const query = (...args: Parameters<Sql>) => (sharedTransaction() ?? pool())(...args);
  const unsafe: Sql["unsafe"] = (...args) => (sharedTransaction() ?? pool()).unsafe(...args);
  const begin = ((...args: Parameters<Sql["begin"]>) => pool().begin(...args)) as Sql["begin"];
  return Object.assign(query, sql, { unsafe, begin }) as Sql;
}
