import { AsyncLocalStorage } from "node:async_hooks";

/** The clock of the code that runs. Services that other files share have the time and timers of the process meanwhile. */
const current = new AsyncLocalStorage<GivenClock | undefined>();

/** Timers that a given clock has instead of those of the process. */
type TimerName = "setTimeout" | "setInterval";

/**
 * Until the end of the scope, `performance.now()` is `ms`, and timers of one kind start only by `tick`: for this test and
 * what it calls. Only the test makes time pass.
 */
export class GivenClock implements Disposable {
  ms = Math.round(performance.now()); // fractions would not add up exactly
  readonly #timers: { at: number; call: () => void }[] = [];
  readonly #restore: () => void;

  /** @param kind the timers that `tick` starts; others stay those of the process */
  constructor(kind: TimerName) {
    const former = globalThis[kind];
    const now = performance.now.bind(performance);
    const isCurrent = () => current.getStore() === this;
    const start = (call: () => void, ms: number) =>
      isCurrent() ? this.#timers.push({ at: this.ms + ms, call }) : former(call, ms);
    Object.assign(globalThis, { [kind]: start });
    Object.assign(performance, { now: () => isCurrent() ? this.ms : now() });
    current.enterWith(this);
    this.#restore = () => {
      current.enterWith(undefined);
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
