// Time, timers and random numbers of the simulated instances. They replace the globals of this process while a seed runs.
// Code outside hosts keeps the real ones: the simulator, the database driver, and services of other tests in this process.
import { AsyncLocalStorage } from "node:async_hooks";
import { type Clock, systemClock } from "../../infra/clock.ts";
import { setIdClock } from "../../domain/shared/ids.ts";
import { Random } from "./random.ts";

/** A simulated process. Its code runs in `inHost`; timers and statements belong to the host that made them. */
export interface Host {
  name: string;
  /** A dead host does nothing any more. */
  isDead: boolean;
  /** Virtual time until which nothing of the host runs. */
  frozenUntil: number;
}

const current = new AsyncLocalStorage<Host>();

export const inHost = <T>(host: Host, work: () => T): T => current.run(host, work);

/** The host whose code runs now. */
export const currentHost = (): Host | undefined => current.getStore();

interface Timer {
  id: number;
  at: number;
  everyMs: number | null;
  host: Host;
  call: () => void;
}

/** The functions of the real process, for the simulator itself. */
export const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  now: performance.now.bind(performance),
  random: Math.random,
  getRandomValues: crypto.getRandomValues.bind(crypto),
};

const START = Date.UTC(2031, 4, 6, 12, 0, 30);
/** `performance.now()` at the start. Not 0, because code may subtract from it. */
const START_MS = 10_000_000;

/** The time of one seed, in whole milliseconds. It only changes by `advanceTo`. */
export class VirtualTime {
  #timers = new Map<number, Timer>();
  /** Far from the ids of real timers. */
  #lastId = 2 ** 40;
  nowMs = 0;
  readonly clock: Clock = { now: () => new Date(START + this.nowMs) };

  get text(): string {
    return this.clock.now().toISOString();
  }

  advanceTo(ms: number): void {
    this.nowMs = Math.max(this.nowMs, ms);
  }

  start(host: Host, call: () => void, ms: number, everyMs: number | null = null): number {
    const id = ++this.#lastId;
    const at = Math.ceil(this.nowMs + Math.max(everyMs === null ? 0 : 1, ms || 0));
    this.#timers.set(id, { id, at, everyMs, host, call });
    return id;
  }

  cancel(id: unknown): void {
    this.#timers.delete(id as number);
  }

  /** Timers of hosts that can run now, earliest first. */
  due(): Timer[] {
    return this.#live().filter(({ at, host }) => at <= this.nowMs && host.frozenUntil <= this.nowMs)
      .sort((a, b) => a.at - b.at || a.id - b.id);
  }

  /** Time of the next timer; null: there is none. */
  nextAt(): number | null {
    const times = this.#live().map(({ at, host }) => Math.max(at, host.frozenUntil));
    return times.length === 0 ? null : Math.min(...times);
  }

  fire(timer: Timer): void {
    if (!this.#timers.has(timer.id)) return;
    if (timer.everyMs === null) this.#timers.delete(timer.id);
    else timer.at = this.nowMs + timer.everyMs;
    inHost(timer.host, timer.call);
  }

  #live(): Timer[] {
    for (const [id, { host }] of this.#timers) if (host.isDead) this.#timers.delete(id);
    return [...this.#timers.values()];
  }

  /** Replaces the globals for code in hosts. @returns restores them */
  install(seed: number): () => void {
    const numbers = new Random(seed, 11);
    const bytes = new Random(seed, 12);
    const timed =
      (everyIsMs: boolean) => (call: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
        const host = current.getStore();
        const run = () => call(...args);
        if (host) return this.start(host, run, ms, everyIsMs ? Math.max(1, ms) : null);
        return everyIsMs ? real.setInterval(run, ms) : real.setTimeout(run, ms);
      };
    const cancelled = (cancelReal: (id: number) => void) => (id: unknown) => {
      if (typeof id === "number" && this.#timers.has(id)) this.cancel(id);
      else cancelReal(id as number);
    };
    Object.assign(globalThis, {
      setTimeout: timed(false),
      setInterval: timed(true),
      clearTimeout: cancelled((id) => real.clearTimeout.call(globalThis, id)),
      clearInterval: cancelled((id) => real.clearInterval.call(globalThis, id)),
    });
    performance.now = () => current.getStore() ? START_MS + this.nowMs : real.now();
    Math.random = () => current.getStore() ? numbers.fraction() : real.random();
    crypto.getRandomValues = ((array: Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>) => {
      if (!current.getStore()) return real.getRandomValues(array);
      for (let n = 0; n < array.length; n++) array[n] = bytes.bits();
      return array;
    }) as typeof crypto.getRandomValues;
    setIdClock({ now: () => (current.getStore() ? this.clock : systemClock).now() });
    return () => {
      const { setTimeout, setInterval, clearTimeout, clearInterval } = real;
      Object.assign(globalThis, { setTimeout, setInterval, clearTimeout, clearInterval });
      performance.now = real.now;
      Math.random = real.random;
      crypto.getRandomValues = real.getRandomValues;
      setIdClock(systemClock);
    };
  }
}
