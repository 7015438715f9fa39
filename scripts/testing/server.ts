// Runs the Postgres server of the tests of one process, in a process of its own, so that it ends also when the tests are killed.
import { basename, dirname, join } from "node:path";
import { clockFunctions, copyOf, databaseUrl, isAlive, onServer, READY } from "./database.ts";
import { cachePath, makeTemplate, startCopy } from "./server_folder.ts";

const LOOK_EVERY_MS = 200;
const settings = { search_path: "public,pg_catalog" }; // finds the functions of time that the template has

const [folder = "", owner = ""] = Deno.args;
try {
  const server = await startPrepared();
  const url = databaseUrl(server.url, "postgres");
  await Deno.writeTextFile(join(folder, "ready.part"), url);
  await Deno.rename(join(folder, "ready.part"), join(folder, "ready"));
  await onServer(url, keepReady).finally(() => server.stop());
} finally {
  await Deno.remove(folder, { recursive: true });
}

async function startPrepared() {
  const here = (name: string) => join(import.meta.dirname ?? "", name);
  const template = await cachePath("steward-testing", ["server.ts", "template.ts", "database.ts"].map(here));
  const password = await passwordIn(`${template}.password`);
  await makeTemplate(template, { password, settings }, async (url) => {
    await onServer(url, async (sql) => {
      await sql.unsafe(clockFunctions(0));
      // With the usual number of iterations, each connection takes milliseconds of processor time.
      await sql.unsafe(`set scram_iterations = 1; alter role current_user password '${password}'`);
    });
    const { fillDatabase, migrateDatabase } = await import("./template.ts");
    await migrateDatabase(url);
    await fillDatabase(url);
    await removeOlder(template);
  });
  return await startCopy(template, { password, settings });
}

/** The password of the servers in the cache. Other users of the machine cannot read it. */
async function passwordIn(file: string): Promise<string> {
  await Deno.mkdir(dirname(file), { recursive: true });
  const password = `${crypto.randomUUID()}${crypto.randomUUID()}`;
  await Deno.writeTextFile(file, password, { createNew: true, mode: 0o600 }).catch((error) => {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  });
  return await Deno.readTextFile(file);
}

/** Removes the folders of earlier schemas. */
async function removeOlder(template: string): Promise<void> {
  for await (const { name } of Deno.readDir(dirname(template))) {
    if (!/^[0-9a-f]{32}/.test(name) || name.startsWith(basename(template))) continue;
    await Deno.remove(join(dirname(template), name), { recursive: true });
  }
}

/** Makes copies of the template ahead until the tests have ended, and then removes what they have left. */
async function keepReady(sql: Parameters<Parameters<typeof onServer>[1]>[0]): Promise<void> {
  const namesLike = async (pattern: string) =>
    (await sql<{ name: string }[]>`select datname as name from pg_database where datname like ${pattern}`)
      .map(({ name }) => name);
  while (isAlive(Number(owner))) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    if ((await namesLike("ready\\_%")).length === 0) await sql.unsafe(copyOf(READY[0]));
  }
  for (const name of await namesLike("test\\_%")) await sql.unsafe(`drop database ${name} with (force)`);
  const ready = await namesLike("ready\\_%");
  for (const name of READY) if (!ready.includes(name)) await sql.unsafe(copyOf(name));
}
