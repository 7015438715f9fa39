/** Leaves the gate. */
export type Leave = () => void;

/** Admits the scans of an instance: any number beside each other, or one alone. */
export class ScanGate {
  #running = 0;
  #isTakenAlone = false;
  #onEmpty: (() => void) | null = null;

  /** Null while a scan runs alone or waits for it. */
  enter(): Leave | null {
    return this.#isTakenAlone ? null : this.#admit();
  }

  /**
   * Admits no further scans and waits for the end of the running ones. Null while another scan runs alone.
   * @throws the signal's reason if it aborts meanwhile
   */
  async enterAlone(signal: AbortSignal): Promise<Leave | null> {
    if (this.#isTakenAlone) return null;
    this.#isTakenAlone = true;
    try {
      if (this.#running > 0) await this.#emptied(signal);
    } catch (error) {
      this.#isTakenAlone = false;
      throw error;
    }
    const leave = this.#admit();
    return () => {
      this.#isTakenAlone = false;
      leave();
    };
  }

  #admit(): Leave {
    this.#running++;
    return () => {
      if (--this.#running === 0) this.#onEmpty?.();
    };
  }

  async #emptied(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => reject(signal.reason);
    this.#onEmpty = resolve;
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    await promise.finally(() => {
      this.#onEmpty = null;
      signal.removeEventListener("abort", abort);
    });
  }
}
