import type { Socket } from "node:net";
import postgres from "postgres";
import { DatabaseServer } from "./database_server.ts";
import { reportSettings } from "./session_limits.ts";
import type { Pool } from "./sql_types.ts";
import { type RowFrames, RowInterceptor } from "./row_interceptor.ts";
import { waitAtMost } from "../timeout.ts";

type ReportQuery = postgres.PendingQuery<postgres.Row[]>;

/** A single connection that reads rows as Postgres sends them: every value is text or null. */
export interface ReportReader {
  sql: Pool;
  /** True if the query was created with `sql`. Rows of other queries do not arrive on this connection. */
  isOwn(query: unknown): boolean;
  /**
   * Runs a query of `sql` and yields its rows in batches. Use each batch before requesting the next: its memory is
   * reused. Leaving the loop or aborting `signal` cancels the query on the server. Queries run one after the other, and none
   * after a cancelled one.
   * @throws the signal's reason, PostgresError
   */
  rows(query: ReportQuery, signal: AbortSignal): AsyncGenerator<RowFrames>;
  /** Column names of the current query in camelCase; known once its first rows have arrived. */
  columns(): string[];
  /** Closes the connection without a commit: its transaction is read-only. */
  close(): Promise<void>;
}

/**
 * Begins a report's transaction, which reads one snapshot. While a query runs, the server checks every 5 s whether the
 * client is still connected. So a long query ends soon after its client process dies. Servers without this check
 * (Postgres 13, Windows) ignore the setting.
 */
export async function beginReading(sql: Pool): Promise<void> {
  // No select here: the interceptor would treat its result as a row of the report.
  await sql.unsafe(`begin isolation level repeatable read read only; ${reportSettings()}; savepoint limited`);
  await sql.unsafe("set local client_connection_check_interval = '5s'; release savepoint limited").catch(
    async (error: unknown) => {
      if (!(error instanceof postgres.PostgresError)) throw error;
      await sql.unsafe("rollback to savepoint limited");
    },
  );
}

const asPrinted = (value: string) => value;
const printed = (oid: number, ...from: number[]) => ({
  to: oid,
  from: [oid, ...from],
  serialize: (value: unknown) => value instanceof Date ? value.toISOString() : String(value),
  parse: asPrinted,
});

/** Serializers for the parameters of a template's query. Parsers do not matter: postgres.js sees no rows. */
const TYPES = {
  number: { ...printed(0, 21, 23, 26, 700, 701), from: [21, 23, 26, 700, 701] },
  bigint: printed(20),
  boolean: { ...printed(16), serialize: (value: unknown) => value === true ? "t" : "f" },
  date: printed(1184, 1082, 1114),
  json: { ...printed(114, 3802), serialize: (value: unknown) => JSON.stringify(value) },
  bytea: printed(17),
  uuids: { ...printed(2951), serialize: arrayLiteral },
  texts: { ...printed(1009), serialize: arrayLiteral },
};

function arrayLiteral(values: readonly unknown[]): string {
  const quote = (value: unknown) => `"${String(value).replaceAll(/["\\]/g, "\\$&")}"`;
  return `{${values.map((value) => value === null ? "null" : quote(value)).join(",")}}`;
}

/**
 * Opens a connection for one report. Times are UTC. Statements are not prepared, because of poolers in transaction mode.
 * Parameters may be scalars, uuid[] and text[]. The caller must call `close`.
 */
export function connectReportReader(url: string): ReportReader {
  const interceptor = new RowInterceptor();
  const server = new DatabaseServer(url);
  const sockets: Socket[] = [];
  const settings = {
    ...server.firstHost,
    max: 1,
    connect_timeout: 10,
    fetch_types: false,
    prepare: false,
    connection: { application_name: "steward-reports", TimeZone: "UTC", DateStyle: "ISO, YMD" },
    onnotice: () => {},
    transform: { undefined: null },
    types: TYPES,
  };
  const socket = async () => {
    const opened = interceptor.attach(await server.open(interceptor.onread));
    sockets.push(opened);
    return opened;
  };
  // The socket does the TLS, not the driver: the interceptor must see decrypted bytes.
  const client = postgres(url, { ...settings, ssl: false, socket } as typeof settings) as unknown as Pool;
  const { sql, isOwn } = trackQueries(client);
  return {
    sql,
    isOwn,
    rows: (query, signal) => rowsOf(interceptor, query, signal),
    columns: () => interceptor.columns.map(postgres.toCamel),
    async close() {
      await sql.end({ timeout: 0 });
      for (const opened of sockets) opened.destroy();
    },
  };
}

/** Wraps the client so that `isOwn` recognises the queries created with it. */
function trackQueries(client: Pool): { sql: Pool; isOwn: (query: unknown) => boolean } {
  const queries = new WeakSet();
  const tracking = <F extends (...args: never[]) => object>(make: F): F =>
    new Proxy(make, {
      apply(target, self, args) {
        const query = Reflect.apply(target, self, args);
        queries.add(query);
        return query;
      },
    });
  const sql = Object.assign(tracking(client), { unsafe: tracking(client.unsafe) });
  return { sql, isOwn: (query) => typeof query === "object" && query !== null && queries.has(query) };
}

/** Maximum wait for a cancelled query to end, in ms. */
const CANCEL_MS = 2_000;

async function* rowsOf(
  interceptor: RowInterceptor,
  query: ReportQuery,
  signal: AbortSignal,
): AsyncGenerator<RowFrames> {
  signal.throwIfAborted();
  let failure: unknown;
  let isRunning = true;
  interceptor.begin();
  const running = query.then(() => {}, (error) => failure = error).finally(() => {
    isRunning = false;
    interceptor.end();
  });
  const stop = () => {
    if (isRunning) query.cancel();
    interceptor.drop();
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const batch of interceptor.batches()) {
      yield batch;
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
    await running;
    if (failure) throw failure;
  } finally {
    signal.removeEventListener("abort", stop);
    if (isRunning) {
      stop();
      await waitAtMost(CANCEL_MS, running);
    }
  }
}
