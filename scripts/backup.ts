// Writes the database and every object of the bucket into a folder: `deno task backup FOLDER`.
import { dirname } from "node:path";
import { ObjectNotFound, type ObjectStore, ObjectStoreError } from "../infra/objectstore/objectstore.ts";
import { connectPostgres, type Sql } from "../infra/postgres/postgres.ts";
import {
  contentOf,
  dumpOf,
  holds,
  type IndexedObject,
  manifestOf,
  runBackupScript,
  writeIndex,
} from "./shared/backup.ts";
import { EXIT, Failure } from "./shared/run_script.ts";
import { openConfiguredStore } from "./shared/object_store.ts";
import { runTool } from "./shared/postgres_tools.ts";

const HELP = `Usage: DATABASE_URL=postgres://... S3_ENDPOINT=https://... deno task backup [options] FOLDER

Writes a backup into FOLDER; the service may keep running. First pg_dump writes a snapshot of the database, then every
object of the bucket is copied. In this order, the objects of all files in the snapshot are copied, except those purged
in between. Objects never change, so a FOLDER with an earlier backup only gets new objects. Pending uploads are copied
too and may be incomplete.

Options:
  --no-objects   the database only, if the provider backs up the bucket (versions, replication)
  -h, --help     this text

Example: deno task backup /backups/steward

Only the schemas of the service and of its extensions are written. Schemas of other applications in the same database
are skipped and listed.
Needs pg_dump of the server's version or a later one. The backup does not contain TOKEN_KEYS and the other settings:
keep them separately.
Exit code 0 when the backup is complete, 64 for wrong usage, 69 when the database or the bucket is not usable.`;

await runBackupScript(HELP, async ({ folder, withObjects, databaseUrl }) => {
  const store = withObjects ? openConfiguredStore() : null;
  const startedAt = new Date().toISOString();
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  await Deno.remove(manifestOf(folder)).catch(() => {}); // without a manifest, the backup counts as incomplete
  const part = `${dumpOf(folder)}.part`;
  await runTool(
    "pg_dump",
    [
      "--format=custom",
      "--no-owner",
      "--no-privileges",
      `--file=${part}`,
      ...await excludedSchemas(databaseUrl),
    ],
    databaseUrl,
  );
  await Deno.rename(part, dumpOf(folder));
  const objects = store ? await copyObjects(store, folder) : [];
  await writeIndex(folder, objects);
  const bytes = objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const manifest = {
    format: 1,
    startedAt,
    endedAt: new Date().toISOString(),
    objects: objects.length,
    bytes,
  };
  await Deno.writeTextFile(manifestOf(folder), JSON.stringify(manifest, null, 2));
  console.log(`backed up the database and ${objects.length} objects (${bytes} bytes) as of ${startedAt}`);
  return 0;
});

/** Options of pg_dump that skip the schemas of other applications: the service's role may lack access to them. */
async function excludedSchemas(databaseUrl: string): Promise<string[]> {
  const sql = connectPostgres(databaseUrl, { max: 1, prepare: false, applicationName: "steward backup" });
  try {
    const own = ["public", "information_schema", ...await extensionSchemas(sql)];
    const others = await sql<{ name: string }[]>`select nspname as name from pg_namespace
      where nspname not like 'pg\\_%' and nspname <> all(${own}::text[]) order by nspname`;
    if (others.length > 0) {
      console.log(`skipped schemas of other applications: ${others.map(({ name }) => name).join(", ")}`);
    }
    return others.map(({ name }) => `--exclude-schema="${name.replaceAll('"', '""')}"`);
  } finally {
    await sql.end();
  }
}

/** The schemas that migrations of extensions have made. A database of an early version has no table of them. */
async function extensionSchemas(sql: Sql): Promise<string[]> {
  const [table] = await sql`select to_regclass('extension_migrations') as name`;
  if (!table?.name) return [];
  const rows = await sql<{ name: string }[]>`select distinct extension as name from extension_migrations`;
  return rows.map(({ name }) => name);
}

async function copyObjects(store: ObjectStore, folder: string): Promise<IndexedObject[]> {
  const copied: IndexedObject[] = [];
  try {
    for await (const { key, sizeBytes } of store.list("")) {
      if (!await holds(folder, { key, sizeBytes })) {
        const path = contentOf(folder, key);
        await Deno.mkdir(dirname(path), { recursive: true });
        const content = await store.read(key).catch((error) => {
          if (error instanceof ObjectNotFound) return null; // purged after it was listed
          throw error;
        });
        if (!content) continue;
        await Deno.writeFile(`${path}.part`, content);
        await Deno.rename(`${path}.part`, path);
      }
      copied.push({ key, sizeBytes });
    }
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    throw new Failure(EXIT.unavailable, `the bucket is not usable: ${error.message}`);
  }
  return copied;
}
