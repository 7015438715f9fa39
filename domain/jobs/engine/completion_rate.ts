/** Measures how many jobs ended per millisecond recently. */
export class CompletionRate {
  perMs = 0;
  #ended = 0;
  #since = performance.now();

  /** Counts one ended job. */
  count(): void {
    this.#ended++;
  }

  /** Restarts the measurement. */
  reset(): void {
    this.perMs = 0;
    this.#ended = 0;
    this.#since = performance.now();
  }

  /** Updates the rate with the jobs counted since the last call. */
  measure(): void {
    const now = performance.now();
    if (now - this.#since < 5) return;
    const current = this.#ended / (now - this.#since);
    this.perMs = this.perMs === 0 ? current : (this.perMs + current) / 2;
    this.#ended = 0;
    this.#since = now;
  }
}
