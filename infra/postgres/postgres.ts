import postgres from "postgres";
import { inSpan } from "../telemetry/tracing.ts";
import {
  copyOf,
  openDriver,
  replaceListen,
  startTransactionsWith,
  type TransactionConnection,
  unlessLost,
  whileConnected,
} from "./driver_workarounds.ts";
import { DatabaseServer, type ServerRole } from "./database_server.ts";
import { isConnectionLost, isPlanInvalid, PostgresError, SQLSTATE } from "./failures.ts";
import { sessionSettings, statementLimitMs, transactionSettings, type Work } from "./session_limits.ts";
import { ConnectionWatchdog } from "./connection_watchdog.ts";
import type { PendingQuery, Pool, Sql, SqlPart, Tx } from "./sql_types.ts";
import { readTime, timeType } from "./timestamps.ts";

export type { PendingQuery, Pool, Sql, SqlPart, Tx };

const CONNECT_SECONDS = 5;
const ATTEMPTS = 4;
const RETRIED: readonly string[] = [SQLSTATE.serializationFailure, SQLSTATE.deadlock];
/** Runs after a transaction has committed. `transact` waits for it. */
type Hook = () => void | Promise<void>;

/** State of an open transaction or savepoint. */
interface TransactionState {
  hooks: Hook[];
  /** Statements sent with `withCommit`; null in a savepoint, where they are awaited at once. */
  trailing: Promise<unknown>[] | null;
  /** Shared by a transaction and its savepoints. */
  connection: TransactionConnection;
  pool: Pool;
}
const stateOf = new WeakMap<Sql, TransactionState>();
/**
 * The setup that runs at the start of each transaction of a pool made by `withTransactionSetup`. A pool is an object of
 * postgres.js, which has no members for it.
 */
const setupOf = new WeakMap<Pool, (tx: Tx) => Promise<void>>();
/** The pool whose caches and settings a derived pool shares. */
const mainPoolOf = new WeakMap<Pool, Pool>();

export interface PoolOptions {
  /** Maximum number of connections. */
  max: number;
  applicationName?: string;
  /** The kind of work for which the connections are used. Default: `service`. */
  work?: Work;
  /** Maximum duration of a statement, in ms. Default: the limit of `work`. */
  statementMs?: number;
  /** False for short-lived connections, where prepared statements do not pay off. Default: true. */
  prepare?: boolean;
  /**
   * True behind a pooler in transaction mode: each transaction may get another server connection, without session
   * state.
   */
  pooled?: boolean;
  /** Called for every connection that was closed because the database did not answer on it for `silentMs` milliseconds. */
  onGivenUp?: (silentMs: number) => void;
  /** The host to which connections are opened, of several. Default: the primary. */
  role?: ServerRole;
  /**
   * Server object that pools with the same URL share. If one of them finds a new primary, all of them leave the old one.
   * Default: a new object.
   */
  server?: DatabaseServer;
  /** Seconds after which an idle connection is closed. Default: never. */
  idleSeconds?: number;
}

/**
 * Creates a connection pool. Column names become camelCase, bigint becomes number (sizes and counts stay under 2^53),
 * and `undefined` parameters become null.
 */
export function connectPostgres(url: string, o: PoolOptions): Pool {
  const work = o.work ?? "service";
  const pooled = o.pooled ?? false;
  const statementMs = o.statementMs ?? statementLimitMs(work);
  const server = o.server ?? new DatabaseServer(url, o.role);
  const settings = {
    prepare: !pooled && (o.prepare ?? true),
    connect_timeout: CONNECT_SECONDS,
    backoff: (attempt: number) => Math.min(2 ** attempt / 20, 1), // seconds, at most 1: reconnects soon after a restart
    connection: {
      application_name: o.applicationName ?? "steward",
      ...(pooled ? {} : sessionSettings(work, statementMs)),
    },
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel }, undefined: null },
    fetch_types: false,
    types: {
      date: timeType,
      bigint: { to: 20, from: [20], serialize: String, parse: Number },
      ...arrayTypes,
    },
    // `socket` chooses among several hosts and encrypts. The driver gets one host and no TLS.
    ...server.firstHost,
    ssl: false as const,
  };
  const watchdog = new ConnectionWatchdog({ server, statementMs, pooled, onGivenUp: o.onGivenUp });
  const idle = o.idleSeconds === undefined ? {} : { idle_timeout: o.idleSeconds };
  const open = () => watchdog.open();
  const sql = openDriver(url, { ...settings, ...idle, max: o.max, socket: open });
  if (pooled) startTransactionsWith(sql, transactionSettings(work, statementMs));
  replaceListen(sql, (own) => openDriver(url, { ...settings, ...own, max: 1 }), () => server.openWatched());
  return sql;
}

