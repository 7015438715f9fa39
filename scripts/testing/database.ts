// The databases of the services that the tests of one process start: copies of a template, on one server; see `server.ts`.
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import postgres from "postgres";

export const TEMPLATE = "steward_template";
/** Copies of the template that wait to be renamed, because renaming takes a millisecond and copying half a second. */
export const READY = ["ready_1", "ready_2"] as const;
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

/** Creates a database. The first call of a process starts the server, which ends with the process. */
export async function createDatabase(): Promise<TestDatabase> {
  const server = await serverUrl();
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const folder = join(OWN_PLACE.folder, name);
  await Deno.mkdir(folder);
  await onServer(server, async (sql) => {
    for (const ready of READY) {
      const isThere = await sql.unsafe(`alter database ${ready} rename to ${name}`).then(
        () => true,
        () => false,
      );
      if (isThere) return;
    }
    await sql.unsafe(copyOf(name));
  });
  const drop = async () => {
    await onServer(server, (sql) => sql.unsafe(`drop database ${name} with (force)`));
    await Deno.remove(folder, { recursive: true });
  };
  return { url: databaseUrl(server, name), folder, drop };
}

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

/** Starts a server unless it runs. @returns the URL that its program writes into the file `ready` of the folder */
export async function serverUrl({ folder, program, owner }: ServerPlace = OWN_PLACE): Promise<string> {
  let hasEnded = false;
  if (await createFolder(folder)) {
    const server = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-lock", "-A", program, folder, owner],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
      detached: true,
    }).spawn();
    server.status.then(() => hasEnded = true);
    server.unref();
  }
  for (const since = Date.now(); Date.now() - since < START_TIMEOUT_MS && !hasEnded;) {
    const url = await Deno.readTextFile(join(folder, "ready")).catch(() => null);
    if (url) return url;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`the Postgres server of the tests did not start; its folder is ${folder}`);
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
