/**
 * Tells workers to look at the ledger, now or at a later time. A ring is only a hint: lost or doubled ones do no
 * harm, since workers also look by themselves now and then.
 */
export interface Bell {
  /** Rings at `at`; a past time rings at once. */
  ring(at: Date): void;
}

/** Keeps rings for later. */
export interface Alarm {
  set(at: Date): void;
  stop(): Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** A bell that rings `now` for what is due and hands the rest to `alarm`. */
export function createBell(o: { now: () => void; alarm: Alarm }): Bell {
  return {
    ring(at) {
      if (at.getTime() <= Date.now()) o.now();
      else o.alarm.set(at);
    },
  };
}

/** Alarms as timers of this process: the floor where there is no Deno KV queue. Lost with the process. */
export function timerAlarm(rung: () => void): Alarm {
  const timers = new Map<number, ReturnType<typeof setTimeout>>();
  return {
    set(at) {
      const time = Math.ceil(at.getTime() / 100) * 100;
      const delay = Math.max(0, time - Date.now());
      if (timers.has(time) || timers.size >= 1000 || delay > LONGEST_TIMER_MS) return;
      timers.set(
        time,
        setTimeout(() => {
          timers.delete(time);
          rung();
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
