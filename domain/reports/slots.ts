/** A semaphore: up to `count` holders at once; others wait in first-in, first-out order. */
export class Slots {
  #free: number;
  #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** How many are waiting. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Waits for a slot.
   * @returns a function that gives the slot back; calling it again does nothing
   * @throws the signal's reason if it is aborted while waiting; then no slot is taken
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
  }

  /** Like `take`, but waits at most `ms`. @returns null if no slot became free */
  async takeWithin(ms: number, signal?: AbortSignal): Promise<(() => void) | null> {
    const limit = AbortSignal.timeout(ms);
    return await this.take(signal ? AbortSignal.any([signal, limit]) : limit).catch((reason) => {
      if (reason === limit.reason) return null;
      throw reason;
    });
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      const leave = () => {
        this.#waiting = this.#waiting.filter((waiting) => waiting !== turn);
        reject(signal.reason);
      };
      this.#waiting.push(turn);
      signal.addEventListener("abort", leave, { once: true });
    });
  }
}
