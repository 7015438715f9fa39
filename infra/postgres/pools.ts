import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { DatabaseServer } from "./database_server.ts";
import { connectPostgres, type Pool, setMainPool } from "./postgres.ts";

const UPKEEP_CONNECTIONS = 2;
const POINT_READ_CONNECTIONS = 2;
const ENGINE_CONNECTIONS = 2;
/** With fewer connections than these, point reads or the job engine share them with all other work. */
const MIN_FOR_POINT_READS = 6;
const MIN_FOR_ENGINE = 8;
/** Idle connections of upkeep are closed after this time, because upkeep runs rarely. */
const UPKEEP_IDLE_SECONDS = 10;
const END_SECONDS = 5;

/** The connection pools of an instance. */
export interface Pools {
  /** For requests, and for the handlers of jobs. */
  sql: Pool;
  /**
   * For point reads: statements that find a few rows by their keys and wait for no lock. All of them are sent over few
   * connections, one behind the other. That takes less processor time than a connection for each, here and in Postgres. A
   * slow statement would delay the statements behind it, so few others are sent there, and writes fail.
   */
  pointReads: Pool;
  /**
   * For claims and results of jobs. The plans of the statements are kept (`INDEX_PLANS`), and they wait for no connection
   * of a request. Nothing in a transaction on these few connections may wait for another one of them.
   */
  engineSql: Pool;
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
  const connection = { pooled, onGivenUp, server: new DatabaseServer(url) };
  const forPointReads = config.DATABASE_POOL < MIN_FOR_POINT_READS ? 0 : POINT_READ_CONNECTIONS;
  const forEngine = engineConnections(config);
  const max = config.DATABASE_POOL - forPointReads - forEngine;
  const sql = connectPostgres(url, { ...connection, max, statementMs });
  const upkeepSql = connectPostgres(url, {
    ...connection,
    max: UPKEEP_CONNECTIONS,
    work: "upkeep",
    idleSeconds: UPKEEP_IDLE_SECONDS,
  });
  const pointReads = forPointReads === 0
    ? sql
    : connectPostgres(url, { ...connection, max: forPointReads, work: "pointRead" });
  const engineSql = forEngine === 0
    ? sql
    : connectPostgres(url, { ...connection, max: forEngine, work: "engine", statementMs });
  const pools = [...new Set([sql, upkeepSql, pointReads, engineSql])];
  for (const pool of pools) if (pool !== sql) setMainPool(pool, sql);
  return {
    sql,
    pointReads,
    engineSql,
    upkeepSql,
    end: async () => void await Promise.all(pools.map((pool) => pool.end({ timeout: END_SECONDS }))),
  };
}

/** Number of connections that only the job engine uses. */
const engineConnections = ({ DATABASE_POOL, JOB_CONCURRENCY }: PoolConfig): number =>
  DATABASE_POOL < MIN_FOR_ENGINE || JOB_CONCURRENCY === 0 ? 0 : ENGINE_CONNECTIONS;

/** Number of connections that requests can use. */
export const requestConnections = (config: PoolConfig): number =>
  config.DATABASE_POOL - engineConnections(config);

type PoolConfig = Pick<Config, "DATABASE_POOL" | "JOB_CONCURRENCY">;

const CHECK_EVERY_MS = 5_000;
/** Consecutive checks without an answer that are tolerated: half a minute. */
const MAX_MISSED = 6;
const ANSWER_MS = 2_500;

/**
 * Detects a stuck pool: one of the pools does not answer queries, but the database answers on a new connection. Only a
 * restart of the process helps. No pool counts as stuck while the database is unreachable, because that ends by itself.
 */
export class PoolHealth {
  #missed = 0;
  #isStuck = false;
  #isQuerying = false;
  #isComparing = false;
  readonly #timer: ReturnType<typeof setInterval>;

  readonly #server: DatabaseServer;

  constructor(private readonly pools: Pool[], url: string, checkEveryMs = CHECK_EVERY_MS) {
    this.#server = new DatabaseServer(url);
    this.#timer = setInterval(() => this.#check(), checkEveryMs);
  }

  get isStuck(): boolean {
    return this.#isStuck;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Counts checks instead of seconds, because the whole process may have been frozen for a while. */
  async #check(): Promise<void> {
    if (!this.#isQuerying) this.#queryPools();
    if (++this.#missed <= MAX_MISSED || this.#isComparing) return;
    this.#isComparing = true;
    const { rows } = await this.#server.queryOnce((sql) => sql`select 1`, ANSWER_MS);
    this.#isComparing = false;
    this.#isStuck = rows !== null && this.#missed > MAX_MISSED;
  }

  async #queryPools(): Promise<void> {
    this.#isQuerying = true;
    try {
      await Promise.all(this.pools.map((sql) => sql`select 1`));
      this.#missed = 0;
      this.#isStuck = false;
    } catch {
      // counts as a missed check
    } finally {
      this.#isQuerying = false;
    }
  }
}
