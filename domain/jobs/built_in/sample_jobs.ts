import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { type AnyJobType, defineJob } from "../job_type.ts";

const LONGEST_SLEEP_MS = 10 * 60_000;

/** Returns its arguments. The smallest possible job, for tests. */
const echo = defineJob({
  name: "steward.echo",
  args: z.unknown(),
  exposed: true,
  run: (args) => args,
});

/** Waits for the given time and reports progress. */
const sleep = defineJob({
  name: "steward.sleep",
  args: z.object({ milliseconds: z.int().min(0).max(LONGEST_SLEEP_MS) }),
  exposed: true,
  timeoutMs: LONGEST_SLEEP_MS + 60_000,
  async run({ milliseconds }, { signal, progress }) {
    const started = performance.now();
    const passed = () => performance.now() - started;
    while (passed() < milliseconds) {
      await pause(Math.max(0, Math.min(250, milliseconds - passed())), undefined, { signal })
        .catch(() => signal.throwIfAborted()); // with the reason
      if (milliseconds > 250) progress(Math.min(100, passed() / milliseconds * 100));
    }
    return { slept: milliseconds };
  },
});

/** Always fails with the given message. */
const fail = defineJob({
  name: "steward.fail",
  args: z.object({ message: z.string().min(1).max(2_000).default("The job failed as requested.") }),
  exposed: true,
  run: ({ message }) => Promise.reject(new Error(message)),
});

/** Job types for tests and trials. They exist in development only: any caller may fill the places of an instance with them. */
export const sampleJobTypes: AnyJobType[] = [echo, sleep, fail];
