// Runs the Postgres server of the tests of one process, in a process of its own, so that it ends also when the tests are killed.
import { dirname, join } from "node:path";
import { clockFunctions, copyOf, databaseUrl, isAlive, onServer, READY } from "./database.ts";
import { cachePath, makeTemplate, startCopy } from "./server_folder.ts";

const LOOK_EVERY_MS = 100;
/** Databases that are made for the next process, as making one takes longer than the rest of a start. */
const MADE_AHEAD = 2;
const settings = { search_path: "public,pg_catalog" }; // finds the functions of time that the template has

const [folder = "", owner = ""] = Deno.args;
try {
  const server = await startPrepared();
  const kept = `${server.folder}.databases`;
  const offer = async (name: string) => {
    await Deno.writeTextFile(join(folder, `${name}.part`), databaseUrl(server.url, name));
    await Deno.rename(join(folder, `${name}.part`), join(folder, name + READY));
  };
  const unused = await namesIn(kept);
  await Deno.remove(kept).catch(() => {});
  for (const name of unused) await offer(name);
  await onServer(databaseUrl(server.url, "postgres"), async (sql) => {
    const offered = () =>
      Array.from(Deno.readDirSync(folder), ({ name }) => name).filter((name) => name.endsWith(READY));
    const makeUntil = async (count: number) => {
      while (offered().length < count) {
        const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
        await sql.unsafe(copyOf(name));
        await offer(name);
      }
    };
    while (isAlive(Number(owner))) {
      await makeUntil(1);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    await makeUntil(MADE_AHEAD);
    const names = offered().map((name) => name.slice(0, -READY.length));
    const used = await sql<{ name: string }[]>`
      select datname as name from pg_database where datname like 'test\\_%' and datname <> all(${names})`;
    for (const { name } of used) await sql.unsafe(`drop database ${name} with (force)`);
    await Deno.writeTextFile(kept, names.join(" "));
  }).finally(() => server.stop());
} finally {
  await Deno.remove(folder, { recursive: true });
}

/** The databases that the former process has left unused; none if it did not end well. */
function namesIn(file: string): Promise<string[]> {
  return Deno.readTextFile(file).then((text) => text.split(" "), () => []);
}

async function startPrepared() {
  const sources = ["server.ts", "template.ts", "database.ts", "../../domain/rights/catalog.ts"];
  const template = await cachePath(
    "steward-testing",
    sources.map((name) => join(import.meta.dirname ?? "", name)),
  );
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
