import { join } from "node:path";
import { startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql } from "../../infra/postgres/postgres.ts";

/** A process under measurement. */
export interface MeasuredProcess {
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** What all benchmarks stand on: one Postgres with its default durability, and processes started on it. */
export interface Ground {
  databaseUrl: string;
  sql: Sql;
  /** Starts the service; its tables are those of `sql`. */
  startService(env?: Record<string, string>): Promise<MeasuredProcess>;
  /** Starts a script of this folder that prints `listening on PORT`. */
  startPeer(script: string, args: string[]): Promise<MeasuredProcess>;
  close(): Promise<void>;
}

/** Opens a ground in a temporary folder. */
export async function openGround(): Promise<Ground> {
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

/** Prints one measured line and whether it reaches its figure. */
export function tell(
  what: string,
  value: number,
  unit: string,
  figure?: { least?: number; most?: number },
): void {
  const { least, most } = figure ?? {};
  const holds = (least === undefined || value >= least) && (most === undefined || value <= most);
  const goal = least !== undefined
    ? ` (at least ${least}${unit})`
    : most !== undefined
    ? ` (at most ${most}${unit})`
    : "";
  console.log(`  ${figure ? (holds ? "✓" : "✗") : " "} ${what}: ${value}${unit}${goal}`);
}

/** The middle one of the given numbers. */
export const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

export const rounded = (value: number): number => Math.round(value * 100) / 100;
