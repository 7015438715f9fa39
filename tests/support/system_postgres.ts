import { freePort } from "../../infra/embedded/free_port.ts";
import { isFile, run, startQuietly, succeeds } from "./processes.ts";
import { until } from "./until.ts";

/** Where Debian and others install the server's programs, newest version first, and the client tools beside them. */
const folders = ["18", "17", "16", "15", "14"].map((version) => `/usr/lib/postgresql/${version}/bin`);
/** Folder of the installed server's programs and client tools; undefined if Postgres is not installed. */
export const systemPostgresFolder = folders.find((path) =>
  ["initdb", "postgres", "pg_dump", "pg_restore"].every((name) => isFile(`${path}/${name}`))
);
const folder = systemPostgresFolder;

/** Whether Postgres with its client tools is installed on this machine; tests that need it are skipped otherwise. */
export const systemPostgresInstalled = folder !== undefined;

/**
 * Starts the installed Postgres in a temporary folder, under another user if this one is root.
 * @param o.host an additional address to listen on; the server accepts connections from its network
 */
export async function startSystemPostgres(o: { host?: string } = {}) {
  const host = o.host ?? "127.0.0.1";
  if (folder === undefined) throw new Error("Postgres is not installed");
  const dir = await Deno.makeTempDir({ prefix: "system-postgres-" });
  const port = freePort();
  const isRoot = Deno.uid() === 0;
  const as = (args: string[]) => isRoot ? ["runuser", "-u", "postgres", "--", ...args] : args;
  const execute = ([command = "", ...args]: string[], env: Record<string, string> = {}) =>
    run(command, args, { env });
  if (isRoot) await execute(["chown", "postgres", dir]);
  await execute(as([`${folder}/initdb`, "-D", `${dir}/data`, "-U", "steward", "-A", "trust", "--no-sync"]));
  await Deno.writeTextFile(`${dir}/data/pg_hba.conf`, "host all all samenet trust\n", { append: true });
  /** Starts the server with the data folder `name` on `port`. */
  const start = async (name: string, port: number): Promise<Deno.ChildProcess> => {
    const [command = "", ...args] = as([
      ...[`${folder}/postgres`, "-D", `${dir}/${name}`, "-p", String(port), "-k", dir],
      ...["-c", "fsync=off", "-c", `listen_addresses=127.0.0.1,${host}`, "-c", "max_connections=200"],
    ]);
    const server = startQuietly(command, args);
    const isReady = () => succeeds(`${folder}/pg_isready`, "-q", "-h", "127.0.0.1", "-p", String(port));
    await until(isReady, Boolean, { what: "Postgres" });
    return server;
  };
  const stop = async (name: string, server: Deno.ChildProcess) => {
    await execute(as([`${folder}/pg_ctl`, "stop", "-D", `${dir}/${name}`, "-m", "immediate"])); // its data is not needed any more
    await server.status;
  };
  const server = await start("data", port);
  const client = { PGHOST: "127.0.0.1", PGPORT: String(port), PGUSER: "steward" };
  const urlOf = (port: number, name: string) => `postgres://steward:unused@${host}:${port}/${name}`;
  return {
    /** Folder of the client tools of the server's version. */
    tools: folder,
    /** Creates a database. @returns its connection string */
    async database(name: string) {
      await execute([`${folder}/createdb`, name], client);
      return urlOf(port, name);
    },
    /** Starts a standby of this server, which `stop` stops as a crash would. @param name database of its connection string */
    async standby(name: string) {
      const copy = ["-R", "-X", "stream", "--no-sync", "--checkpoint=fast"];
      const from = ["-h", "127.0.0.1", "-p", String(port), "-U", "steward"];
      await execute(as([`${folder}/pg_basebackup`, "-D", `${dir}/standby`, ...copy, ...from]));
      const standbyPort = freePort();
      const standby = await start("standby", standbyPort);
      return { url: urlOf(standbyPort, name), stop: () => stop("standby", standby) };
    },
    async stop() {
      await stop("data", server);
      await Deno.remove(dir, { recursive: true });
    },
  };
}
