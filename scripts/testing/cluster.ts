// The databases of the services that the tests of one process start: copies of a template on one server, see `server.ts`.
import { join } from "node:path";
import process from "node:process";
import postgres from "postgres";

/** Where a server runs, and the program that runs it: it calls `runServer` with this folder. */
export interface ServerPlace {
  folder: string;
  program: string;
  /** The server ends with this process. */
  owner: number;
}

export const TEMPLATE = "steward_template";
/** A copy of the template that earlier tests left: renaming it takes less time than copying. */
export const PREPARED = "steward_prepared";
const START_TIMEOUT_MS = 120_000;

/** Creates a database, a copy of the template or empty, and returns its connection string. The first call starts the server. */
export async function createDatabase(
  o: { empty?: boolean | undefined; place?: ServerPlace | undefined } = {},
): Promise<string> {
  const server = await serverUrl(o.place ?? OWN_PLACE);
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    const isRenamed = !o.empty && await sql.unsafe(`alter database ${PREPARED} rename to ${name}`)
      .then(() => true, () => false);
    if (!isRenamed) await sql.unsafe(copyOf(o.empty ? null : TEMPLATE, name));
  } finally {
    await sql.end();
  }
  return databaseUrl(server, name);
}

/** SQL that creates a database. Copying files takes a quarter of the CPU time of copying through the WAL. */
export const copyOf = (template: string | null, name: string): string =>
  `create database ${name} ${template ? `template ${template}` : ""} strategy file_copy`;

const OWN_PLACE: ServerPlace = {
  folder: join(Deno.env.get("TMPDIR") ?? "/tmp", `steward-tests-${Deno.pid}`),
  program: join(import.meta.dirname ?? ".", "server.ts"),
  owner: Deno.pid,
};

async function serverUrl({ folder, program, owner }: ServerPlace): Promise<string> {
  if (await createFolder(folder)) {
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-lock", "-A", program, folder, String(owner)],
      stdin: "null",
      stdout: "inherit",
      stderr: "inherit",
      detached: true,
    }).spawn().unref();
  }
  for (const since = Date.now(); Date.now() - since < START_TIMEOUT_MS;) {
    const url = await Deno.readTextFile(join(folder, "ready")).catch(() => null);
    if (url) return url;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`the test database was not ready within ${START_TIMEOUT_MS} ms`);
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

export function databaseUrl(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
