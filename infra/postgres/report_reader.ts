import postgres from "postgres";
import { reportSettings } from "./session_limits.ts";
import { addressOf, type Sql } from "./postgres.ts";
import { openServerSocket, type ServerSocket } from "./server_socket.ts";
import { type RowFrames, RowInterceptor } from "./row_interceptor.ts";

type ReportQuery = postgres.PendingQuery<postgres.Row[]>;

/** A single connection that reads rows as Postgres sends them: every value its text, or null. */
export interface ReportReader {
  sql: Sql;
  /** Was the query made with `sql`? Rows of any other never come by this connection. */
  isOwn(query: unknown): boolean;
  /**
   * The rows of a query of `sql`, in batches to be used up one by one. Leaving early or aborting cancels the query at
   * the server.
   * @throws the signal's reason, PostgresError
   */
  rows(query: ReportQuery, signal: AbortSignal): AsyncGenerator<RowFrames>;
  /** Names of the rows' columns in camelCase, once there are rows. */
  columns(): string[];
  /** Cuts the connection. Its transaction only read, so that ends it as well as a commit would. */
  close(): Promise<void>;
}

/**
 * What a report's transaction begins with: it reads one snapshot, and the server looks whether anybody is still there, so
 * that a query that sends nothing for hours ends soon after the process that asked for it has died. Servers that cannot
 * look (Postgres 13, Windows) go without.
 */
export async function beginReading(sql: Sql): Promise<void> {
  await sql`begin isolation level repeatable read read only`;
  // No select: the tap would take what it gives for a row of the report.
  await sql.unsafe(`do $$ begin
    ${reportSettings()};
    begin
      set local client_connection_check_interval = '5s';
    exception when others then null;
    end;
  end $$`);
}

const asPrinted = (value: string) => value;
const printed = (oid: number, ...from: number[]) => ({
  to: oid,
  from: [oid, ...from],
  serialize: (value: unknown) => value instanceof Date ? value.toISOString() : String(value),
  parse: asPrinted,
});

/** Parameters as a template may give them; of what comes back postgres.js sees no row. */
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
 * Opens a connection for one report: times in UTC, no named statements (poolers in transaction mode). Parameters may
 * be uuid[] and text[] besides plain values. `close` it.
 */
export function connectReportReader(url: string): ReportReader {
  const tap = new RowInterceptor();
  const sockets: ServerSocket[] = [];
  const settings = {
    max: 1,
    connect_timeout: 10,
    fetch_types: false,
    prepare: false,
    connection: { application_name: "steward-reports", TimeZone: "UTC", DateStyle: "ISO, YMD" },
    onnotice: () => {},
    transform: { undefined: null },
    types: TYPES,
  };
  const address = addressOf(url);
  const socket = async () => {
    const opened = tap.attach(await openServerSocket(address));
    sockets.push(opened);
    return opened;
  };
  // The tap has to see what was deciphered already, so the socket comes encrypted.
  const client = postgres(url, { ...settings, ssl: false, socket } as typeof settings) as unknown as Sql;
  const { sql, isOwn } = rememberingQueries(client);
  return {
    sql,
    isOwn,
    rows: (query, signal) => rowsOf(tap, query, signal),
    columns: () => tap.columns.map(postgres.toCamel),
    async close() {
      await sql.end({ timeout: 0 });
      for (const opened of sockets) opened.destroy();
    },
  };
}

/** The client, except that it knows which queries were made with it. */
function rememberingQueries(client: Sql): { sql: Sql; isOwn: (query: unknown) => boolean } {
  const made = new WeakSet();
  const remembering = <F extends (...args: never[]) => object>(make: F): F =>
    new Proxy(make, {
      apply(target, self, args) {
        const query = Reflect.apply(target, self, args);
        made.add(query);
        return query;
      },
    });
  const sql = Object.assign(remembering(client), { unsafe: remembering(client.unsafe) });
  return { sql, isOwn: (query) => typeof query === "object" && query !== null && made.has(query) };
}

/** How long a cancelled query may take to end before its connection is cut. */
const CANCEL_MS = 2_000;

async function* rowsOf(
  tap: RowInterceptor,
  query: ReportQuery,
  signal: AbortSignal,
): AsyncGenerator<RowFrames> {
  signal.throwIfAborted();
  let failure: unknown;
  let isRunning = true;
  const running = query.then(() => {}, (error) => failure = error).finally(() => {
    isRunning = false;
    tap.end();
  });
  const stop = () => {
    if (isRunning) query.cancel();
    tap.drop();
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const batch of tap.batches()) {
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
      await atMost(CANCEL_MS, running);
    }
  }
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([work, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}
