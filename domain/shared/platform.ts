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
 * What the world is made of, handed to whoever needs it. Areas ask for the part they use, as in
 * `Pick<Platform, "sql" | "clock">`; nothing here is a singleton, so many apps run in one process.
 */
export interface Platform extends Providers {
  config: Config;
  log: Log;
  clock: Clock;
  sql: Sql;
  tokens: Tokens;
  rights: Rights;
  /** Wakes workers for jobs that are due, now or when they come due. */
  wakeUps: WakeUps;
  jobTypes: JobTypes;
  /** Writes jobs that callers enqueue one by one. */
  jobWriter: JobWriter;
  /** Writes audit rows that come one by one and belong to no change. */
  auditWriter: AuditWriter;
  objects: ObjectStore;
  scanner: Scanner;
  /** Report templates, and how many documents are made at once. */
  reports: Reports;
  /** Where templates are filled in. */
  renderThreads: RenderThreads;
  /** What this instance counts of itself. */
  metrics: Metrics;
  /** Aborted when the service begins to stop; answers without an end of their own end then. */
  stopping: AbortSignal;
  /** The URL callers reach the service by, without a trailing slash. */
  baseUrl(): string;
}
