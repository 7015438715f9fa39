// The job types of the simulation. Their handlers do what their arguments and the seed say.
import { z } from "zod";
import { type AnyJobType, defineJob, PermanentJobFailure, PostponeJob } from "../../domain/jobs/job_type.ts";

/** How an attempt ends. */
export type Ending = "ok" | "fail" | "hopeless" | "postpone" | "hang";

export interface Running {
  jobId: string;
  attempt: number;
}

/** What handlers need of the simulation. */
export interface HandlerWorld {
  /** Decides how the attempt goes. */
  plan(jobId: string): { ending: Ending; ms: number };
  started(running: Running): void;
  ended(running: Running): void;
}

export const LIMITS: Record<string, number> = { "sim.limited": 2 };
export const RATE = { count: 2, perSeconds: 10 };

let registered = 0;

/**
 * The types as one instance registers them. Attempts share timers by their time-out in a process, so each simulated
 * instance has time-outs of its own, which differ by less than a millisecond.
 */
export function simulatedTypes(world: HandlerWorld): AnyJobType[] {
  const timeoutMs = 60_000 + ++registered * 1e-6;
  const args = z.object({ n: z.number() }).loose();
  const run = async (_: unknown, o: { jobId: string; attempt: number; signal: AbortSignal }) => {
    const running = { jobId: o.jobId, attempt: o.attempt };
    const { ending, ms } = world.plan(o.jobId);
    world.started(running);
    try {
      await pause(ending === "hang" ? 24 * 3_600_000 : ms, o.signal);
      if (ending === "fail") throw new Error(`attempt ${o.attempt} failed`);
      if (ending === "hopeless") throw new PermanentJobFailure(`attempt ${o.attempt} is hopeless`);
      if (ending === "postpone") throw new PostponeJob(`attempt ${o.attempt} waits`, ms);
      return { attempt: o.attempt };
    } finally {
      world.ended(running);
    }
  };
  const base = { args, exposed: true, timeoutMs, maxRetries: 2, run };
  return [
    defineJob({ ...base, name: "sim.plain" }),
    defineJob({ ...base, name: "sim.limited", concurrency: LIMITS["sim.limited"] ?? 1 }),
    defineJob({ ...base, name: "sim.rated", rateLimit: RATE }),
  ];
}

/** Ends early, with the reason, when the signal aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
