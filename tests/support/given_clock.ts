/** Timers that a given clock has instead of those of the process. */
type TimerName = "setTimeout" | "setInterval";

/**
 * Until the end of the scope, `performance.now()` is `ms`, and timers of one kind start only by `tick`. Only the test
 * makes time pass.
 */
export class GivenClock implements Disposable {
  ms = performance.now();
  readonly #timers: { at: number; call: () => void }[] = [];
  readonly #restore: () => void;

  /** @param kind the timers that `tick` starts; others stay those of the process */
  constructor(kind: TimerName) {
    const former = globalThis[kind];
    const start = (call: () => void, ms: number) => this.#timers.push({ at: this.ms + ms, call });
    Object.assign(globalThis, { [kind]: start });
    Object.assign(performance, { now: () => this.ms });
    this.#restore = () => {
      Object.assign(globalThis, { [kind]: former });
      Reflect.deleteProperty(performance, "now");
    };
  }

  /** Lets time pass, and then calls the timers that are due, each once. */
  tick(ms: number): void {
    this.ms += ms;
    const due = this.#timers.filter(({ at }) => at <= this.ms);
    for (const { call } of due) call();
  }

  [Symbol.dispose](): void {
    this.#restore();
  }
}
