import postgres from "postgres";
import { arrayTypes } from "./arrays.ts";

export type Sql = postgres.Sql<{ bigint: number }>;
/** A transaction's connection; usable wherever a query is run. */
export type Tx = postgres.TransactionSql<{ bigint: number }>;
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
const hooksOf = new WeakMap<Tx, (() => void)[]>();

/**
 * A connection pool. Column names come as camelCase, bigint as number (sizes and counts stay under 2^53),
 * `undefined` parameters as null.
 */
export function connectPostgres(url: string, o: { max: number; applicationName?: string }): Sql {
  return postgres(url, {
    max: o.max,
    connect_timeout: 10,
    backoff: (attempt) => Math.min(2 ** attempt / 20, 1), // seconds; a restarted server is found within a second
    connection: { application_name: o.applicationName ?? "steward" },
    onnotice: () => {},
    transform: { column: { from: postgres.toCamel }, undefined: null },
    fetch_types: false,
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number }, ...arrayTypes },
  }) as unknown as Sql;
}

/**
 * Runs `work` in one transaction; hooks given to `afterCommit` run once it has committed. A deadlock or
 * serialization failure runs `work` again from the start, so it must have no effect but through `tx`.
 */
export async function transact<T>(sql: Sql, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    const hooks: (() => void)[] = [];
    try {
      const result = await sql.begin((tx) => {
        hooksOf.set(tx, hooks);
        return work(tx);
      });
      for (const hook of hooks) hook();
      return result as T;
    } catch (error) {
      if (attempt === ATTEMPTS || !(error instanceof PostgresError) || !RETRIED.includes(error.code)) {
        throw error;
      }
    }
  }
}

/** Did a query fail because the database is away for now? Whether its effect was committed is then unknown. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return (error instanceof PostgresError ? SHUTTING_DOWN : UNREACHABLE).includes(String(error.code));
}

/** Has `hook` run once `tx` has committed; never when it rolls back. */
export function afterCommit(tx: Tx, hook: () => void): void {
  const hooks = hooksOf.get(tx);
  if (!hooks) throw new Error("afterCommit was called outside of transact()");
  hooks.push(hook);
}
