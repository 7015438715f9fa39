import postgres from "postgres";
import { inSpan } from "../telemetry/tracing.ts";
import { arrayTypes } from "./arrays.ts";
import { sessionSettings, statementLimitMs, transactionSettings, type Work } from "./session_limits.ts";
import { ListenConnection } from "./listen_connection.ts";
import { openSocket, type ServerAddress } from "./server_socket.ts";
import { ConnectionWatchdog } from "./connection_watchdog.ts";
import { timeType } from "./timestamps.ts";
import { runInSharedTransaction, sharedTransaction, transactionSetup } from "./shared_transaction.ts";
import { WatchedSocket } from "./watched_socket.ts";

export type Sql = postgres.Sql<{ bigint: number }>;
/** A transaction's connection; usable wherever a query is run. */
export type Tx = postgres.TransactionSql<{ bigint: number }>;
/** A query that is sent once somebody waits for it. */
export type PendingQuery<R extends readonly postgres.MaybeRow[]> = postgres.PendingQuery<R>;
/** Where a read may run: on the pool or inside a transaction. */
export type Queryable = Sql | Tx;

export const { PostgresError } = postgres;
/** Postgres error codes the service reacts to. */
export const SQLSTATE = {
  uniqueViolation: "23505",
  foreignKeyViolation: "23503",
  serializationFailure: "40001",
  deadlock: "40P01",
  lockNotAvailable: "55P03",
} as const;

/** Postgres error codes of failures that pass; some name a whole class. */
const PASSING = {
  /** The server is going down or not up yet, takes no more connections, or has ended this one. */
  away: ["57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300", "08"],
  /** The server lacks disk space, memory or another resource, or its disk fails. */
  full: ["53", "58"],
  /** Another transaction was in the way for too long, or the statement took too long. */
  busy: [SQLSTATE.lockNotAvailable, "57014", SQLSTATE.deadlock, SQLSTATE.serializationFailure],
} as const;
/** The connection could not be made, or broke. */
const UNREACHABLE = [
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
];

const CONNECT_SECONDS = 5;
const ATTEMPTS = 4;
const RETRIED: readonly string[] = [SQLSTATE.serializationFailure, SQLSTATE.deadlock];
/** What is done once a transaction has committed; whoever opened it waits for it. */
type Hook = () => void | Promise<void>;

/** What is known of a transaction that is open, or of a savepoint in one. */
interface Open {
  hooks: Hook[];
  /** Statements that are answered together with the commit; null in a savepoint, which none of them outlives. */
  trailing: Promise<unknown>[] | null;
  /** Shared by a transaction and its savepoints. */
  connection: { isLost: boolean };
}
const openOf = new WeakMap<Tx, Open>();

export interface PoolOptions {
  max: number;
  applicationName?: string;
  /** What its connections are for; `service` unless told. */
  work?: Work;
  /** Longest run of a statement, in ms; that of its kind of work unless told. */
  statementMs?: number;
  /** False for connections that last shorter than a named statement is worth. */
  prepare?: boolean;
  /** True behind a pooler in transaction mode: each transaction gets another connection, which knows no earlier one. */
  pooled?: boolean;
  /** Hears of every connection that was given up because the database no longer answered on it. */
  onGivenUp?: (silentMs: number) => void;
  /** Seconds after which an unused connection is closed; none unless told. */
  idleSeconds?: number;
}

/**
 * A connection pool. Column names come as camelCase, bigint as number (sizes and counts stay under 2^53),
 * `undefined` parameters as null.
 */
export function connectPostgres(url: string, o: PoolOptions): Sql {
  const work = o.work ?? "service";
  const pooled = o.pooled ?? false;
  const statementMs = o.statementMs ?? statementLimitMs(work);
  const address = addressOf(url);
  const settings = {
    prepare: !pooled && (o.prepare ?? true),
    connect_timeout: CONNECT_SECONDS,
    backoff: (attempt: number) => Math.min(2 ** attempt / 20, 1), // seconds; a restarted server is found within a second
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
    // The sockets choose among several hosts and come encrypted.
    ...(address.path ? {} : { host: address.host[0] ?? "", port: address.port[0] ?? 5432 }),
    ssl: false as const,
  };
  const watch = new ConnectionWatchdog({ url, address, statementMs, pooled, onGivenUp: o.onGivenUp });
  const sql = postgres(
    url,
    {
      ...settings,
      ...{ max: o.max, socket: () => watch.open() },
      ...(o.idleSeconds === undefined ? {} : { idle_timeout: o.idleSeconds }),
    } as typeof settings,
  ) as unknown as Sql;
  if (pooled) limitTransactions(sql, transactionSettings(work, statementMs));
  return Object.assign(sql, listening(sql, url, settings, address));
}

