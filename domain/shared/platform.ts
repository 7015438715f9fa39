import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Config } from "../../infra/config.ts";
import type { Log } from "../../infra/log.ts";
import type { ObjectStore } from "../../infra/objectstore/objectstore.ts";
import type { Providers } from "../../infra/providers.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Scanner } from "../../infra/scanner/scanner.ts";
import type { Tokens } from "../../infra/tokens.ts";
import type { AuditWriter } from "../audit/audit_writer.ts";
import type { Rights } from "../auth/rights.ts";
import type { JobTypes } from "../jobs/job_type.ts";
import type { JobWriter } from "../jobs/job_writer.ts";
import type { RenderThreads } from "../notifications/rendering/mod.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { Reports } from "../reports/reports.ts";
import type { Clock } from "./clock.ts";

/**
 * The dependencies of an app, passed as an argument. A function declares the part it uses, as in
 * `Pick<Platform, "sql" | "clock">`. Nothing here is a singleton, so one process can run several apps.
 */
export interface Platform extends Providers {
  config: Config;
  log: Log;
  clock: Clock;
  sql: Sql;
  tokens: Tokens;
  rights: Rights;
  /** Wakes workers for jobs, at once or at a job's due time. */
  wakeUps: WakeUps;
  jobTypes: JobTypes;
  /** Writes single jobs of many requests in shared commits. */
  jobWriter: JobWriter;
  /** Writes audit rows that belong to no database change, in shared commits. */
  auditWriter: AuditWriter;
  objects: ObjectStore;
  scanner: Scanner;
  /** Report templates, and the limit of documents generated at the same time. */
  reports: Reports;
  /** Worker threads that render templates. */
  renderThreads: RenderThreads;
  /** Metrics of this instance. */
  metrics: Metrics;
  /** Aborts when the service starts to shut down; ends streaming answers. */
  stopping: AbortSignal;
  /** Public URL of the service, without a trailing slash. */
  baseUrl(): string;
}
