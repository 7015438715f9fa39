/**
 * A semaphore with up to `count` holders at once. A free slot goes to the waiting tenant that holds the fewest slots. If
 * several tenants hold equally few, they take turns. Within a tenant, the oldest request gets the slot.
 */
export class Slots {
  #free: number;
  readonly #held = new Map<string | null, number>();
  /** In the order of the tenants' turns. */
  readonly #waiting = new Map<string | null, (() => void)[]>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Number of waiting requests. */
  get waiting(): number {
    return this.#waiting.values().reduce((sum, { length }) => sum + length, 0);
  }

  /** Number of waiting requests of the tenant. */
  waitingOf(tenantId: string | null): number {
    return this.#waiting.get(tenantId)?.length ?? 0;
  }

  /**
   * Waits for a slot.
   * @returns a function that gives the slot back; calling it again does nothing
   * @throws the signal's reason if it is aborted while waiting; then no slot is taken
   */
  async take(tenantId: string | null, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#hold(tenantId, 1);
    else await this.#wait(tenantId, signal);
    let released = false;
    return () => {
      if (released) return;
      released = true;
      this.#hold(tenantId, -1);
      this.#next()?.();
    };
  }

  /** Waits for a slot for at most `ms`. @returns as `take`; null if no slot became free */
  async takeWithin(
    tenantId: string | null,
    ms: number,
    signal?: AbortSignal,
  ): Promise<(() => void) | null> {
    const limit = AbortSignal.timeout(ms);
    return await this.take(tenantId, signal ? AbortSignal.any([signal, limit]) : limit).catch((reason) => {
      if (reason === limit.reason) return null;
      throw reason;
    });
  }

  #hold(tenantId: string | null, slots: 1 | -1): void {
    const held = (this.#held.get(tenantId) ?? 0) + slots;
    this.#free -= slots;
    if (held > 0) this.#held.set(tenantId, held);
    else this.#held.delete(tenantId);
  }

  #next(): (() => void) | undefined {
    const heldBy = (tenantId: string | null) => this.#held.get(tenantId) ?? 0;
    const [next] = [...this.#waiting.keys()].toSorted((a, b) => heldBy(a) - heldBy(b));
    return next === undefined ? undefined : this.#waiting.get(next)?.[0];
  }

  #wait(tenantId: string | null, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        leave();
        this.#hold(tenantId, 1);
        resolve();
      };
      const leave = () => {
        signal.removeEventListener("abort", abort);
        const others = this.#waiting.get(tenantId)?.filter((each) => each !== start) ?? [];
        this.#waiting.delete(tenantId); // added again at the end, because the other tenants have the next turns
        if (others.length > 0) this.#waiting.set(tenantId, others);
      };
      const abort = () => {
        leave();
        reject(signal.reason);
      };
      this.#waiting.set(tenantId, [...this.#waiting.get(tenantId) ?? [], start]);
      signal.addEventListener("abort", abort, { once: true });
    });
  }
}
