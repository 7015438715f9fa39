import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { connectPostgres, type Pool, setMainPool } from "./postgres.ts";

const UPKEEP_CONNECTIONS = 2;
/** Idle connections of upkeep are closed after this time, because upkeep runs rarely. */
const UPKEEP_IDLE_SECONDS = 10;
const END_SECONDS = 5;

/** The connection pools of an instance. */
export interface Pools {
  /** For requests and jobs. */
  sql: Pool;
  /** For recurring upkeep, whose statements may run for a long time. */
  upkeepSql: Pool;
  end(): Promise<void>;
}

/** Creates the pools. The first query opens a connection. */
export function openPools(config: Config, log: Log): Pools {
  const url = config.DATABASE_URL ?? "";
  const pooled = !config.DATABASE_LISTEN;
  const onGivenUp = (silentMs: number) =>
    log.warn("a database connection stopped answering and was closed", { silentMs: Math.round(silentMs) });
  const statementMs = config.REQUEST_TIMEOUT_SECONDS * 1000;
  const sql = connectPostgres(url, { max: config.DATABASE_POOL, statementMs, pooled, onGivenUp });
  const upkeepSql = connectPostgres(url, {
    max: UPKEEP_CONNECTIONS,
    work: "upkeep",
    idleSeconds: UPKEEP_IDLE_SECONDS,
    pooled,
    onGivenUp,
  });
  setMainPool(upkeepSql, sql);
  return {
    sql,
    upkeepSql,
    end: async () =>
      void await Promise.all([sql, upkeepSql].map((pool) => pool.end({ timeout: END_SECONDS }))),
  };
}
