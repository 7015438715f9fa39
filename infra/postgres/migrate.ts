import { createHash } from "node:crypto";
import { join } from "node:path";
import { ADVISORY_LOCKS } from "./advisory_locks.ts";
import { type Pool, transact, type Tx } from "./postgres.ts";
import { requireTenantInKeys, type WrittenSchema } from "./tenant_keys.ts";

const FOLDER = join(import.meta.dirname ?? ".", "migrations");

/**
 * Requests of running instances may need the same locks in another order, and deadlocks are likely, because migrations hold
 * many locks for long. After each, all of them run again.
 */
const ATTEMPTS = 40;

/** The migration that creates the schema. Earlier versions created it by many migrations, the last of which is `last`. */
const BASELINE = { version: 400, last: 360 };
/** Removes the differences between the schema of earlier versions and this one. */
const ADOPT = `
  drop trigger job_executions_write on job_executions;
  drop function write_job_execution;
  alter table jobs validate constraint jobs_lease_while_processing, validate constraint jobs_lease_with_deadline;
`;

/** The migrations and channels that an extension adds to the database, after the service's migrations. */
export interface ExtensionMigrations extends WrittenSchema {
  /** Folder of files such as `0001_invoices.sql`. They run in the schema of the extension's name. */
  folder?: string;
  /** Values for the type `notification_channel`. A migration of this run cannot use them yet. */
  channels?: string[];
}

/** The first line of a migration: whether instances of the previous version may run after it. */
const PREVIOUS_VERSION = /^-- Previous version: (.*)\n/;

interface Migration {
  /** Absent: a migration of the service. */
  extension?: string;
  version: number;
  name: string;
  body: string;
  /** Hash of the text without the line of `PREVIOUS_VERSION`. */
  sha256: string;
  /** The words of the first line about the previous version. */
  previous?: string;
  /** Applies the migration. If it is present, the migration is applied again whenever its text has changed. */
  write?(tx: Tx): Promise<void>;
}

interface AppliedMigration {
  extension: string | null;
  version: number;
  sha256: string;
}

/** Thrown to roll back a dry run. */
class DryRunEnded extends Error {}

/**
 * Runs the pending migrations in one transaction. Only one process migrates at a time.
 * @param o.dryRun runs them and rolls back
 * @returns the names of the migrations that ran.
 * @throws Error if the file of an applied migration was changed: migrations are append-only.
 * @throws Error if a foreign key of an extension leaves out the tenant
 */
export async function migrate(
  sql: Pool,
  extensions: readonly ExtensionMigrations[] = [],
  o: { dryRun?: boolean } = {},
): Promise<string[]> {
  const migrations = await readMigrations(extensions);
  let names: string[] = [];
  const work = async (tx: Tx) => {
    await tx`select pg_advisory_xact_lock(${ADVISORY_LOCKS.migrations})`;
    await tx`create table if not exists schema_migrations
      (version integer primary key, name text not null, sha256 text not null, applied_at timestamptz(3) not null default now())`;
    const applied = await readApplied(tx);
    if (applied.length === 0) await requireFeatures(tx);
    const pending = pendingOf(migrations, applied);
    const isOld = isFromEarlierVersion(applied);
    for (const migration of pending) {
      const isAdopted = isOld && migration.extension === undefined && migration.version === BASELINE.version;
      await apply(tx, isAdopted ? { ...migration, body: ADOPT } : migration);
    }
    await requireTenantInKeys(tx, extensions);
    const missing = await missingChannels(tx, extensions);
    for (const channel of missing) await addChannel(tx, channel);
    names = [...pending.map(displayName), ...missing.map(channelName)];
    if (o.dryRun) throw new DryRunEnded();
  };
  await transact(sql, work, { attempts: ATTEMPTS }).catch((failure) => {
    if (!(failure instanceof DryRunEnded)) throw failure;
  });
  return names;
}

/** Names of the migrations and channels that the database lacks. */
export async function pendingMigrations(
  sql: Pool,
  extensions: readonly ExtensionMigrations[] = [],
): Promise<string[]> {
  const migrations = await readMigrations(extensions);
  const [table] = await sql`select to_regclass('schema_migrations') as name`;
  return [
    ...pendingOf(migrations, table?.name ? await readApplied(sql) : []).map(displayName),
    ...(await missingChannels(sql, extensions)).map(channelName),
  ];
}

