import type { Pool } from "./sql_types.ts";
import { DatabaseServer } from "./database_server.ts";

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
