import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bootstrap } from "./domain/access/bootstrap.ts";
import type { Caller } from "./domain/access/caller.ts";
import { AuditWriter } from "./domain/audit/audit_writer.ts";
import { authenticate } from "./domain/auth/authenticate.ts";
import { Rights } from "./domain/auth/rights.ts";
import { jobWork, watchDueTimes } from "./domain/jobs/due_times.ts";
import { fireDueRecurringJobs } from "./domain/jobs/fire_recurring.ts";
import { JobTypes } from "./domain/jobs/job_type.ts";
import { JobWriter } from "./domain/jobs/job_writer.ts";
import { ensureServiceRecurringJobs } from "./domain/jobs/service_recurring.ts";
import { startUpkeep } from "./domain/jobs/upkeep.ts";
import { startWorker } from "./domain/jobs/worker.ts";
import type { SettledJob } from "./domain/jobs/settle.ts";
import { allJobTypes } from "./domain/job_types.ts";
import { Metrics } from "./domain/operations/metrics.ts";
import { finishDirectMessages } from "./domain/notifications/direct.ts";
import { RenderThreads } from "./domain/notifications/rendering/mod.ts";
import { openReports } from "./domain/reports/reports.ts";
import { scheduleWork } from "./domain/reports/schedule_runs.ts";
import type { Clock } from "./domain/shared/clock.ts";
import { dateIdsBy } from "./domain/shared/ids.ts";
import type { Platform } from "./domain/shared/platform.ts";
import { createWakeUps, timerWakeUps } from "./infra/wakeups/wakeups.ts";
import { hasKvQueue, kvWakeUps } from "./infra/wakeups/kv_wakeups.ts";
import { type Config, ConfigurationError, processEnv, readConfig } from "./infra/config.ts";
import { type EmbeddedStack, startEmbeddedStack } from "./infra/embedded/stack.ts";
import { createLog, type Log, redactText } from "./infra/log.ts";
import { openBroadcast } from "./infra/postgres/broadcast.ts";
import { DatabaseClock } from "./infra/postgres/database_clock.ts";
import { broadcastCacheChanges, clearCaches } from "./infra/postgres/cache_invalidation.ts";
import { openChannel } from "./infra/postgres/channel.ts";
import { objectStoreConfig } from "./infra/objectstore/store_config.ts";
import { connectObjectStore } from "./infra/objectstore/objectstore.ts";
import { migrate, pendingMigrations } from "./infra/postgres/migrate.ts";
import { connectPostgres } from "./infra/postgres/postgres.ts";
import { PoolHealth } from "./infra/postgres/pool_health.ts";
import { outsideSharedTransaction, transactionAwarePool } from "./infra/postgres/shared_transaction.ts";
import { untraced } from "./infra/telemetry/tracing.ts";
import { openProviders } from "./infra/providers.ts";
import { countVerdicts } from "./infra/scanner/verdict_counter.ts";
import { clamdScanner } from "./infra/scanner/clamd.ts";
import type { Scanner } from "./infra/scanner/scanner.ts";
import { yaraScanner } from "./infra/scanner/yara.ts";
import { createTokens, readOrCreateTokenKeys } from "./infra/tokens.ts";
import { createApp, type Handle } from "./routes/app.ts";
import { createConsole } from "./routes/console/console.tsx";
import { allEndpoints } from "./routes/endpoints.ts";
import type { Call } from "./routes/shared/call.ts";
import { clientAddress } from "./routes/shared/client_address.ts";
import { type Mount, withMounts } from "./routes/shared/mounts.ts";

const DRAIN_MS = 25_000;
const POLL_MS = 2_000;
const POLL_WITHOUT_LISTEN_MS = 300;
const JOB_NOTICES_APART_MS = 20;
/** Recurring upkeep has connections of its own, open only while it runs. */
const UPKEEP_CONNECTIONS = 2;
const UPKEEP_IDLE_SECONDS = 10;

/**
 * What answers requests before the API does. `api` is the API in this process: it takes any request as from outside.
 */
const mounts = async (platform: Platform, api: Handle): Promise<Mount[]> => [
  await createConsole(platform, api),
];

/** A running service. */
export interface Steward {
  platform: Platform;
  url: string;
  /** Embedded parts in use. */
  parts: string[];
  /** What Deno.cron calls once a minute. Instances may do so at once: each piece of work is done by one of them. */
  fireRecurringJobs(): Promise<void>;
  fireReportSchedules(): Promise<void>;
  /** Does what every wake-up may have missed. */
  sweep(): Promise<void>;
  /** Takes no new requests, drains jobs, closes everything. */
  stop(drainMs?: number): Promise<void>;
}

export interface StewardOptions {
  log?: Log;
  clock?: Clock;
  /** Hears of every settled job. */
  onSettled?: (jobs: SettledJob[]) => void;
  /** Compares every answer with its declared shape. */
  checkAnswers?: boolean;
}