/** True if `sql` is a transaction or a savepoint. */
export const isTransaction = (sql: Sql): sql is Tx => stateOf.has(sql);

/** The pool of the service that `sql` belongs to. Per-pool state, such as caches, is kept under it. */
export function mainPool(sql: Sql): Pool {
  const pool = stateOf.get(sql)?.pool ?? sql as Pool;
  return mainPoolOf.get(pool) ?? pool;
}

/** Makes `mainPool` return `main` for `pool`, another pool of the same service. */
export function setMainPool(pool: Pool, main: Pool): void {
  mainPoolOf.set(pool, main);
}

/** A pool with the connections of `pool`. Each of its transactions starts with `setup`. */
export function withTransactionSetup(pool: Pool, setup: (tx: Tx) => Promise<void>): Pool {
  const derived = copyOf(pool);
  setupOf.set(derived, setup);
  setMainPool(derived, mainPool(pool));
  return derived;
}

/**
 * Runs `work` in a transaction. Hooks set with `afterCommit` run after the commit. After a deadlock, a serialization failure
 * or a change of the schema, `work` runs again from the start, so it must have no effects outside of `tx`. If `sql` is a
 * transaction, `work` runs in a savepoint of it.
 * @param o.attempts maximum number of runs, of which those ended by a change of the schema do not count; not used in a
 * savepoint
 * @throws the error of `work`, PostgresError, or the error of a hook after the commit
 */
export async function transact<T>(
  sql: Sql,
  work: (tx: Tx) => Promise<T>,
  o: { attempts?: number } = {},
): Promise<T> {
  if (isTransaction(sql)) return await inSavepoint(sql, work);
  const setup = setupOf.get(sql);
  const wholeWork = setup ? (tx: Tx) => setup(tx).then(() => work(tx)) : work;
  return await inSpan("postgres: transaction", {}, () => tryCommit(sql, wholeWork, o.attempts ?? ATTEMPTS));
}

async function tryCommit<T>(sql: Pool, work: (tx: Tx) => Promise<T>, attempts: number): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const hooks: Hook[] = [];
    const trailing: Promise<unknown>[] = [];
    const connection = { isLost: false };
    let hasBegun = false;
    let result: T;
    try {
      const transaction = sql.begin((tx) => {
        hasBegun = true;
        const own = whileConnected(tx, connection);
        stateOf.set(own, { hooks, trailing, connection, pool: sql });
        return unlessLost(connection, work(own));
      });
      transaction.catch(() => connection.isLost = true); // if `work` failed instead, the flag is no longer read
      result = await transaction as T;
      await Promise.all(trailing); // if one of them failed, the commit was a rollback
    } catch (error) {
      if (isPlanInvalid(error)) {
        attempt--; // each statement fails so once on a connection
        continue;
      }
      if (attempt === attempts || !(error instanceof PostgresError)) throw error;
      // If the server closed an idle connection, the next query on it fails once with that error.
      const isStale = !hasBegun && attempt === 1 && isConnectionLost(error);
      if (!isStale && !RETRIED.includes(error.code)) throw error;
      continue;
    }
    await Promise.all(hooks.map((hook) => hook())); // outside `try`: a failing hook must not repeat a committed transaction
    return result;
  }
}

/**
 * Runs `work` in a savepoint of `around`. If it fails, only the savepoint is rolled back, and `around` can continue.
 */
