import type { Log } from "../../../infra/log.ts";
import type { EndedAttempt } from "../ended_attempt.ts";

/** Maximum number of lines per second for each kind of failure. The others are counted in one line. */
const LINES_PER_SECOND = 20;
const SECOND_MS = 1_000;

/** A kind of failure in the current second. */
interface Kind {
  outcome: "Failed" | "DeadLettered";
  level: "info" | "warn";
  message: string;
  summary: string;
  count: number;
}

/** Writes a log line for each failed attempt and each dead-lettered job, with a limit per second. */
export class FailureLog {
  readonly #kinds: Kind[] = [
    {
      outcome: "Failed",
      level: "info",
      message: "a job attempt failed; the job is retried",
      summary: "further failed attempts of jobs were left out of the log",
      count: 0,
    },
    {
      outcome: "DeadLettered",
      level: "warn",
      message: "a job was dead-lettered",
      summary: "further dead-lettered jobs were left out of the log",
      count: 0,
    },
  ];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly log: Log) {}

  write(ended: EndedAttempt[]): void {
    for (const { outcome, jobId, jobTypeName, tenantId, attempt, traceId, error } of ended) {
      const kind = this.#kinds.find((kind) => kind.outcome === outcome);
      if (!kind) continue;
      this.#timer ??= setTimeout(() => this.flush(), SECOND_MS);
      if (++kind.count > LINES_PER_SECOND) continue;
      this.log[kind.level](kind.message, { jobId, jobTypeName, tenantId, attempt, traceId, error });
    }
  }

  /** Writes how many lines were left out, and starts a new second. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const kind of this.#kinds) {
      const leftOut = kind.count - LINES_PER_SECOND;
      kind.count = 0;
      if (leftOut > 0) this.log[kind.level](kind.summary, { count: leftOut });
    }
  }
}
