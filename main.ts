import { AuditWriter } from "./domain/audit/audit_writer.ts";
import { bootstrap, type CatalogAdditions } from "./domain/access/tenants/bootstrap.ts";
import { requireBreachedPasswords } from "./domain/access/passwords/breached_passwords.ts";
import { createOpenIdProviders } from "./infra/openid.ts";
import { Rights } from "./domain/rights/rights.ts";
import { Pictures } from "./infra/pictures/pictures.ts";
import { type JobEngine, startJobEngine } from "./domain/jobs/instance/engine.ts";
import { EventFeed } from "./domain/events/feed/event_feed.ts";
import { JobEvents } from "./domain/events/job_events.ts";
import { fireDueRecurringJobs } from "./domain/jobs/recurring/fire_recurring.ts";
import { JobWriter } from "./domain/jobs/enqueue.ts";
import type { SettledJob } from "./domain/jobs/job_row.ts";
import { JobTypes } from "./domain/jobs/job_type.ts";
import { WorkPolls } from "./domain/jobs/remote/work_polls.ts";
import { jobTypesOf, registerJobTypes } from "./domain/job_types.ts";
import { serviceNotices } from "./domain/notifications/sending/service_notices.ts";
import { createDeliveryBatches } from "./domain/notifications/delivery/delivery_batches.ts";
import { finishDirectMessages } from "./domain/notifications/sending/direct.ts";
import { UnsubscribeTokens } from "./domain/notifications/unsubscribe.ts";
import { UserWakeUps } from "./domain/notifications/user_wake_up.ts";
import { MessageWriter } from "./domain/notifications/sending/send.ts";
import { RenderThreads } from "./domain/templates/language/mod.ts";
import { markVersion } from "./domain/operations/deploy_marks.ts";
import { instanceChecks, InstanceHealth } from "./domain/operations/health.ts";
import { setIdClock } from "./domain/shared/ids.ts";
import { Metrics } from "./domain/shared/metrics.ts";
import { KnownClients } from "./domain/oauth/clients/known_clients.ts";
import { requestBounds, RunningRequests } from "./domain/requests/running_requests.ts";
import type { ServicePlatform } from "./domain/platform.ts";
import { type Clock, systemClock } from "./infra/clock.ts";
import type { Config } from "./infra/config.ts";
import { type EmbeddedStack, startEmbeddedStack } from "./infra/embedded/stack.ts";
import { serveHttp } from "./infra/http_server.ts";
import { createLog, type Log } from "./infra/log.ts";
import { keepsFiles } from "./infra/areas.ts";
import { loadLater } from "./infra/load_later.ts";
import {
  absent,
  loadAreaParts,
  openFiles,
  openReports,
  personalDataOf,
  timedWorkOf,
} from "./domain/area_parts.ts";
import { shareChanges } from "./infra/postgres/changes.ts";
import { DatabaseClock } from "./infra/postgres/database_clock.ts";
import { ConnectionWait } from "./infra/postgres/connection_wait.ts";
import { type ExtensionMigrations, migrate, pendingMigrations, summaryOf } from "./infra/postgres/migrate.ts";
import { openPools, PoolHealth } from "./infra/postgres/pools.ts";
import { connectPostgres } from "./infra/postgres/postgres.ts";
import { Replica } from "./infra/postgres/replica.ts";
import { requireTenantInKeys } from "./infra/postgres/tenant_keys.ts";
import { readConfigOrExit, runService, waitUntilStopped } from "./infra/process.ts";
import { openProviders } from "./infra/providers.ts";
import { openTokens } from "./infra/tokens.ts";
import { openWakeUps } from "./infra/wakeups/open_wake_ups.ts";
import { createApp, withMounts } from "./routes/app.ts";
import { componentsMount } from "./routes/components/mount.ts";
import { consoleMount, rootPage } from "./routes/console/mounts.ts";
import { loadExtensions } from "./routes/extensions/load_extensions.ts";
import { noExtensions } from "./routes/extensions/no_extensions.ts";
import type { Services } from "./routes/extensions/services.ts";
import { endpointsOf } from "./routes/areas.ts";

const DRAIN_MS = 25_000;

/** A running service. */
export interface Steward {
  platform: ServicePlatform;
  url: string;
  /** Names of the embedded components. */
  embedded: string[];
  /**
   * Deno.cron calls these once a minute. If several instances call them at the same time, each due run is done once.
   */
  fireRecurringJobs(): Promise<void>;
  fireReportSchedules(): Promise<void>;
  /** Runs due work whose wake-ups were lost. */
  sweep(): Promise<void>;
  /** Accepts no new requests, waits up to `drainMs` for running jobs and requests, and closes all components. */
  stop(drainMs?: number): Promise<void>;
}

