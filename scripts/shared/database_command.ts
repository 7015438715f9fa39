import { httpRequest } from "../../domain/jobs/built_in/http_request.ts";
import { JobTypes } from "../../domain/jobs/job_type.ts";
import { type JobActor, type JobReach, jobReach, operator } from "../../domain/jobs/reach.ts";
import { maskSecrets } from "../../domain/jobs/types/masking.ts";
import type { Clock } from "../../infra/clock.ts";
import { JOBS_CHANNEL, type WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { EXIT, Failure, type Options, runScript, type Values, withDatabase } from "./run_script.ts";
import { parseTenant } from "./option_values.ts";

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
 * Runs a script that uses the service's database: parses its options (and --json and --help, which all scripts have), connects,
 * and calls `run`. Sets the exit code: 1 when the service refuses, 64 for wrong usage, 69 when the database is not
 * usable.
 */
export async function runDatabaseCommand<const O extends Options>(o: {
  help: string;
  name: string;
  options: O;
  run(cli: DatabaseCommand<O>): Promise<void>;
}): Promise<void> {
  await runScript({
    help: o.help,
    options: { ...o.options, json: { type: "boolean", default: false } },
    async run(values, positionals) {
      parseTenant((values as { tenant?: string }).tenant);
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
        if (mustWake) await sql`select pg_notify(${JOBS_CHANNEL}, '')`;
        return 0;
      });
    },
  });
}

const TENANT = { tenant: { type: "string" } } as const;

/**
 * The argument of a command about jobs. It has the actor and its reach, which --tenant limits, and the arguments after the
 * command's name.
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

/** Returns a copy of the value in which secrets of job arguments are hidden, as in the API. */
export const masked = async <T>(sql: Sql, value: T): Promise<T> => {
  const jobTypes = new JobTypes();
  jobTypes.register(httpRequest);
  return await maskSecrets({ sql, jobTypes }, undefined, value) as T;
};

/** A text in one line of at most 160 characters, for lists. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > 160 ? `${line.slice(0, 159)}…` : line;
}

const table = (value: unknown) =>
  Object.entries(value as Record<string, unknown>).map(([name, of]) => `${name.padEnd(28)}${of}`).join("\n");
