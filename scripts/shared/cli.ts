import { parseArgs } from "node:util";
import type { Bell } from "../../infra/bell/bell.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { EXIT, Failure, runScript, withDatabase } from "./command_line.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

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
  await runScript(o.help, async () => {
    const { values, positionals } = readArgs(o.options);
    if (values.help) {
      console.log(o.help);
      return 0;
    }
    const { tenant } = values as Record<string, unknown>;
    if (typeof tenant === "string" && !UUID.test(tenant)) {
      throw new Failure(EXIT.usage, `--tenant is "${tenant}"; expected a tenant's id`);
    }
    return await withDatabase(o.name, async (sql) => {
      let rung = false;
      await o.run({
        values: values as Values<O>,
        positionals,
        sql,
        bell: { ring: () => rung = true },
        print: (value, text) =>
          console.log(values.json ? JSON.stringify(value, null, 2) : text ?? table(value)),
      });
      if (rung) await sql`select pg_notify('steward_jobs', '')`;
      return 0;
    });
  });
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
    throw new Failure(EXIT.usage, (error as Error).message);
  }
}

const table = (value: unknown) =>
  Object.entries(value as Record<string, unknown>).map(([name, of]) => `${name.padEnd(28)}${of}`).join("\n");

/** An option that must be one of these names, in any letter case. */
export function oneOf<const N extends string>(option: string, given: string, names: readonly N[]): N {
  const name = names.find((name) => name.toLowerCase() === given.toLowerCase());
  if (name) return name;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected one of ${names.join(", ")}`);
}

/** An option that must be an integer within bounds. */
export function wantInteger(option: string, given: string, min: number, max: number): number {
  const value = /^-?\d{1,9}$/.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an integer from ${min} to ${max}`);
}