export interface StewardOptions {
  log?: Log;
  clock?: Clock;
  /** Called with every job whose result was written. */
  onSettled?: (jobs: SettledJob[]) => void;
  /** Checks every answer against its declared shape. */
  checkAnswers?: boolean;
  /** The database has the schema and the catalog of this version, so that only its clock is read. */
  isPrepared?: boolean;
  /** Modules of extensions, as paths or `file:` URLs, besides those of STEWARD_EXTENSIONS. */
  extensions?: string[];
}

/** Builds the service from its configuration and starts it: infrastructure, domain, routes, workers. */
export async function startSteward(given: Config, o: StewardOptions = {}): Promise<Steward> {
  const stack = await startEmbeddedStack(given);
  try {
    return await startOn(stack, o);
  } catch (error) {
    await stack.stop(); // otherwise an embedded Postgres keeps running after this process
    throw error;
  }
}

async function startOn(stack: EmbeddedStack, o: StewardOptions): Promise<Steward> {
  const { config } = stack;
  const log = o.log ?? createLog(config.LOG_LEVEL);
  const databaseClock = new DatabaseClock();
  const clock = o.clock ?? databaseClock;
  let services: Services;
  const loaded = await loadExtensions([...config.STEWARD_EXTENSIONS ?? [], ...o.extensions ?? []]);
  const extensions = loaded.length > 0
    ? (await loadLater<typeof import("./routes/extensions/assemble.ts")>(
      import.meta,
      "./routes/extensions/assemble.ts",
    )).assemble(loaded, () => services)
    : noExtensions();
  const sections = await extensions.loadSections();
  await requireBreachedPasswords(config.BREACHED_PASSWORDS);
  // One import loads them all. It comes before the first connection, whose time-out would pass while modules are loaded.
  await Promise.all([loadAreaParts(config), jobTypesOf(config), endpointsOf({ config, outbox: null })]);
  await prepareDatabase(config, databaseClock, extensions, o.isPrepared);
  const pools = openPools(config, log);
  const { sql, pointReads } = pools;
  databaseClock.follow(sql, log);
  const replica = await Replica.open({ config, sql, clock, log });
  const poolHealth = new PoolHealth(
    [...new Set([sql, pointReads, pools.engineSql])],
    config.DATABASE_URL ?? "",
  );
  const connectionWait = new ConnectionWait(sql, config.DATABASE_URL ?? "", log);
  const stopping = new AbortController();
  let baseUrl = config.PUBLIC_URL?.replace(/\/+$/, "") ?? "";
  let engine: JobEngine | undefined;

  const rights = new Rights(pointReads, {
    stepUpMinutes: config.STEP_UP_MINUTES,
    isRequiredForPlatform: config.REQUIRE_SECOND_FACTOR_FOR_PLATFORM,
  });
  const changes = await shareChanges(sql, { log, listens: config.DATABASE_LISTEN });
  const wakeUps = await openWakeUps(config, {
    sql,
    log,
    clock,
    wakeWorker: () => engine?.wake(),
    checkDueTimes: async () => await engine?.checkDueTimes(),
  });

  const eventFeed = config.AREAS.has("events")
    ? await EventFeed.open({ sql, log, clock, config, stopping: stopping.signal })
    : null;
  const keeps = keepsFiles(config);
  const metrics = new Metrics();
  const files = await openFiles({ config, sql, log, clock, metrics });
  const { objects, scanner } = files;
  const providers = await openProviders(config, clock);
  const checks = instanceChecks({ config, sql, pointReads, objects, scanner, mail: providers.mail }, {
    jobStallReason: () => engine?.stallReason() ?? null,
  });
  const platform: ServicePlatform = {
    config,
    log,
    clock,
    sql,
    pointReads,
    replica,
    tokens: await openTokens(config, { issuer: () => baseUrl, clock }),
    rights,
    openIdProviders: createOpenIdProviders({ config, clock }),
    oauthClients: new KnownClients(sql),
    wakeUps,
    jobTypes: new JobTypes(),
    eventTypes: extensions.eventTypes,
    eventFeed: eventFeed ?? absent("the event feed"),
    jobEvents: new JobEvents(sql, pointReads),
    workPolls: new WorkPolls({
      sql,
      log,
      leaseSeconds: config.JOB_LEASE_SECONDS,
      onClaimed: (jobs) => metrics.jobsClaimed.add([], jobs),
    }),
    // Extensions come first: their tables may refer to those of the areas.
    personalData: [...extensions.personalData, ...await personalDataOf(config)],
    jobWriter: new JobWriter(sql, { wakeUps }),
    auditWriter: new AuditWriter(sql),
    messageWriter: new MessageWriter({ sql, wakeUps }),
    pictures: new Pictures(),
    deliveryBatches: createDeliveryBatches(sql),
    directDeliveries: new Set(),
    unsubscribeTokens: new UnsubscribeTokens(sql),
    channelProviders: extensions.channelProviders,
    ...serviceNotices(() => platform),
    listPages: async () => (await consolePages.load()).listPages,
    userWakeUps: new UserWakeUps({ sql, config, log }),
    ...files,
    ...providers,
    reports: await openReports(config, extensions.reports),
    renderThreads: new RenderThreads(),
    metrics,
    health: new InstanceHealth(checks, {
      log,
      notices: keeps ? [scanner.notice ?? []].flat() : [],
      isStuck: () => poolHealth.isStuck,
    }),
    connectionWait,
    runningRequests: new RunningRequests(requestBounds(config)),
    stopping: stopping.signal,
    baseUrl: () => baseUrl,
  };
  if (loaded.length > 0) {
    const path = "./routes/extensions/services.ts";
    services = (await loadLater<typeof import("./routes/extensions/services.ts")>(import.meta, path))
      .servicesOf(platform);
  }
  await registerJobTypes(platform, extensions.jobTypes);

  const endpoints = [...await endpointsOf(platform), ...extensions.endpoints];
  const served = { platform, endpoints, checkAnswers: o.checkAnswers ?? false };
  const api = createApp(served);
  const tasks = createApp({ ...served, unlimited: true });
  const consolePages = consoleMount(platform, api, sections, tasks);
  const mounts = [consolePages, componentsMount(config), rootPage(platform)];
  const server = serveHttp(config, withMounts(mounts, api, platform));
  baseUrl ||= server.url;
  await markVersion(platform);
  const timedWork = await timedWorkOf(platform);
  const work = { pools, timedWork, onSettled: o.onSettled };
  const jobs = engine = await startJobEngine(platform, work);
  await jobs.checkDueTimes().catch(() => {}); // the failure is logged, and the next check retries

  return {
    platform,
    url: server.url,
    embedded: stack.embedded,
    fireRecurringJobs: async () => void await fireDueRecurringJobs(platform),
    fireReportSchedules: async () => void await Promise.all(timedWork.map((work) => work.doDue())),
    async sweep() {
      await jobs.sweep();
      await wakeUps.sweep();
    },
    async stop(drainMs = DRAIN_MS) {
      stopping.abort();
      await waitUntilStopped(log, [server.stop(drainMs), jobs.stop(drainMs)]);
      await waitUntilStopped(log, [wakeUps.stop(), changes.stop(), eventFeed?.stop() ?? Promise.resolve()]);
      const mail = providers.mail.map((transport) => transport.close());
      await waitUntilStopped(log, [
        keeps ? scanner.close() : Promise.resolve(),
        ...mail,
        finishDirectMessages(platform),
      ]);
      setIdClock(systemClock); // this service's clock is not read again, and others of the process may still make ids
      platform.renderThreads.close();
      platform.pictures.stop();
      for (const part of [metrics, databaseClock, poolHealth, connectionWait]) part.stop();
      await waitUntilStopped(log, [pools.end(), replica?.stop() ?? Promise.resolve()]);
      await stack.stop();
    },
  };
}

