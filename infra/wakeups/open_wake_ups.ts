import { join } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Log } from "../log.ts";
import { openChannel } from "../postgres/channel.ts";
import type { Pool } from "../postgres/postgres.ts";
import { untraced } from "../telemetry/tracing.ts";
import { hasKvQueue, kvWakeUps } from "./kv_wakeups.ts";
import { type DelayedWakeUps, JOBS_CHANNEL, timerWakeUps, type WakeUps } from "./wakeups.ts";

/** Minimum interval between two notifications of this instance. */
const NOTIFY_INTERVAL_MS = 20;

/** Wake-ups for this instance. Wake-ups for due jobs also reach all other instances. */
export interface OpenWakeUps extends WakeUps {
  /** Handles delayed messages that could not be delivered. */
  sweep(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Opens wake-ups. Later ones are stored in Deno KV, or in timers of this process if there is no KV queue.
 * @param o.wakeWorker makes the worker of this instance query due jobs
 * @param o.checkDueTimes runs the timed work that is due
 */
export async function openWakeUps(
  config: Config,
  o: { sql: Pool; log: Log; clock: Clock; wakeWorker: () => void; checkDueTimes: () => Promise<void> },
): Promise<OpenWakeUps> {
  const { clock, wakeWorker } = o;
  const self = crypto.randomUUID(); // its own notifications come back to this instance, whose worker is awake already
  const channel = await openChannel({
    sql: o.sql,
    name: JOBS_CHANNEL,
    onMessage: (from) => from !== self && wakeWorker(),
    log: o.log,
    listens: config.DATABASE_LISTEN,
    minIntervalMs: NOTIFY_INTERVAL_MS,
  });
  const delayed = await openDelayed(config, o.checkDueTimes, o);
  const wakeAll = () => {
    wakeWorker();
    channel.notify(self);
  };
  return {
    at(time, { isNotified } = { isNotified: false }) {
      if (time > clock.now()) delayed.set(time);
      else untraced(isNotified ? wakeWorker : wakeAll);
    },
    notice: () => channel.takeTurn() ? self : null,
    sweep: () => delayed.sweep(),
    stop: async () => void await Promise.all([delayed.stop(), channel.stop()]),
  };
}

async function openDelayed(
  config: Config,
  wake: () => Promise<void>,
  { log, clock }: { log: Log; clock: Clock },
): Promise<DelayedWakeUps & { sweep(): Promise<void> }> {
  const timers = () => ({ ...timerWakeUps(wake, clock), sweep: () => Promise.resolve() });
  if (!hasKvQueue()) return timers();
  try {
    const path = config.KV_PATH ?? (config.isProduction ? undefined : join(config.DATA_DIR, "kv.sqlite"));
    return await kvWakeUps({ path, wake, log, clock });
  } catch (error) {
    log.warn("Deno KV could not be opened; timers are used instead", { error });
    return timers();
  }
}
