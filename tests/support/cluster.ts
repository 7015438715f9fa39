// One temporary Postgres server for a whole test run. The first test file starts it in a separate process, which stops it
// when the test run has ended. Each test file uses its own copy of a migrated template database. The server's folder is a
// copy of a folder in node_modules/.cache, because initialising and migrating a new one takes seconds.
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import postgres from "postgres";
import { bootstrap } from "../../domain/access/tenants/bootstrap.ts";
import { jobTypesOf } from "../../domain/job_types.ts";
import { JobTypes } from "../../domain/jobs/job_type.ts";
import { ensureServiceRecurringJobs } from "../../domain/jobs/instance/service_recurring.ts";
import { readConfig } from "../../infra/config.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { isAlive } from "./processes.ts";
import { reportDatabases } from "./run_report.ts";

/** The folder and the process of a run of several processes; see `tests/run.ts`. */
const RUN = Deno.env.get("STEWARD_TEST_RUN");
const RUNNER = Deno.env.get("STEWARD_TEST_RUNNER") ?? String(Deno.pid);

const ROOT = join(import.meta.dirname ?? ".", "..", "..");
const TEMPLATE = "steward_template";
const START_TIMEOUT_MS = 120_000;
/** First run of the service's own recurring jobs: so late that they do not run during tests. */
const FIRST_TICK = new Date("2100-01-01");

/** The connection string of the server. The first test file that asks for it starts the server. */
async function serverUrl(): Promise<string> {
  const dir = RUN
    ? join(RUN, "cluster")
    : join(Deno.env.get("TMPDIR") ?? "/tmp", `steward-tests-${Deno.pid}`);
  const ready = join(dir, "ready");
  if (await createFolder(dir)) {
    new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-lock", "-A", import.meta.filename ?? "", dir, RUNNER],
      stdin: "null",
      stdout: "inherit",
      stderr: "inherit",
      detached: true,
    }).spawn().unref();
  }
  for (const since = Date.now(); Date.now() - since < START_TIMEOUT_MS;) {
    const url = await Deno.readTextFile(ready).catch(() => null);
    if (url) return url;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the test database was not ready within ${START_TIMEOUT_MS} ms`);
}

async function createFolder(dir: string): Promise<boolean> {
  try {
    await Deno.mkdir(dir);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/** Creates a new database, a copy of the template or empty, and returns its connection string. */
export async function createTestDatabase(o: { empty?: boolean } = {}): Promise<string> {
  const server = await serverUrl();
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  const sql = postgres(server, { max: 1, onnotice: () => {} });
  try {
    // Copying files takes a quarter of the CPU time of copying through the WAL.
    await sql.unsafe(`create database ${name} ${o.empty ? "" : `template ${TEMPLATE}`} strategy file_copy`);
  } finally {
    await sql.end();
  }
  return databaseUrl(server, name);
}

/** Like `createTestDatabase`; connections by this URL may wait for a lock, and be idle in a transaction, for a minute. */
export async function createDatabaseForLongLocks(): Promise<string> {
  const url = new URL(await createTestDatabase());
  for (const limit of ["lock_timeout", "idle_in_transaction_session_timeout"]) {
    url.searchParams.set(limit, "60000");
  }
  return url.href;
}

async function runServer(dir: string, runnerPid: number): Promise<void> {
  await copyFolder(await migratedFolder(), join(dir, "postgres"));
  const server = await startServer(join(dir, "postgres"));
  const sql = connectPostgres(databaseUrl(server.url, TEMPLATE), { max: 1 });
  const config = readConfig({ STEWARD_ENV: "development" });
  await bootstrap({ sql, config });
  const jobTypes = new JobTypes();
  jobTypes.register(...await jobTypesOf(config));
  await ensureServiceRecurringJobs({ sql, jobTypes, clock: { now: () => FIRST_TICK } });
  await sql.end();
  await Deno.writeTextFile(join(dir, "ready.part"), server.url);
  await Deno.rename(join(dir, "ready.part"), join(dir, "ready"));
  const hasEnded = () => RUN !== undefined && Deno.stat(join(RUN, "ended")).then(() => true, () => false);
  while (isAlive(runnerPid) && !await hasEnded()) await new Promise((resolve) => setTimeout(resolve, 500));
  await server.stop();
  await Deno.remove(dir, { recursive: true });
  if (RUN && isAlive(runnerPid)) await reportDatabases(RUN);
}

/** The cached folder of a stopped server with a migrated template database; creates it if the migrations changed. */
async function migratedFolder(): Promise<string> {
  const cached = join(ROOT, "node_modules", ".cache", "steward-tests", await migrationsHash());
  if (await Deno.stat(cached).catch(() => null)) return cached;
  await Deno.mkdir(dirname(cached), { recursive: true });
  const folder = await Deno.makeTempDir({ dir: dirname(cached) });
  const server = await startServer(join(folder, "postgres"));
  const root = postgres(server.url, { max: 1, onnotice: () => {} });
  await root.unsafe(`create database ${TEMPLATE}`);
  await root.end();
  const sql = connectPostgres(databaseUrl(server.url, TEMPLATE), { max: 1 });
  await migrate(sql);
  await sql.end();
  await server.stop();
  // without passwords: checking one takes milliseconds per connection
  await Deno.writeTextFile(join(folder, "postgres", "pg_hba.conf"), "host all all 127.0.0.1/32 trust\n");
  // a concurrent run may have created the same folder first
  await Deno.rename(join(folder, "postgres"), cached).catch(async (error) => {
    if (!await Deno.stat(cached).catch(() => null)) throw error;
  });
  await Deno.remove(folder, { recursive: true });
  return cached;
}

/** Hash of the migrations and mails, of deno.json (the server's version) and of this file. */
async function migrationsHash(): Promise<string> {
  const names = ["migrations", "mails"].map((name) => join(ROOT, "infra", "postgres", name)).flatMap((
    folder,
  ) => Array.from(Deno.readDirSync(folder), (entry) => join(folder, entry.name)).sort());
  const hash = createHash("sha256");
  for (const name of [import.meta.filename ?? "", join(ROOT, "deno.json"), ...names]) {
    hash.update(name).update(await Deno.readFile(name));
  }
  return hash.digest("hex").slice(0, 32);
}

async function copyFolder(from: string, to: string): Promise<void> {
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

function startServer(dir: string): Promise<EmbeddedPostgres> {
  const settings = {
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
  return startEmbeddedPostgres({ dir, password: "test", settings });
}

function databaseUrl(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

if (import.meta.main) await runServer(Deno.args[0] ?? "", Number(Deno.args[1]));
