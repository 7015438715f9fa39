// The databases of the services that the tests of one process start: copies of a template, on one server; see `server.ts`.
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import postgres from "postgres";

export const TEMPLATE = "steward_template";
const START_TIMEOUT_MS = 120_000;
/** `deno test` runs each file in an isolate of its own; all isolates of the process share the server. */
const OWN_PLACE: ServerPlace = {
  folder: join(tmpdir(), `steward-testing-${Deno.pid}`),
  program: join(import.meta.dirname ?? "", "server.ts"),
  owner: String(Deno.pid),
};

export interface TestDatabase {
  url: string;
  /** A folder for the files of the service. */
  folder: string;
  /** Removes both. */
  drop(): Promise<void>;
}

/** Takes a database that the server has made ahead. The first call of a process starts the server, which ends with it. */
export async function takeDatabase(): Promise<TestDatabase> {
  const url = await fromServer(OWN_PLACE, async ({ folder }) => {
    for await (const { name } of Deno.readDir(folder)) {
      if (!name.endsWith(READY)) continue;
      const taken = join(folder, `${name}.taken`);
      const isOurs = await Deno.rename(join(folder, name), taken).then(() => true, () => false);
      if (isOurs) return await Deno.readTextFile(taken);
    }
    return null;
  });
  const name = new URL(url).pathname.slice(1);
  const folder = join(OWN_PLACE.folder, name);
  await Deno.mkdir(folder);
  const drop = async () => {
    await onServer(databaseUrl(url, "postgres"), (sql) => sql.unsafe(`drop database ${name} with (force)`));
    await Deno.remove(folder, { recursive: true });
  };
  return { url, folder, drop };
}

/** Ends the names of files of the server's folder with the URL of a database that a test can take. */
export const READY = ".ready";

/** Starts the server, so that a database is there soon. */
export const startServerAhead = (): void => void startProcess(OWN_PLACE);

/** SQL that creates a database, a copy of another one. Copying files takes a quarter of the CPU time of copying through the WAL. */
export const copyOf = (name: string, template = TEMPLATE): string =>
  `create database ${name} template ${template} strategy file_copy`;

/**
 * SQL that sets the clock of a database: functions of time that add an offset to Postgres' time. The server's search_path
 * finds them before those of Postgres, and defaults of columns refer to them. Postgres inlines them, so plans stay the same.
 */
export const clockFunctions = (offsetSeconds: number): string =>
  [["now", "stable"], ["statement_timestamp", "stable"], ["clock_timestamp", "volatile"]].map((
    [name, kind],
  ) =>
    `create or replace function public.${name}() returns timestamptz language sql ${kind} parallel safe
      return pg_catalog.${name}() + make_interval(secs => ${offsetSeconds});`
  ).join("\n");

export function databaseUrl(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

export async function onServer(url: string, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

/** Where a server runs, and the program that runs it until the process `owner` has ended. */
export interface ServerPlace {
  folder: string;
  program: string;
  owner: string;
}

/** Starts a server unless it runs, and waits until `find` finds what its program writes into the folder. */
export async function fromServer(
  place: ServerPlace,
  find: (place: ServerPlace) => Promise<string | null>,
): Promise<string> {
  const hasEnded = await startProcess(place);
  for (const since = Date.now(); Date.now() - since < START_TIMEOUT_MS && !hasEnded();) {
    const found = await find(place).catch(() => null);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`the Postgres server of the tests did not start; its folder is ${place.folder}`);
}

async function startProcess({ folder, program, owner }: ServerPlace): Promise<() => boolean> {
  let hasEnded = false;
  if (await createFolder(folder)) {
    const server = new Deno.Command(Deno.execPath(), {
      // Resolving the packages again would take most of the start.
      args: ["run", "--no-lock", "--node-modules-dir=manual", "-A", program, folder, owner],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
      detached: true,
    }).spawn();
    server.status.then(() => hasEnded = true);
    server.unref();
  }
  return () => hasEnded;
}

async function createFolder(path: string): Promise<boolean> {
  try {
    await Deno.mkdir(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
