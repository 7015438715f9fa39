import assert from "node:assert/strict";
import { join } from "node:path";
import { describeSchema } from "../../../infra/postgres/describe_schema.ts";
import { migrate, pendingMigrations } from "../../../infra/postgres/migrate.ts";
import { connectPostgres, type Pool } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";

const root = join(import.meta.dirname ?? ".", "..", "..", "..");

Deno.test("processes that migrate an empty database at the same time run each migration once, to the committed schema", async () => {
  const url = await createTestDatabase({ empty: true });
  const pools = [1, 2, 3].map(() => connectPostgres(url, { max: 1 }));
  const ran = await Promise.all(pools.map((sql) => migrate(sql)));
  assert.deepEqual(ran.map((names) => names.length > 0).sort(), [false, false, true]);
  const [sql] = pools as [Pool];
  assert.deepEqual([await migrate(sql), await pendingMigrations(sql)], [[], []]);
  const committed = await Deno.readTextFile(join(root, "infra", "postgres", "schema.sql.txt"));
  assert.equal(await describeSchema(sql), committed, "run `deno task schema` and review the difference");
  await Promise.all(pools.map((sql) => sql.end()));
});

Deno.test("every time column has millisecond precision", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  const others = await sql`
    select a.attrelid::regclass::text || '.' || a.attname as name, format_type(a.atttypid, a.atttypmod) as type
    from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
      and a.attnum > 0 and not a.attisdropped and format_type(a.atttypid, null) like any('{time%,abstime%}')
      and format_type(a.atttypid, a.atttypmod) not in
        ('timestamp(3) with time zone', 'timestamp(3) with time zone[]')`;
  await sql.end();
  assert.deepEqual([...others], [], "use timestamptz(3)");
});

Deno.test("a database that lacks a feature of Postgres is not migrated: the error names what is missing", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 1 });
  // as a database that speaks Postgres' protocol without NOTIFY, and whose advisory locks do nothing
  await sql.unsafe(`
    create function public.pg_notify(text, text) returns void language plpgsql as
      $$ begin raise exception 'LISTEN and NOTIFY are not supported'; end $$;
    create view public.pg_locks as select * from pg_catalog.pg_locks where false;
    set search_path = public, pg_catalog`);
  await assert.rejects(migrate(sql), (error: Error) => {
    assert.match(
      error.message,
      /^the database \(PostgreSQL .*\) lacks advisory locks \(division by zero\); NOTIFY \(LISTEN and NOTIFY are not supported\)$/,
    );
    return true;
  });
  assert.deepEqual([...await sql`select tablename from pg_tables where schemaname = 'public'`], []);
  await sql.end();
});

Deno.test("a migration changed after it was applied is rejected by name", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  await sql`update schema_migrations set sha256 = 'other' where version = 1`;
  await assert.rejects(migrate(sql), /0001_access\.sql was changed/);
  await sql.end();
});

const NEWER = "0039_template_versions.sql";

/** Takes the database back to the version before the migration NEWER. */
const revertNewer = (sql: Pool) =>
  sql.unsafe(`
    drop table notification_template_versions;
    drop function keep_template_version cascade;
    drop function refuse_template_version_change;
    alter table notification_templates drop column changed_by;
    alter table notifications drop column template_version_id;
    delete from schema_migrations where name = '${NEWER}'`);

Deno.test("older templates get a version, and waiting messages keep the template version they use now", async () => {
  const sql = connectPostgres(await createTestDatabase(), { max: 1 });
  await revertNewer(sql);
  const tenant = crypto.randomUUID();
  const template = (tenantId: string | null, locale: string, version: number) =>
    sql`insert into notification_templates (id, tenant_id, slug, name, locale, text_body_template, version)
      values (${crypto.randomUUID()}, ${tenantId}, 'greeting', 'x', ${locale}, 'x', ${version})`;
  await sql`insert into notification_settings (tenant_id, default_locale) values (${tenant}, 'fr-CA')`;
  for (const [locale, version] of [["en", 1], ["fr", 2], ["pt", 3], ["pt-BR", 4]] as const) {
    await template(tenant, locale, version);
    await template(null, locale, 100 + version);
  }
  await template(null, "de", 105);
  const message = async (tenantId: string | null, locale: string | null, o: Record<string, unknown> = {}) => {
    const id = crypto.randomUUID();
    const row = { status: "Scheduled", template_version: null, ...o };
    await sql`insert into notifications (id, tenant_id, channel, template_slug, locale, recipient_count, status,
        template_version)
      values (${id}, ${tenantId}, 'Email', 'greeting', ${locale}, 1, ${row.status}, ${row.template_version})`;
    return id;
  };
  const cases: [string, number | null][] = [
    [await message(tenant, "pt_br"), 4],
    [await message(tenant, "pt-PT"), 3],
    [await message(tenant, "de-AT"), 105],
    [await message(tenant, "es"), 2],
    [await message(tenant, null), 2],
    [await message(null, null), 101],
    [await message(null, "pt-BR"), 104],
    [await message(tenant, "pt", { status: "Sent" }), null],
    [await message(tenant, "pt", { status: "Failed", template_version: 3 }), null],
  ];
  assert.deepEqual(await migrate(sql), [NEWER]);
  const kept = await sql<{ id: string; version: number | null }[]>`
    select n.id, v.version from notifications n
    left join notification_template_versions v on v.id = n.template_version_id`;
  const versionOf = new Map(kept.map(({ id, version }) => [id, version]));
  assert.deepEqual(cases.map(([id]) => versionOf.get(id)), cases.map(([, version]) => version));
  const [missing] = await sql`select count(*)::int as count from notification_templates t where not exists (
    select from notification_template_versions v where v.template_id = t.id and v.version = t.version)`;
  assert.equal(missing?.count, 0);
  await sql.end();
});

