// One temporary Postgres server for a whole test run. The first test file starts it in a separate process, which stops it
// when the test run has ended. Each test file uses its own copy of a migrated template database. The server's folder is a
// copy of a folder in node_modules/.cache, because initialising and migrating a new one takes seconds.
import { join } from "node:path";
import {
  copyOf,
  databaseUrl,
  fromServer,
  onServer,
  type ServerPlace,
  TEMPLATE,
} from "../../scripts/testing/database.ts";
import { cachePath, copyFolder, makeTemplate, startServer } from "../../scripts/testing/server_folder.ts";
import { fillDatabase, migrateDatabase } from "../../scripts/testing/template.ts";
import { isAlive } from "./processes.ts";
import { reportDatabases } from "./run_report.ts";

/** The folder and the process of a run of several processes; see `tests/run.ts`. */
const RUN = Deno.env.get("STEWARD_TEST_RUN");
const RUNNER = Deno.env.get("STEWARD_TEST_RUNNER") ?? String(Deno.pid);

const START = { password: "test" };
/** The first test file that asks for the server starts it. */
const PLACE: ServerPlace = {
  folder: RUN ? join(RUN, "cluster") : join(Deno.env.get("TMPDIR") ?? "/tmp", `steward-tests-${Deno.pid}`),
  program: import.meta.filename ?? "",
  owner: RUNNER,
};

/** Creates a new database, a copy of the template or empty, and returns its connection string. */
export async function createTestDatabase(o: { empty?: boolean } = {}): Promise<string> {
  const server = await fromServer(PLACE, ({ folder }) => Deno.readTextFile(join(folder, "ready")));
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await onServer(server, (sql) => sql.unsafe(copyOf(name, o.empty ? "template1" : TEMPLATE)));
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
  const server = await startServer(join(dir, "postgres"), START);
  await fillDatabase(databaseUrl(server.url, TEMPLATE));
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
  const cached = await cachePath("steward-tests", [import.meta.filename ?? ""]);
  await makeTemplate(cached, START, async (url, folder) => {
    await migrateDatabase(url);
    // without passwords: checking one takes milliseconds per connection
    await Deno.writeTextFile(join(folder, "pg_hba.conf"), "host all all 127.0.0.1/32 trust\n");
  });
  return cached;
}

if (import.meta.main) await runServer(Deno.args[0] ?? "", Number(Deno.args[1]));
