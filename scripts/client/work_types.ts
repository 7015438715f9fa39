// Public types of `Steward.work` and its handlers. This file is copied unchanged into the package.

/** Thrown by a handler if no retry can succeed. The job becomes a dead letter at once. */
export class HopelessJob extends Error {
  override name = "HopelessJob";
}

/** Thrown by a handler to run the job again after `seconds`. The attempt does not count as a failure. */
export class Postpone extends Error {
  override name = "Postpone";
  constructor(readonly seconds: number) {
    super(`postponed by ${seconds} s`);
  }
}

/** The reason of a handler's signal when the handler should end early. */
export class JobInterrupted extends Error {
  override name = "JobInterrupted";
  /**
   * @param cause `cancel`: a caller asked to cancel the job. `lost`: the attempt is over or the job runs elsewhere, so its
   *   result is not accepted. `stopping`: the worker stops.
   */
  constructor(override readonly cause: "cancel" | "lost" | "stopping") {
    super(cause);
  }
}

/** The second argument of a handler: the attempt that it runs. */
export interface WorkContext {
  jobId: string;
  attempt: number;
  jobTypeName: string;
  tenantId: string | null;
  maxRetries: number;
  /** ISO time at which the attempt times out. */
  deadline: string;
  traceparent: string | null;
  /** Aborted when the handler should end early, with a `JobInterrupted` as reason. */
  signal: AbortSignal;
  /** Reports progress, 0 to 100. The next heartbeat sends it. */
  progress(percent: number, note?: string): void;
  /** Adds a line to the log of this attempt. The next heartbeat sends it. A long message is cut. */
  log(level: "debug" | "info" | "warn" | "error", message: string, fields?: Record<string, unknown>): void;
}

/** Runs a job. The returned value is stored as its output. An exception makes the attempt fail. */
// deno-lint-ignore no-explicit-any -- the caller knows the arguments of its job types
export type Handler = (args: any, context: WorkContext) => unknown;

/** Handlers by job type name. */
export type Handlers = Record<string, Handler>;

export interface WorkOptions {
  /** Maximum number of jobs that run at once; default 10. */
  concurrency?: number;
  /** Queues from which jobs are claimed; absent: all. */
  queues?: string[];
  /** Name of this worker, shown with the attempts. */
  name?: string;
  /** Stops the worker: it claims no more jobs, and releases those that have not ended after `graceSeconds`. */
  signal?: AbortSignal;
  /** Seconds for which a stopping worker waits for running jobs; default 20. */
  graceSeconds?: number;
  /** Called with problems that the worker handles itself, such as an unreachable service. Default: `console.warn`. */
  onTrouble?: (message: string) => void;
}
