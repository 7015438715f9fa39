// Folders of Postgres servers for tests, with a template database. They are kept in node_modules/.cache, because initialising and
// migrating a new one takes seconds.
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { databaseUrl, onServer, TEMPLATE } from "./database.ts";

const ROOT = join(import.meta.dirname ?? ".", "..", "..");

/** How the server of a folder is started. */
export interface ServerStart {
  password: string;
  settings?: Record<string, string>;
}

/** The path of a folder in the cache. It changes with the migrations and mails, deno.json (the server's version) and `files`. */
export async function cachePath(name: string, files: string[]): Promise<string> {
  const names = ["migrations", "mails"].map((name) => join(ROOT, "infra", "postgres", name)).flatMap((
    folder,
  ) => Array.from(Deno.readDirSync(folder), (entry) => join(folder, entry.name)).sort());
  const hash = createHash("sha256");
  for (const name of [...files, import.meta.filename ?? "", join(ROOT, "deno.json"), ...names]) {
    hash.update(name).update(await Deno.readFile(name));
  }
  return join(ROOT, "node_modules", ".cache", name, hash.digest("hex").slice(0, 32));
}

/**
 * Makes `path`, the folder of a stopped server with a template database that `fill` has written, unless it is there. Then
 * removes those of earlier schemas.
 */
export async function makeTemplate(
  path: string,
  start: ServerStart,
  fill: (url: string, folder: string) => Promise<void>,
): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  await makeFolder(path, async (folder) => {
    const server = await startServer(folder, start);
    await onServer(server.url, (sql) => sql.unsafe(`create database ${TEMPLATE}`));
    await fill(databaseUrl(server.url, TEMPLATE), folder);
    await server.stop();
    await removeOlder(path);
  });
}

async function removeOlder(template: string): Promise<void> {
  for await (const { name } of Deno.readDir(dirname(template))) {
    if (!/^[0-9a-f]{32}/.test(name) || name.startsWith(basename(template))) continue;
    await Deno.remove(join(dirname(template), name), { recursive: true });
  }
}

/** Makes a folder under another name and moves it to `path`, where a concurrent process may have made it first. */
async function makeFolder(path: string, make: (folder: string) => Promise<void>): Promise<void> {
  const exists = () => Deno.stat(path).then(() => true, () => false);
  if (await exists()) return;
  const part = await Deno.makeTempDir({ dir: dirname(path) });
  await make(join(part, "postgres"));
  await Deno.rename(join(part, "postgres"), path).catch(async (error) => {
    if (!await exists()) throw error;
  });
  await Deno.remove(part, { recursive: true });
}

/** Starts a server in one of the copies of `template` beside it: the first that no other process uses. */
export async function startCopy(
  template: string,
  start: ServerStart,
): Promise<EmbeddedPostgres & { folder: string }> {
  for (let n = 1;; n++) {
    const folder = `${template}-${n}`;
    await makeFolder(folder, (part) => copyFolder(template, part));
    try {
      return { ...await startServer(folder, start), folder };
    } catch (error) {
      if (!/in use by another process/.test((error as Error).message)) throw error;
    }
  }
}

export async function copyFolder(from: string, to: string): Promise<void> {
  const { uid, gid } = await Deno.stat(from);
  await Deno.mkdir(to, { mode: 0o700 });
  for await (const entry of Deno.readDir(from)) {
    const target = join(to, entry.name);
    if (entry.isDirectory) await copyFolder(join(from, entry.name), target);
    else {
      await Deno.copyFile(join(from, entry.name), target);
      if (uid !== null && uid !== Deno.uid()) await Deno.chown(target, uid, gid);
    }
  }
}

export function startServer(dir: string, { password, settings }: ServerStart): Promise<EmbeddedPostgres> {
  const fast = {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    wal_level: "minimal",
    max_wal_senders: "0",
    max_wal_size: "8GB",
    checkpoint_timeout: "1d",
    autovacuum: "off",
    jit: "off",
    io_method: "sync", // workers pay off for slow disks only
    max_connections: "1000",
  };
  return startEmbeddedPostgres({ dir, password, settings: { ...fast, ...settings } });
}
