import { problem } from "../../domain/problems/problem.ts";
import type { Call } from "./call.ts";

const TICKS = 20;

interface Running {
  since: number;
  call: Call;
  reject(reason: unknown): void;
}

/**
 * Ends requests that are not answered in time. One timer looks after all of them, a few times within the limit: a timer
 * each would cost more than the rest of the pipeline.
 */
export class TimeLimit {
  /** In the order they came, so the oldest stands first. */
  #running = new Set<Running>();

  /** @param stopping ends the looking; what still runs then is cut by whoever stops the service. */
  constructor(private readonly milliseconds: number, stopping: AbortSignal) {
    const timer = setInterval(() => this.#look(), milliseconds / TICKS);
    stopping.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /**
   * The outcome of `work`, unless it takes too long: then `call.signal` is aborted, and what `work` comes to is nobody's.
   * @param since when the request came, of `performance.now()`.
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

  #look(): void {
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
