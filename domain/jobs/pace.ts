/** How many jobs end in a millisecond, by the recent past. */
export class Pace {
  perMs = 0;
  #ended = 0;
  #since = performance.now();

  /** A job has ended. */
  count(): void {
    this.#ended++;
  }

  /** The past says nothing any more about what comes. */
  forget(): void {
    this.perMs = 0;
    this.#ended = 0;
    this.#since = performance.now();
  }

  /** Takes what has ended since the last time into account. */
  measure(): void {
    const now = performance.now();
    if (now - this.#since < 5) return;
    this.perMs = (this.perMs + this.#ended / (now - this.#since)) / 2;
    this.#ended = 0;
    this.#since = now;
  }
}
