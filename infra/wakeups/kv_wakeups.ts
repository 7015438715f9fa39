import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { type DelayedWakeUps, RESOLUTION_MS, timerWakeUps } from "./wakeups.ts";

/** Maximum delay of the KV queue: 30 days. The sweep once a minute finds later due times. */
const LONGEST_DELAY_MS = 30 * 24 * 60 * 60 * 1000;
/** Pauses before a failed message is delivered again, for example because the database was unreachable. */
const BACKOFF_MS = [1_000, 5_000, 30_000];
const MAX_REMEMBERED = 10_000;
const UNDELIVERED = ["steward", "undelivered"];

/** True if this platform has Deno KV with queues. */
export const hasKvQueue = (): boolean =>
  typeof Deno.openKv === "function" && typeof Deno.Kv?.prototype.listenQueue === "function";

/**
 * Wake-ups as delayed messages of a Deno KV queue. They survive a restart. A delivered message only makes workers query
 * the jobs table. Undelivered messages are stored under a key, and `sweep` handles them.
 */
export async function kvWakeUps(
  o: { path: string | undefined; wake: () => Promise<void>; log: Log; clock: Clock },
): Promise<DelayedWakeUps & { sweep(): Promise<void> }> {
  const kv = await Deno.openKv(o.path);
  const set = new Set<number>();
  const sending = new Set<Promise<unknown>>();
  let timers: DelayedWakeUps | null = null;
  const listening = kv.listenQueue((message) => {
    set.delete((message as { at: number }).at);
    return o.wake();
  }).catch((error) => {
    o.log.warn("the Deno KV queue cannot be read; timers are used instead", { error });
    const fallback = timers = timerWakeUps(o.wake, o.clock);
    for (const time of set) fallback.set(new Date(time));
  });
  const track = (promise: Promise<unknown>) => {
    const tracked = promise.catch((error) =>
      o.log.warn("a wake-up could not be stored; polling finds its jobs", { error })
    )
      .finally(() => sending.delete(tracked));
    sending.add(tracked);
  };
  return {
    set(at) {
      if (timers) return timers.set(at);
      const time = Math.ceil(at.getTime() / RESOLUTION_MS) * RESOLUTION_MS;
      const delay = Math.max(0, time - o.clock.now().getTime());
      if (delay > LONGEST_DELAY_MS || set.has(time)) return;
      if (set.size >= MAX_REMEMBERED) set.clear();
      set.add(time);
      track(
        kv.enqueue({ steward: "wake-up", at: time }, {
          delay,
          keysIfUndelivered: [[...UNDELIVERED, time]],
          backoffSchedule: BACKOFF_MS,
        }),
      );
    },
    async sweep() {
      for await (const { key } of kv.list({ prefix: UNDELIVERED })) {
        await o.wake();
        await kv.delete(key);
      }
    },
    async stop() {
      await Promise.all(sending);
      kv.close();
      await listening;
      await timers?.stop();
    },
  };
}
