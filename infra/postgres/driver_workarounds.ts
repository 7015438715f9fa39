// Workarounds for faults and gaps of postgres.js 3.4.9. Check them at every update of the driver:
// `connections_test.ts`, `with_commit_test.ts` and `connection_watchdog_test.ts` fail without them.
import postgres from "postgres";
import { isConnectionLost } from "./failures.ts";
import { lightStatements } from "./light_statements.ts";
import { ListenConnection } from "./listen_connection.ts";
import type { Pool, Tx } from "./sql_types.ts";
import type { ServerAddress } from "./server_socket.ts";
import type { WatchedSocket } from "./watched_socket.ts";

type Options = postgres.Options<Record<string, postgres.PostgresType>>;

/** Options of the driver that its types do not declare. */
interface UndeclaredOptions {
  /** Opens the socket of a connection. */
  socket: () => WatchedSocket;
  /** Called for every notification. */
  onnotify?: (channel: string, payload: string) => void;
}

/**
 * Opens the driver on sockets of our own. The driver's sockets wait forever for lost packets, and Deno's TLS has no
 * `sslmode=require`. Remove this once the driver detects lost connections and declares these options.
 */
export function openDriver(url: string, options: Options & UndeclaredOptions): Pool {
  const sql = postgres(url, options as Options) as unknown as Pool;
  return Object.assign(lightStatements(sql, { isSentAgain: true }), sql) as Pool;
}

/**
 * Parses a connection URL with the driver, whose parser is private and does not decode the folder of a socket as host
 * (`%2Frun%2Fpostgresql`). Opens no connection.
 */
export function addressOf(url: string): ServerAddress {
  const address = postgres(url).options as unknown as ServerAddress;
  const [host = "", port] = [address.host[0], address.port[0]];
  if (!/^%2f/i.test(host)) return address;
  return { ...address, path: `${decodeURIComponent(host)}/.s.PGSQL.${port}` };
}

/**
 * Opens one connection to the same database, separate from the pool: it also works while all pool connections are busy.
 * The driver keeps the pool's options, but its types do not accept them again.
 */
export const connectSeparately = (sql: Pool): Pool =>
  postgres({ ...sql.options, max: 1 } as unknown as Options) as unknown as Pool;

/** Copies the pool object, which the driver cannot do. The copy uses the same connections. */
export const copyOf = (pool: Pool): Pool =>
  Object.assign((...args: Parameters<Pool>) => pool(...args), pool) as unknown as Pool;

/**
 * Makes every transaction of the pool start with `settings`. The driver has no hook for that. Remove this when a pooler in
 * transaction mode accepts the settings as connection parameters.
 */
export function startTransactionsWith(sql: Pool, settings: string): void {
  const begin = sql.begin.bind(sql) as <T>(work: (tx: Tx) => T) => Promise<T>;
  const limited = <T>(work: (tx: Tx) => T) =>
    begin((tx) => {
      tx.unsafe(settings).execute(); // not awaited: if it fails, the driver fails the transaction
      return work(tx);
    });
  Object.assign(sql, { begin: limited });
}

/**
 * Replaces the pool's `listen` by a connection that is checked, because the driver does not notice lost packets on it. The
 * first call opens the connection, and `end` closes it too.
 * @param open opens a driver with one connection and the given options
 * @param openSocket opens its socket
 */
export function replaceListen(
  sql: Pool,
  open: (own: UndeclaredOptions & Options) => postgres.Sql,
  openSocket: () => WatchedSocket,
): void {
  const end = sql.end.bind(sql);
  let listener: ListenConnection | undefined;
  const openListener = () =>
    new ListenConnection((notified, lost) => {
      let current: WatchedSocket | undefined;
      const socket = () => current = openSocket();
      const driver = open({ max_lifetime: null, onnotify: notified, onclose: lost, socket });
      return { sql: driver, socket: () => current };
    });
  const listen: Pool["listen"] =
    (async (channel, onMessage, started = () => {}) =>
      await (listener ??= openListener()).listen(channel, onMessage, started)) as Pool["listen"];
  const endBoth: Pool["end"] = async (o) => void await Promise.all([listener?.close(), end(o)]);
  Object.assign(sql, { listen, end: endBoth });
}

/** The connection of a transaction and its savepoints. */
export interface TransactionConnection {
  /** True after the connection was lost. Nothing may be sent in this transaction then. */
  isLost: boolean;
}

/**
 * Waits for a transaction's work. Never settles if the connection is lost: the driver then rejects the transaction
 * itself. If `work` settled, the driver would send a rollback or a commit on the closed connection. That crashes the
 * process, or reaches the next transaction on a new connection. Remove this once
 * https://github.com/porsager/postgres/issues/1208 is fixed.
 */
export async function unlessLost<T>(connection: TransactionConnection, work: Promise<T>): Promise<T> {
  try {
    const outcome = await work;
    if (!connection.isLost) return outcome;
  } catch (error) {
    if (!connection.isLost && !isConnectionLost(error)) throw error;
  }
  return await new Promise<never>(() => {});
}

/** Wraps `tx`: after its connection is lost, queries send nothing and never settle, for the reason above. */
export function whileConnected(tx: Tx, connection: TransactionConnection): Tx {
  const never = () => new Promise<never>(() => {});
  const statement = lightStatements(tx, { isSentAgain: false });
  const query = (...args: Parameters<Tx>) => connection.isLost ? never() : statement(...args);
  const unsafe = (...args: Parameters<Tx["unsafe"]>) => connection.isLost ? never() : tx.unsafe(...args);
  return Object.assign(query, tx, { unsafe }) as unknown as Tx;
}
