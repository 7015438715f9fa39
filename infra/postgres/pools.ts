import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { connectPostgres, type Pool, setMainPool } from "./postgres.ts";

const UPKEEP_CONNECTIONS = 2;
const POINT_READ_CONNECTIONS = 2;
/** With fewer connections than this, point reads share them with all other work. */
const MIN_DIVIDED = 3 * POINT_READ_CONNECTIONS;
/** Idle connections of upkeep are closed after this time, because upkeep runs rarely. */
const UPKEEP_IDLE_SECONDS = 10;
const END_SECONDS = 5;

/** The connection pools of an instance. */
export interface Pools {
  /** For requests and jobs. */
  sql: Pool;
  /**
   * For point reads: statements that find a few rows by their keys and wait for no lock. All of them are sent over few
   * connections, one behind the other. That takes less processor time than a connection for each, here and in Postgres. A
   * slow statement would delay those behind it, so no other statements are sent there, and writes fail.
   */
  pointReads: Pool;
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
  const connection = { pooled, onGivenUp };
  const forPointReads = config.DATABASE_POOL >= MIN_DIVIDED ? POINT_READ_CONNECTIONS : 0;
  const sql = connectPostgres(url, { ...connection, max: config.DATABASE_POOL - forPointReads, statementMs });
  const upkeepSql = connectPostgres(url, {
    ...connection,
    max: UPKEEP_CONNECTIONS,
    work: "upkeep",
    idleSeconds: UPKEEP_IDLE_SECONDS,
  });
  const pools = [sql, upkeepSql];
  let pointReads = sql;
  if (forPointReads > 0) {
    pointReads = connectPostgres(url, { ...connection, max: forPointReads, work: "pointRead" });
    pools.push(pointReads);
  }
  for (const pool of pools) if (pool !== sql) setMainPool(pool, sql);
  return {
    sql,
    pointReads,
    upkeepSql,
    end: async () => void await Promise.all(pools.map((pool) => pool.end({ timeout: END_SECONDS }))),
  };
}