async function migrationFolder(files: Record<string, string>): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "steward-migrations-" });
  for (const [name, body] of Object.entries(files)) await Deno.writeTextFile(join(folder, name), body);
  return folder;
}

Deno.test("an extension's migrations have numbers and a schema of their own, and run once after the service's", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 1 });
  const invoices = {
    "0001_invoices.sql": "create table jobs (id uuid primary key, owner uuid references users)",
  };
  const acme = [{ extension: "acme", folder: await migrationFolder(invoices) }];
  const ran = await migrate(sql, acme);
  assert.equal(ran.at(-1), "acme/0001_invoices.sql");
  assert.deepEqual(await migrate(sql, acme), []);
  const tables = await sql`select schemaname as schema from pg_tables where tablename = 'jobs' order by 1`;
  assert.deepEqual(tables.map(({ schema }) => schema), ["acme", "public"]);
  await sql.end();
});

Deno.test("an extension's migration keeps its data, applied before or after a newer migration of the service", async () => {
  const invoicing = [{ extension: "invoicing", folder: join(root, "scripts", "example", "migrations") }];
  const writeInvoice = (sql: Pool) =>
    sql`insert into invoicing.invoices (id, tenant_id, number, customer, amount, due_on)
      values (${crypto.randomUUID()}, ${crypto.randomUUID()}, '2026-1', 'Ada', 12.50, '2026-01-31')`;
  const upgraded = async (work: (sql: Pool) => Promise<void>) => {
    const sql = connectPostgres(await createTestDatabase(), { max: 1 });
    await work(sql);
    assert.deepEqual(await pendingMigrations(sql, invoicing), []);
    const invoices = await sql`select number, amount from invoicing.invoices`;
    const schema = await describeSchema(sql);
    await sql.end();
    return { invoices: [...invoices], schema };
  };
  const before = await upgraded(async (sql) => {
    assert.deepEqual(await migrate(sql, invoicing), ["invoicing/0001_invoices.sql"]);
    await writeInvoice(sql);
    await revertNewer(sql);
    assert.deepEqual(await migrate(sql, invoicing), [NEWER]);
  });
  const after = await upgraded(async (sql) => {
    await revertNewer(sql);
    assert.deepEqual(await migrate(sql), [NEWER]);
    assert.deepEqual(await migrate(sql, invoicing), ["invoicing/0001_invoices.sql"]);
    await writeInvoice(sql);
  });
  assert.deepEqual(before.invoices, [{ number: "2026-1", amount: "12.50" }]);
  assert.deepEqual(after, before);
});

Deno.test("a dry run runs the pending migrations, names them and changes nothing", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 1 });
  const acme = (body: string) => migrationFolder({ "0001_a.sql": body });
  const good = [{ extension: "acme", folder: await acme("create table a (id int)") }];
  const names = await migrate(sql, good, { dryRun: true });
  assert.deepEqual([names[0], names.at(-1)], ["0001_access.sql", "acme/0001_a.sql"]);
  assert.deepEqual(await pendingMigrations(sql, good), names);
  const bad = [{ extension: "acme", folder: await acme("create table a (id nonsense)") }];
  await assert.rejects(migrate(sql, bad, { dryRun: true }), /nonsense/);
  await migrate(sql, good);
  assert.deepEqual(await migrate(sql, good, { dryRun: true }), []);
  await sql.end();
});

Deno.test("channels of extensions become values of the enum once, also when processes migrate at the same time", async () => {
  const url = await createTestDatabase();
  const connect = () => connectPostgres(url, { max: 1, prepare: false });
  const sql = connect();
  const pools = [sql, connect(), connect()];
  const acme = [{ extension: "acme", channels: ["Pigeon"] }];
  assert.deepEqual(await migrate(sql, acme, { dryRun: true }), ["channel Pigeon"]);
  assert.deepEqual(await pendingMigrations(sql, acme), ["channel Pigeon"]);
  const ran = await Promise.all(pools.map((pool) => migrate(pool, acme)));
  assert.deepEqual(ran.flat(), ["channel Pigeon"]);
  assert.deepEqual(await pendingMigrations(sql, acme), []);
  const [row] = await sql`select 'Pigeon'::notification_channel::text as channel`;
  assert.equal(row?.channel, "Pigeon");
  for (const pool of pools) await pool.end();
});

Deno.test("a migration file without a number, or with the number of another, is refused by name", async () => {
  const sql = connectPostgres(await createTestDatabase({ empty: true }), { max: 1 });
  const refused = async (files: Record<string, string>, message: RegExp) =>
    await assert.rejects(
      migrate(sql, [{ extension: "acme", folder: await migrationFolder(files) }]),
      message,
    );
  await refused({ "invoices.sql": "select 1" }, /migration invoices\.sql in .*: expected a name such as/);
  await refused(
    { "0001_a.sql": "select 1", "0001_b.sql": "select 1" },
    /0001_[ab]\.sql .* have the same number/,
  );
  await sql.end();
});