/** Builds the service from its configuration and starts it: infrastructure, domain, routes, workers. */
export async function startSteward(given: Config, o: StewardOptions = {}): Promise<Steward> {
  const stack = await startEmbeddedStack(given);
  try {
    return await startOn(stack, o);
  } catch (error) {
    await stack.stop(); // an embedded Postgres would outlive this process
    throw error;
  }
}

async function startOn(stack: EmbeddedStack, o: StewardOptions): Promise<Steward> {
  const { config } = stack;
  const log = o.log ?? createLog(config.LOG_LEVEL);
  const databaseClock = new DatabaseClock();
  const clock = o.clock ?? databaseClock;
  await prepareDatabase(config, databaseClock);
  const pooled = !config.DATABASE_LISTEN;
  const statementMs = config.REQUEST_TIMEOUT_SECONDS * 1000;
  const onGivenUp = (silentMs: number) =>
    log.warn("a connection to the database no longer answered and was given up", {
      silentMs: Math.round(silentMs),
    });
  const sql = connectPostgres(config.DATABASE_URL ?? "", {
    max: config.DATABASE_POOL,
    statementMs,
    pooled,
    onGivenUp,
  });
  const upkeepSql = connectPostgres(config.DATABASE_URL ?? "", {
    max: UPKEEP_CONNECTIONS,
    work: "upkeep",
    idleSeconds: UPKEEP_IDLE_SECONDS,
    pooled,
    onGivenUp,
  });
  databaseClock.follow(sql, log);

  let baseUrl = config.PUBLIC_URL?.replace(/\/+$/, "") ?? "";
  const keys = config.TOKEN_KEYS
    ? JSON.parse(config.TOKEN_KEYS)
    : await readOrCreateTokenKeys(config.DATA_DIR);
  const tokens = await createTokens({ keys, issuer: () => baseUrl, audience: config.TOKEN_AUDIENCE, clock });
  const rights = new Rights(sql);
  const listens = config.DATABASE_LISTEN;
  const rightsTold = await openBroadcast({
    sql,
    name: "steward_access",
    onMessage: (payload) => rights.forget(payload),
    log,
    listens,
  });
  rights.connect(rightsTold);

  let wakeWorker = () => {};
  let jobStallReason = (): string | null => null;
  let checkDueTimes = () => Promise.resolve();
  const jobChannel = await openChannel({
    sql,
    name: "steward_jobs",
    onMessage: () => wakeWorker(),
    log,
    listens,
    minIntervalMs: JOB_NOTICES_APART_MS,
  });
  const delayed = await openDelayed(config, () => checkDueTimes(), { log, clock });
  const wakeUps = createWakeUps({
    now: () =>
      untraced(() =>
        outsideSharedTransaction(() => {
          wakeWorker();
          jobChannel.notify();
        })
      ),
    delayed,
    clock,
  });

  const shared = transactionAwarePool(sql, upkeepSql);
  const changesTold = await openBroadcast({
    sql,
    name: "steward_changes",
    onMessage: (topic) => clearCaches(shared, topic),
    log,
    listens,
  });
  broadcastCacheChanges(shared, changesTold);

  const objects = connectObjectStore(objectStoreConfig(config), clock);
  if (!config.isProduction) await objects.ensureBucket();
  const providers = await openProviders(config, clock);
  const metrics = new Metrics();
  const scanner = countVerdicts(openScanner(config), (verdict) => metrics.scans.add([verdict]));
  if (scanner.notice !== undefined) log.warn(scanner.notice);

  const pulse = new PoolHealth(sql, config.DATABASE_URL ?? "");
  const stopping = new AbortController();
  const platform: Platform = {
    config,
    log,
    clock,
    sql: shared,
    tokens,
    rights,
    wakeUps,
    jobTypes: new JobTypes(),
    jobWriter: new JobWriter(sql),
    auditWriter: new AuditWriter(sql),
    objects,
    scanner,
    ...providers,
    reports: await openReports(config),
    renderThreads: new RenderThreads(),
    metrics,
    stopping: stopping.signal,
    baseUrl: () => baseUrl,
  };
  platform.jobTypes.register(...allJobTypes);
  const endpoints = allEndpoints(platform, {
    isStopping: () => stopping.signal.aborted,
    isStuck: () => pulse.isStuck,
    jobStallReason: () => jobStallReason(),
  });
  const api = createApp({
    endpoints,
    authenticate: (call) => callerOf(platform, call),
    baseUrl: () => baseUrl,
    log,
    sql,
    stopping: stopping.signal,
    settings: config,
    answered(method, route, status, seconds) {
      metrics.requests.add([method, route, String(status)]);
      metrics.requestSeconds.observe([method, route], seconds);
    },
    ...(o.checkAnswers ? { checkAnswers: true } : {}),
  });
  const handle = withMounts(await mounts(platform, api), api, log);
  const server = listen(config, (request, info) => {
    const peer = "hostname" in info.remoteAddr ? info.remoteAddr.hostname : null;
    return handle(request, clientAddress(request.headers, peer, config.TRUSTED_PROXIES));
  });
  const { port } = server.addr;
  baseUrl ||= `http://${config.HOST}:${port}`;

  const pollMs = config.JOB_POLL_MS ?? (listens ? POLL_MS : POLL_WITHOUT_LISTEN_MS);
  const worker = config.JOB_CONCURRENCY === 0 ? null : await startWorker({
    platform,
    sql,
    types: platform.jobTypes,
    log,
    host: hostname(),
    concurrency: config.JOB_CONCURRENCY,
    queues: config.JOB_QUEUES?.split(",").map((queue) => queue.trim()) ?? null,
    leaseSeconds: config.JOB_LEASE_SECONDS,
    pollMs,
    dueLater: (inMs) => wakeUps.at(new Date(clock.now().getTime() + inMs)),
    onClaimed: (jobs) => metrics.jobsClaimed.add([], jobs),
    onEnded({ job, next, startedAt, endedAt }) {
      const type = platform.jobTypes.get(job.jobTypeName) ? job.jobTypeName : "unknown";
      metrics.jobAttempts.add([type, next]);
      metrics.jobSeconds.observe([type], (endedAt - startedAt) / 1000);
    },
    ...(o.onSettled ? { onSettled: o.onSettled } : {}),
  });
  metrics.watchWorker(() => worker?.busy() ?? 0);
  wakeWorker = () => worker?.wake();
  jobStallReason = () => worker?.stallReason() ?? null;
  await ensureServiceRecurringJobs(platform);
  const upkeep = startUpkeep(platform, config.JOB_LEASE_SECONDS);
  const schedules = scheduleWork(platform);
  const dueTimes = watchDueTimes(
    platform,
    [...jobWork(platform, config.JOB_LEASE_SECONDS), schedules],
    pollMs,
  );
  checkDueTimes = () => dueTimes.check();
  await checkDueTimes().catch(() => {}); // what failed has been logged, and is tried again

  return {
    platform,
    url: `http://${config.HOST}:${port}`,
    parts: stack.parts,
    fireRecurringJobs: async () => void await fireDueRecurringJobs(platform),
    fireReportSchedules: async () => void await schedules.doDue(),
    async sweep() {
      worker?.wake();
      await dueTimes.check();
      await upkeep.sweep();
      await delayed.sweep();
    },
    async stop(drainMs = DRAIN_MS) {
      stopping.abort();
      // A part that is away must not keep the others from closing.
      const allOf = async (parts: (Promise<unknown> | undefined)[]) => {
        for (const outcome of await Promise.allSettled(parts)) {
          if (outcome.status === "rejected") {
            log.warn("a part did not stop cleanly", { error: outcome.reason });
          }
        }
      };
      await allOf([server.stop(drainMs), worker?.stop(drainMs), dueTimes.stop(), upkeep.stop()]);
      await allOf([
        delayed.stop(),
        ...[rightsTold, changesTold, jobChannel].map((channel) => channel.stop()),
      ]);
      const mail = providers.mail.map((transport) => transport.close());
      await allOf([scanner.close(), ...mail, finishDirectMessages(platform)]);
      platform.renderThreads.close();
      metrics.stop();
      databaseClock.stop();
      pulse.stop();
      await allOf([sql, upkeepSql].map((pool) => pool.end({ timeout: 5 })));
      await stack.stop();
    },
  };
}

