import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Pool } from "./postgres.ts";

const FOLDER = join(import.meta.dirname ?? ".", "migrations");
/** Key of the advisory lock that migrating processes take, so that one migrates at a time. Any fixed number works. */
const LOCK = 7_315_027_811;

interface Migration {
  version: number;
  name: string;
  body: string;
  sha256: string;
}

/**
 * Runs the pending migrations in one transaction. Only one process migrates at a time.
 * @returns the names of the migrations that ran.
 * @throws Error if the file of an applied migration was changed: migrations are append-only.
 */
export async function migrate(sql: Pool): Promise<string[]> {
  const migrations = await readMigrations();
  return await sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCK})`;
    await tx`create table if not exists schema_migrations
      (version integer primary key, name text not null, sha256 text not null, applied_at timestamptz(3) not null default now())`;
    const applied = await tx<
      { version: number; sha256: string }[]
    >`select version, sha256 from schema_migrations`;
    const known = new Map(applied.map((row) => [row.version, row.sha256]));
    const pending = migrations.filter((migration) => !known.has(migration.version));
    for (const { version, name, sha256 } of migrations) {
      if (known.has(version) && known.get(version) !== sha256) {
        throw new Error(`migration ${name} was changed after it was applied; add a new migration instead`);
      }
    }
    for (const { version, name, body, sha256 } of pending) {
      await tx.unsafe(body);
      await tx`insert into schema_migrations (version, name, sha256) values (${version}, ${name}, ${sha256})`;
    }
    return pending.map((migration) => migration.name);
  });
}

/** Names of the migrations that were not applied to the database yet. */
export async function pendingMigrations(sql: Pool): Promise<string[]> {
  const migrations = await readMigrations();
  const [table] = await sql`select to_regclass('schema_migrations') as name`;
  if (!table?.name) return migrations.map((migration) => migration.name);
  const applied = await sql<{ version: number }[]>`select version from schema_migrations`;
  const known = new Set(applied.map((row) => row.version));
  return migrations.filter((migration) => !known.has(migration.version)).map((migration) => migration.name);
}

async function readMigrations(): Promise<Migration[]> {
  const names = Array.from(Deno.readDirSync(FOLDER), (entry) => entry.name).filter((name) =>
    name.endsWith(".sql")
  );
  return await Promise.all(
    names.sort().map(async (name) => {
      const body = await Deno.readTextFile(join(FOLDER, name));
      return {
        version: Number(name.slice(0, 4)),
        name,
        body,
        sha256: createHash("sha256").update(body).digest("hex"),
      };
    }),
  );
}
