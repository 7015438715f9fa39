// Shared by the administration scripts: options, exit codes, error messages and the database connection.
import { parseArgs } from "node:util";
import { constraintProblem } from "../../domain/problems/constraints.ts";
import { Problem } from "../../domain/problems/problem.ts";
import type { Clock } from "../../infra/clock.ts";
import { setIdClock } from "../../domain/shared/ids.ts";
import { DatabaseClock } from "../../infra/postgres/database_clock.ts";
import { pendingMigrations, summaryOf } from "../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql } from "../../infra/postgres/postgres.ts";
import { EXIT } from "./plain_arguments.ts";
import { settingText } from "../../infra/config.ts";
import { readEmbeddedDatabaseUrl } from "../../infra/embedded/database_address.ts";
import { SETTINGS } from "../../infra/settings.ts";

export { EXIT };

/** Ends a script with this exit code and a message on stderr. */
export class Failure extends Error {
  constructor(readonly exitCode: number, message: string) {
    super(message);
  }
}

/** Options of a script, as `parseArgs` takes them. */
export type Options = Record<
  string,
  { type: "string"; default?: string } | { type: "boolean"; default: false }
>;
export type Values<O extends Options> = {
  [K in keyof O]: O[K] extends { type: "boolean" } ? boolean
    : O[K] extends { default: string } ? string
    : string | undefined;
};

/**
 * Runs a script: parses its options, and prints `help` for --help. Otherwise calls `run` and sets the exit code that it
 * returns. Prints errors to stderr; for wrong usage also `help`.
 */
export async function runScript<const O extends Options>(o: {
  help: string;
  options: O;
  run(values: Values<O>, positionals: string[]): Promise<number>;
}): Promise<void> {
  try {
    const { values, positionals } = readArguments(o.options);
    if (values.help) console.log(o.help);
    else Deno.exitCode = await o.run(values as Values<O>, positionals);
  } catch (error) {
    const failure = asFailure(error);
    console.error(failure.message);
    if (failure.exitCode === EXIT.usage) console.error(`\n${o.help}`);
    Deno.exitCode = failure.exitCode;
  }
}

function readArguments(options: Options) {
  const help = { type: "boolean", short: "h", default: false } as const;
  try {
    return parseArgs({ allowPositionals: true, options: { ...options, help } });
  } catch (error) {
    throw new Failure(EXIT.usage, (error as Error).message);
  }
}

/** @throws Failure if a script that takes only options gets other arguments */
export function requireNoArguments([first]: string[]): void {
  if (first !== undefined) throw new Failure(EXIT.usage, `unexpected argument "${first}"`);
}

/** True if the database is behind a connection pooler in transaction mode. */
export const isPooled = (): boolean => Deno.env.get("DATABASE_LISTEN")?.trim() === "false";

/**
 * Connects to the database and runs `work` with its clock. That is DATABASE_URL; without it, in development, the database of
 * the running `deno task dev`. @throws Failure when there is none, or migrations are missing
 */
export async function withDatabase<T>(
  script: string,
  work: (sql: Sql, clock: Clock) => Promise<T>,
): Promise<T> {
  const configured = settingText("DATABASE_URL");
  const url = configured ?? await embeddedDatabaseUrl();
  if (!url) {
    throw new Failure(EXIT.usage, "DATABASE_URL is missing, and no `deno task dev` runs in this folder");
  }
  const sql = connectPostgres(url, {
    max: 2,
    prepare: false,
    work: "upkeep",
    pooled: isPooled(),
    applicationName: `steward ${script}`,
  });
  const clock = new DatabaseClock();
  try {
    await clock.start(sql);
    setIdClock(clock);
    const pending = await pendingMigrations(sql);
    if (pending.length > 0) {
      const fix = configured ? "run `deno task migrate`" : "restart `deno task dev`, which runs migrations";
      throw new Failure(EXIT.unavailable, `the database lacks ${summaryOf(pending)}; ${fix}`);
    }
    return await work(sql, clock);
  } finally {
    await sql.end();
  }
}

/** The database of the running development service of this DATA_DIR; never in production. */
async function embeddedDatabaseUrl(): Promise<string | null> {
  if (Deno.env.get("STEWARD_ENV") === "production") return null;
  return await readEmbeddedDatabaseUrl(settingText("DATA_DIR") ?? SETTINGS.DATA_DIR.default);
}

function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const refusal = error instanceof Problem ? error : constraintProblem(error);
  if (refusal) {
    const { errors } = refusal.extras;
    const fields = errors && !Array.isArray(errors) ? Object.entries(errors) : [];
    const lines = fields.map(([field, messages]) => `  ${field}: ${messages.join("; ")}`);
    return new Failure(EXIT.refused, [`${refusal.code}: ${refusal.message}`, ...lines].join("\n"));
  }
  return new Failure(EXIT.unavailable, `the database is not usable: ${(error as Error).message}`);
}