/** What the driver reads from a connection URL; it connects with the first query only. */
export const addressOf = (url: string): ServerAddress => postgres(url).options as unknown as ServerAddress;

/** The pool's `listen`, on a connection of its own that is opened by its first use, and an `end` that ends it too. */
function listening(
  sql: Sql,
  url: string,
  settings: object,
  address: ServerAddress,
): Pick<Sql, "listen" | "end"> {
  const end = sql.end.bind(sql);
  let listener: ListenConnection | undefined;
  const open = () =>
    new ListenConnection((notified, lost) => {
      let current: WatchedSocket | undefined;
      let opened = 0;
      const own = {
        ...{ max: 1, max_lifetime: null, onnotify: notified, onclose: lost },
        socket: () => current = new WatchedSocket(openSocket(address, opened++)),
      };
      return { sql: postgres(url, { ...settings, ...own }), socket: () => current };
    });
  return {
    listen:
      (async (channel, heard, started = () => {}) =>
        await (listener ??= open()).listen(channel, heard, started)) as Sql["listen"],
    end: async (o) => void await Promise.all([listener?.close(), end(o)]),
  };
}

/** Has every transaction of the pool begin with `settings`. */
function limitTransactions(sql: Sql, settings: string): void {
  const begin = sql.begin.bind(sql) as <T>(work: (tx: Tx) => T) => Promise<T>;
  const limited = <T>(work: (tx: Tx) => T) =>
    begin((tx) => {
      tx.unsafe(settings).execute(); // its failure fails the transaction, as the driver does it
      return work(tx);
    });
  Object.assign(sql, { begin: limited });
}

/** One more connection to the same database, apart from the pool: nothing that holds up the pool holds it up. */
export const connectSeparately = (sql: Sql): Sql =>
  postgres(
    { ...sql.options, max: 1 } as unknown as postgres.Options<Record<string, never>>,
  ) as unknown as Sql;

/**
 * Runs `work` in one transaction; hooks given to `afterCommit` run once it has committed. A deadlock or
 * serialization failure runs `work` again from the start, so it must have no effect but through `tx`. Within
 * `shareTransaction` it becomes part of that transaction.
 */
export async function transact<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  const shared = sharedTransaction();
  if (shared) return await inSavepoint(shared, work);
  const first = transactionSetup();
  return await commit(sql, first ? (tx) => first(tx).then(() => work(tx)) : work);
}

/**
 * Runs `work` in one transaction that every `transact` and every query of a `transactionAwarePool` within belongs to: all of it
 * commits together or not at all. It may run again from the start, as with `transact`.
 */
export async function shareTransaction<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await commit(sql, (tx) => runInSharedTransaction(tx, () => work(tx)));
}

function commit<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return inSpan("postgres: transaction", {}, () => tryCommit(sql, work));
}

async function tryCommit<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
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
        openOf.set(own, { hooks, trailing, connection });
        return unlessLost(connection, work(own));
      });
      transaction.catch(() => connection.isLost = true); // or its work has ended, and nobody looks any more
      result = await transaction as T;
      await Promise.all(trailing); // where one of them has failed, the commit has rolled back
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof PostgresError)) throw error;
      // A connection that was ended from the server's side tells so once more to whoever uses it next.
      const isStale = !hasBegun && attempt === 1 && isConnectionLost(error);
      if (!isStale && !RETRIED.includes(error.code)) throw error;
      continue;
    }
    await Promise.all(hooks.map((hook) => hook())); // not above: what has committed is never done again
    return result;
  }
}

/** Runs `work` as a part of `around`: one that fails is undone alone, so whoever asked for it may go on. */
export async function inSavepoint<T>(around: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  const open = openOf.get(around);
  if (!open) throw new Error("inSavepoint was called outside of transact()");
  if (open.connection.isLost) return await new Promise<never>(() => {}); // nothing is sent, as in whileConnected
  const hooks: Hook[] = [];
  const result = await around.savepoint((tx) => {
    const own = whileConnected(tx, open.connection);
    openOf.set(own, { hooks, trailing: null, connection: open.connection });
    return unlessLost(open.connection, work(own));
  });
  open.hooks.push(...hooks);
  return result as T;
}

