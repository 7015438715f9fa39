/** So many at once, the rest in order of asking. */
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
   * Waits for a slot; call what it returns to give it back (again is the same as once). A slot is never taken by one
   * whose `signal` was aborted meanwhile.
   * @throws the signal's reason
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    };
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
