import { waitAtMost } from "../../infra/timeout.ts";

/** The result of a read that takes longer is kept. */
const SLOW_MS = 1_000;
/** A result is kept for this multiple of the duration of its read. */
const REST_FACTOR = 20;

interface Kept<V> {
  value: Promise<V>;
  readAt: number;
  until: number;
}

/** A value and its age in seconds. */
export interface Aged<V> {
  value: V;
  ageSeconds: number;
}

/**
 * Keeps the results of reads that take more than a second, so that repeated reads take at most a twentieth of a
 * connection's time. While a kept result is replaced, concurrent reads share one load. Results of quick reads are not kept.
 */
export class SlowReads {
  readonly #kept = new Map<string, Kept<unknown>>();
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(private readonly slowMs = SLOW_MS) {}

  /** @param name identifies what `load` reads */
  async read<V>(name: string, load: () => Promise<V>): Promise<Aged<V>> {
    const kept = this.#kept.get(name) as Kept<V> | undefined;
    if (kept && performance.now() < kept.until) {
      return { value: await kept.value, ageSeconds: (performance.now() - kept.readAt) / 1_000 };
    }
    const readAt = performance.now();
    const value = load();
    if (kept) this.#kept.set(name, { value, readAt, until: Infinity });
    const tookMs = await value.then(() => performance.now() - readAt, () => 0);
    if (tookMs < this.slowMs) this.#kept.delete(name);
    else this.#kept.set(name, { value, readAt, until: readAt + (1 + REST_FACTOR) * tookMs });
    return { value: await value, ageSeconds: 0 };
  }

  /**
   * Waits for a read for at most `ms` milliseconds. The read then continues, and later calls wait for the same read. So reads
   * do not pile up while no connection is free.
   * @returns null if the read takes longer
   */
  async readWithin<V>(ms: number, name: string, load: () => Promise<V>): Promise<V | null> {
    const running = this.#running.get(name) ?? load().finally(() => this.#running.delete(name));
    this.#running.set(name, running);
    return await waitAtMost(ms, running as Promise<V>);
  }
}
