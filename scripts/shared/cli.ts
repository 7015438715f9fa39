import { parseArgs } from "node:util";
import { Problem } from "../../domain/problems/problem.ts";
import type { Bell } from "../../infra/bell/bell.ts";
import { connectPostgres, type Sql } from "../../infra/postgres/postgres.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Ends a script with one line on stderr and an exit code of sysexits.h. */
export class CliFailure extends Error {
  constructor(readonly exitCode: number, message: string) {
    super(message);
  }
}

type Options = Record<string, { type: "string"; default?: string } | { type: "boolean"; default?: boolean }>;
type Values<O extends Options> = {
  [K in keyof O]: O[K] extends { type: "boolean" } ? boolean
    : O[K] extends { default: string } ? string
    : string | undefined;
};

export interface CliRun<O extends Options> {
  values: Values<O>;
  positionals: string[];
  sql: Sql;
  /** Rings the running instances once the script has done its work. */
  bell: Bell;
  /** Prints `text` (by default: `value`, one `name  value` a line), or `value` as JSON with --json. */
  print(value: unknown, text?: string): void;
}

/**
 * Runs a script against DATABASE_URL: reads its options (besides --json and --help, which all have), connects, runs,
 * and ends with an exit code: 1 when the service refuses, 64 for wrong usage, 69 when the database cannot be used.
 */
export async function runCli<const O extends Options>(o: {
  help: string;
  name: string;
  options: O;
  run(cli: CliRun<O>): Promise<void>;
}): Promise<void> {
  try {
    const { values, positionals } = readArgs(o.options);
    if (values.help) return console.log(o.help);
    const { tenant } = values as Record<string, unknown>;
    if (typeof tenant === "string" && !UUID.test(tenant)) {
      throw new CliFailure(64, `--tenant is "${tenant}"; expected a tenant's id`);
    }
    const url = Deno.env.get("DATABASE_URL");
    if (!url) throw new CliFailure(64, "DATABASE_URL is missing");
    await withDatabase(url, o.name, async (sql, bell) => {
      await o.run({
        values: values as Values<O>,
        positionals,
        sql,
        bell,
        print: (value, text) =>
          console.log(values.json ? JSON.stringify(value, null, 2) : text ?? table(value)),
      });
    });
  } catch (error) {
    const { exitCode, message } = error instanceof CliFailure ? error : new CliFailure(1, describe(error));
    console.error(message);
    if (exitCode === 64) console.error(`\n${o.help}`);
    Deno.exitCode = exitCode;
  }
}

function readArgs(options: Options) {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...options,
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new CliFailure(64, (error as Error).message);
  }
}

async function withDatabase(
  url: string,
  name: string,
  work: (sql: Sql, bell: Bell) => Promise<void>,
): Promise<void> {
  const sql = connectPostgres(url, { max: 2, applicationName: `steward ${name}` });
  let rung = false;
  try {
    await sql`select 1`; // the driver learns the array types with its first query, which may not itself use them
    await work(sql, { ring: () => rung = true });
    if (rung) await sql`select pg_notify('steward_jobs', '')`;
  } catch (error) {
    if (error instanceof Problem || error instanceof CliFailure) throw error;
    throw new CliFailure(69, `the database cannot be used: ${describe(error)}`);
  } finally {
    await sql.end();
  }
}

const describe = (error: unknown) =>
  error instanceof Problem ? `${error.code}: ${error.message}` : String(error);

const table = (value: unknown) =>
  Object.entries(value as Record<string, unknown>).map(([name, of]) => `${name.padEnd(28)}${of}`).join("\n");

/** An option that must be one of these names, in any letter case. */
export function oneOf<const N extends string>(option: string, given: string, names: readonly N[]): N {
  const name = names.find((name) => name.toLowerCase() === given.toLowerCase());
  if (name) return name;
  throw new CliFailure(64, `${option} is "${given}"; expected one of ${names.join(", ")}`);
}

/** An option that must be an integer within bounds. */
export function wantInteger(option: string, given: string, min: number, max: number): number {
  const value = /^-?\d{1,9}$/.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  throw new CliFailure(64, `${option} is "${given}"; expected an integer from ${min} to ${max}`);
}
