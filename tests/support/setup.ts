import { join } from "node:path";
import type { SettledJob } from "../../domain/jobs/job_row.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { type Config, processEnv, readConfig } from "../../infra/config.ts";
import { createLog } from "../../infra/log.ts";
import { writeTokenKeys } from "../../infra/signing_keys.ts";
import { ACCESS_TOKEN_SECONDS } from "../../infra/tokens.ts";
import { startSteward, type Steward, type StewardOptions } from "../../main.ts";
import {
  createTenant,
  createUser,
  type NewTenant,
  type NewUser,
  openTestSession,
  platformTenant,
  type TestUser,
} from "../../scripts/testing/people.ts";
import { createTestDatabase } from "./cluster.ts";
import { HttpClient, SHOWS_LOG } from "./http.ts";
import { INSTANCES } from "./in_one_instance.ts";
import { startInstanceProcess } from "./instance_process.ts";
import { spendOn } from "./processor_time.ts";
import { RoundRobin } from "./round_robin.ts";
import { rsaKey } from "./rsa_key.ts";
import { afterAllFiles, isOneOfSeveralFiles } from "./test_files.ts";
import { explainVainWaits, vainWait } from "./until.ts";

/** A signed-in caller of a test. */
export class Actor extends HttpClient {
  constructor(
    baseUrl: string,
    token: string | null,
    readonly userId: string,
    readonly tenantId: string | null,
    readonly email: string,
    readonly roleId: string | null,
    readonly refreshToken: string,
  ) {
    super(baseUrl, token);
  }
}

/** A running service with its own database, and callers for requests to it. `await using` stops it. */
export interface TestService extends AsyncDisposable {
  steward: Steward;
  /** The platform of `steward`, and its database. */
  platform: Steward["platform"];
  sql: Steward["platform"]["sql"];
  /** The instances in this process, `steward` first; with `inThisProcess` all instances. */
  instances: Steward[];
  /** Replaces `parts` in each of `instances`; returns a function that restores them, which `using` calls too. */
  replace<T extends object>(of: (p: ServicePlatform) => T, parts: Partial<T>): Disposable & (() => void);
  url: string;
  platformTenantId: string;
  /** Every log line so far. */
  logs: string[];
  /** A caller without a token. */
  nobody: HttpClient;
  /** Holds admin:system in the platform tenant. */
  systemAdmin: Actor;
  tenant(o?: NewTenant): Promise<string>;
  actor(o?: NewUser): Promise<Actor>;
  /** The same caller with a new session and a token of the usual lifetime, after its roles were written to the database. */
  signedIn(actor: Actor): Promise<Actor>;
  /** Resolves when the job has one of `statuses`; default: any final status. */
  settled(jobId: string, statuses?: string[]): Promise<string>;
  stop(): Promise<void>;
}

const ENDED = ["Succeeded", "DeadLettered", "Cancelled"];

export interface SetupOptions extends Pick<StewardOptions, "clock"> {
  /** Several instances run in this process: for tests that replace parts of them or read their state. */
  inThisProcess?: boolean;
}

/**
 * Starts a service; `await using` or `stop` ends it. STEWARD_TEST_INSTANCES sets the number of instances, which get the
 * requests in turn. Each runs in its own process, unless `clock` or `inThisProcess` is given. A
 * test that passes DATABASE_URL gets one instance.
 * @param env configuration that overrides the test defaults
 * @param o.clock a clock instead of the system's
 */
export const setup = (env: Record<string, string> = {}, o: SetupOptions = {}): Promise<TestService> =>
  spendOn("starting services", () => startService(env, o));

