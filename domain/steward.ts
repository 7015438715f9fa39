import type { Clock } from "../infra/clock.ts";
import type { Log } from "../infra/log.ts";
import type { SettledJob } from "./jobs/job_row.ts";
import type { ServicePlatform } from "./platform.ts";

/** A running service. */
export interface Steward {
  platform: ServicePlatform;
  url: string;
  /** Embedded parts in use. */
  parts: string[];
  /**
   * Deno.cron calls these once a minute. If several instances call them at the same time, each due run is done once.
   */
  fireRecurringJobs(): Promise<void>;
  fireReportSchedules(): Promise<void>;
  /** Runs due work whose wake-ups were lost. */
  sweep(): Promise<void>;
  /** Accepts no new requests, waits up to `drainMs` for running jobs and requests, and closes all parts. */
  stop(drainMs?: number): Promise<void>;
}

export interface StewardOptions {
  log?: Log;
  clock?: Clock;
  /** Called with every job whose result was written. */
  onSettled?: (jobs: SettledJob[]) => void;
  /** Checks every answer against its declared shape. */
  checkAnswers?: boolean;
  /** Modules of extensions, as paths or `file:` URLs, besides those of STEWARD_EXTENSIONS. */
  extensions?: string[];
}
