// How the handlers of jobs behave, and the rule that a job never runs twice at the same time.
import type { Ending, HandlerWorld, Running } from "./job_types.ts";
import type { Violation } from "./model.ts";
import type { Random } from "./random.ts";
import { currentHost, type Host, type VirtualTime } from "./virtual_time.ts";

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
