import type { Clock } from "../clock.ts";

/** The channel of the database on which instances hear that jobs are due. */
export const JOBS_CHANNEL = "steward_jobs";

/**
 * Makes workers query the jobs table, now or at a later time. A wake-up is only a hint. Lost or duplicate wake-ups do no
 * harm, because workers also poll.
 */
export interface WakeUps {
  /**
   * Sets a wake-up at `time`. A past time wakes workers immediately.
   * @param o.isNotified true if a `notice` has woken the other instances
   */
  at(time: Date, o?: { isNotified: boolean }): void;
  /**
   * The payload of a notification on JOBS_CHANNEL that a statement sends itself, so that other instances hear of its jobs
   * with the commit; null: one was sent a moment ago.
   */
  notice?(): string | null;
}

/** Stores wake-ups for later. If the callback fails, it is called again or polling replaces it. */
export interface DelayedWakeUps {
  set(at: Date): void;
  stop(): Promise<void>;
}

/** Due times are rounded up to this many milliseconds, so that close ones share one wake-up. */
export const RESOLUTION_MS = 20;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Wake-ups as timers of this process: the fallback without a Deno KV queue. They are lost when the process ends. */
export function timerWakeUps(wake: () => Promise<void>, clock: Clock): DelayedWakeUps {
  const timers = new Map<number, ReturnType<typeof setTimeout>>();
  return {
    set(at) {
      const time = Math.ceil(at.getTime() / RESOLUTION_MS) * RESOLUTION_MS;
      const delay = Math.max(0, time - clock.now().getTime());
      if (timers.has(time) || timers.size >= 1000 || delay > LONGEST_TIMER_MS) return;
      timers.set(
        time,
        setTimeout(() => {
          timers.delete(time);
          wake().catch(() => {}); // the callback has logged its failure and polls again
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
