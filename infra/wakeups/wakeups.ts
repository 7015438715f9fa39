import type { Clock } from "../../domain/shared/clock.ts";

/**
 * Tells workers to look at the ledger, now or at a later time. A wake-up is only a hint: lost or doubled ones do no
 * harm, since workers also look by themselves now and then.
 */
export interface WakeUps {
  /** Sets a wake-up at `time`; a past time wakes workers at once. */
  at(time: Date): void;
}

/** Keeps wake-ups for later. What they call may fail: it is then called again, or looks by itself. */
export interface DelayedWakeUps {
  set(at: Date): void;
  stop(): Promise<void>;
}

/** What is due within the same few milliseconds shares one wake-up. */
export const GRAIN_MS = 20;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Wake-ups that call `now` for what is due and hand the rest to `delayed`. */
export function createWakeUps(o: { now: () => void; delayed: DelayedWakeUps; clock: Clock }): WakeUps {
  return {
    at(time) {
      if (time <= o.clock.now()) o.now();
      else o.delayed.set(time);
    },
  };
}

/** Wake-ups as timers of this process: the fallback where there is no Deno KV queue. Lost with the process. */
export function timerWakeUps(wake: () => Promise<void>, clock: Clock): DelayedWakeUps {
  const timers = new Map<number, ReturnType<typeof setTimeout>>();
  return {
    set(at) {
      const time = Math.ceil(at.getTime() / GRAIN_MS) * GRAIN_MS;
      const delay = Math.max(0, time - clock.now().getTime());
      if (timers.has(time) || timers.size >= 1000 || delay > LONGEST_TIMER_MS) return;
      timers.set(
        time,
        setTimeout(() => {
          timers.delete(time);
          wake().catch(() => {}); // whoever failed has logged why, and looks again by itself
        }, delay),
      );
    },
    stop() {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      return Promise.resolve();
    },
  };
}
