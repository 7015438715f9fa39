import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { describeSchema } from "../../../infra/postgres/describe_schema.ts";
import { conditionsOf, migrate, pendingMigrations } from "../../../infra/postgres/migrate.ts";
import { connectPostgres, type Pool, transact } from "../../../infra/postgres/postgres.ts";
import { readTables } from "../../../scripts/tables/declaration.ts";
import { tablesPage } from "../../../scripts/tables/page.ts";
import { createDatabaseForLongLocks, createTestDatabase } from "../../support/cluster.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { until } from "../../support/until.ts";

/** Runs `work` on a database of its own. */
async function onDatabase(work: (sql: Pool) => Promise<void>, o: { empty?: boolean } = {}): Promise<void> {
  const sql = connectPostgres(await createTestDatabase(o), { max: 1 });
  await work(sql).finally(() => sql.end());
}

const MIGRATIONS = join(import.meta.dirname ?? ".", "../../../infra/postgres/migrations");
/** The first migration, which makes the schema, and those after it. */
const [BASELINE = "", ...NEWER] = Array.from(Deno.readDirSync(MIGRATIONS), ({ name }) => name).sort();

const baseline = await Deno.readTextFile(join(MIGRATIONS, BASELINE));
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

Deno.test("processes that migrate an empty database at the same time run each migration once, and add each channel of extensions once", async () => {
  const url = await createTestDatabase({ empty: true });
  const connect = () => connectPostgres(url, { max: 1, prepare: false, work: "migration" });
  const [sql, ...others] = [connect(), connect(), connect()] as [Pool, ...Pool[]];
  const acme = [{ extension: "acme", channels: ["Pigeon"] }];
  const ran = await Promise.all([sql, ...others].map((pool) => migrate(pool, acme)));
  assert.deepEqual(ran.map((names) => names.at(-1) ?? null).toSorted(), ["channel Pigeon", null, null]);
  assert.deepEqual([await migrate(sql, acme), await pendingMigrations(sql, acme)], [[], []]);
  const [row] = await sql`select 'Pigeon'::notification_channel::text as channel`;
  assert.equal(row?.channel, "Pigeon");
  const more = [{ extension: "acme", channels: ["Pigeon", "Owl"] }];
  assert.deepEqual(await migrate(sql, more, { dryRun: true }), ["channel Owl"]);
  assert.deepEqual(await pendingMigrations(sql, more), ["channel Owl"]);
  for (const pool of [sql, ...others]) await pool.end();
});

Deno.test("every time column has millisecond precision, every table and column has a meaning, and the page of tables is current", () =>
  onDatabase(async (sql) => {
    const others = await sql`
      select a.attrelid::regclass::text || '.' || a.attname as name, format_type(a.atttypid, a.atttypmod) as type
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
        and a.attnum > 0 and not a.attisdropped and format_type(a.atttypid, null) like any('{time%,abstime%}')
        and format_type(a.atttypid, a.atttypmod) not in
          ('timestamp(3) with time zone', 'timestamp(3) with time zone[]')`;
    assert.deepEqual([...others], [], "use timestamptz(3)");

    const folder = new URL("../../../infra/postgres/", import.meta.url);
    const tables = await readTables(sql);
    const marksOf = (table: string, column: string) =>
      tables.find(({ name }) => name === table)?.columns.find(({ name }) => name === column)?.marks;
    for (const area of ["events", "jobs", "notifications", "reports"]) {
      const erasures = await Deno.readTextFile(new URL(`../../domain/${area}/personal_data.ts`, folder));
      const lists = [...erasures.matchAll(/table: "(\w+)",\s*(?:key: [^}]*\},\s*)?columns: \{([^}]*)\}/g)];
      assert.ok(lists.length > 1, area);
      for (const [, table = "", columns = ""] of lists) {
        for (const [, column = ""] of columns.matchAll(/(\w+): "/g)) {
          assert.ok(
            marksOf(table, column)?.includes("personal"),
            `${table}.${column} is erased: it is personal`,
          );
        }
      }
    }
    const page = tablesPage(tables);
    assert.equal(page, await Deno.readTextFile(new URL("TABLES.md", folder)), "run `deno task tables`");
    const text = await Deno.readTextFile(new URL("tables.txt", folder));
    await sql`create table new_table (id uuid, odd text)`;
    const message =
      /new_table has no line; new_table\.odd has no meaning; no column needs the line users\.gone$/;
    await assert.rejects(
      readTables(sql, `${text}`.replace("  phone_number", "  gone: x\n  phone_number")),
      message,
    );
  }));

