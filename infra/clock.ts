/** Lengths of time in milliseconds. */
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Source of the current time; tests can set it. */
export interface Clock {
  now(): Date;
}

/** The host's clock. A running service does not use it for decisions: see `RemoteClock`. */
export const systemClock: Clock = { now: () => new Date() };

/**
 * The clock of another machine, as an offset to a local monotonic clock (`base`). The remote clock was read at some time
 * between request and response, so each reading gives a lower and an upper bound of the offset. The offset changes only
 * as far as needed to stay within the bounds. So a slow response, whose bounds are wide, does not disturb it.
 */
export class RemoteClock implements Clock {
  #offsetMs: number | null = null;

  /** @param base monotonic clock in milliseconds; by default the time since the process started. */
  constructor(protected readonly base: () => number = () => performance.now()) {}

  /** Offset of the remote clock to the base in milliseconds; 0 before the first reading. */
  get offsetMs(): number {
    return this.#offsetMs ?? 0;
  }

  /**
   * Adjusts the offset by a reading.
   * @param readMs time of the remote clock, in milliseconds since 1970.
   * @param sentAt when the request was sent, in base time.
   * @param receivedAt when the response arrived, in base time.
   * @param o.resolutionMs resolution of `readMs`: 1,000 if it has whole seconds, cut off.
   * @param o.expectedMs initial offset; by default the middle of the first reading's bounds.
   */
  addReading(
    readMs: number,
    sentAt: number,
    receivedAt: number,
    o: { resolutionMs?: number; expectedMs?: number } = {},
  ): void {
    const min = readMs - receivedAt;
    const max = readMs - sentAt + (o.resolutionMs ?? 0);
    const former = this.#offsetMs ?? o.expectedMs ?? (min + max) / 2;
    this.#offsetMs = Math.min(Math.max(former, min), max);
  }

  now(): Date {
    return new Date(this.base() + this.offsetMs);
  }
}
