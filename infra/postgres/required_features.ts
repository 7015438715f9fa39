import type { Tx } from "./sql_types.ts";

const OLDEST_VERSION = 140_000;

/** Features of Postgres that the service needs, each with statements that fail without it. */
const FEATURES: Record<string, string> = {
  "the extensions pg_trgm and unaccent": `
    create extension if not exists pg_trgm;
    create extension if not exists unaccent`,
  "triggers per statement with transition tables": `
    create table feature_probe (id integer);
    create function feature_probe() returns trigger language plpgsql as
      $$ begin perform from added; return null; end $$;
    create trigger feature_probe after insert on feature_probe
      referencing new table as added for each statement execute function feature_probe();
    insert into feature_probe values (1)`,
  "FOR UPDATE SKIP LOCKED": `
    create table feature_probe (id integer);
    select from feature_probe for update skip locked`,
  "generated columns and GIN indexes": `
    create table feature_probe (word text, words text[] generated always as (array[word]) stored);
    create index on feature_probe using gin (words)`,
  // Some databases accept the call and lock nothing.
  "advisory locks": `
    select pg_advisory_xact_lock(1, 2);
    select 1 / count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()`,
  "NOTIFY": "select pg_notify('feature_probe', '')",
};

/**
 * Checks before the first migration that the database has what the service needs, because some databases only speak
 * Postgres' protocol. Leaves nothing behind. infra/postgres/README.md tells about such databases.
 * @throws Error that names all missing features
 */
export async function requireFeatures(tx: Tx): Promise<void> {
  const [server] = await tx<{ version: number; name: string }[]>`
    select current_setting('server_version_num')::int as version, version() as name`;
  const missing: string[] = [];
  if ((server?.version ?? 0) < OLDEST_VERSION) missing.push("Postgres 14 or later");
  for (const [name, statements] of Object.entries(FEATURES)) {
    await tx`savepoint feature`;
    try {
      await tx.unsafe(statements);
    } catch (error) {
      missing.push(`${name} (${(error as Error).message})`);
    }
    await tx`rollback to savepoint feature`;
  }
  if (missing.length === 0) return;
  throw new Error(`the database (${server?.name ?? "unknown"}) lacks ${missing.join("; ")}`);
}