/**
 * Starts the database's clock, applies migrations if configured, and updates the catalog. Uses connections of its own:
 * connections opened before a migration do not know its new types.
 * @throws Error if the database cannot be used, migrations are pending and MIGRATE_ON_START is off, or a foreign key of an
 * extension leaves out the tenant.
 */
async function prepareDatabase(
  config: Config,
  clock: DatabaseClock,
  extensions: { migrations: readonly ExtensionMigrations[]; catalog: CatalogAdditions },
  isPrepared = false,
): Promise<void> {
  const open = () =>
    connectPostgres(config.DATABASE_URL ?? "", {
      max: 1,
      prepare: false,
      work: "migration",
      pooled: !config.DATABASE_LISTEN,
    });
  let sql = open();
  try {
    await clock.start(sql).catch((cause) => {
      throw new Error(`the database of DATABASE_URL cannot be used: ${cause.message}`, { cause });
    });
    setIdClock(clock);
    if (isPrepared) return;
    const pending = await pendingMigrations(sql, extensions.migrations);
    if (pending.length === 0) await requireTenantInKeys(sql, extensions.migrations);
    else if (config.MIGRATE_ON_START) {
      await migrate(sql, extensions.migrations);
      await sql.end();
      sql = open();
    } else {
      throw new Error(`the database lacks ${summaryOf(pending)}; run \`deno task migrate\` before starting`);
    }
    await bootstrap({ sql, config }, extensions.catalog);
  } finally {
    await sql.end();
  }
}

if (import.meta.main) {
  const config = readConfigOrExit();
  await runService(config, startSteward(config), {
    "recurring-jobs": (steward) => steward.fireRecurringJobs(),
    "report-schedules": (steward) => steward.fireReportSchedules(),
    "upkeep": (steward) => steward.sweep(),
  });
}