Deno.test("a database that lacks a feature of Postgres is not migrated: the error names what is missing", () =>
  onDatabase(async (sql) => {
    // as a database that speaks Postgres' protocol without NOTIFY, and whose advisory locks do nothing
    await sql.unsafe(`
      create function public.pg_notify(text, text) returns void language plpgsql as
        $$ begin raise exception 'LISTEN and NOTIFY are not supported'; end $$;
      create view public.pg_locks as select * from pg_catalog.pg_locks where false;
      set search_path = public, pg_catalog`);
    const message =
      /^the database \(PostgreSQL .*\) lacks advisory locks \(division by zero\); NOTIFY \(LISTEN and NOTIFY are not supported\)$/;
    await assert.rejects(migrate(sql), (error: Error) => message.test(error.message));
    assert.deepEqual([...await sql`select tablename from pg_tables where schemaname = 'public'`], []);
  }, { empty: true }));

Deno.test("the first line of each migration says whether the previous version may run", async () => {
  for (const name of NEWER) {
    const [first] = (await Deno.readTextFile(join(MIGRATIONS, name))).split("\n");
    assert.match(first ?? "", /^-- Previous version: (may run|must be stopped)\.( [A-Z].*\.)?$/, name);
  }
  const conditions = await conditionsOf(NEWER.filter((name) => /^040[56]/.test(name)));
  assert.deepEqual(conditions.map((text) => /Previous version: may run\. /i.test(text)), [true, true]);
});

/** An extension with these migrations. */
async function extensionWith(files: Record<string, string>) {
  const folder = await Deno.makeTempDir({ prefix: "steward-migrations-" });
  for (const [name, body] of Object.entries(files)) await Deno.writeTextFile(join(folder, name), body);
  return [{ extension: "acme", folder }];
}

Deno.test("an extension's migrations have numbers and a schema of their own, and run once; a dry run names them and changes nothing", () =>
  onDatabase(async (sql) => {
    const body = "create table jobs (id uuid primary key, owner uuid references users)";
    const acme = await extensionWith({ "0001_invoices.sql": body });
    const names = ["acme/0001_invoices.sql"];
    assert.deepEqual(await migrate(sql, acme, { dryRun: true }), names);
    assert.deepEqual(await pendingMigrations(sql, acme), names);
    const bad = await extensionWith({ "0001_a.sql": "create table a (id nonsense)" });
    await assert.rejects(migrate(sql, bad, { dryRun: true }), /nonsense/);
    assert.deepEqual(await migrate(sql, acme), names);
    for (const dryRun of [false, true]) assert.deepEqual(await migrate(sql, acme, { dryRun }), []);
    const tables = await sql`select schemaname as schema from pg_tables where tablename = 'jobs' order by 1`;
    assert.deepEqual(tables.map(({ schema }) => schema), ["acme", "public"]);
  }));

Deno.test("migrations that meet a deadlock with a running instance run again", async () => {
  const url = await createDatabaseForLongLocks();
  const [sql, instance] = [connectPostgres(url, { max: 1 }), connectPostgres(url, { max: 2 })];
  const folder = await extensionWith({ "0001_locks.sql": "lock table users; lock table tenants" });
  let migrating: Promise<string[]> | undefined;
  let hasEnded = false;
  // Postgres may choose this transaction instead, which then runs again after the migration.
  await transact(instance, async (tx) => {
    await tx`lock table tenants in share mode`;
    migrating ??= migrate(sql, folder).finally(() => hasEnded = true);
    await until(async () => hasEnded || await countLockWaits(instance) > 0);
    await tx`lock table users in share mode`;
  });
  assert.deepEqual(await migrating, ["acme/0001_locks.sql"]);
  await Promise.all([sql.end(), instance.end()]);
});

