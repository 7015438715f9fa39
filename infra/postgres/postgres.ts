import postgres from "postgres";
import { inSpan } from "../telemetry/tracing.ts";
import { arrayTypes } from "./arrays.ts";
import { timeType } from "./times.ts";
import { firstInTransaction, sharedTransaction, sharing } from "./shared_transaction.ts";

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
} as const;

/** The server is going down, or not up yet. */
const SHUTTING_DOWN = ["57P01", "57P02", "57P03"];
/** The connection could not be made, or broke. */
const UNREACHABLE = [
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENOTFOUND",
  "EPIPE",
  "ETIMEDOUT",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
];

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

/**
 * A connection pool. Column names come as camelCase, bigint as number (sizes and counts stay under 2^53),
 * `undefined` parameters as null.
 * @param o.prepare false where a pooler gives each transaction another connection, which knows no earlier statement.
 */
export function connectPostgres(
  url: string,
  o: { max: number; applicationName?: string; prepare?: boolean },
): Sql {
  return postgres(url, {
    max: o.max,
    prepare: o.prepare ?? true,
    connect_timeout: 10,
    backoff: (attempt) => Math.min(2 ** attempt / 20, 1), // seconds; a restarted server is found within a second
    connection: { application_name: o.applicationName ?? "steward" },
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel }, undefined: null },
    fetch_types: false,
    types: {
      date: timeType,
      bigint: { to: 20, from: [20], serialize: String, parse: Number },
      ...arrayTypes,
    },
  }) as unknown as Sql;
}

/**
 * Runs `work` in one transaction; hooks given to `afterCommit` run once it has committed. A deadlock or
 * serialization failure runs `work` again from the start, so it must have no effect but through `tx`. Within
 * `shareTransaction` it becomes part of that transaction.
 */
export async function transact<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  const shared = sharedTransaction();
  if (shared) return await inSavepoint(shared, work);
  const first = firstInTransaction();
  return await commit(sql, first ? (tx) => first(tx).then(() => work(tx)) : work);
}

/**
 * Runs `work` in one transaction that every `transact` and every query of a `joiningPool` within belongs to: all of it
 * commits together or not at all. It may run again from the start, as with `transact`.
 */
export async function shareTransaction<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await commit(sql, (tx) => sharing(tx, () => work(tx)));
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

/** Did a query fail because the database is away for now? Whether its effect was committed is then unknown. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return (error instanceof PostgresError ? SHUTTING_DOWN : UNREACHABLE).includes(String(error.code));
}

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
