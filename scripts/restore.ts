// Restores a backup into an empty database and a bucket: `deno task restore FOLDER`.
import { HOUR_MS } from "../infra/clock.ts";
import { createHash } from "node:crypto";
import { DatabaseClock } from "../infra/postgres/database_clock.ts";
import { reconcileFiles } from "../domain/files/reconcile.ts";
import { adoptRestoredContent } from "../domain/files/objects.ts";
import { type ObjectStore, ObjectStoreError } from "../infra/objectstore/objectstore.ts";
import { connectPostgres, type Sql } from "../infra/postgres/postgres.ts";
import { contentOf, dumpOf, holds, manifestOf, readIndex, runBackupScript } from "./shared/backup.ts";
import { EXIT, Failure, isPooled } from "./shared/run_script.ts";
import { hashingStream } from "./shared/hashing_stream.ts";
import { openConfiguredStore } from "./shared/object_store.ts";
import { runTool, toolEnvironment } from "./shared/postgres_tools.ts";

const HELP = `Usage: DATABASE_URL=postgres://... S3_ENDPOINT=https://... deno task restore [options] FOLDER

Restores a backup of \`deno task backup\`: first the database, with pg_restore in one transaction, into an empty database;
then every object that the bucket lacks. Then compares both, like \`deno task reconcile-files\`, and prints the differences.
Do not start an instance before the restore has ended. If the service is newer than the backup, run \`deno task migrate\`
after the restore. Jobs that ran during the backup run again. Work done after the backup is lost or repeated.

Options:
  --no-objects   the database only; the bucket is still compared
  -h, --help     this text

Example: deno task restore /backups/steward

Exit code 0 when every file has its content, 1 when files lack it, 64 for wrong usage (also if the database is not empty),
66 when FOLDER has no complete backup, 69 when the database or the bucket is not usable.`;

await runBackupScript(HELP, async ({ folder, withObjects, databaseUrl }) => {
  const manifest = await Deno.readTextFile(manifestOf(folder)).catch(() => null);
  if (manifest === null) throw new Failure(EXIT.noInput, `${folder} has no complete backup`);
  const objects = openConfiguredStore();
  const sql = connectPostgres(databaseUrl, {
    max: 1,
    prepare: false,
    work: "migration",
    pooled: isPooled(),
    applicationName: "steward restore",
  });
  try {
    await requireEmpty(sql);
    const args = ["--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction"];
    await runTool("pg_restore", [
      ...args,
      `--dbname=${toolEnvironment(databaseUrl).PGDATABASE}`,
      dumpOf(folder),
    ], databaseUrl);
    console.log(`restored the database as of ${JSON.parse(manifest).startedAt}`);
    if (withObjects) console.log(`restored ${await copyObjects(sql, folder, objects)} objects`);
    return await compare(sql, objects);
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    throw new Failure(EXIT.unavailable, `the bucket is not usable: ${error.message}`);
  } finally {
    await sql.end();
  }
});

async function requireEmpty(sql: Sql): Promise<void> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pg_class c join pg_namespace s on s.oid = c.relnamespace
    where s.nspname = 'public' and c.relkind in ('r', 'p', 'v', 'm', 'S')`;
  if (row?.n) throw new Failure(EXIT.usage, `the database has ${row.n} tables; expected an empty one`);
}

/** Writes the objects that the bucket lacks, and updates their ETags in the registry. Returns how many were written. */
async function copyObjects(sql: Sql, folder: string, store: ObjectStore): Promise<number> {
  let copied = 0;
  for (const object of await readIndex(folder)) {
    if (!await holds(folder, object)) {
      throw new Failure(EXIT.noInput, "the backup lacks an object that its index lists");
    }
    if ((await store.head(object.key))?.sizeBytes === object.sizeBytes) continue;
    const hash = createHash("sha256");
    const file = await Deno.open(contentOf(folder, object.key));
    const content = file.readable.pipeThrough(hashingStream(hash));
    const { etag } = await store.write(object.key, content, { contentType: "application/octet-stream" });
    await adoptRestoredContent(sql, { key: object.key, sha256: hash.digest("hex"), etag });
    copied++;
  }
  return copied;
}

/** Prints the differences between registry and bucket; returns the exit code. */
async function compare(sql: Sql, objects: ObjectStore): Promise<number> {
  const counts: Record<string, number> = {};
  const found = ({ kind }: { kind: string }) => counts[kind] = (counts[kind] ?? 0) + 1;
  const clock = new DatabaseClock();
  await clock.start(sql);
  await reconcileFiles({ sql, objects, clock }, { apply: false, safeAgeMs: 2 * HOUR_MS, found });
  for (const [kind, n] of Object.entries(counts)) console.log(`${kind.padEnd(14)}${n}`);
  const withoutContent = (counts.missing ?? 0) + (counts.altered ?? 0);
  console.log(withoutContent === 0 ? "every file has its content" : "see `deno task reconcile-files`");
  return withoutContent === 0 ? 0 : EXIT.refused;
}
