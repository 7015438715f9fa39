import { join } from "node:path";
import process from "node:process";
import { freePort } from "../../infra/embedded/free_port.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { startReceiver } from "../infra/mail/receiver.ts";
import { startObjectStore } from "../support/object_store.ts";
import { type ServiceProcess, startServiceProcess } from "../support/service_process.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { isAlive } from "../support/processes.ts";

export const LEASE_SECONDS = 5;

export interface Instance {
  /** Its URL; stays the same after restarts. */
  url: string;
  /** Its environment variables. */
  env: Record<string, string>;
  process: ServiceProcess;
  /** The proxy between this instance and Postgres; null if Postgres was given to `startSystem`. */
  postgres: TcpProxy | null;
  /** Starts the instance again after its end, with additional variables, from the folder of a version. */
  restart(env?: Record<string, string>, root?: string): Promise<void>;
}

/** An HTTP request made by a job: the job's attempt and how long the request lasted. */
export interface Call {
  jobId: string;
  attempt: number;
  began: number;
  ended: number | null;
}

export type System = Awaited<ReturnType<typeof startSystem>>;

/**
 * Starts instances of the service and everything they depend on, each behind a proxy that can fail.
 * @param o.postgresFolder Postgres' data folder; default: in the temporary folder of everything else
 * @param o.databaseUrl a database that the caller runs; default: the system starts Postgres
 * @param o.count how many instances, by default three
 * @param o.env additional variables of all instances
 * @param o.root the folder of another version of the repository, which the instances run
 */
export async function startSystem(
  o: {
    postgresFolder?: string;
    databaseUrl?: string;
    count?: number;
    env?: Record<string, string>;
    root?: string;
  } = {},
) {
  const folder = await Deno.makeTempDir({ prefix: "steward-trouble-" });
  const { store, settings } = await startObjectStore(folder);
  const storeProxy = await TcpProxy.start({ hostname: "127.0.0.1", port: store.port });
  const mailbox = await startReceiver();
  const mailProxy = await TcpProxy.start({ hostname: "127.0.0.1", port: mailbox.port });
  const { calls, target, server } = startTarget();

  const postgresFolder = o.postgresFolder ?? join(folder, "postgres");
  const port = freePort();
  const startServer = () =>
    startEmbeddedPostgres({ dir: postgresFolder, password: "trouble", port, settings: { fsync: "off" } });
  let postgres: EmbeddedPostgres | null = o.databaseUrl ? null : await startServer();
  const databaseUrl = o.databaseUrl ?? postgres?.url ?? "";

  const publicPort = freePort();
  async function startInstance(): Promise<Instance> {
    const { proxy, url } = o.databaseUrl
      ? { proxy: null, url: databaseUrl }
      : await TcpProxy.forDatabase(databaseUrl);
    const env = {
      DATABASE_URL: url,
      DATA_DIR: join(folder, "data"), // one set of token keys for all instances
      KV_PATH: join(folder, `kv-${crypto.randomUUID()}`),
      PORT: String(freePort()),
      PUBLIC_URL: `http://127.0.0.1:${publicPort}`,
      ...settings,
      S3_ENDPOINT: `http://127.0.0.1:${storeProxy.port}`,
      SMTP_URL: `smtp://127.0.0.1:${mailProxy.port}`,
      JOB_LEASE_SECONDS: String(LEASE_SECONDS),
      JOB_CONCURRENCY: "8",
      OUTBOUND_ALLOW: "127.0.0.1",
      RATE_LIMIT_PER_MINUTE: "1000000",
      RATE_LIMIT_ANONYMOUS_PER_MINUTE: "1000000",
      ...o.env,
    };
    const process = await startServiceProcess(env, { root: o.root });
    const instance: Instance = {
      url: process.url,
      env,
      process,
      postgres: proxy,
      async restart(more = {}, root) {
        await instance.process.ended;
        instance.process = await startServiceProcess({ ...env, ...more }, { root });
      },
    };
    return instance;
  }
  const instances = [await startInstance()]; // the first instance creates the keys
  for (let n = 1; n < (o.count ?? 3); n++) instances.push(await startInstance());

  return {
    instances,
    databaseUrl,
    mailbox,
    /** Requests of `steward.http-request` jobs to `target`, in the order of their start. */
    calls,
    /** A URL that answers after the milliseconds given in its query (`?ms=`). */
    target,
    store: storeProxy,
    mail: mailProxy,
    /** Stops Postgres as a crash would. */
    async killPostgres() {
      const [pid] = (await Deno.readTextFile(join(postgresFolder, "postmaster.pid"))).split("\n");
      process.kill(Number(pid), "SIGQUIT"); // Postgres' immediate shutdown: it recovers at the next start
      await postgres?.stop();
    },
    /** Starts Postgres if it does not run, as a supervisor would. */
    async startPostgres() {
      const pidFile = join(postgresFolder, "postmaster.pid");
      const [pid] = (await Deno.readTextFile(pidFile).catch(() => "")).split("\n");
      if (pid && isAlive(Number(pid))) return;
      await postgres?.stop();
      postgres = await startServer();
    },
    async stop() {
      for (const { process } of instances) process.kill("SIGCONT");
      await Promise.all(instances.map(({ process }) => process.stop()));
      await Promise.all(
        [...instances.map(({ postgres }) => postgres), storeProxy, mailProxy].map((proxy) =>
          proxy?.[Symbol.asyncDispose]()
        ),
      );
      await mailbox[Symbol.asyncDispose]();
      await server.shutdown();
      await store.stop();
      await postgres?.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** A server that records when each job's request begins and ends; it stops waiting when the caller disconnects. */
function startTarget() {
  const calls: Call[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const call: Call = {
      jobId: request.headers.get("x-steward-job") ?? "",
      attempt: Number(request.headers.get("x-steward-attempt")),
      began: performance.now(),
      ended: null,
    };
    calls.push(call);
    const ms = Number(new URL(request.url).searchParams.get("ms"));
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      request.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
    call.ended = performance.now();
    return new Response("done");
  });
  return { calls, server, target: `http://127.0.0.1:${server.addr.port}/` };
}
