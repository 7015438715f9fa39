// What is done on behalf of one request may have to commit together although several functions each open a
// transaction of their own. The request's asynchronous context tells them which one they belong to.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Sql, Tx } from "./postgres.ts";

interface Scope {
  /** The transaction everything within joins; null once it has ended, or where there is none. */
  tx: Tx | null;
  /** Runs first in every transaction that begins within. */
  first: ((tx: Tx) => Promise<void>) | null;
}

const scopes = new AsyncLocalStorage<Scope>();

/** The transaction the running work belongs to, or null. Whoever writes for many callers at once must look. */
export const sharedTransaction = (): Tx | null => scopes.getStore()?.tx ?? null;

/** What the running work wants done first in each of its transactions, or null. */
export const transactionSetup = (): Scope["first"] => scopes.getStore()?.first ?? null;

/** Runs `work` as part of `tx`: what outlives it, such as a timer it has set, is on its own again afterwards. */
export async function runInSharedTransaction<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  const scope: Scope = { tx, first: null };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.tx = null;
  }
}

/** Runs `work` with `first` at the beginning of every transaction it opens. */
export async function withTransactionSetup<T>(
  first: (tx: Tx) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const scope: Scope = { tx: null, first };
  try {
    return await scopes.run(scope, work);
  } finally {
    scope.first = null;
  }
}

/** Runs `work` for nobody in particular, whoever has set it off. */
export const outsideSharedTransaction = <T>(work: () => T): T => scopes.run({ tx: null, first: null }, work);

const upkeep = new AsyncLocalStorage<true>();

/** Runs `work` as upkeep: its statements go over whole tables and may take their time. */
export const onUpkeepPool = <T>(work: () => T): T => upkeep.run(true, work);

/**
 * The pool, except that queries of work that shares a transaction run on that transaction's connection, and those of
 * upkeep in the pool for upkeep.
 */
export function transactionAwarePool(sql: Sql, upkeepSql: Sql): Sql {
  const pool = () => upkeep.getStore() ? upkeepSql : sql;
  const query = (...args: Parameters<Sql>) => (sharedTransaction() ?? pool())(...args);
  const unsafe: Sql["unsafe"] = (...args) => (sharedTransaction() ?? pool()).unsafe(...args);
  const begin = ((...args: Parameters<Sql["begin"]>) => pool().begin(...args)) as Sql["begin"];
  return Object.assign(query, sql, { unsafe, begin }) as Sql;
}