Deno.test("a migration file without a number, with the number of another, or changed after it was applied is refused by name", () =>
  onDatabase(async (sql) => {
    const refused = async (files: Record<string, string>, message: RegExp) =>
      await assert.rejects(migrate(sql, await extensionWith(files)), message);
    const same = { "0001_a.sql": "select 1", "0001_b.sql": "select 1" };
    await refused({ "invoices.sql": "select 1" }, /migration invoices\.sql in .*: expected a name such as/);
    await refused(same, /0001_[ab]\.sql .* have the same number/);
    await sql`update schema_migrations set sha256 = 'other' where version = 400`;
    await assert.rejects(migrate(sql), /0400_schema\.sql was changed/);
  }));

/** Makes in an empty database what the many migrations of earlier versions left. */
async function makeEarlier(sql: Pool, last = 360): Promise<void> {
  await sql.begin((tx) => tx.unsafe(baseline));
  await sql.unsafe(`
    create function write_job_execution() returns trigger language plpgsql as $$ begin return new; end $$;
    create trigger job_executions_write instead of insert on job_executions
      for each row execute function write_job_execution();
    alter table jobs drop constraint jobs_lease_while_processing, drop constraint jobs_lease_with_deadline,
      add constraint jobs_lease_while_processing check (lease_until is null or status = 'Processing') not valid,
      add constraint jobs_lease_with_deadline check ((lease_until is null) = (deadline is null)) not valid;
    create table schema_migrations
      (version integer primary key, name text not null, sha256 text not null, applied_at timestamptz(3) not null default now());
    insert into schema_migrations (version, name, sha256) values (1, 'access', ''), (${last}, 'last', '')`);
}

/** SHA-256 of the description of the schema that the migrations of earlier versions made. */
const EARLIER_SCHEMA = "c883e5e49018c4ebee2b05a5af6f3265c24b88f38d13bb4b2bc8f3451e741126";

Deno.test("the schema is the one of earlier versions, whose databases are taken over with the data of extensions; older ones are refused", async () => {
  await onDatabase(async (sql) => {
    await sql.begin((tx) => tx.unsafe(baseline));
    assert.equal(sha256(await describeSchema(sql)), EARLIER_SCHEMA);
  }, { empty: true });
  const acme = await extensionWith({ "0001_invoices.sql": INVOICES });
  let schema = "";
  await onDatabase(async (sql) => {
    await migrate(sql, acme);
    schema = await describeSchema(sql);
  });
  await onDatabase(async (sql) => {
    await makeEarlier(sql);
    await sql.begin(async (tx) => {
      await tx.unsafe(`create schema acme; set local search_path = acme, public; ${INVOICES}`);
      await tx`insert into public.extension_migrations (extension, version, name, sha256)
        values ('acme', 1, '0001_invoices.sql', ${sha256(INVOICES)})`;
    });
    await sql`insert into acme.invoices values ('2026-1')`;
    assert.notEqual(await describeSchema(sql), schema);
    assert.deepEqual(await migrate(sql, acme), [BASELINE, ...NEWER, "mails"]);
    assert.equal(await describeSchema(sql), schema);
    assert.deepEqual([...await sql`select number from acme.invoices`], [{ number: "2026-1" }]);
  }, { empty: true });
  await onDatabase(async (sql) => {
    await makeEarlier(sql, 359);
    const refusal = /its last migration is 359.*first run `deno task migrate` of the last version/;
    await assert.rejects(migrate(sql), refusal);
  }, { empty: true });
});

const INVOICES = "create table invoices (number text primary key)";

Deno.test("a mail that was changed gets a new version in the database, and the others keep theirs", () =>
  onDatabase(async (sql) => {
    await sql`update notification_templates set subject_template = 'Before', version = version + 1
      where slug = 'invitation' and locale = 'en'`;
    await sql`update schema_migrations set sha256 = 'before' where name = 'mails'`;
    assert.deepEqual(await migrate(sql), ["mails"]);
    assert.deepEqual(await migrate(sql), []);
    const rows =
      await sql`select slug, locale, subject_template from notification_templates where version > 1`;
    assert.deepEqual([...rows], [
      { slug: "invitation", locale: "en", subjectTemplate: "Invitation to {{tenantName}}" },
    ]);
  }));
