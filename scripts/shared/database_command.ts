import { parseArgs } from "node:util";
import { type JobActor, type JobReach, jobReach, operator } from "../../domain/jobs/reach.ts";
import type { Clock } from "../../domain/shared/clock.ts";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { EXIT, Failure, runScript, UUID, withDatabase } from "./run_script.ts";

type Options = Record<string, { type: "string"; default?: string } | { type: "boolean"; default?: boolean }>;
type Values<O extends Options> = {
  [K in keyof O]: O[K] extends { type: "boolean" } ? boolean
    : O[K] extends { default: string } ? string
    : string | undefined;
};

export interface DatabaseCommand<O extends Options> {
  values: Values<O>;
  positionals: string[];
  sql: Sql;
  /** The clock of the database. */
  clock: Clock;
  /** Wakes the running instances when the script has finished. */
  wakeUps: WakeUps;
  /** Prints `text` (default: one line `name  value` per member of `value`); with --json, prints `value` as JSON. */
  print(value: unknown, text?: string): void;
}

/**
 * Runs a script that uses DATABASE_URL: parses its options (and --json and --help, which all scripts have), connects,
 * and calls `run`. Sets the exit code: 1 when the service refuses, 64 for wrong usage, 69 when the database is not
 * usable.
 */
export async function runDatabaseCommand<const O extends Options>(o: {
  help: string;
  name: string;
  options: O;
  run(cli: DatabaseCommand<O>): Promise<void>;
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
    return await withDatabase(o.name, async (sql, clock) => {
      let mustWake = false;
      await o.run({
        values: values as Values<O>,
        positionals,
        sql,
        clock,
        wakeUps: { at: () => mustWake = true },
        print: (value, text) =>
          console.log(values.json ? JSON.stringify(value, null, 2) : text ?? table(value)),
      });
      if (mustWake) await sql`select pg_notify('steward_jobs', '')`;
      return 0;
    });
  });
}

const TENANT = { tenant: { type: "string" } } as const;

/**
 * What a command about jobs gets: the actor and reach (set by --tenant), and the arguments after the command's name.
 */
export interface JobCommand<O extends Options> extends DatabaseCommand<O & typeof TENANT> {
  actor: JobActor;
  reach: JobReach;
  args: string[];
}

/**
 * Runs, as the operator, the command whose name is the first argument.
 * @param o.takes how many arguments a command takes, by name; absent: none.
 */
export async function runJobCommand<const O extends Options>(o: {
  help: string;
  name: string;
  takes: Record<string, number>;
  options: O;
  commands: Record<string, (cli: JobCommand<O>) => Promise<void>>;
}): Promise<void> {
  await runDatabaseCommand<O & typeof TENANT>({
    help: o.help,
    name: o.name,
    options: { ...o.options, ...TENANT },
    async run(cli) {
      const [name, ...args] = cli.positionals;
      if (!name) throw new Failure(EXIT.usage, "a command is missing");
      const command = Object.hasOwn(o.commands, name) ? o.commands[name] : undefined;
      if (!command) throw new Failure(EXIT.usage, `unknown command "${name}"`);
      const extra = args[o.takes[name] ?? 0];
      if (extra !== undefined) throw new Failure(EXIT.usage, `unexpected argument "${extra}" of ${name}`);
      const { tenant } = cli.values as { tenant?: string };
      const actor = operator(tenant ?? null);
      await command({ ...cli, actor, reach: jobReach(actor, tenant), args });
    },
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

/** Parses an option that must be one of `names`, in any letter case. @throws Failure */
export function parseChoice<const N extends string>(option: string, given: string, names: readonly N[]): N {
  const name = names.find((name) => name.toLowerCase() === given.toLowerCase());
  if (name) return name;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected one of ${names.join(", ")}`);
}

/** Parses the id argument of a command. @throws Failure */
export function parseId(command: string, given: string | undefined): string {
  if (given && UUID.test(given)) return given.toLowerCase();
  throw new Failure(EXIT.usage, `${command} needs an id${given ? `; "${given}" is not an id` : ""}`);
}

/** Parses an option that must be a time; null if it is absent. @throws Failure */
export function parseTime(option: string, given: string | undefined): Date | null {
  if (given === undefined) return null;
  const at = new Date(given);
  if (!Number.isNaN(at.getTime())) return at;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an ISO 8601 time`);
}

/** Parses an option that must be an integer from `min` to `max`. @throws Failure */
export function parseInteger(option: string, given: string, min: number, max: number): number {
  const value = /^-?\d{1,9}$/.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an integer from ${min} to ${max}`);
}