/**
 * The outcome of a transaction's work, except that there is none once its connection is gone. The driver rejects the
 * transaction itself then; told of a failure it would send a rollback into the closed connection, which ends the whole
 * process, or into the next transaction that has it. So it would send the commit of work that has not noticed. See
 * https://github.com/porsager/postgres/issues/1208.
 */
async function unlessLost<T>(connection: Open["connection"], work: Promise<T>): Promise<T> {
  try {
    const outcome = await work;
    if (!connection.isLost) return outcome;
  } catch (error) {
    if (!connection.isLost && !isConnectionLost(error)) throw error;
  }
  return await new Promise<never>(() => {});
}

/** The transaction, except that nothing is sent and nothing comes of it once its connection is gone, as above. */
function whileConnected(tx: Tx, connection: Open["connection"]): Tx {
  const nothing = () => new Promise<never>(() => {});
  const query = (...args: Parameters<Tx>) => connection.isLost ? nothing() : tx(...args);
  const unsafe = (...args: Parameters<Tx["unsafe"]>) => connection.isLost ? nothing() : tx.unsafe(...args);
  return Object.assign(query, tx, { unsafe }) as unknown as Tx;
}

/** Has the connection of the query that failed so come to its end? Only the driver notes the query on an error. */
function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || !("query" in error) || !("code" in error)) return false;
  if (error instanceof PostgresError) return error.severity === "FATAL" || error.severity === "PANIC";
  return UNREACHABLE.includes(String(error.code));
}

/**
 * Why a query failed that may succeed later; null for any other failure. `away`: the database could not be reached, and
 * whether the query took effect is unknown. `full`: it lacks disk space, memory or the like. `busy`: a lock or the
 * statement took too long. With the latter two, nothing was changed.
 */
export function databaseTrouble(error: unknown): "away" | "full" | "busy" | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  const code = String(error.code);
  if (error instanceof LockNotAvailable) return "busy";
  if (!(error instanceof PostgresError)) {
    // Other clients' sockets fail with the same codes: only the driver notes the query, or has a code of its own.
    const isOurs = "query" in error || code.startsWith("CONNECT");
    return isOurs && UNREACHABLE.includes(code) ? "away" : null;
  }
  for (const trouble of ["away", "full", "busy"] as const) {
    if (PASSING[trouble].some((known) => code.startsWith(known))) return trouble;
  }
  return null;
}

/** Did a query fail because the database is away for now? */
export const isDatabaseAway = (error: unknown): boolean => databaseTrouble(error) === "away";

/** Another transaction holds what was to be changed. Nothing was changed. */
export class LockNotAvailable extends Error {
  override name = "LockNotAvailable";
  readonly code = SQLSTATE.lockNotAvailable;
}

/** Did a query fail because another transaction kept a lock for too long? */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof PostgresError && error.code === SQLSTATE.lockNotAvailable;

/** Has `hook` run once `tx` has committed, before `transact` resolves; never when it rolls back. */
export function afterCommit(tx: Tx, hook: Hook): void {
  const open = openOf.get(tx);
  if (!open) throw new Error("afterCommit was called outside of transact()");
  open.hooks.push(hook);
}

/**
 * Sends `statement`, of which nobody needs the result; the commit may follow it at once instead of after its answer.
 * It fails the transaction as if it had been awaited. Within a savepoint it is awaited.
 * @param statement with parameters that the driver can write for certain: only the server's refusal undoes a commit.
 */
export async function withCommit<R extends readonly postgres.MaybeRow[]>(
  tx: Tx,
  statement: PendingQuery<R>,
): Promise<void> {
  const { trailing, connection } = openOf.get(tx) ?? {};
  if (!trailing || !connection) return void await statement;
  sendOnce(statement);
  statement.catch((error) => { // told by the transaction
    if (isConnectionLost(error)) connection.isLost = true;
  });
  trailing.push(statement);
}

/**
 * The driver sends a prepared statement again whose plan no longer holds, which it notes by setting `retried`. This one
 * would then come after the commit that has rolled back, alone and on its own: it fails instead.
 */
function sendOnce<R extends readonly postgres.MaybeRow[]>(statement: PendingQuery<R>): void {
  Object.defineProperty(statement, "retried", {
    set(this: { cancelled: unknown; reject(error: unknown): void }, error: unknown) {
      this.cancelled = {}; // what is cancelled is not sent
      this.reject(error);
    },
  });
}

/** Has `hook` run once the shared transaction the running work belongs to has committed; without one, at once. */
export function whenCommitted(hook: () => void): void {
  const shared = sharedTransaction();
  if (shared) afterCommit(shared, hook);
  else hook();
}
