// The template database: migrated, with the catalog, and with a clock that tests can move.
import { createHash } from "node:crypto";
import { join } from "node:path";
import postgres from "postgres";
import { bootstrap } from "../../domain/access/tenants/bootstrap.ts";
import { allJobTypes } from "../../domain/job_types.ts";
import { ensureServiceRecurringJobs } from "../../domain/jobs/instance/service_recurring.ts";
import { JobTypes } from "../../domain/jobs/job_type.ts";
import { readConfig } from "../../infra/config.ts";
import type { EmbeddedPostgres } from "../../infra/embedded/postgres.ts";
import { migrate } from "../../infra/postgres/migrate.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { databaseUrl, TEMPLATE } from "./cluster.ts";
import { clockFunctions } from "./clock.ts";

type StartServer = (folder: string) => Promise<EmbeddedPostgres>;

const ROOT = join(import.meta.dirname ?? ".", "..", "..");
/** First run of the service's own recurring jobs: so late that they run only when a test moves the clock. */
const FIRST_TICK = new Date("2100-01-01");

/** Starts a server with the template in a new `folder`, a copy of one in `cache`: making and migrating one takes seconds. */
export async function startPrepared(
  folder: string,
  cache: string,
  startServer: StartServer,
): Promise<EmbeddedPostgres> {
  await copyFolder(await migratedFolder(cache, startServer), folder);
  const server = await startServer(folder);
  const sql = connectPostgres(databaseUrl(server.url, TEMPLATE), { max: 1 });
  await bootstrap({ sql, config: readConfig({ STEWARD_ENV: "development" }) });
  const jobTypes = new JobTypes();
  jobTypes.register(...allJobTypes);
  await ensureServiceRecurringJobs({ sql, jobTypes, clock: { now: () => FIRST_TICK } });
  await sql.end();
  return server;
}

/** The cached folder of a stopped server with a migrated template database; creates it if the migrations changed. */
async function migratedFolder(cache: string, startServer: StartServer): Promise<string> {
  const cached = join(cache, await migrationsHash());
  if (await Deno.stat(cached).catch(() => null)) return cached;
  await Deno.mkdir(cache, { recursive: true });
  const folder = await Deno.makeTempDir({ dir: cache });
  const server = await startServer(join(folder, "postgres"));
  const root = postgres(server.url, { max: 1, onnotice: () => {} });
  await root.unsafe(`create database ${TEMPLATE}`);
  await root.end();
  const sql = connectPostgres(databaseUrl(server.url, TEMPLATE), { max: 1 });
  await sql.unsafe(clockFunctions(0));
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

/** Hash of the migrations and mails, of deno.json (the server's version) and of the files that make the template. */
async function migrationsHash(): Promise<string> {
  const names = ["migrations", "mails"].map((name) => join(ROOT, "infra", "postgres", name)).flatMap((
    folder,
  ) => Array.from(Deno.readDirSync(folder), (entry) => join(folder, entry.name)).sort());
  const own = ["template.ts", "clock.ts"].map((name) => join(ROOT, "scripts", "testing", name));
  const hash = createHash("sha256");
  for (const name of [...own, join(ROOT, "deno.json"), ...names]) {
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