/** Who presents a request: the one place where every kind of credential is told from the others. */
function callerOf(p: Platform, call: Call): Promise<Caller | null> {
  const { headers, url } = call.request;
  const namesTenant = url.includes("tenantId") || url.includes("%"); // else the URL need not be parsed
  return authenticate(p, {
    authorization: headers.get("authorization"),
    tenantHeader: headers.get("x-tenant-id"),
    tenantQuery: namesTenant ? call.url.searchParams.getAll("tenantId") : [],
    queryIsFilter: namesTenant && call.url.pathname.startsWith("/api/v1/admin/"),
    traceId: call.traceId,
    ip: call.ip,
  });
}

/**
 * Serves HTTP. `stop` waits `graceMs` for running requests and leaves the rest to the process's end: a peer may stall.
 */
function listen(config: Config, handler: Deno.ServeHandler) {
  const { PORT: port, HOST: hostname } = config;
  let server: Deno.HttpServer<Deno.NetAddr>;
  try {
    server = Deno.serve({ port, hostname, onListen: () => {} }, handler);
  } catch (cause) {
    if (!(cause instanceof Deno.errors.AddrInUse)) throw cause;
    throw new Error(`port ${port} of ${hostname} is in use; set PORT to a free one`, { cause });
  }
  return {
    addr: server.addr,
    async stop(graceMs: number) {
      // Not by the server's abort signal: once it is shutting down, aborting throws where nobody can catch it.
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, graceMs);
      await Promise.race([server.shutdown(), late.promise]);
      clearTimeout(timer);
    },
  };
}

