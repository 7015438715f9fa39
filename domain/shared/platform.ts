import type { Clock } from "../../infra/clock.ts";
import type { Config } from "../../infra/config.ts";
import type { Log } from "../../infra/log.ts";
import type { ObjectStore } from "../../infra/objectstore/objectstore.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Replica } from "../../infra/postgres/replica.ts";
import type { Providers } from "../../infra/providers.ts";
import type { Scanner } from "../../infra/scanner/scanner.ts";
import type { Tokens } from "../../infra/tokens.ts";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Metrics } from "./metrics.ts";

/**
 * The components that every area uses, passed as an argument. A function declares the members that it uses, as in
 * `Pick<Platform, "sql" | "clock">`. An area extends it in its `platform.ts`; `domain/platform.ts` has all members of a
 * running service. Nothing here is a singleton, so one process can run several apps.
 */
export interface Platform extends Providers {
  config: Config;
  log: Log;
  clock: Clock;
  sql: Sql;
  /** Connections for point reads, see `Pools`. */
  pointReads: Sql;
  /** Null without a read replica. */
  replica: Replica | null;
  tokens: Tokens;
  /** Wakes workers for jobs, at once or at a job's due time. */
  wakeUps: WakeUps;
  objects: ObjectStore;
  scanner: Scanner;
  /** Metrics of this instance. */
  metrics: Metrics;
  /** Aborts when the service starts to shut down; ends streaming answers. */
  stopping: AbortSignal;
  /** Public URL of the service, without a trailing slash. */
  baseUrl(): string;
}

/** The platform with `db` in place of its pool. So functions that get it run in a transaction or use another pool. */
export const withDatabase = <P extends Pick<Platform, "sql">>(p: P, q: Sql): P => ({ ...p, sql: q });
