const EVERY_MS = 500;
/** Number of measurements kept: half a minute, longer than the usual scrape interval. */
const KEPT = 60;

/** Measures the event loop delay: how late timers of this process fire. Every request waits at least this long. */
export class EventLoopDelay {
  readonly #late: number[] = [];
  readonly #timer: ReturnType<typeof setInterval>;

  constructor() {
    let expected = performance.now() + EVERY_MS;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#late.push(Math.max(0, now - expected));
      if (this.#late.length > KEPT) this.#late.shift();
      expected = now + EVERY_MS;
    }, EVERY_MS);
  }

  /** The longest delay of the last half minute, in seconds. */
  worstSeconds(): number {
    return Math.max(0, ...this.#late) / 1000;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