/** The words of these migrations about the previous version, by name, if they say more than that it may run. */
export async function conditionsOf(names: readonly string[]): Promise<string[]> {
  return (await readFolder(FOLDER)).filter(({ name, previous }) =>
    names.includes(name) && previous !== "may run."
  )
    .map(({ name, previous }) => `${name}: previous version: ${previous}`);
}

/** The names as one text. Of many, only the first and the last are named. */
export function summaryOf(names: readonly string[]): string {
  const [first, last] = [names[0], names.at(-1)];
  return names.length > 5 ? `${names.length} migrations (${first} … ${last})` : names.join(", ");
}

const channelName = (channel: string): string => `channel ${channel}`;

/** The channels of extensions that are not values of `notification_channel` yet. */
async function missingChannels(
  sql: Pool | Tx,
  extensions: readonly ExtensionMigrations[],
): Promise<string[]> {
  const channels = extensions.flatMap(({ channels = [] }) => channels);
  if (channels.length === 0) return [];
  const rows = await sql<{ name: string }[]>`
    select enumlabel as name from pg_enum where enumtypid = to_regtype('notification_channel')`;
  const known = new Set(rows.map(({ name }) => name));
  return channels.filter((channel) => !known.has(channel));
}

/** @throws Error if the database role does not own the type */
async function addChannel(tx: Tx, channel: string): Promise<void> {
  const label = channel.replaceAll("'", "''");
  await tx.unsafe(`alter type notification_channel add value if not exists '${label}'`).catch((cause) => {
    const fix = "run `deno task migrate` as the owner of the type notification_channel";
    throw new Error(`the channel ${channel} cannot be added: ${cause.message}; ${fix}`, { cause });
  });
}

/**
 * True if an earlier version has made the whole schema.
 * @throws Error if it has made a part of it
 */
function isFromEarlierVersion(applied: AppliedMigration[]): boolean {
  const own = applied.filter(({ extension, version }) => extension === null && version > 0)
    .map(({ version }) => version);
  if (own.length === 0 || own.includes(BASELINE.version)) return false;
  const last = Math.max(...own);
  if (last === BASELINE.last) return true;
  throw new Error(
    `the database has the schema of an early version (its last migration is ${last}); ` +
      `first run \`deno task migrate\` of the last version that has migration ${BASELINE.last}`,
  );
}

async function apply(tx: Tx, { extension, version, name, body, sha256, write }: Migration): Promise<void> {
  if (extension === undefined) {
    await (write ? write(tx) : tx.unsafe(body));
    await tx`insert into schema_migrations (version, name, sha256) values (${version}, ${name}, ${sha256})
      on conflict (version) do update set sha256 = excluded.sha256, applied_at = excluded.applied_at`;
    return;
  }
  const [setting] = await tx<{ path: string }[]>`select current_setting('search_path') as path`;
  const usual = setting?.path ?? "public";
  await tx`create schema if not exists ${tx(extension)}`;
  await tx`select set_config('search_path', ${`"${extension}", ${usual}`}, true)`;
  await tx.unsafe(body);
  await tx`select set_config('search_path', ${usual}, true)`;
  await tx`insert into extension_migrations (extension, version, name, sha256)
    values (${extension}, ${version}, ${name}, ${sha256})`;
}

async function readApplied(sql: Pool | Tx): Promise<AppliedMigration[]> {
  const own = await sql<AppliedMigration[]>`select null as extension, version, sha256 from schema_migrations`;
  const [table] = await sql`select to_regclass('extension_migrations') as name`;
  if (!table?.name) return own;
  return [
    ...own,
    ...await sql<AppliedMigration[]>`select extension, version, sha256 from extension_migrations`,
  ];
}

function pendingOf(migrations: Migration[], applied: AppliedMigration[]): Migration[] {
  const key = ({ extension, version }: { extension?: string | null; version: number }) =>
    `${extension ?? ""}/${version}`;
  const known = new Map(applied.map((row) => [key(row), row.sha256]));
  for (const migration of migrations) {
    const sha256 = known.get(key(migration));
    if (sha256 === undefined || sha256 === migration.sha256 || migration.write) continue;
    throw new Error(
      `migration ${displayName(migration)} was changed after it was applied; add a new migration instead`,
    );
  }
  return migrations.filter((migration) =>
    migration.write ? known.get(key(migration)) !== migration.sha256 : !known.has(key(migration))
  );
}

