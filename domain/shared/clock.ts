/** Where "now" comes from; tests move it. */
export interface Clock {
  now(): Date;
}

/** The clock of this process's host. It decides nothing in a running service: see `FollowedClock`. */
export const systemClock: Clock = { now: () => new Date() };

/**
 * The clock of another machine, reckoned from its answers and from a base that never jumps. What was read lies between
 * asking and hearing, so each reading bounds how far that clock is ahead of the base; the reckoning moves only as far as
 * a reading forces it to, so a slow answer changes nothing.
 */
export class FollowedClock implements Clock {
  #aheadMs: number | null = null;

  /** @param base milliseconds, by default since this process began. */
  constructor(protected readonly base: () => number = () => performance.now()) {}

  /** Milliseconds it is ahead of the base; 0 before the first reading. */
  get aheadMs(): number {
    return this.#aheadMs ?? 0;
  }

  /**
   * Takes a reading.
   * @param readMs what the other clock showed, in milliseconds since 1970.
   * @param askedAt and `heardAt` times of the base.
   * @param o.grainMs what `readMs` was cut down to: 1,000 where it has whole seconds.
   * @param o.expectedMs where the reckoning begins; by default in the middle of what the first reading allows.
   */
  note(
    readMs: number,
    askedAt: number,
    heardAt: number,
    o: { grainMs?: number; expectedMs?: number } = {},
  ): void {
    const least = readMs - heardAt;
    const most = readMs - askedAt + (o.grainMs ?? 0);
    const former = this.#aheadMs ?? o.expectedMs ?? (least + most) / 2;
    this.#aheadMs = Math.min(Math.max(former, least), most);
  }

  now(): Date {
    return new Date(this.base() + this.aheadMs);
  }
}
