import { FollowedClock } from "../../domain/shared/clock.ts";
import type { Log } from "../log.ts";
import type { Sql } from "./postgres.ts";

/** The database's clock is read again this often. */
const EVERY_MS = 5_000;
/** Readings before the service starts: one of them hardly waits for anything. */
const FIRST_READINGS = 3;

/**
 * The database's clock, which every instance goes by: so a host whose clock is off, or is set while the service runs,
 * moves no due time, expiry or tick. It is reckoned from a base that never jumps; while the database is away it goes on.
 */
export class DatabaseClock extends FollowedClock {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isFollowing = false;

  /** Reads the database's clock before anything asks this one for the time. */
  async start(sql: Sql): Promise<void> {
    for (let reading = 0; reading < FIRST_READINGS; reading++) await this.#read(sql);
  }

  /** Reads it again every five seconds, until `stop`. */
  follow(sql: Sql, log: Log): void {
    this.#isFollowing = true;
    const again = () => {
      this.#timer = setTimeout(async () => {
        await this.#read(sql).catch((error) => {
          if (this.#isFollowing) {
            log.debug("the database's clock could not be read; its time is reckoned on", { error });
          }
        });
        if (this.#isFollowing) again();
      }, EVERY_MS);
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
    if (row) this.note(row.ms, askedAt, performance.now());
  }
}