/** On connections of its own: those opened before a migration would not know the types it makes. */
async function prepareDatabase(config: Config, clock: DatabaseClock): Promise<void> {
  const pooled = !config.DATABASE_LISTEN;
  const migrating = connectPostgres(config.DATABASE_URL ?? "", {
    max: 1,
    prepare: false,
    work: "migration",
    pooled,
  });
  try {
    await clock.start(migrating);
    dateIdsBy(clock);
    if (config.MIGRATE_ON_START) await migrate(migrating);
    const pending = await pendingMigrations(migrating);
    if (pending.length > 0) {
      throw new Error(`the database lacks ${pending.join(", ")}; run \`deno task migrate\` before starting`);
    }
  } finally {
    await migrating.end();
  }
  const sql = connectPostgres(config.DATABASE_URL ?? "", { max: 1, prepare: false, pooled });
  try {
    await bootstrap({ sql, config });
  } finally {
    await sql.end();
  }
}

function openScanner(config: Config): Scanner {
  if (config.SCANNER === "clamd") {
    return clamdScanner({ host: config.CLAMD_HOST ?? "", port: config.CLAMD_PORT });
  }
  const folder = config.YARA_RULES_DIR ? pathToFileURL(join(resolve(config.YARA_RULES_DIR), "/")) : undefined;
  return yaraScanner(folder ? { rulesFolder: folder } : {});
}

/** Wake-ups are hints: where no Deno KV can be had, timers of this process and polling do. */
async function openDelayed(
  config: Config,
  wake: () => Promise<void>,
  { log, clock }: { log: Log; clock: Clock },
) {
  const timers = () => ({ ...timerWakeUps(wake, clock), sweep: () => Promise.resolve() });
  if (!hasKvQueue()) return timers();
  try {
    return await kvWakeUps({ path: kvPath(config), wake, log, clock });
  } catch (error) {
    log.warn("Deno KV could not be opened; timers take its place", { error });
    return timers();
  }
}

function kvPath(config: Config): string | undefined {
  return config.KV_PATH ?? (config.isProduction ? undefined : join(config.DATA_DIR, "kv.sqlite"));
}

/** A task runner hands on the Ctrl-C that the terminal has sent to everyone: within this time it is the same one. */
const SAME_SIGNAL_MS = 1_000;

if (import.meta.main) {
  const config = readConfigOrExit();
  const starting = startSteward(config);
  // Before the server listens: later than that, Deno Deploy does not find schedules.
  const steady = (work: (steward: Steward) => Promise<void>) => async () => {
    const steward = await starting;
    await work(steward).catch((error) =>
      steward.platform.log.error("what is due once a minute failed", { error })
    );
  };
  Deno.cron("recurring-jobs", "* * * * *", steady((steward) => steward.fireRecurringJobs()));
  Deno.cron("report-schedules", "* * * * *", steady((steward) => steward.fireReportSchedules()));
  Deno.cron("upkeep", "* * * * *", steady((steward) => steward.sweep()));
  let askedAt: number | null = null;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(signal, async () => {
      if (askedAt !== null) {
        if (performance.now() - askedAt > SAME_SIGNAL_MS) Deno.exit(130);
        return;
      }
      askedAt = performance.now();
      await (await starting).stop();
      Deno.exit(0);
    });
  }
  const steward = await starting.catch((error) => cannotStart(config, error));
  console.log(`steward ready on ${steward.url}`);
  if (!config.isProduction) {
    console.log(`  administrator  ${config.BOOTSTRAP_ADMIN_EMAIL} / ${config.BOOTSTRAP_ADMIN_PASSWORD}`);
    console.log(`  reference      ${steward.url}/docs`);
    console.log(`  outbox         ${steward.url}/dev/outbox`);
    console.log(`  embedded       ${steward.parts.join(", ") || "nothing"} (data in ${config.DATA_DIR})`);
  }
}

function cannotStart(config: Config, error: Error): never {
  if (config.isProduction) createLog(config.LOG_LEVEL).error("steward could not start", { error });
  else console.error(redactText(`steward could not start: ${error.message}\n${error.stack}`));
  Deno.exit(1);
}

function readConfigOrExit(): Config {
  try {
    return readConfig(processEnv());
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    console.error(error.message);
    Deno.exit(78);
  }
}
