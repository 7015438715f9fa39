// Shared by the administration scripts: exit codes, error handling and the database connection.
import { constraintProblem } from "../../domain/problems/constraints.ts";
import { Problem } from "../../domain/problems/problem.ts";
import type { Clock } from "../../domain/shared/clock.ts";
import { setIdClock } from "../../domain/shared/ids.ts";
import { DatabaseClock } from "../../infra/postgres/database_clock.ts";
import { pendingMigrations } from "../../infra/postgres/migrate.ts";
import { connectPostgres, type Sql } from "../../infra/postgres/postgres.ts";
import { EXIT } from "./plain_arguments.ts";

export { EXIT };
/** Pattern of ids. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Ends a script with this exit code and a message on stderr. */
export class Failure extends Error {
  constructor(readonly exitCode: number, message: string) {
    super(message);
  }
}

/** Runs a script's `main` and sets its exit code. Prints errors to stderr; for wrong usage also `help`. */
export async function runScript(help: string, main: () => Promise<number>): Promise<void> {
  try {
    Deno.exitCode = await main();
  } catch (error) {
    const failure = asFailure(error);
    console.error(failure.message);
    if (failure.exitCode === EXIT.usage) console.error(`\n${help}`);
    Deno.exitCode = failure.exitCode;
  }
}

/** True if the database is behind a connection pooler in transaction mode. */
export const isPooled = (): boolean => Deno.env.get("DATABASE_LISTEN")?.trim() === "false";

/** Connects to DATABASE_URL and runs `work` with the database's clock. @throws Failure when migrations are missing */
export async function withDatabase<T>(
  script: string,
  work: (sql: Sql, clock: Clock) => Promise<T>,
): Promise<T> {
  const url = Deno.env.get("DATABASE_URL");
  if (!url) throw new Failure(EXIT.usage, "DATABASE_URL is missing");
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
      throw new Failure(
        EXIT.unavailable,
        `the database lacks the migrations ${pending.join(", ")}; run \`deno task migrate\``,
      );
    }
    return await work(sql, clock);
  } finally {
    await sql.end();
  }
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
