// What handlers and callers of `Steward.work` see. Copied unchanged into the package.

/** Thrown by a handler if no retry can help: the job becomes a dead letter at once. */
export class HopelessJob extends Error {
  override name = "HopelessJob";
}

/** Thrown by a handler to run the job again later. It does not count as a failure. */
export class Postpone extends Error {
  override name = "Postpone";
  constructor(readonly seconds: number) {
    super(`postponed by ${seconds} s`);
  }
}

/** Why a handler should end early: the `reason` of its signal. */
export class JobInterrupted extends Error {
  override name = "JobInterrupted";
  /**
   * @param cause `cancel`: a caller asked for it. `lost`: the job runs elsewhere or is over, and its result is not taken.
   *   `stopping`: the worker ends.
   */
  constructor(override readonly cause: "cancel" | "lost" | "stopping") {
    super(cause);
  }
}

/** What a handler gets besides the job's arguments. */
export interface WorkContext {
  jobId: string;
  attempt: number;
  jobTypeName: string;
  tenantId: string | null;
  maxRetries: number;
  /** ISO time at which the attempt fails. */
  deadline: string;
  traceparent: string | null;
  /** Aborted when the handler should end early, with a `JobInterrupted` as reason. */
  signal: AbortSignal;
  /** Reports progress, 0 to 100. The next heartbeat sends it. */
  progress(percent: number, note?: string): void;
  /** Adds a line to the log of this attempt. The next heartbeat sends it. A long message is cut. */
  log(level: "debug" | "info" | "warn" | "error", message: string, fields?: Record<string, unknown>): void;
}

/** Runs a job. The returned value is stored as its output; an exception is a failed attempt. */
// deno-lint-ignore no-explicit-any -- the caller knows the arguments of its job types
export type Handler = (args: any, context: WorkContext) => unknown;

export type Handlers = Record<string, Handler>;

export interface WorkOptions {
  /** Jobs that run at once; default 10. */
  concurrency?: number;
  /** Only jobs of these queues. */
  queues?: string[];
  /** Name of this worker, shown with the attempts. */
  name?: string;
  /** Stops the worker: it claims no more jobs, and releases those that have not ended after `graceSeconds`. */
  signal?: AbortSignal;
  /** Default 20. */
  graceSeconds?: number;
  /** Called with problems that the worker handles itself, such as an unreachable service. Default: `console.warn`. */
  onTrouble?: (message: string) => void;
}
