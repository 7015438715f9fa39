// Runs the Postgres server of tests. A process of its own runs it, so that it ends also when the tests are killed.
import { createHash } from "node:crypto";
import { join } from "node:path";
import postgres from "postgres";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { copyOf, databaseUrl, isAlive, PREPARED, TEMPLATE } from "./cluster.ts";

const ROOT = join(import.meta.dirname ?? ".", "..", "..");
/** The folders of stopped servers that wait for the next tests. */
const CACHE = join(ROOT, "node_modules", ".cache", "steward-tests");
/** After tests with more databases than this, dropping them takes longer than a new copy of the folder. */
const MAX_DROPPED = 20;

/** Runs a server in `folder` until the process `owner` or, by `hasEnded`, its tests have ended. */
export async function runServer(
  folder: string,
  owner: number,
  hasEnded: () => Promise<boolean> = () => Promise.resolve(false),
): Promise<void> {
  const spare = join(CACHE, `spare-${sourcesHash()}`);
  const server = await startSpare(spare, join(folder, "postgres")) ??
    await (await import("./template.ts")).startPrepared(join(folder, "postgres"), CACHE, startServer);
  await Deno.writeTextFile(join(folder, "ready.part"), server.url);
  await Deno.rename(join(folder, "ready.part"), join(folder, "ready"));
  while (isAlive(owner) && !await hasEnded()) await new Promise((resolve) => setTimeout(resolve, 500));
  const isClean = await dropDatabases(server.url).catch(() => false);
  await server.stop();
  if (isClean) await keepSpare(join(folder, "postgres"), spare);
  await Deno.remove(folder, { recursive: true });
}

/** Takes the folder that earlier tests left for these sources; null: there is none, or it is damaged. */
async function startSpare(spare: string, folder: string): Promise<EmbeddedPostgres | null> {
  try {
    await Deno.rename(spare, folder); // of several processes at once, one gets it
    return await startServer(folder);
  } catch {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    return null;
  }
}

async function keepSpare(folder: string, spare: string): Promise<void> {
  for await (const { name } of Deno.readDir(CACHE)) {
    if (name.startsWith("spare-")) await Deno.remove(join(CACHE, name), { recursive: true }).catch(() => {});
  }
  await Deno.rename(folder, spare).catch(() => {}); // another file system, or another process was first
}

/** Removes what tests have created, and prepares a database for the next. @returns false if something is left */
async function dropDatabases(url: string): Promise<boolean> {
  const sql = postgres(databaseUrl(url, "postgres"), { max: 1, onnotice: () => {} });
  try {
    const made = await sql<
      { name: string }[]
    >`select datname as name from pg_database where datname like 'test\\_%'`;
    if (made.length > MAX_DROPPED) return false;
    for (const { name } of made) await sql.unsafe(`drop database ${name} with (force)`);
    const [others] = await sql`
      select from pg_roles where oid >= 16384 union all
      select from pg_database where oid >= 16384 and datname not in ('steward', ${TEMPLATE}, ${PREPARED})`;
    await sql.unsafe(copyOf(TEMPLATE, PREPARED)).catch(() => {}); // the former one is still there
    return others === undefined;
  } finally {
    await sql.end();
  }
}

/** Changes with every file that the content of the template may depend on. */
function sourcesHash(): string {
  const hash = createHash("sha256");
  const add = (path: string) => {
    const { isDirectory, size, mtime } = Deno.statSync(path);
    if (!isDirectory) return void hash.update(`${path} ${size} ${mtime?.getTime()}\n`);
    for (const name of Array.from(Deno.readDirSync(path), ({ name }) => name).sort()) add(join(path, name));
  };
  for (const name of ["deno.json", "domain", "infra", "scripts/testing"]) add(join(ROOT, name));
  return hash.digest("hex").slice(0, 32);
}

function startServer(dir: string): Promise<EmbeddedPostgres> {
  const settings = {
    search_path: "public,pg_catalog", // finds the functions of time that the template has, see `template.ts`
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    wal_level: "minimal",
    max_wal_senders: "0",
    max_wal_size: "8GB",
    checkpoint_timeout: "1d",
    autovacuum: "off",
    jit: "off",
    max_connections: "1000",
  };
  return startEmbeddedPostgres({ dir, password: "test", settings });
}

if (import.meta.main) await runServer(Deno.args[0] ?? "", Number(Deno.args[1]));
