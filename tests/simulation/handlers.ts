// The job types of the simulation, how their handlers behave, and the rule that a job never runs twice at the same time.
import { z } from "zod";
import { type AnyJobType, defineJob, PermanentJobFailure, PostponeJob } from "../../domain/jobs/job_type.ts";
import type { Violation } from "./model.ts";
import type { Random } from "./random.ts";
import { currentHost, type Host, type VirtualTime } from "./virtual_time.ts";

/** How an attempt ends. */
export type Ending = "ok" | "fail" | "hopeless" | "postpone" | "hang";

export interface Running {
  jobId: string;
  attempt: number;
}

/** The parts of the simulation that handlers use. */
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

interface Attempt extends Running {
  host: Host;
  startedAt: number;
}

export class Handlers implements HandlerWorld {
  readonly #running = new Set<Attempt>();
  /** When each host was frozen or crashed last. */
  readonly #stoppedAt = new Map<Host, number>();

  constructor(
    private readonly random: Random,
    private readonly time: VirtualTime,
    private readonly isCalm: () => boolean,
    private readonly fail: (violation: Violation) => void,
  ) {}

  plan(): { ending: Ending; ms: number } {
    const { random } = this;
    if (this.isCalm()) {
      return { ending: random.chance(0.85) ? "ok" : "fail", ms: random.between(1, 500) };
    }
    const endings: Ending[] = ["ok", "ok", "ok", "ok", "ok", "fail", "fail", "fail", "hopeless", "postpone"];
    const ending = random.chance(0.03) ? "hang" : random.pick(endings);
    return { ending, ms: random.chance(0.1) ? random.between(5_000, 55_000) : random.between(1, 1_500) };
  }

  started({ jobId, attempt }: Running): void {
    const host = currentHost();
    if (!host) throw new Error("a handler runs outside of an instance");
    for (const other of this.#running) {
      if (other.jobId !== jobId || !this.#isHealthy(other)) continue;
      const what =
        `attempt ${attempt} started on ${host.name} while attempt ${other.attempt} runs on ${other.host.name}`;
      this.fail({ rule: "one at a time", what });
    }
    this.#running.add({ jobId, attempt, host, startedAt: this.time.nowMs });
  }

  ended({ jobId, attempt }: Running): void {
    for (const own of this.#running) {
      if (own.jobId === jobId && own.attempt === attempt && own.host === currentHost()) {
        this.#running.delete(own);
      }
    }
  }

  frozen(host: Host): void {
    this.#stoppedAt.set(host, this.time.nowMs);
  }

  crashed(host: Host): void {
    for (const own of this.#running) if (own.host === host) this.#running.delete(own);
  }

  /** A process that was frozen meanwhile cannot know that it lost the job. */
  #isHealthy({ host, startedAt }: Attempt): boolean {
    return (this.#stoppedAt.get(host) ?? -1) < startedAt && !host.isDead &&
      host.frozenUntil <= this.time.nowMs;
  }
}
