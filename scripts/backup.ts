// Writes the database and every object of the bucket into a folder: `deno task backup FOLDER`.
import { dirname } from "node:path";
import { ObjectNotFound, ObjectStoreError } from "../infra/objectstore/objectstore.ts";
import { readArguments } from "./backup/arguments.ts";
import { contentOf, dumpOf, holds, type IndexedObject, manifestOf, writeIndex } from "./backup/folder.ts";
import { EXIT, Failure, runScript } from "./shared/command_line.ts";
import { openConfiguredStore } from "./shared/object_store.ts";
import { runTool } from "./shared/postgres_tools.ts";

const HELP = `Usage: DATABASE_URL=postgres://... S3_ENDPOINT=https://... deno task backup [options] FOLDER

Writes a backup into FOLDER beside live traffic: first the database by pg_dump, a snapshot of one instant, then every
object of the bucket. In this order whatever the database names is in the bucket when it is copied; what is purged in
between is missing, as it would be after the purge. Objects never change, so a FOLDER that holds an earlier backup only
gets what is new. Pending uploads are copied too; they may be incomplete.

Options:
  --no-objects   the database only, where the bucket is kept by its provider (versions, replication)
  -h, --help     this text

Example: deno task backup /backups/steward

Needs pg_dump of the server's version or a later one. Keep TOKEN_KEYS and the other settings apart from it: they are
not in the backup.
Exit code 0 when the backup is complete, 64 for wrong usage, 69 when database or bucket cannot be used.`;

await runScript(HELP, async () => {
  const given = readArguments();
  if (given === null) {
    console.log(HELP);
    return 0;
  }
  const { folder, withObjects, databaseUrl } = given;
  const startedAt = new Date().toISOString();
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  await Deno.remove(manifestOf(folder)).catch(() => {}); // a backup without one is not complete
  const part = `${dumpOf(folder)}.part`;
  await runTool(
    "pg_dump",
    ["--format=custom", "--no-owner", "--no-privileges", `--file=${part}`],
    databaseUrl,
  );
  await Deno.rename(part, dumpOf(folder));
  const objects = withObjects ? await copyObjects(folder) : [];
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

async function copyObjects(folder: string): Promise<IndexedObject[]> {
  const store = openConfiguredStore();
  const copied: IndexedObject[] = [];
  try {
    for await (const { key, sizeBytes } of store.list("")) {
      if (!await holds(folder, { key, sizeBytes })) {
        const path = contentOf(folder, key);
        await Deno.mkdir(dirname(path), { recursive: true });
        const content = await store.read(key).catch((error) => {
          if (error instanceof ObjectNotFound) return null; // purged since it was listed
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
    throw new Failure(EXIT.unavailable, `the bucket cannot be used: ${error.message}`);
  }
  return copied;
}
