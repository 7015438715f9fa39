import { addressOf, type Sql } from "./postgres.ts";
import { queryOnNewConnection } from "./connection_watchdog.ts";

const EVERY_MS = 5_000;
/** So many checks in a row without an answer of the pool make half a minute. */
const MISSED_AT_MOST = 6;
const ANSWER_MS = 2_500;

/**
 * Finds out whether the pool is stuck: it answers nothing any more although the database answers a connection made for
 * the question. Only a new process helps then. While the database is away nothing is stuck: that passes by itself.
 */
export class PoolHealth {
  #missed = 0;
  #isStuck = false;
  #isAsking = false;
  #isComparing = false;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(private readonly sql: Sql, private readonly url: string, everyMs = EVERY_MS) {
    this.#timer = setInterval(() => this.#check(), everyMs);
  }

  get isStuck(): boolean {
    return this.#isStuck;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Counts checks instead of seconds: after a freeze of the whole process, time alone would prove nothing. */
  async #check(): Promise<void> {
    if (!this.#isAsking) this.#ask();
    if (++this.#missed <= MISSED_AT_MOST || this.#isComparing) return;
    this.#isComparing = true;
    const { rows } = await queryOnNewConnection(
      this.url,
      addressOf(this.url),
      (sql) => sql`select 1`,
      ANSWER_MS,
    );
    this.#isComparing = false;
    this.#isStuck = rows !== null && this.#missed > MISSED_AT_MOST;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    try {
      await this.sql`select 1`;
      this.#missed = 0;
      this.#isStuck = false;
    } catch {
      // one more that was missed
    } finally {
      this.#isAsking = false;
    }
  }
}
