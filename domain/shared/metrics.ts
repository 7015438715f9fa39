import { AREA_NAMES, type AreasOn, keepsFiles } from "../../infra/areas.ts";
import { Counter, EventLoopDelay, Histogram } from "../../infra/telemetry/instruments.ts";
import { SlowReads } from "./slow_reads.ts";

/**
 * Metrics of this instance. Label values are names that the service defines, such as routes, statuses, job types and
 * channels, and a limited number of job types that callers declared. They never contain tenants, users or input.
 */
export class Metrics {
  readonly requests = new Counter({
    name: "steward_http_requests_total",
    help: "Answered requests, by route pattern.",
    labels: ["method", "route", "status"],
  });
  readonly requestSeconds = new Histogram({
    name: "steward_http_request_duration_seconds",
    help: "Time to answer a request.",
    labels: ["method", "route"],
  });
  readonly jobsClaimed = new Counter({
    name: "steward_jobs_claimed_total",
    help: "Jobs that this instance's worker claimed.",
    labels: [],
  });
  readonly jobAttempts = new Counter({
    name: "steward_job_attempts_total",
    help:
      "Ended job attempts: a Failed job is retried, a DeadLettered one is not, a Postponed one waits and did not fail.",
    labels: ["type", "outcome"],
  });
  readonly jobWaitSeconds = new Histogram({
    name: "steward_job_wait_seconds",
    help: "Time from the due time of a job to the start of an attempt.",
    labels: ["type"],
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300, 1800],
  });
  readonly jobSeconds = new Histogram({
    name: "steward_job_duration_seconds",
    help: "Duration of a job attempt.",
    labels: ["type"],
  });
  readonly scans = new Counter({
    name: "steward_scans_total",
    help:
      "Scanned contents, by verdict; Unavailable if the scan engine did not answer or the content could not be read.",
    labels: ["verdict"],
  });
  readonly deliveries = new Counter({
    name: "steward_notification_recipients_total",
    help: "Notification recipients, by the outcome of an attempt; those with Owed are tried again.",
    labels: ["channel", "outcome"],
  });
  readonly reports = new Counter({
    name: "steward_reports_total",
    help: "Ended report executions.",
    labels: ["format", "outcome"],
  });
  /** Reads of the metrics page that take long while a snapshot is held. */
  readonly slowReads = new SlowReads();
  readonly #eventLoop = new EventLoopDelay();
  #busy: () => number = () => 0;

  /** @param route pattern of the route */
  countRequest(method: string, route: string, status: number, seconds: number): void {
    this.requests.add([method, route, String(status)]);
    this.requestSeconds.observe([method, route], seconds);
  }

  /** @param busy returns the number of running jobs. */
  watchWorker(busy: () => number): void {
    this.#busy = busy;
  }

  get busySlots(): number {
    return this.#busy();
  }

  get eventLoopDelaySeconds(): number {
    return this.#eventLoop.worstSeconds();
  }

  /** Returns the metrics of the areas that are on, in the Prometheus text format. */
  print(o: AreasOn = { AREAS: new Set(AREA_NAMES) }): string {
    const counted = [
      this.requests,
      this.requestSeconds,
      this.jobsClaimed,
      this.jobAttempts,
      this.jobWaitSeconds,
      this.jobSeconds,
      ...keepsFiles(o) ? [this.scans] : [],
      this.deliveries,
      ...o.AREAS.has("reports") ? [this.reports] : [],
    ];
    return counted.map((instrument) => instrument.print()).join("");
  }

  stop(): void {
    this.#eventLoop.stop();
  }
}
