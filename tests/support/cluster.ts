// One throwaway Postgres for a whole test run: started by the first test file, stopped by its own host process when
// the run's process is gone. Each test file works on its own copy of a migrated template database.
import { join } from "node:path";
import process from "node:process";
import postgres from "postgres";
import { bootstrap } from "../../domain/access/bootstrap.ts";
import { readConfig } from "../../infra/config.ts";
import { startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";

const TEMPLATE = "steward_template";
const PATIENCE_MS = 60_000;

/** The connection string of the run's server, starting it when this is the first file to ask. */
async function serverUrl(): Promise<string> {
  const dir = join(Deno.env.get("TMPDIR") ?? "/tmp", `steward-tests-${Deno.pid}`);
  const ready = join(dir, "ready");
  if (await madeFirst(dir)) {
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-lock", "-A", import.meta.filename ?? "", dir, String(Deno.pid)],
      stdin: "null",
      stdout: "inherit",
      stderr: "inherit",
      detached: true,
    }).spawn().unref();
  }
  for (const since = Date.now(); Date.now() - since < PATIENCE_MS;) {
    const url = await Deno.readTextFile(ready).catch(() => null);
    if (url) return url;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the test database was not ready within ${PATIENCE_MS} ms`);
}

async function madeFirst(dir: string): Promise<boolean> {
  try {
    await Deno.mkdir(dir);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/** Makes a database of its own from the template (or an empty one) and returns its connection string. */
export async function createTestDatabase(o: { empty?: boolean } = {}): Promise<string> {
  const url = new URL(await serverUrl());
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(`create database ${name} ${o.empty ? "" : `template ${TEMPLATE} strategy wal_log`}`);
  } finally {
    await sql.end();
  }
  url.pathname = `/${name}`;
  return url.href;
}

async function host(dir: string, runnerPid: number): Promise<void> {
  const settings = {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_connections: "400",
  };
  const server = await startEmbeddedPostgres({ dir: join(dir, "postgres"), password: "test", settings });
  const root = postgres(server.url, { max: 1, onnotice: () => {} });
  await root.unsafe(`create database ${TEMPLATE}`);
  const url = new URL(server.url);
  url.pathname = `/${TEMPLATE}`;
  const sql = connectPostgres(url.href, { max: 1 });
  await migrate(sql);
  await bootstrap({ sql, config: readConfig({ STEWARD_ENV: "development" }) });
  await sql.end();
  await root.end();
  await Deno.writeTextFile(join(dir, "ready.part"), server.url);
  await Deno.rename(join(dir, "ready.part"), join(dir, "ready"));
  while (isAlive(runnerPid)) await new Promise((resolve) => setTimeout(resolve, 500));
  await server.stop();
  await Deno.remove(dir, { recursive: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

if (import.meta.main) await host(Deno.args[0] ?? "", Number(Deno.args[1]));
