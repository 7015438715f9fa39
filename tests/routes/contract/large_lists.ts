// Many rows in the tables of all lists, and every list with every filter, order and search, derived from its parameters.
import { connectPostgres, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import type { Parameter } from "../../../routes/shared/openapi_sharing.ts";
import type { Contract } from "./contract.ts";
import { BY_SYSTEM, LIMITED, type List, listsOf, type Query } from "./lists.ts";

/** Rows inserted by one statement. */
const BATCH = 50_000;

/** SQL expressions of columns that differ between the row number `n` and the row `t` that it copies. */
type Columns = Record<string, string>;

const id = "uuidv7(-n * interval '1 second')";
const created_at = "t.created_at - n * interval '1 second'";
const hash = "sha256((t.id || '-n' || n)::bytea)";
const named = (column: string): Columns => ({ id, created_at, [column]: `t.${column} || '-n' || n` });

/** Tables in the order of their references, with the columns that must or should differ. */
const TABLES: Record<string, Columns> = {
  tenants: { ...named("name"), type: "'Standard'", user_count: "0" },
  users: {
    ...named("first_name"),
    email: "n || '-n' || t.email",
    last_name: "t.last_name || '-n' || n % 1000",
  },
  roles: named("name"),
  permissions: {
    ...named("description"),
    code: "t.code || '-n' || n",
    category: "t.category || '-n' || n % 1000",
  },
  invitations: { id, created_at, email: "n || '-n' || t.email", token_hash: hash },
  api_keys: { ...named("name"), hash },
  service_accounts: {
    ...named("name"),
    client_id: "gen_random_uuid()::text",
    hash,
  },
  oauth_clients: { ...named("name"), client_id: "gen_random_uuid()::text" },
  audit_log: { id, at: "t.at - n * interval '1 second'" },
  user_imports: { id, created_at },
  job_batches: named("name"),
  jobs: { id, created_at, batch_id: "null", unique_key: "null" },
  dead_letter_jobs: {
    id,
    job_id: "gen_random_uuid()",
    failed_at: "t.failed_at - n * interval '1 second'",
    error_message: "t.error_message || '-n' || n % 1000",
  },
  recurring_jobs: { id, created_at, job_id: "t.job_id || '-n' || n" },
  job_types: { id, created_at, name: "t.name || '-n' || n" },
  files: {
    id,
    created_at,
    file_name: "n || '-n' || t.file_name",
    staging_key: "gen_random_uuid()::text",
    final_key: "case when t.final_key is not null then gen_random_uuid()::text end",
  },
  file_references: { id: "gen_random_uuid()", owner_id: "t.owner_id || '-n' || n" },
  notifications: { id, created_at },
  notification_templates: { ...named("name"), slug: "t.slug || '-n' || n" },
  user_notifications: { id, created_at, seq: "t.seq + 10 * n", notification_id: "null" },
  notification_suppressions: {
    id,
    created_at,
    address: "n || '-n' || t.address",
    address_key: "n || '-n' || t.address_key",
  },
  sign_in_providers: { id },
  sign_in_domains: { id, name: "n || '-n.' || t.name" },
  sign_in_setup_links: { id, token_hash: "sha256((n || t.id::text)::bytea)" },
  notification_senders: {
    id,
    created_at,
    address: "n || '-n' || t.address",
    address_key: "n || '-n' || t.address_key",
    token_hash: "null",
    is_default: "false",
  },
  report_executions: { id, created_at },
  report_schedules: { ...named("name") },
  report_targets: named("name"),
  document_templates: { ...named("name"), slug: "t.slug || '-n' || n" },
  webhook_endpoints: { id, created_at, url: "t.url || '-n' || n" },
  webhook_deliveries: { id, created_at },
  ...Object.fromEntries(RECORDS.map(({ table }) => [table, { id, created_at }])),
  alert_rules: named("name"),
  applications: { ...named("name"), code: "t.code || '-n' || n" },
  settings: { id, created_at, key: "t.key || '-n' || n" },
};

/** Tables that hold what people define; a tenant has hundreds of these, and not a million. */
const DEFINITIONS =
  /^(roles|permissions|api_keys|.*_accounts|.*_clients|recurring_jobs|job_types|.*_templates|.*_senders|.*_schedules|.*_targets|.*_endpoints|alert_rules|applications|settings|sign_in_.*)$/;
const MAX_DEFINITIONS = 1_000;

/** Copies the rows of each table until it has `rows`, or a thousand definitions. No statement has a time limit. */
export async function growTables(databaseUrl: string, rows: number): Promise<void> {
  const sql = connectPostgres(databaseUrl, { max: 1, work: "migration" });
  try {
    for (const [table, columns] of Object.entries(TABLES)) {
      const wanted = DEFINITIONS.test(table) ? Math.min(rows, MAX_DEFINITIONS) : rows;
      await transact(sql, (tx) => growTable(tx, table, columns, wanted));
    }
    await sql`
      insert into user_tenants (user_id, tenant_id)
      select u.id, l.tenant_id from users u,
        (select tenant_id from user_tenants group by tenant_id order by count(*) desc limit 1) l
      where not exists (select from user_tenants where user_id = u.id)`;
    await sql.unsafe("vacuum analyze");
  } finally {
    await sql.end();
  }
}

async function growTable(tx: Tx, table: string, columns: Columns, rows: number): Promise<void> {
  if (table === "files") await tx`set local session_replication_role = replica`; // its trigger accepts new files only
  const [{ copied = [] } = {}] = await tx<{ copied: string[] }[]>`
    select array_agg(attname::text) as copied from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = ''`;
  const values = copied.map((name) => columns[name] ?? `t.${name}`);
  const where = table === "tenants" ? "where type <> 'Platform'" : "";
  await tx.unsafe(`create temporary table base on commit drop as select * from ${table} ${where}`);
  const [{ count = 0 } = {}] = await tx<{ count: number }[]>`select count(*)::int as count from base`;
  if (count === 0) throw new Error(`${table} has no rows to copy; make them in many.ts`);
  const copies = Math.ceil(rows / count) - 1;
  const each = Math.ceil(BATCH / count);
  for (let from = 1; from <= copies; from += each) {
    await tx.unsafe(`
      insert into ${table} (${copied.map((name) => `"${name}"`)})
      select ${values} from generate_series(${from}, ${Math.min(copies, from + each - 1)}) n, base t`);
  }
}

/** A list with a query, and the time of its answers. */
export interface Timed {
  path: string;
  /** Milliseconds of ten answers. */
  /** The time without the load of neighbours. */
  fastest: number;
  median: number;
  p95: number;
}

const ASKED = 10;
const WARM = 2;

/** Asks every list with every filter, order and search. @returns the slowest first */
export async function timeLists(c: Contract, only = ""): Promise<Timed[]> {
  const timed: Timed[] = [];
  for (const list of listsOf(c)) {
    if (!list.spec.id.includes(only)) continue;
    for (const query of await queriesOf(c, list)) timed.push(await timeOf(c, list, query));
  }
  return timed.sort((a, b) => b.median - a.median);
}

/** The parameters without which the list is refused. */
const requiredOf = (c: Contract, { spec, parameters }: List): Query =>
  Object.fromEntries(
    Object.entries(LIMITED[spec.id]?.(c) ?? {}).filter(([name]) => parameters.get(name)?.required),
  );

const byOf = (c: Contract, { spec }: List) => BY_SYSTEM.has(spec.id) ? c.t.systemAdmin : c.by(spec);

async function timeOf(c: Contract, list: List, query: Query): Promise<Timed> {
  const ask = { ...c.ask(list.spec), query: { ...requiredOf(c, list), ...query } };
  const times: number[] = [];
  for (let n = 0; n < WARM + ASKED; n++) {
    const began = performance.now();
    const { status, body } = await c.send(byOf(c, list), list.spec, ask);
    if (status !== 200) throw new Error(`${list.spec.id} ${JSON.stringify(query)}: ${status} ${body?.code}`);
    if (n >= WARM) times.push(performance.now() - began);
  }
  const search = new URLSearchParams(query).toString();
  times.sort((a, b) => a - b);
  const [fastest = 0, median = 0, p95 = 0] = [0, ASKED / 2, ASKED - 1].map((at) => times[at]);
  return { path: `${list.spec.path}${search && `?${search}`}`, fastest, median, p95 };
}

const SEARCHES = ["e", "vi", "ctim", "no-such-text"];

/** The list alone, with each order in both directions, and with each filter. */
async function queriesOf(c: Contract, list: List): Promise<Query[]> {
  const { body } = await c.send(byOf(c, list), list.spec, {
    ...c.ask(list.spec),
    query: { ...requiredOf(c, list), pageSize: String(list.maxSize) },
  });
  const items: Record<string, unknown>[] = Array.isArray(body) ? body : body.items ?? body.data ?? [];
  const queries: Query[] = [{}, { [list.page]: "2" }];
  for (const [name, { schema, in: place }] of list.parameters) {
    if (place !== "query") continue;
    queries.push(...valuesOf(name, schema, items).map((value) => ({ [name]: value })));
    if (name !== "sortBy" && name !== "orderBy") continue;
    const [way, down] = name === "sortBy" ? ["sortDirection", "Descending"] : ["ascending", "false"];
    queries.push(...(schema.enum ?? []).map((value) => ({ [name]: String(value), [way]: down })));
  }
  return queries;
}

/** Values of a parameter: all of an enumeration, what the items of the list have, or texts of several lengths. */
function valuesOf(name: string, schema: Parameter["schema"], items: Record<string, unknown>[]): string[] {
  if (/^(page|pageNumber|pageSize|sortDirection|ascending|ids)$/.test(name)) return [];
  if (schema.enum) return schema.enum.map(String);
  if (schema.type === "boolean") return ["true", "false"];
  if (/^(search|searchTerm|errorContains)$/.test(name)) return SEARCHES;
  if (schema.format === "date-time") return [new Date(Date.now() - 250_000_000).toISOString()];
  const member = name === "errorPattern" ? "errorMessage" : name;
  const value = items.map((item) => item[member]).find((value) => value !== null && value !== undefined);
  return value === undefined || typeof value === "object" ? [] : [String(value)];
}
