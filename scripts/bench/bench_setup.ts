import { join } from "node:path";
import deno from "../../deno.json" with { type: "json" };
import { startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql } from "../../infra/postgres/postgres.ts";
import { startDeno } from "../shared/child_process.ts";

/** Last line of the output of a process that is ready, with its port. */
const READY = /(?:steward ready on http:\/\/[^:]+:|listening on )(\d+)\n/;

/** The V8 flags with which users start the service. */
const V8_FLAGS = deno.tasks.start.split(" ").filter((word) => word.startsWith("--v8-flags="));

/** A process started for a benchmark. */
export interface MeasuredProcess {
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** Environment of a benchmark: one Postgres with its default durability, and processes that use it. */
export interface BenchSetup {
  databaseUrl: string;
  /** URL of the same database over the server's socket file. */
  socketUrl: string;
  sql: Sql;
  /** Connections to it with the settings of the job engine. */
  engineSql: Sql;
  /** Temporary folder; `close` removes it. */
  folder: string;
  /** Starts the service on the database of `sql`. */
  startService(env?: Record<string, string>): Promise<MeasuredProcess>;
  /** Starts a script of this folder that prints `listening on PORT`. */
  startPeer(script: string, args: string[]): Promise<MeasuredProcess>;
  /** Starts an object store in a separate process; returns the settings of a service that uses it. */
  startObjectStore(): Promise<Record<"S3_ENDPOINT" | "S3_ACCESS_KEY" | "S3_SECRET_KEY", string>>;
  /** Stops all processes, the last one first. A second call waits for the first. */
  close(): Promise<void>;
}

/** Starts Postgres in a temporary folder and runs the migrations. */
export async function openBenchSetup(): Promise<BenchSetup> {
  const folder = await Deno.makeTempDir({ prefix: "steward-bench-" });
  const dir = join(folder, "postgres");
  const postgres = await startEmbeddedPostgres({
    dir,
    password: "bench",
    settings: { unix_socket_directories: dir },
  });
  const sql = connectPostgres(postgres.url, { max: 10 });
  const engineSql = connectPostgres(postgres.url, { max: 2, work: "engine" });
  await migrate(sql);
  const started: MeasuredProcess[] = [];
  const start = async (args: string[], env: Record<string, string> = {}) => {
    const { found, pid, stop } = await startDeno(args, env, READY);
    const measured = { port: Number(found), pid, stop };
    started.unshift(measured);
    return measured;
  };
  const close = async () => {
    for (const measured of started) await measured.stop();
    await sql.end();
    await engineSql.end();
    await postgres.stop();
    await Deno.remove(folder, { recursive: true });
  };
  let closed: Promise<void> | undefined;
  const startPeer = (script: string, args: string[]) => start([pathOf(script), ...args]);
  return {
    databaseUrl: postgres.url,
    socketUrl: postgres.url.replace("127.0.0.1", encodeURIComponent(dir)),
    sql,
    engineSql,
    folder,
    startPeer,
    startService: (env) =>
      start([...V8_FLAGS, pathOf("../../main.ts")], {
        DATABASE_URL: postgres.url,
        DATA_DIR: join(folder, "data"),
        PORT: "0",
        LOG_LEVEL: "error",
        ...env,
      }),
    async startObjectStore() {
      const [accessKey, secretKey] = ["bench-access", "bench-secret"];
      const { port } = await startPeer("object_store_peer.ts", [
        join(folder, "objects"),
        accessKey,
        secretKey,
      ]);
      return {
        S3_ENDPOINT: `http://127.0.0.1:${port}`,
        S3_ACCESS_KEY: accessKey,
        S3_SECRET_KEY: secretKey,
      };
    },
    close: () => closed ??= close(),
  };
}

/** Runs a script of this folder to its end, under Deno or the given program; returns the JSON that it prints. */
export async function runPeer<T>(script: string, args: string[], program = Deno.execPath()): Promise<T> {
  const { stdout, success } = await new Deno.Command(program, {
    args: [...program === Deno.execPath() ? ["run", "-A"] : [], pathOf(script), ...args],
    stdout: "piped",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`${script} failed`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** True if this machine has the given program. */
export async function isInstalled(program: string): Promise<boolean> {
  try {
    return (await new Deno.Command(program, { args: ["--version"], stdout: "null" }).output()).success;
  } catch {
    return false;
  }
}

/** Resident memory of a process in MB; NaN if the system does not report it. */
export function residentMegabytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1]) / 1024;
  } catch {
    return NaN;
  }
}

/** Runs `work`; returns its result and how far the memory of a process rose above its value before, in MB. */
export async function memoryGrowth<T>(
  { pid }: MeasuredProcess,
  work: () => Promise<T>,
): Promise<{ result: T; megabytes: number }> {
  const before = residentMegabytes(pid);
  let peak = before;
  const sample = () => peak = Math.max(peak, residentMegabytes(pid));
  const timer = setInterval(sample, 20);
  try {
    const result = await work();
    return { result, megabytes: Math.round(sample() - before) };
  } finally {
    clearInterval(timer);
  }
}

const pathOf = (script: string): string => join(import.meta.dirname ?? ".", script);
