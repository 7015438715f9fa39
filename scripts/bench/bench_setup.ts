import { join } from "node:path";
import { startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql } from "../../infra/postgres/postgres.ts";

/** A process started for a benchmark. */
export interface MeasuredProcess {
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** Environment of a benchmark: one Postgres with its default durability, and processes that use it. */
export interface BenchSetup {
  databaseUrl: string;
  sql: Sql;
  /** Starts the service on the database of `sql`. */
  startService(env?: Record<string, string>): Promise<MeasuredProcess>;
  /** Starts a script of this folder that prints `listening on PORT`. */
  startPeer(script: string, args: string[]): Promise<MeasuredProcess>;
  close(): Promise<void>;
}

/** Starts Postgres in a temporary folder and runs the migrations. */
export async function openBenchSetup(): Promise<BenchSetup> {
  const folder = await Deno.makeTempDir({ prefix: "steward-bench-" });
  const postgres = await startEmbeddedPostgres({ dir: join(folder, "postgres"), password: "bench" });
  const migrating = connectPostgres(postgres.url, { max: 1 });
  await migrate(migrating);
  await migrating.end();
  const sql = connectPostgres(postgres.url, { max: 10 });
  const started: MeasuredProcess[] = [];
  const keep = async (starting: Promise<MeasuredProcess>) => {
    const measured = await starting;
    started.push(measured);
    return measured;
  };
  return {
    databaseUrl: postgres.url,
    sql,
    startService: (env = {}) =>
      start(
        [join(import.meta.dirname ?? ".", "..", "..", "main.ts")],
        /steward ready on http:\/\/[^:]+:(\d+)/,
        {
          DATABASE_URL: postgres.url,
          DATA_DIR: join(folder, "data"),
          PORT: "0",
          LOG_LEVEL: "error",
          ...env,
        },
      ),
    startPeer: (script, args) =>
      keep(start([join(import.meta.dirname ?? ".", script), ...args], /listening on (\d+)/, {})),
    async close() {
      await Promise.all(started.map((measured) => measured.stop()));
      await sql.end();
      await postgres.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function start(args: string[], ready: RegExp, env: Record<string, string>): Promise<MeasuredProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", ...args],
    env,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let output = "";
  let ended = false;
  child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(text) {
        if (output.length < 10_000) output += text;
        const port = ready.exec(output)?.[1];
        if (port) resolve(Number(port));
      },
    }),
  );
  child.status.then(({ code }) => {
    ended = true;
    reject(new Error(`${args[0]} ended with code ${code}: ${output}`));
  });
  return {
    port: await promise,
    pid: child.pid,
    async stop() {
      if (ended) return;
      child.kill("SIGTERM");
      await child.status;
    },
  };
}

/** Prints one measured value, and whether it is within `target`. */
export function printResult(
  what: string,
  value: number,
  unit: string,
  target?: { min?: number; max?: number },
): void {
  const { min, max } = target ?? {};
  const isMet = (min === undefined || value >= min) && (max === undefined || value <= max);
  const goal = min !== undefined
    ? ` (at least ${min}${unit})`
    : max !== undefined
    ? ` (at most ${max}${unit})`
    : "";
  console.log(`  ${target ? (isMet ? "✓" : "✗") : " "} ${what}: ${value}${unit}${goal}`);
}

/** The median of the given numbers. */
export const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

export const rounded = (value: number): number => Math.round(value * 100) / 100;
