import { Counter, Histogram } from "../../infra/telemetry/instruments.ts";
import { EventLoopDelay } from "../../infra/telemetry/event_loop.ts";

/**
 * What this instance counts of itself. Labels are routes, statuses, job types, channels and the like: names the service
 * itself has, never a tenant, a user or what they wrote, so their number is bounded.
 */
export class Metrics {
  readonly requests = new Counter({
    name: "steward_http_requests_total",
    help: "Requests answered, by the route's pattern.",
    labels: ["method", "route", "status"],
  });
  readonly requestSeconds = new Histogram({
    name: "steward_http_request_duration_seconds",
    help: "Time until a request was answered.",
    labels: ["method", "route"],
  });
  readonly jobsClaimed = new Counter({
    name: "steward_jobs_claimed_total",
    help: "Jobs this instance's worker took from the ledger.",
    labels: [],
  });
  readonly jobAttempts = new Counter({
    name: "steward_job_attempts_total",
    help:
      "Attempts that ended, and what became of the job: a Failed one is retried, a DeadLettered one is not.",
    labels: ["type", "outcome"],
  });
  readonly jobSeconds = new Histogram({
    name: "steward_job_duration_seconds",
    help: "Time an attempt took.",
    labels: ["type"],
  });
  readonly scans = new Counter({
    name: "steward_scans_total",
    help:
      "Contents the scan engine was given, by its verdict; Unavailable where it gave none or the content could not be read.",
    labels: ["verdict"],
  });
  readonly deliveries = new Counter({
    name: "steward_notification_recipients_total",
    help: "Recipients a notification was tried for, by what became of them; Owed ones are tried again.",
    labels: ["channel", "outcome"],
  });
  readonly #eventLoop = new EventLoopDelay();
  #busy: () => number = () => 0;

  /** @param route the route's pattern */
  countRequest(method: string, route: string, status: number, seconds: number): void {
    this.requests.add([method, route, String(status)]);
    this.requestSeconds.observe([method, route], seconds);
  }

  /** @param busy tells how many jobs run now. */
  watchWorker(busy: () => number): void {
    this.#busy = busy;
  }

  get busySlots(): number {
    return this.#busy();
  }

  get eventLoopDelaySeconds(): number {
    return this.#eventLoop.worstSeconds();
  }

  /** Everything counted so far, in the text format. */
  print(): string {
    const counted = [
      this.requests,
      this.requestSeconds,
      this.jobsClaimed,
      this.jobAttempts,
      this.jobSeconds,
      this.scans,
      this.deliveries,
    ];
    return counted.map((instrument) => instrument.print()).join("");
  }

  stop(): void {
    this.#eventLoop.stop();
  }
}
