import type { Log } from "../log.ts";
import { type Alarm, timerAlarm } from "./bell.ts";

/** The KV queue takes delays of at most 30 days; what is due later is found by the minute sweep. */
const LONGEST_DELAY_MS = 30 * 24 * 60 * 60 * 1000;
/** Jobs due within the same tenth of a second share one message. */
const GRAIN_MS = 100;
const REMEMBERED = 10_000;
const UNDELIVERED = ["steward", "undelivered"];

interface Ring {
  steward: "ring";
  at: number;
}

/** Does this platform have Deno KV with queues? */
export const hasKvQueue = (): boolean =>
  typeof Deno.openKv === "function" && typeof Deno.Kv?.prototype.listenQueue === "function";

/**
 * Alarms as delayed messages of a Deno KV queue: they survive a restart. A delivered message says nothing but "look
 * at the ledger"; undelivered ones are kept under a key and reconciled by `sweep`.
 */
export async function kvAlarm(
  o: { path: string | undefined; rung: () => void; log: Log },
): Promise<Alarm & { sweep(): Promise<void> }> {
  const kv = await Deno.openKv(o.path);
  const set = new Set<number>();
  const sending = new Set<Promise<unknown>>();
  let timers: Alarm | null = null;
  const listening = kv.listenQueue((message) => {
    set.delete((message as Ring).at);
    o.rung();
  }).catch((error) => {
    o.log.warn("the queue of Deno KV is not heard; timers take its place", { error });
    const alarm = timers = timerAlarm(o.rung);
    for (const time of set) alarm.set(new Date(time));
  });
  const track = (promise: Promise<unknown>) => {
    const tracked = promise.catch((error) =>
      o.log.warn("an alarm was not kept; the sweep covers it", { error })
    )
      .finally(() => sending.delete(tracked));
    sending.add(tracked);
  };
  return {
    set(at) {
      if (timers) return timers.set(at);
      const time = Math.ceil(at.getTime() / GRAIN_MS) * GRAIN_MS;
      const delay = Math.max(0, time - Date.now());
      if (delay > LONGEST_DELAY_MS || set.has(time)) return;
      if (set.size >= REMEMBERED) set.clear();
      set.add(time);
      const ring: Ring = { steward: "ring", at: time };
      track(kv.enqueue(ring, { delay, keysIfUndelivered: [[...UNDELIVERED, time]] }));
    },
    async sweep() {
      for await (const { key } of kv.list({ prefix: UNDELIVERED })) {
        await kv.delete(key);
        o.rung();
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
