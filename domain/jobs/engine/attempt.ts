import { inTrace } from "../../../infra/telemetry/tracing.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { cutText } from "../../shared/cut_text.ts";
import { newId, timeOfId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { AttemptLog, AttemptReporter } from "./attempt_log.ts";
import type { ClaimedJob } from "./claim.ts";
import { doInstancesDiffer } from "./lease.ts";
import { HandedOver, type JobContext, type JobTypes, PermanentJobFailure, PostponeJob } from "../job_type.ts";
import { failed, interrupted, type Settlement, succeeded, waitsForDependencies } from "./settle.ts";

/** A call that is due at a time of `performance.now()`. */
interface Call {
  at: number;
  onTimeout: () => void;
}

/**
 * Calls functions after a time unless they are cancelled. Calls after the same time share one timer: most attempts end
 * long before their time-out, and a timer costs more than a short attempt.
 */
export class SharedTimeouts {
  readonly #calls = new Map<number, { waiting: Set<Call>; timer: ReturnType<typeof setTimeout> }>();

  /** @returns cancels the call */
  start(ms: number, onTimeout: () => void): () => void {
    const call = { at: performance.now() + ms, onTimeout };
    const shared = this.#calls.get(ms);
    if (shared) shared.waiting.add(call);
    else this.#calls.set(ms, { waiting: new Set([call]), timer: setTimeout(() => this.#fire(ms), ms) });
    return () => this.#cancel(ms, call);
  }

  #cancel(ms: number, call: Call): void {
    const shared = this.#calls.get(ms);
    if (!shared?.waiting.delete(call) || shared.waiting.size > 0) return;
    clearTimeout(shared.timer);
    this.#calls.delete(ms);
  }

  /** The calls are in the order of their times. */
  #fire(ms: number): void {
    const shared = this.#calls.get(ms);
    if (!shared) return;
    const now = performance.now();
    const due = [...shared.waiting].filter(({ at }) => at <= now);
    for (const call of due) shared.waiting.delete(call);
    const [next] = shared.waiting;
    if (next) shared.timer = setTimeout(() => this.#fire(ms), next.at - now);
    else this.#calls.delete(ms);
    for (const { onTimeout } of due) onTimeout();
  }
}

const OUTPUT_LENGTH = 64 * 1024;
const timeouts = new SharedTimeouts();

/** A running attempt. Once it is aborted or stopped, the result of its handler is ignored. */
export interface Attempt {
  job: ClaimedJob;
  /** Resolves when the attempt has ended; to null if the job's receiver settles it. */
  settlement: Promise<Settlement | null>;
  /** Aborts the signal; the job is settled when its handler has ended. */
  abort(reason: string): void;
  /** Aborts the signal. The handler still decides the result. */
  cancel(): void;
  /** Aborts the signal and settles the job without waiting for its handler. */
  stop(reason: string): void;
}

/** Runs one claimed job and settles it. Never throws, whatever the handler does. */
export function runAttempt(
  job: ClaimedJob,
  o: {
    types: JobTypes;
    attemptLog: AttemptLog;
    platform: Platform;
    upkeepPlatform?: Platform;
    takeWorker: JobContext["takeWorker"];
  },
): Attempt {
  const startedAt = performance.now();
  const times = () => ({ startedAt, endedAt: performance.now() });
  const controller = new AbortController();
  const { promise, resolve } = Promise.withResolvers<Settlement | null>();
  let cancelTimeout = () => {};
  let opened: AttemptReporter | undefined;
  const reporter = () => opened ??= o.attemptLog.open(job);
  let abortedFor: string | null = null;
  const finish = (outcome: Settlement | null) => {
    const settlement = abortedFor === null || outcome === null
      ? outcome
      : interrupted(job, times(), abortedFor);
    cancelTimeout();
    if (!opened) resolve(settlement);
    else opened.flush().then(() => resolve(settlement)); // an ended job must show everything it reported
  };
  const fail = (error: unknown) => finish(error instanceof HandedOver ? null : failed(job, error, times()));

  const type = job.type ?? o.types.get(job.jobTypeName);
  const args = type && readArgs(job, type.args);
  if (!type) {
    unknownType(job, o.platform.sql).then(fail, fail);
  } else if (!args?.success) {
    fail(new PermanentJobFailure(`the arguments do not fit ${type.name}: ${args?.error?.message}`));
  } else {
    cancelTimeout = timeouts.start(type.timeoutMs, () => {
      const error = new Error(`the attempt took longer than the ${type.timeoutMs} ms ${type.name} may take`);
      controller.abort(error);
      fail(error);
    });
    const platform = type.cron === undefined ? o.platform : o.upkeepPlatform ?? o.platform;
    const context = {
      platform,
      db: platform.sql,
      jobId: job.id,
      tenantId: job.tenantId,
      createdBy: job.createdBy,
      traceId: job.traceId,
      attempt: job.attempts,
      failures: job.failures,
      maxRetries: job.maxRetries,
      waitsForDependencies: waitsForDependencies(job),
      lostLeases: job.lostLeases,
      takeWorker: o.takeWorker,
      signal: controller.signal,
      get log() {
        return reporter().log;
      },
      progress: (percent: number, note?: string) => reporter().progress(percent, note),
    };
    const attributes = { "steward.job.id": job.id, "steward.job.attempt": job.attempts };
    const work = async () => printOutput(await type.run(args.data, context));
    inTrace(job.traceId, `job ${type.name}`, attributes, work).then(
      (output) => finish(succeeded(job, output, times())),
      fail,
    );
  }
  const abort = (reason: string) => {
    abortedFor = reason;
    controller.abort(new Error(`the attempt was interrupted: ${reason}`));
  };
  return {
    job,
    settlement: promise,
    abort,
    cancel: () => controller.abort(new Error("a caller asked to cancel the job")),
    stop(reason) {
      abort(reason);
      finish(interrupted(job, times(), reason));
    },
  };
}

/**
 * A job of an unknown type is postponed until it has this age, because a newer instance may have enqueued it, and as long as
 * there are instances of another version or other areas. Then it fails.
 */
const UNKNOWN_TYPE_MS = 15 * 60_000;
const UNKNOWN_TYPE_DELAY_MS = 20_000;

async function unknownType(job: ClaimedJob, q: Sql): Promise<Error> {
  const reason = `no job type has the name ${job.jobTypeName}`;
  const isNew = timeOfId(newId()).getTime() - timeOfId(job.id).getTime() < UNKNOWN_TYPE_MS;
  return isNew || await doInstancesDiffer(q)
    ? new PostponeJob(`${reason} in this instance`, UNKNOWN_TYPE_DELAY_MS)
    : new PermanentJobFailure(reason);
}

type Args = { success: boolean; data?: unknown; error?: Error };

function readArgs(job: ClaimedJob, shape: { safeParse(value: unknown): Args }): Args {
  try {
    return shape.safeParse(JSON.parse(job.serializedArgs));
  } catch (error) {
    return { success: false, error: error as Error };
  }
}

/** Returns the stored form of a handler's result: JSON, cut at 65,536 characters; null for undefined. */
function printOutput(output: unknown): string | null {
  if (output === undefined) return null;
  return cutText(JSON.stringify(output) ?? "null", OUTPUT_LENGTH);
}