const displayName = ({ extension, name }: Migration): string =>
  extension === undefined ? name : `${extension}/${name}`;

async function readMigrations(extensions: readonly ExtensionMigrations[]): Promise<Migration[]> {
  const { mails, sha256 } = await readMails();
  const ofMails = { version: 0, name: "mails", body: "", sha256, write: (tx: Tx) => writeMails(tx, mails) };
  const others = await Promise.all(
    extensions.map(async ({ extension, folder }) =>
      folder === undefined ? [] : (await readFolder(folder)).map((migration) => ({ extension, ...migration }))
    ),
  );
  return [...await readFolder(FOLDER), ofMails, ...others.flat()];
}

/** @throws Error for a file name without a number of four digits, and for two files with the same number */
async function readFolder(folder: string): Promise<Migration[]> {
  const names = Array.from(Deno.readDirSync(folder), (entry) => entry.name).filter((name) =>
    name.endsWith(".sql")
  );
  const numbers = new Map<string, string>();
  for (const name of names) {
    const number = /^\d{4}(?=_)/.exec(name)?.[0];
    if (number === undefined) {
      throw new Error(`migration ${name} in ${folder}: expected a name such as 0001_invoices.sql`);
    }
    const other = numbers.get(number);
    if (other !== undefined) {
      throw new Error(`migrations ${other} and ${name} in ${folder} have the same number`);
    }
    numbers.set(number, name);
  }
  return await Promise.all(
    names.sort().map(async (name) => {
      const body = await Deno.readTextFile(join(folder, name));
      return {
        version: Number(name.slice(0, 4)),
        name,
        body,
        sha256: createHash("sha256").update(body.replace(PREVIOUS_VERSION, "")).digest("hex"),
        previous: PREVIOUS_VERSION.exec(body)?.[1],
      };
    }),
  );
}

const MAIL_FOLDER = join(import.meta.dirname ?? ".", "mails");

/** A built-in mail in one language, as `mails/mails.json` lists it. Its texts are in `SLUG.LOCALE.html` and `.txt`. */
interface Mail {
  id: string;
  slug: string;
  locale: string;
  name: string;
  subject: string;
  /** Names, separated by commas. */
  requiredVariables: string;
  html: string;
  text: string;
}

/** The built-in mails, and a hash of all that they say. */
async function readMails(): Promise<{ mails: Mail[]; sha256: string }> {
  const read = async (name: string) => (await Deno.readTextFile(join(MAIL_FOLDER, name))).replace(/\n$/, "");
  const listed: Omit<Mail, "html" | "text">[] = JSON.parse(await read("mails.json"));
  const mails = await Promise.all(listed.map(async (mail) => ({
    ...mail,
    html: await read(`${mail.slug}.${mail.locale}.html`),
    text: await read(`${mail.slug}.${mail.locale}.txt`),
  })));
  return { mails, sha256: createHash("sha256").update(JSON.stringify(mails)).digest("hex") };
}

/** Writes the built-in mails. One that says something else than before gets a new version; the versions before it stay. */
async function writeMails(tx: Tx, mails: Mail[]): Promise<void> {
  const column = (name: keyof Mail) => mails.map((mail) => mail[name]);
  await tx`
    insert into notification_templates as t (id, slug, locale, name, subject_template, required_variables,
      html_body_template, text_body_template)
    select * from unnest(${column("id")}::uuid[], ${column("slug")}::text[], ${column("locale")}::text[],
      ${column("name")}::text[], ${column("subject")}::text[], ${column("requiredVariables")}::text[],
      ${column("html")}::text[], ${column("text")}::text[])
    on conflict (id) do update set name = excluded.name, subject_template = excluded.subject_template,
      required_variables = excluded.required_variables, html_body_template = excluded.html_body_template,
      text_body_template = excluded.text_body_template, version = t.version + 1, updated_at = now()
    where (t.name, t.subject_template, t.required_variables, t.html_body_template, t.text_body_template)
      is distinct from (excluded.name, excluded.subject_template, excluded.required_variables,
        excluded.html_body_template, excluded.text_body_template)`;
}

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
async function requireFeatures(tx: Tx): Promise<void> {
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