export async function inSavepoint<T>(around: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  const state = stateOf.get(around);
  if (!state) throw new Error("inSavepoint was called outside of transact()");
  if (state.connection.isLost) return await new Promise<never>(() => {}); // sends nothing, see whileConnected
  const hooks: Hook[] = [];
  const result = await around.savepoint((tx) => {
    const own = whileConnected(tx, state.connection);
    stateOf.set(own, { ...state, hooks, trailing: null });
    return unlessLost(state.connection, work(own));
  });
  state.hooks.push(...hooks);
  return result as T;
}

/** Runs `hook` after `tx` commits, before `transact` resolves. A rolled-back transaction does not run it. */
export function afterCommit(tx: Tx, hook: Hook): void {
  const state = stateOf.get(tx);
  if (!state) throw new Error("afterCommit was called outside of transact()");
  state.hooks.push(hook);
}

/**
 * Sends `statement` without waiting for its result, so the commit can be sent right behind it. This saves a round trip.
 * If it fails, the transaction fails. In a savepoint it is awaited.
 * @param statement its parameters must be serializable without error: only an error of the server prevents the commit.
 */
export async function withCommit<R extends readonly postgres.MaybeRow[]>(
  tx: Tx,
  statement: PendingQuery<R>,
): Promise<void> {
  const { trailing, connection } = stateOf.get(tx) ?? {};
  if (!trailing || !connection) return void await statement;
  statement.catch((error) => { // `tryCommit` reports the error
    if (isConnectionLost(error)) connection.isLost = true;
  });
  trailing.push(statement);
}

/** Runs `hook` after `sql` commits if it is a transaction; immediately if it is a pool. */
export function whenCommitted(sql: Sql, hook: () => void): void {
  if (isTransaction(sql)) afterCommit(sql, hook);
  else hook();
}

const unchanged = (text: string) => text;

/**
 * The array types that the service uses. The driver could fetch them on every new connection, but the first query of a
 * connection may be sent before they have arrived. The object ids, of the element type and of the array type, are built
 * into Postgres and never change.
 */
const ARRAY_TYPES: Record<string, { element: number; array: number; parse: (text: string) => unknown }> = {
  booleans: { element: 16, array: 1000, parse: (text) => text === "t" },
  smallints: { element: 21, array: 1005, parse: Number },
  integers: { element: 23, array: 1007, parse: Number },
  bigints: { element: 20, array: 1016, parse: Number },
  reals: { element: 700, array: 1021, parse: Number },
  doubles: { element: 701, array: 1022, parse: Number },
  texts: { element: 25, array: 1009, parse: unchanged },
  names: { element: 19, array: 1003, parse: unchanged },
  uuids: { element: 2950, array: 2951, parse: unchanged },
  timestamps: { element: 1184, array: 1185, parse: readTime },
  jsons: { element: 3802, array: 3807, parse: (text) => JSON.parse(text) },
};

/** These types in the form of the driver's `types` option. */
export const arrayTypes = Object.fromEntries(
  Object.entries(ARRAY_TYPES).map(([name, { array, parse }]) => [name, {
    to: array,
    from: [array],
    serialize: printArray,
    parse: (text: string) => parseArray(text, parse),
  }]),
);

/**
 * Returns the array literal: numbers bare, other elements quoted, null as NULL. A value that is not an array becomes a
 * string.
 */
function printArray(values: unknown): string {
  if (!Array.isArray(values)) return String(values);
  return `{${values.map(printElement).join(",")}}`;
}

const NEEDS_ESCAPE = /[\\"]/;

function printElement(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (typeof value === "number") return String(value);
  const text = value instanceof Date ? value.toISOString() : String(value);
  return NEEDS_ESCAPE.test(text) ? `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` : `"${text}"`;
}

/** Parses the literal of a one-dimensional array. */
function parseArray<T>(literal: string, parse: (text: string) => T): (T | null)[] {
  const values: (T | null)[] = [];
  const element = /"((?:[^"\\]|\\.)*)"|([^,{}"]+)/gs;
  for (const [, quoted, bare] of literal.matchAll(element)) {
    if (quoted !== undefined) values.push(parse(quoted.replace(/\\(.)/gs, "$1")));
    else values.push(bare === "NULL" ? null : parse(bare ?? ""));
  }
  return values;
}
