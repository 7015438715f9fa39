import { AREA_NAMES, type AreasOn, keepsFiles } from "../../infra/areas.ts";
import { Counter, EventLoopDelay, Histogram } from "../../infra/telemetry/instruments.ts";
import { waitAtMost } from "../../infra/timeout.ts";

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

/** The result of a read that takes longer is kept. */
const SLOW_MS = 1_000;
/** A result is kept for this multiple of the duration of its read. */
const REST_FACTOR = 20;

interface Kept<V> {
  value: Promise<V>;
  readAt: number;
  until: number;
}

/**
 * Keeps the results of reads that take more than a second, so that repeated reads take at most a twentieth of a
 * connection's time. While a kept result is replaced, concurrent reads share one load. Results of quick reads are not kept.
 */
class SlowReads {
  readonly #kept = new Map<string, Kept<unknown>>();
  readonly #running = new Map<string, Promise<unknown>>();

  constructor(private readonly slowMs = SLOW_MS) {}

  /** @param name identifies what `load` reads */
  async read<V>(name: string, load: () => Promise<V>): Promise<{ value: V; ageSeconds: number }> {
    const kept = this.#kept.get(name) as Kept<V> | undefined;
    if (kept && performance.now() < kept.until) {
      return { value: await kept.value, ageSeconds: (performance.now() - kept.readAt) / 1_000 };
    }
    const readAt = performance.now();
    const value = load();
    if (kept) this.#kept.set(name, { value, readAt, until: Infinity });
    const tookMs = await value.then(() => performance.now() - readAt, () => 0);
    if (tookMs < this.slowMs) this.#kept.delete(name);
    else this.#kept.set(name, { value, readAt, until: readAt + (1 + REST_FACTOR) * tookMs });
    return { value: await value, ageSeconds: 0 };
  }

  /**
   * Waits for a read for at most `ms` milliseconds. The read then continues, and later calls wait for the same read. So reads
   * do not pile up while no connection is free.
   * @returns null if the read takes longer
   */
  async readWithin<V>(ms: number, name: string, load: () => Promise<V>): Promise<V | null> {
    const running = this.#running.get(name) ?? load().finally(() => this.#running.delete(name));
    this.#running.set(name, running);
    return await waitAtMost(ms, running as Promise<V>);
  }
}
