import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Config } from "../../infra/config.ts";
import type { Log } from "../../infra/log.ts";
import type { ObjectStore } from "../../infra/objectstore/objectstore.ts";
import type { Providers } from "../../infra/providers.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Scanner } from "../../infra/scanner/scanner.ts";
import type { Tokens } from "../../infra/tokens.ts";
import type { AuditWriter } from "../audit/audit_writer.ts";
import type { OpenIdProviders } from "../access/sign_in/oidc/providers.ts";
import type { EventTypes } from "../events/event_types.ts";
import type { Rights } from "../rights/rights.ts";
import type { ReservationWriter } from "../files/reserve.ts";
import type { JobTypes } from "../jobs/job_type.ts";
import type { JobWriter } from "../jobs/enqueue.ts";
import type { UserWakeUps } from "../notifications/in_app/user_wake_up.ts";
import type { RenderThreads } from "../notifications/rendering/mod.ts";
import type { MessageWriter } from "../notifications/send.ts";
import type { InstanceHealth } from "../operations/health.ts";
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
  /** The event types that webhook endpoints can subscribe to. */
  eventTypes: EventTypes;
  /** The configured OpenID providers by name. */
  openIdProviders: OpenIdProviders;
  /** Writes single jobs of many requests in shared commits. */
  jobWriter: JobWriter;
  /** Writes audit rows that belong to no database change, in shared commits. */
  auditWriter: AuditWriter;
  /** Writes single messages of many requests in shared commits. */
  messageWriter: MessageWriter;
  /** Writes single file reservations of many requests in shared commits. */
  reservationWriter: ReservationWriter;
  /** Wakes the open streams of in-app notifications on this instance. */
  userWakeUps: UserWakeUps;
  objects: ObjectStore;
  scanner: Scanner;
  /** Report templates, and the limit of documents generated at the same time. */
  reports: Reports;
  /** Worker threads that render templates. */
  renderThreads: RenderThreads;
  /** Metrics of this instance. */
  metrics: Metrics;
  /** What liveness and readiness report. */
  health: InstanceHealth;
  /** Aborts when the service starts to shut down; ends streaming answers. */
  stopping: AbortSignal;
  /** Public URL of the service, without a trailing slash. */
  baseUrl(): string;
}

/** The platform with `db` in place of its pool: its functions become a part of a transaction, or use another pool. */
export const withDatabase = <P extends Pick<Platform, "sql">>(p: P, db: Sql): P => ({ ...p, sql: db });
