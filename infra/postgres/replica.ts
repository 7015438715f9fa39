import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { connectPostgres, type Pool, setMainPool } from "./postgres.ts";

/** Interval between two readings of the lag. A standby that stopped is noticed within this time or by its error. */
const CHECK_EVERY_MS = 1_000;
/** Maximum duration of a reading of the lag. */
const STATEMENT_MS = 2_000;

/** The configuration and components with which a replica is opened. */
export interface ReplicaOptions {
  config: Pick<Config, "DATABASE_REPLICA_URL" | "DATABASE_REPLICA_MAX_LAG_SECONDS" | "DATABASE_POOL">;
  /** The pool of the primary. */
  sql: Pool;
  clock: Clock;
  log: Log;
}

/**
 * A read replica of the database, for reads that may be some seconds old. Its lag is measured by a row that the primary
 * updates every second: the replica's copy of the row says how old the replica's data is. Functions for the WAL position
 * would need more rights, and managed databases lack some of them.
 */
export class Replica {
  readonly #url: string;
  readonly #maxLagMs: number;
  readonly #pool: Pool;
  /** Time of the newest heartbeat that the replica has, in milliseconds; null: it does not answer. */
  #heartbeatAt: number | null = null;
  #wasUsable = true;
  #isStopped = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  private constructor(url: string, private readonly o: ReplicaOptions) {
    this.#url = url;
    this.#maxLagMs = o.config.DATABASE_REPLICA_MAX_LAG_SECONDS * 1_000;
    this.#pool = connectPostgres(url, { max: o.config.DATABASE_POOL, role: "any" });
    setMainPool(this.#pool, o.sql);
  }

  /** Connects to the replica and reads its lag. Null without DATABASE_REPLICA_URL. A replica that is down is retried. */
  static async open(o: ReplicaOptions): Promise<Replica | null> {
    const url = o.config.DATABASE_REPLICA_URL;
    if (!url) return null;
    const replica = new Replica(url, o);
    await replica.#check();
    return replica;
  }

  /** Maximum age of its data, in milliseconds; Infinity if it does not answer. */
  get lagMs(): number {
    return this.#heartbeatAt === null
      ? Infinity
      : Math.max(0, this.o.clock.now().getTime() - this.#heartbeatAt);
  }

  /** Its pool; null if its data may be older than `maxSeconds` or than DATABASE_REPLICA_MAX_LAG_SECONDS. */
  pool(maxSeconds = Infinity): Pool | null {
    return this.lagMs <= Math.min(maxSeconds * 1_000, this.#maxLagMs) ? this.#pool : null;
  }

  /** Its URL, for a separate connection; null under the same conditions as `pool`. */
  url(): string | null {
    return this.pool() ? this.#url : null;
  }

  /** Called when a query on it failed because it was not reachable: it is not used until it answers again. */
  markUnreachable(): void {
    this.#heartbeatAt = null;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#pool.end({ timeout: 5 });
  }

  async #check(): Promise<void> {
    const { sql, log } = this.o;
    let failure: unknown;
    try {
      await sql`update database_heartbeat set at = clock_timestamp()
        where at < clock_timestamp() - interval '500 milliseconds'`;
    } catch (error) {
      log.debug("the heartbeat for the replica could not be written", { error });
    }
    try {
      const [row] = await this.#pool.begin("read only", async (tx) => {
        await tx.unsafe(`set local statement_timeout = ${STATEMENT_MS}`);
        return await tx<{ at: Date }[]>`select at from database_heartbeat`;
      });
      this.#heartbeatAt = row?.at.getTime() ?? null;
    } catch (error) {
      failure = error;
      this.#heartbeatAt = null;
    }
    if (this.#isStopped) return;
    this.#report(failure);
    this.#timer = setTimeout(() => this.#check(), CHECK_EVERY_MS);
  }

  #report(failure: unknown): void {
    const isUsable = this.pool() !== null;
    if (isUsable === this.#wasUsable) return;
    this.#wasUsable = isUsable;
    if (isUsable) return this.o.log.info("the database replica is used again");
    const state = failure ? { error: failure } : { lagMs: Math.round(this.lagMs) };
    this.o.log.warn("the database replica is not used: it does not answer or lags too much", state);
  }
}
