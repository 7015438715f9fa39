/** A call that is due at a time of `performance.now()`. */
interface Call {
  at: number;
  onTimeout: () => void;
}

/**
 * Calls functions after a time unless they are cancelled. Calls after the same time share one timer: most attempts end
 * long before their time-out, and a timer costs more than a short attempt.
 */
export class SharedTimeouts {
  readonly #calls = new Map<number, { waiting: Set<Call>; timer: ReturnType<typeof setTimeout> }>();

  /** @returns cancels the call */
  start(ms: number, onTimeout: () => void): () => void {
    const call = { at: performance.now() + ms, onTimeout };
    const shared = this.#calls.get(ms);
    if (shared) shared.waiting.add(call);
    else this.#calls.set(ms, { waiting: new Set([call]), timer: setTimeout(() => this.#fire(ms), ms) });
    return () => this.#cancel(ms, call);
  }

  #cancel(ms: number, call: Call): void {
    const shared = this.#calls.get(ms);
    if (!shared?.waiting.delete(call) || shared.waiting.size > 0) return;
    clearTimeout(shared.timer);
    this.#calls.delete(ms);
  }

  /** The calls are in the order of their times. */
  #fire(ms: number): void {
    const shared = this.#calls.get(ms);
    if (!shared) return;
    const now = performance.now();
    const due = [...shared.waiting].filter(({ at }) => at <= now);
    for (const call of due) shared.waiting.delete(call);
    const [next] = shared.waiting;
    if (next) shared.timer = setTimeout(() => this.#fire(ms), next.at - now);
    else this.#calls.delete(ms);
    for (const { onTimeout } of due) onTimeout();
  }
}
