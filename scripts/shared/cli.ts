import { parseArgs } from "node:util";
import { type JobActor, type JobReach, jobReach, operator } from "../../domain/jobs/reach.ts";
import type { Clock } from "../../domain/shared/clock.ts";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { EXIT, Failure, runScript, UUID, withDatabase } from "./command_line.ts";

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
  /** The database's. */
  clock: Clock;
  /** Wakes the running instances once the script has done its work. */
  wakeUps: WakeUps;
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
    return await withDatabase(o.name, async (sql, clock) => {
      let isAsked = false;
      await o.run({
        values: values as Values<O>,
        positionals,
        sql,
        clock,
        wakeUps: { at: () => isAsked = true },
        print: (value, text) =>
          console.log(values.json ? JSON.stringify(value, null, 2) : text ?? table(value)),
      });
      if (isAsked) await sql`select pg_notify('steward_jobs', '')`;
      return 0;
    });
  });
}

const TENANT = { tenant: { type: "string" } } as const;

/** What a command about jobs gets: whose jobs it is about by --tenant, and what was written behind its name. */
export interface JobCommand<O extends Options> extends CliRun<O & typeof TENANT> {
  actor: JobActor;
  reach: JobReach;
  args: string[];
}

/**
 * Runs that one of `commands` which the first word on the command line names, as the operator.
 * @param o.takes how many words may follow a command's name, where any may.
 */
export async function runJobCommand<const O extends Options>(o: {
  help: string;
  name: string;
  takes: Record<string, number>;
  options: O;
  commands: Record<string, (cli: JobCommand<O>) => Promise<void>>;
}): Promise<void> {
  await runCli<O & typeof TENANT>({
    help: o.help,
    name: o.name,
    options: { ...o.options, ...TENANT },
    async run(cli) {
      const [name, ...args] = cli.positionals;
      if (!name) throw new Failure(EXIT.usage, "a command is missing");
      const command = Object.hasOwn(o.commands, name) ? o.commands[name] : undefined;
      if (!command) throw new Failure(EXIT.usage, `there is no command "${name}"`);
      const surplus = args[o.takes[name] ?? 0];
      if (surplus !== undefined) throw new Failure(EXIT.usage, `${name} does not take "${surplus}"`);
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

/** An option that must be one of these names, in any letter case. */
export function oneOf<const N extends string>(option: string, given: string, names: readonly N[]): N {
  const name = names.find((name) => name.toLowerCase() === given.toLowerCase());
  if (name) return name;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected one of ${names.join(", ")}`);
}

/** The id that a command is about. */
export function wantId(command: string, given: string | undefined): string {
  if (given && UUID.test(given)) return given.toLowerCase();
  throw new Failure(EXIT.usage, `${command} needs an id${given ? `; "${given}" is none` : ""}`);
}

/** An option that must be a time; null where it was not given. */
export function wantTime(option: string, given: string | undefined): Date | null {
  if (given === undefined) return null;
  const at = new Date(given);
  if (!Number.isNaN(at.getTime())) return at;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an ISO 8601 time`);
}

/** An option that must be an integer within bounds. */
export function wantInteger(option: string, given: string, min: number, max: number): number {
  const value = /^-?\d{1,9}$/.test(given) ? Number(given) : NaN;
  if (value >= min && value <= max) return value;
  throw new Failure(EXIT.usage, `${option} is "${given}"; expected an integer from ${min} to ${max}`);
}
