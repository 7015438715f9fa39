import type postgres from "postgres";

/** A connection pool. */
export type Pool = postgres.Sql<{ bigint: number }>;
/** A transaction, or a savepoint in one. */
export type Tx = postgres.TransactionSql<{ bigint: number }>;
/** Runs queries: a pool or a transaction. Code that is given a transaction becomes a part of it. */
export type Sql = Pool | Tx;
/** A query that is sent when it is awaited. */
export type PendingQuery<R extends readonly postgres.MaybeRow[]> = postgres.PendingQuery<R>;
/** A part of a statement, made with `` sql`…` `` or `sql.unsafe(…)` and never awaited. */
export type SqlPart = PendingQuery<postgres.Row[]> | ReturnType<Sql["unsafe"]>;
