import { problem } from "../../domain/problems/problem.ts";
import type { Call } from "./call.ts";

/** Number of checks within one time limit. */
const CHECKS_PER_LIMIT = 20;

interface Running {
  since: number;
  call: Call;
  reject(reason: unknown): void;
}

/**
 * Rejects requests that take too long. One timer checks all of them, because one timer per request would cost more
 * than the rest of the pipeline.
 */
export class TimeLimit {
  /** In order of arrival, oldest first. */
  #running = new Set<Running>();

  /** @param stopping aborted when the service stops. It ends the checks, because the shutdown ends the requests that still run */
  constructor(private readonly milliseconds: number, stopping: AbortSignal) {
    const timer = setInterval(() => this.#rejectLate(), milliseconds / CHECKS_PER_LIMIT);
    stopping.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /**
   * Returns the result of `work`. At the time limit it aborts `call.signal` and ignores the result.
   * @param since when the request arrived, as `performance.now()`
   * @throws REQUEST_TIMED_OUT_UNAVAILABLE
   */
  within<T>(call: Call, since: number, work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const running = { since, call, reject };
      this.#running.add(running);
      work.then((outcome) => {
        this.#running.delete(running);
        resolve(outcome);
      }, (failure) => {
        this.#running.delete(running);
        reject(failure);
      });
    });
  }

  #rejectLate(): void {
    const latest = performance.now() - this.milliseconds;
    for (const running of this.#running) {
      if (running.since > latest) return;
      this.#running.delete(running);
      const reason = problem(
        "REQUEST_TIMED_OUT_UNAVAILABLE",
        `The request was not answered within ${this.milliseconds / 1000} s.`,
        { headers: { "retry-after": "5" } },
      );
      running.call.abort(reason);
      running.reject(reason);
    }
  }
}