async function startService(env: Record<string, string>, o: SetupOptions): Promise<TestService> {
  const databaseUrl = env.DATABASE_URL ?? await createTestDatabase();
  const dataDir = await Deno.makeTempDir({ prefix: "steward-test-" });
  const logs: string[] = [];
  const proxy = INSTANCES > 1 && !env.DATABASE_URL ? new RoundRobin() : null;
  const given = {
    ...(proxy ? { PUBLIC_URL: proxy.url } : {}),
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    PORT: "0",
    DATABASE_POOL: "3", // few, because each connection loads the catalog; a test that holds a lock needs three
    ...pollingOf(env),
    ...env,
    ...(proxy ? { TRUSTED_PROXIES: String(Number(env.TRUSTED_PROXIES ?? 0) + 1) } : {}),
  };
  const config = readConfig({ TMPDIR: processEnv().TMPDIR, ...given });
  const settledStatus = new Map<string, string>();
  const listeners = new Set<() => void>();
  const on = {
    log(line: string) {
      logs.push(line);
      if (SHOWS_LOG) console.error(line.trimEnd());
    },
    settled(jobs: SettledJob[]) {
      for (const job of jobs) settledStatus.set(job.id, job.status);
      for (const listener of listeners) listener();
    },
  };
  const inThisProcess = o.inThisProcess || o.clock !== undefined;
  const start = (config: Config) =>
    startSteward(config, {
      log: createLog("debug", on.log),
      checkAnswers: true,
      isPrepared: !env.DATABASE_URL && !env.STEWARD_EXTENSIONS,
      ...(o.clock ? { clock: o.clock } : {}),
      onSettled: on.settled,
    });
  await writeTokenKeys(dataDir, [await rsaKey()]);
  const steward = await start(config);
  const { platform } = steward;
  const { sql } = platform;
  const endExplaining = explainVainWaits(() => stateOf(steward, logs));
  const others = await Promise.all(
    Array.from({ length: proxy ? INSTANCES - 1 : 0 }, (_, n) => {
      // same database, bucket, keys and outbox as the first instance; separate KV file
      const shared = {
        ...given,
        ...environmentOf(steward),
        ...(env.KV_PATH ? {} : { KV_PATH: join(dataDir, `kv-${n}`) }),
      };
      return inThisProcess
        ? start(readConfig({ TMPDIR: processEnv().TMPDIR, ...shared }))
        : startInstanceProcess(shared, on);
    }),
  );
  const instances = [steward, ...others.filter((instance) => "platform" in instance)];
  if (proxy) proxy.targets = [steward, ...others].map((instance) => instance.url);
  const url = proxy?.url ?? steward.url;
  const actorOf = ({ token, id, tenantId, email, roleId, refreshToken }: TestUser) =>
    new Actor(url, token, id, tenantId, email, roleId, refreshToken);
  const tokenSeconds = o.clock ? ACCESS_TOKEN_SECONDS : undefined;
  const actor = async (o?: NewUser) => actorOf(await createUser(platform, o, tokenSeconds));
  const stop = async () => {
    endExplaining();
    await proxy?.stop();
    await Promise.all(others.map((instance) => instance.stop(2_000)));
    await steward.stop(2_000);
    await Deno.remove(dataDir, { recursive: true });
  };

  return {
    steward,
    platform,
    sql,
    instances,
    replace(of, parts) {
      const undo = instances.map(({ platform }) => {
        const target = of(platform);
        const former = Object.fromEntries(
          Object.keys(parts).map((name) => [name, target[name as keyof typeof target]]),
        );
        Object.assign(target, parts);
        return () => Object.assign(target, former);
      });
      const restore = () => undo.forEach((undone) => undone());
      return Object.assign(restore, { [Symbol.dispose]: restore });
    },
    url,
    platformTenantId: await platformTenant(sql),
    logs,
    nobody: new HttpClient(url),
    systemAdmin: await actor({ role: "SystemAdmin" }),
    tenant: (o) => createTenant(sql, o),
    actor,
    async signedIn({ userId, tenantId, email, roleId }) {
      const { token, refreshToken } = await openTestSession(platform, sql, userId, tenantId);
      return new Actor(url, token, userId, tenantId, email, roleId, refreshToken);
    },
    settled: (jobId, statuses = ENDED) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(async () => {
          listeners.delete(look);
          const last = settledStatus.get(jobId);
          reject(await vainWait(`job ${jobId} did not reach ${statuses} in 2 minutes; last status: ${last}`));
        }, 120_000);
        const look = () => {
          const status = settledStatus.get(jobId);
          if (!status || !statuses.includes(status)) return;
          clearTimeout(late);
          listeners.delete(look);
          resolve(status);
        };
        listeners.add(look);
        look();
      }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The jobs that have not ended, the workers and the statements of a service, as JSON, and its last warnings. */
async function stateOf({ url, platform: { sql } }: Steward, logs: readonly string[]): Promise<string> {
  const [row] = await sql`select
    (select jsonb_agg(jsonb_strip_nulls(to_jsonb(j))) from (
      select * from jobs where completed_at is null order by id desc limit 10) j) as jobs,
    (select jsonb_agg(to_jsonb(w) || jsonb_build_object('age', now() - heartbeat_at)) from job_workers w) as workers,
    (select jsonb_agg(to_jsonb(p)) from job_pauses p) as pauses,
    (select jsonb_agg(jsonb_build_array(pid, state, wait_event, now() - query_start, left(query, 200)))
      from pg_stat_activity where datname = current_database()) as statements`;
  const warnings = logs.filter((line) => /"level":"(warn|error)"/.test(line)).slice(-5);
  return `${url}: ${JSON.stringify(row)}\n${warnings.map((line) => line.slice(0, 1_000)).join("\n")}`;
}

/** Starts a service as `setup` does, for all tests of the file that calls this at its top; it stops after the last of them. */
export async function setupFile(
  env: Record<string, string> = {},
  o: SetupOptions = {},
): Promise<TestService> {
  const t = await setup(env, o);
  Deno.test.afterAll(t.stop);
  return t;
}

interface Shared {
  settings: string;
  clock: SetupOptions["clock"];
  service: Promise<TestService>;
  stopped?: Promise<void>;
}
const sharedServices: Shared[] = [];

/**
 * Starts a service as `setup` does, but the test files of a process that ask for the same settings and clock share it. It
 * runs until the last of all files has ended; `stop` is called at the end of each file, unless the file does it. It is for
 * files whose tests read and change only the data of tenants and users that they create.
 */
export async function setupShared(
  env: Record<string, string> = {},
  o: SetupOptions = {},
): Promise<TestService> {
  const { clock, inThisProcess = false } = o;
  const settings = JSON.stringify([inThisProcess && INSTANCES > 1, Object.entries(env).sort()]);
  const running = sharedServices.find((each) => each.settings === settings && each.clock === clock);
  const shared: Shared = running ?? { settings, clock, service: setup(env, o) };
  if (!running) sharedServices.push(shared);
  const service = await shared.service;
  if (!running && isOneOfSeveralFiles()) afterAllFiles(() => service.stop());
  const restore = service.instances.map(({ platform }) => restorerOf(platform));
  const stop = async () => {
    if (isOneOfSeveralFiles()) restore.forEach((each) => each());
    else await (shared.stopped ??= service.stop());
  };
  Deno.test.afterAll(stop);
  return {
    ...service,
    systemAdmin: await service.actor({ role: "SystemAdmin" }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** @returns gives back the members of the platform, and the items of its lists, that a test file replaced */
function restorerOf(platform: ServicePlatform): () => void {
  const members = { ...platform };
  const lists = Object.values(members).filter(Array.isArray).map((list) => ({ list, items: [...list] }));
  return () => {
    Object.assign(platform, members);
    for (const { list, items } of lists) list.splice(0, list.length, ...items);
  };
}

/**
 * Polling takes processor time and is seldom needed, because wake-ups start due work. Without a worker, due work is
 * searched only when the test asks for it. Without announcements of the database, the interval of the service applies.
 */
function pollingOf(env: Record<string, string>): Record<string, string> {
  if (env.JOB_CONCURRENCY === "0") return { JOB_POLL_MS: "3600000" };
  return env.DATABASE_LISTEN === "false" ? {} : { JOB_POLL_MS: "10000" };
}

/** Settings with which another process uses the database and the bucket of a service. */
export function environmentOf({ platform }: Pick<Steward, "platform">): Record<string, string> {
  const { DATABASE_URL, S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY } = platform.config;
  const settings = Object.entries({ DATABASE_URL, S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY, S3_SECRET_KEY });
  return Object.fromEntries(settings.filter((entry): entry is [string, string] => Boolean(entry[1])));
}
