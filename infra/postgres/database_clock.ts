import { RemoteClock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Sql } from "./postgres.ts";

/** Interval between two readings of the database's clock. */
const READ_EVERY_MS = 5_000;
/** Number of readings before the service starts. At least one of them is likely to have a short round trip. */
const FIRST_READINGS = 3;

/**
 * The database server's clock, used by all instances. A wrong or changed host clock therefore does not shift due times,
 * expiries or schedules. The time between readings comes from a monotonic clock, also while the database is unreachable.
 */
export class DatabaseClock extends RemoteClock {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isFollowing = false;

  /** Takes the first readings. Call it before the clock is used. */
  async start(sql: Sql): Promise<void> {
    for (let reading = 0; reading < FIRST_READINGS; reading++) await this.#read(sql);
  }

  /** Reads the database's clock every five seconds until `stop`. */
  follow(sql: Sql, log: Log): void {
    this.#isFollowing = true;
    const again = () => {
      this.#timer = setTimeout(async () => {
        await this.#read(sql).catch((error) => {
          if (this.#isFollowing) {
            log.debug("the database's clock could not be read; the last reading is extrapolated", { error });
          }
        });
        if (this.#isFollowing) again();
      }, READ_EVERY_MS);
    };
    again();
  }

  stop(): void {
    this.#isFollowing = false;
    clearTimeout(this.#timer);
  }

  async #read(sql: Sql): Promise<void> {
    const askedAt = performance.now();
    const [row] = await sql<{ ms: number }[]>`
      select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`;
    if (row) this.addReading(row.ms, askedAt, performance.now());
  }
}
